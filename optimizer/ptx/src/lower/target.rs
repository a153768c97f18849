//! The machine that a module is for, and what an old one implies.
//!
//! No current tool makes code for an SM before sm_50, and PTX for an older one runs on every later one (PTX ISA,
//! "Release Notes" and `.target`). So a module for sm_10 to sm_37 is taken for one that is for sm_50, and printed as
//! such. Before sm_20 operations on `.f32` flush denormals, whether or not they say `.ftz` (PTX ISA, "Floating Point
//! Instructions"; ptxas 13.0.88 makes `FADD.FTZ` of such an `add.f32`): they get the modifier when they are read.
//!
//! A module of an old version of PTX is printed in the first that has the names which the printer writes.

use crate::ast;
use crate::spelling::WRITTEN;
use oriole_ir::ops::{FieldValue, FieldValues, Ftz, OpRow, SrcType, Type};
use oriole_ir::sm::Target;

/// SMs before the first that the table has.
const EARLIER: [u16; 10] = [10, 11, 12, 13, 20, 21, 30, 32, 35, 37];
/// The first SM of the table.
const OLDEST: u16 = 50;
/// The first version and SM at which `vote` and `shfl` need `.sync` (PTX ISA, "vote" and "shfl").
const NEEDS_SYNC: ((u8, u8), u16) = ((6, 4), 70);
/// The first version in which a kernel lists its parameters (PTX ISA, "Kernel Function Parameters": "For PTX ISA
/// versions 1.0 through 1.3, parameter variables are declared in the kernel body").
pub(super) const PARAMETER_LISTS: (u8, u8) = (1, 4);
/// The first SM that keeps denormals.
const KEEPS_DENORMALS: u16 = 20;

/// What a module says of its machine.
pub(super) struct Machine {
    /// What stands behind `.target`.
    pub name: String,
    /// The version of PTX.
    pub version: (u8, u8),
    /// Whether all operations on `.f32` flush denormals.
    pub flushes: bool,
}

impl Machine {
    /// The machine that a module names, or the oldest known one in place of one that is older.
    pub(super) fn of(tree: &ast::Module<'_>) -> Machine {
        let declared = declared_version(tree);
        let version = declared.max(WRITTEN);
        let name = tree.targets.first().map_or("", |target| target.text);
        let earlier = |prefix: &str| {
            let number = name.strip_prefix(prefix)?.parse().ok()?;
            EARLIER.contains(&number).then_some((prefix.to_owned(), number))
        };
        match earlier("sm_").or_else(|| earlier("compute_")) {
            Some((prefix, number)) => {
                Machine { name: format!("{prefix}{OLDEST}"), version, flushes: number < KEEPS_DENORMALS }
            }
            None => Machine { name: name.to_owned(), version, flushes: false },
        }
    }
}

/// The version that a module says it is written in.
pub(super) fn declared_version(tree: &ast::Module<'_>) -> (u8, u8) {
    (tree.version.major.min(255) as u8, tree.version.minor.min(255) as u8)
}

/// Whether votes and shuffles of a module have to name the lanes that take part.
pub(super) fn needs_sync(tree: &ast::Module<'_>, target: Option<Target>) -> bool {
    declared_version(tree) >= NEEDS_SYNC.0 && target.is_none_or(|target| target.number() >= NEEDS_SYNC.1)
}

/// The fields of an operation with `.ftz`, where it works on `.f32` and may have it.
pub(super) fn flushed(row: &OpRow, fields: FieldValues) -> FieldValues {
    let source = row.value::<SrcType>(&fields).map(Type::from);
    let single = [row.value(&fields), source].contains(&Some(Type::F32));
    let Some(slot) = row.slot(Ftz::FIELD).filter(|_| single) else { return fields };
    let mut with = fields;
    with.0[slot] = Ftz::Ftz.index();
    if row.broken_rule(&with).is_none() { with } else { fields }
}

#[cfg(test)]
mod tests {
    use crate::read;
    use oriole_ir::Module;
    use oriole_ir::ops::{Ftz, Opcode};

    fn module(version: &str, target: &str) -> Module {
        let text = format!(
            ".version {version}\n.target {target}\n.address_size 64\n.entry k(.param .u64 p) {{\n\
             .reg .b64 %d<2>; .reg .f32 %f<9>; .reg .f64 %e; .reg .pred %p; .reg .b32 %r;\n\
             ld.param.u64 %d1, [p];\nld.global.f32 %f1, [%d1];\nadd.f32 %f2, %f1, %f1;\nmul.ftz.f32 %f3, %f2, %f1;\n\
             setp.lt.f32 %p, %f3, %f1;\ncvt.f64.f32 %e, %f3;\ncvt.rzi.s32.f32 %r, %f3;\nmul.f64 %e, %e, %e;\n\
             selp.f32 %f4, %f1, %f2, %p;\nst.global.f32 [%d1], %f4;\nret;\n}}\n"
        );
        read(&text).unwrap_or_else(|error| panic!("{error:?}"))
    }

    /// The operations that flush, in order.
    fn flushing(module: &Module) -> Vec<Opcode> {
        module.operations().filter(|data| data.field::<Ftz>() == Some(Ftz::Ftz)).map(|data| data.opcode).collect()
    }

    #[test]
    fn modules_for_older_machines_are_for_the_oldest_that_is_known() {
        for (version, target, taken) in
            [("1.4", "sm_13", "sm_50"), ("3.0", "sm_20", "sm_50"), ("3.1", "compute_35", "compute_50")]
        {
            let module = module(version, target);
            assert_eq!((module.target.as_str(), module.ptx_version), (taken, (6, 3)));
        }
        let newer = module("6.3", "sm_70");
        assert_eq!((newer.target.as_str(), newer.ptx_version), ("sm_70", (6, 3)));
        assert_eq!(module("6.5", "sm_37").ptx_version, (6, 5));
    }

    #[test]
    fn the_first_machines_flush_denormals_of_every_operation() {
        assert_eq!(flushing(&module("3.0", "sm_20")), [Opcode::FMul]);
        let all = [Opcode::FAdd, Opcode::FMul, Opcode::SetP, Opcode::Cvt, Opcode::Cvt];
        assert_eq!(flushing(&module("1.4", "sm_12")), all);
    }
}
