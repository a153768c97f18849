//! Instructions of PTX that are carried through as they are written: which there are.
//!
//! The opcode table has no row for them, so nothing is known of one but its text and which registers it writes. A name
//! that neither the opcode table nor this one has is a fault, since a misspelled instruction would go through
//! otherwise. Whoever has a newer PTX names further ones ([`Dialect`]). Quoted are sections of the PTX ISA 9.0.

use oriole_ir::ops::{Availability, Opcode};
use oriole_ir::template::Template;
use oriole_ir::{Inst, Module};

/// What PTX is read beyond what the tables know.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Dialect {
    /// Names of instructions that are carried through: `tcgen05`, or with some modifiers `cp.async.bulk.other`.
    pub opaque: Vec<String>,
}

impl Dialect {
    /// What a module needs that carries such instructions through.
    pub fn of(module: &Module) -> Dialect {
        let named = module.functions.values().flat_map(|func| {
            let carried = |inst: &Inst| func.inst(*inst).opcode == Opcode::Opaque;
            let texts = func.layout_insts().filter(carried).filter_map(|inst| func.text(*func.srcs(inst).first()?));
            texts.filter_map(|text| Some(Template::of(text)?.mnemonic().to_owned()))
        });
        let mut opaque: Vec<String> = named.collect();
        opaque.sort_unstable();
        opaque.dedup();
        Dialect { opaque }
    }
}

/// Which operands in front an instruction writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Results {
    /// None: an address in brackets is no register that is written.
    None,
    /// So many.
    First(usize),
    /// The first one may be a result or a source, so it is both: what it holds before counts, and what it holds
    /// behind is unknown. That is right either way.
    Unknown,
}

/// A family of instructions.
pub(super) struct Family {
    /// The name that they begin with, with the modifiers in front.
    pub name: &'static str,
    /// Modifiers of which each of them has one; all names fit where there are none.
    pub with: &'static [&'static str],
    pub results: Results,
    /// The targets that have them, as far as it is known.
    pub needs: Option<Availability>,
}

const HOPPER: Option<Availability> = Some(Availability::From(90));
const BLACKWELL: Option<Availability> = Some(Availability::From(100));
const ONE_BLACKWELL: Option<Availability> = Some(Availability::SpecificFrom(100));
const ANY: Option<Availability> = None;

/// Packed floats that conversions have beside those of 8 bits by two.
const SMALL_FLOATS: &[&str] =
    &["e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2", "s2f6x2", "e4m3x4", "e5m2x4", "e2m1x4", "e2m3x4", "e3m2x4"];
const BLOCK_KINDS: &[&str] = &["kind::f8f6f4", "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4", "block_scale"];

macro_rules! families {
    ($($name:literal $with:expr => $results:expr, $needs:expr;)*) => {
        const FAMILIES: &[Family] =
            &[$(Family { name: $name, with: $with, results: $results, needs: $needs }),*];
    };
}

use Results::{First, None as NoResult};

families! {
    // "Tensor copy" and "Bulk copy": they copy between memories, or prefetch, and tell a barrier or a group.
    "cp.async.bulk.tensor" &[] => NoResult, HOPPER;
    "cp.reduce.async.bulk.tensor" &[] => NoResult, HOPPER;
    "cp.async.bulk.prefetch.tensor" &[] => NoResult, HOPPER;
    "cp.async.bulk" &["cp_mask", "ignore_oob"] => NoResult, BLACKWELL;
    "multimem.cp.async.bulk" &[] => NoResult, HOPPER;
    "multimem.cp.reduce.async.bulk" &[] => NoResult, HOPPER;
    // They change a map in memory.
    "tensormap.replace" &[] => NoResult, HOPPER;
    "tensormap.cp_fenceproxy" &[] => NoResult, HOPPER;
    // "TensorCore 5th Generation Family Instructions". An address in tensor memory is a value, which `dealloc` takes
    // first.
    "tcgen05.alloc" &[] => NoResult, ONE_BLACKWELL;
    "tcgen05.dealloc" &[] => NoResult, ONE_BLACKWELL;
    "tcgen05.relinquish_alloc_permit" &[] => NoResult, ONE_BLACKWELL;
    "tcgen05.ld.red" &[] => First(2), ONE_BLACKWELL;
    "tcgen05.ld" &[] => First(1), ONE_BLACKWELL;
    "tcgen05.st" &[] => NoResult, ONE_BLACKWELL;
    "tcgen05.wait" &[] => NoResult, ONE_BLACKWELL;
    "tcgen05.cp" &[] => NoResult, ONE_BLACKWELL;
    "tcgen05.shift" &[] => NoResult, ONE_BLACKWELL;
    "tcgen05.mma" &[] => NoResult, ONE_BLACKWELL;
    "tcgen05.commit" &[] => NoResult, ONE_BLACKWELL;
    "tcgen05.fence" &[] => NoResult, ONE_BLACKWELL;
    // The answer comes to memory, and is read from a register.
    "clusterlaunchcontrol.try_cancel" &[] => NoResult, BLACKWELL;
    "clusterlaunchcontrol.query_cancel" &[] => First(1), BLACKWELL;
    // Products of scaled blocks and of narrow floats, and what brings such matrices to registers.
    "mma" BLOCK_KINDS => First(1), Some(Availability::SpecificFrom(120));
    "ldmatrix" &["m8n16", "m16n16"] => First(1), ONE_BLACKWELL;
    "stmatrix" &["m16n8"] => NoResult, ONE_BLACKWELL;
    "cvt" SMALL_FLOATS => First(1), ONE_BLACKWELL;
    "cvt" &["rs"] => First(1), ONE_BLACKWELL;
    // Stores.
    "st.bulk" &[] => NoResult, BLACKWELL;
    "st.async" &["mmio"] => NoResult, BLACKWELL;
    "red.async" &["mmio"] => NoResult, BLACKWELL;
    // "Stack Manipulation Instructions".
    "alloca" &[] => First(1), ANY;
    "stacksave" &[] => First(1), ANY;
    "stackrestore" &[] => NoResult, ANY;
    // Multisampled textures.
    "tex" &["2dms", "a2dms"] => First(1), ANY;
}

/// What is known of an instruction that is carried through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Opaque {
    pub results: Results,
    pub needs: Option<Availability>,
}

/// What is known of an instruction, with its modifiers, that the opcode table does not have; `None` where it is not to
/// be carried through.
pub(super) fn opaque(dialect: &Dialect, base: &str, modifiers: &[&str]) -> Option<Opaque> {
    let text = std::iter::once(&base).chain(modifiers).copied().collect::<Vec<_>>().join(".");
    let has = |family: &&Family| family.with.is_empty() || family.with.iter().any(|name| modifiers.contains(name));
    let known = FAMILIES.iter().filter(|family| begins(&text, family.name)).find(has);
    let named = || dialect.opaque.iter().any(|name| begins(&text, name));
    match known {
        Some(family) => Some(Opaque { results: family.results, needs: family.needs }),
        None => named().then_some(Opaque { results: Results::Unknown, needs: None }),
    }
}

/// Whether an instruction begins with a name: whole modifiers, or what stands before `::` in one.
fn begins(text: &str, name: &str) -> bool {
    text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || rest.starts_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(text: &str, dialect: &Dialect) -> Option<Results> {
        let (base, rest) = text.split_once('.').unwrap_or((text, ""));
        let modifiers: Vec<&str> = rest.split('.').filter(|name| !name.is_empty()).collect();
        opaque(dialect, base, &modifiers).map(|opaque| opaque.results)
    }

    #[test]
    fn families_are_known_by_whole_modifiers() {
        let ours = Dialect::default();
        assert_eq!(results("tcgen05.wait::ld.sync.aligned", &ours), Some(Results::None));
        assert_eq!(results("tcgen05.ld.sync.aligned.32x32b.x1.b32", &ours), Some(Results::First(1)));
        assert_eq!(results("tcgen05.ld.red.sync.aligned.32x32b.x2.u32.min", &ours), Some(Results::First(2)));
        for unknown in ["tcgen05.lda.sync", "tcgen06.ld", "cp.async.bulk.tensors", "cvt.rn.f32.f64", "ad.u32"] {
            assert_eq!(results(unknown, &ours), None, "{unknown}");
        }
        let newer = Dialect { opaque: vec!["tcgen06".into(), "ad".into()] };
        assert_eq!(results("tcgen06.ld.x1", &newer), Some(Results::Unknown));
        assert_eq!(results("add.u32", &newer), None);
    }
}
