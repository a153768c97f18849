//! Registers that may be read before anything defines them (`spec/liveness-and-dce.txt`, "Uninitialized Register
//! Detector"): those that are live where the function begins.
//!
//! Liveness knows no values: a register that is defined and read under one and the same condition is reported too, so
//! the page and this say "potentially". The dominator-respecting liveness of these registers tells them apart: where
//! none is left of a register, no definition reaches any read of it. Cost: liveness, and a scan for the reads.

use rustc_hash::FxHashSet;

use super::cfg::Cfg;
use super::dense_liveness::{DenseLiveness, Variant};
use super::live_scan::kills;
use super::liveness::Liveness;
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Reg};

/// A register that may be read before anything defines it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Uninitialized {
    /// The register.
    pub reg: Reg,
    /// The source line of the first such read in the text; 0 where unknown.
    pub line: u32,
    /// Whether some definition reaches such a read: on another path, or under a condition.
    pub is_defined_elsewhere: bool,
}

impl Uninitialized {
    /// The registers of a function that this is true of, in order of their numbers.
    pub fn find(func: &Function, cfg: &Cfg, liveness: &Liveness) -> Vec<Uninitialized> {
        let mut suspects: Vec<Reg> = liveness.live_in(func.entry()).iter().collect();
        suspects.sort_unstable();
        if suspects.is_empty() {
            return Vec::new();
        }
        let is_suspect = |reg: Reg| suspects.binary_search(&reg).is_ok();
        let defined = DenseLiveness::solve(func, cfg, Variant::Reached, is_suspect);
        let reads = exposed_reads(func, cfg, is_suspect);
        let describe = |reg: &Reg| {
            let mut of_reg = reads.iter().filter(|read| read.reg == *reg).peekable();
            let line = of_reg.peek()?.line;
            let at_border = |block: &Block| defined.live_in(*block, *reg) || defined.live_out(*block, *reg);
            let is_defined_elsewhere = cfg.rpo().iter().any(at_border) || of_reg.any(|read| read.may_be_defined);
            Some(Uninitialized { reg: *reg, line, is_defined_elsewhere })
        };
        // What is live for a callee's sake alone has no read.
        suspects.iter().filter_map(describe).collect()
    }
}

/// A read that no definition in its block is before, unless under a guard.
struct ExposedRead {
    reg: Reg,
    line: u32,
    /// Whether one is before under a guard.
    may_be_defined: bool,
}

/// The first such read of each suspect, and the first with a definition under a guard before it. A phi's read has the
/// line of the phi.
fn exposed_reads(func: &Function, cfg: &Cfg, is_suspect: impl Fn(Reg) -> bool) -> Vec<ExposedRead> {
    let (mut found, mut known) = (Vec::new(), FxHashSet::default());
    for block in cfg.blocks().iter().filter(|block| cfg.is_reachable(**block)) {
        let (mut certain, mut possible) = (FxHashSet::default(), FxHashSet::default());
        for inst in func.block_insts(*block) {
            let data = func.inst(inst);
            let is_phi = data.opcode == Opcode::Phi;
            let reads = func.uses(inst).filter(|_| !func.hands_over(inst));
            for reg in reads.filter(|reg| is_suspect(*reg) && (is_phi || !certain.contains(reg))) {
                let may_be_defined = !is_phi && possible.contains(&reg);
                if known.insert((reg, may_be_defined)) {
                    found.push(ExposedRead { reg, line: data.line, may_be_defined });
                }
            }
            for reg in func.defs(inst).filter(|reg| is_suspect(*reg)) {
                possible.insert(reg);
                if kills(func, inst) {
                    certain.insert(reg);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ir::parse_function;

    fn found(text: &str) -> Vec<(u32, u32, bool)> {
        let func = parse_function(text).expect("the text is a function");
        let cfg = Cfg::new(&func);
        let found = Uninitialized::find(&func, &cfg, &Liveness::solve(&func, &cfg));
        found.iter().map(|found| (found.reg.as_u32(), found.line, found.is_defined_elsewhere)).collect()
    }

    const ONE_PATH: &str = "device @f {\nbb0:\n  %p1 = mov.pred 1 !1\n  cbra %p1, bb1, bb2\nbb1:\n  %r2 = mov.b32 1 !2\n  \
                            bra bb2\nbb2:\n  st.global.b32 [8], %r2 !5\n  st.global.b32 [16], %r2 !6\n  ret\n}\n";

    #[test]
    fn a_register_that_one_path_defines_may_be_uninitialized() {
        assert_eq!(found(ONE_PATH), [(2, 5, true)]);
        assert_eq!(
            found(&ONE_PATH.replace("%p1 = mov.pred 1 !1", "%r2 = mov.b32 %r3 !1\n  %p1 = mov.pred 1")),
            [(3, 1, false)]
        );
    }

    #[test]
    fn a_register_that_all_paths_define_is_initialized() {
        assert_eq!(found(&ONE_PATH.replace("cbra %p1, bb1, bb2", "bra bb1")), []);
        assert_eq!(found(&ONE_PATH.replace("  cbra", "  %r2 = mov.b32 9\n  cbra")), []);
    }

    #[test]
    fn a_definition_under_a_predicate_may_not_happen() {
        let text =
            "device @f {\nbb0:\n  %p1 = mov.pred 1\n  @%p1 %r2 = mov.b32 1\n  st.global.b32 [8], %r2 !4\n  ret\n}\n";
        assert_eq!(found(text), [(2, 4, true)]);
        assert_eq!(found(&text.replace("@%p1 ", "")), []);
        assert_eq!(found(&text.replace("%p1 = mov.pred 1\n", "")), [(1, 0, false), (2, 4, true)]);
    }

    #[test]
    fn reads_behind_a_definition_and_in_unreachable_blocks_do_not_count() {
        let text = "device @f {\nbb0:\n  %r2 = mov.b32 1\n  st.global.b32 [8], %r2\n  ret\nbb1:\n  \
                    st.global.b32 [8], %r3\n  ret\n}\n";
        assert_eq!(found(text), []);
    }

    /// A pair is its two words, and a wired register is none.
    #[test]
    fn overlapping_registers_are_taken_by_units() {
        let text = "device @f machine physical {\nbb0:\n  %R4 = mov.b32 1 !1\n  %R5 = mov.b32 2 !2\n  \
                    st.global.b64 [8], %R4x2 !3\n  %RZ = mov.b32 %R4\n  st.global.b32 [8], %RZ !5\n  ret\n}\n";
        let of = |name: &str| {
            let reg = oriole_ir::PhysicalReg::from_name(name).expect("a register");
            reg.reg().expect("it has an entity").as_u32()
        };
        assert_eq!(found(text), []);
        assert_eq!(found(&text.replace("  %R5 = mov.b32 2 !2\n", "")), [(of("R5"), 3, false)]);
        let pair = text.replace("%R5 = mov.b32 2 !2\n", "@%P0 %R4x2 = mov.b64 2 !2\n");
        assert_eq!(found(&pair), [(of("R5"), 3, true), (of("P0"), 2, false)]);
    }

    #[test]
    fn a_loop_that_defines_behind_its_read_reaches_it() {
        let text = "device @f {\nbb0:\n  bra bb1\nbb1:\n  st.global.b32 [8], %r2 !3\n  %r2 = mov.b32 1\n  %p1 = mov.pred 1\n  \
                    cbra %p1, bb1, bb2\nbb2:\n  ret\n}\n";
        assert_eq!(found(text), [(2, 3, true)]);
    }
}
