//! Which undefined registers need a value of their own outside SSA form.
//!
//! In SSA form a definition has one value, an undefined one too; in virtual form a register that nothing has written
//! may have another at each read ([`Operand::Undef`](oriole_ir::Operand::Undef)). The two agree where nobody can tell:
//! where a register is read once for each time that it is defined, or only where its definition has written it.
//!
//! Cost: one pass over the function.

use cranelift_entity::SecondaryMap;

use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Guard, Inst, Reg};

/// By register: how it is read.
pub(super) struct Reads(SecondaryMap<Reg, Read>);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Read {
    #[default]
    Never,
    /// By one instruction, under this guard.
    Once(Block, Option<Guard>),
    /// By several, all under this guard.
    Under(Guard),
    Freely,
}

impl Reads {
    pub(super) fn new(func: &Function) -> Reads {
        let mut reads = Reads(SecondaryMap::new());
        for block in func.layout() {
            for inst in func.block_insts(*block) {
                reads.add(func, inst, *block);
            }
        }
        reads
    }

    fn add(&mut self, func: &Function, inst: Inst, block: Block) {
        let data = func.inst(inst);
        for reg in func.srcs(inst).iter().filter_map(|operand| operand.reg()) {
            // A phi reads at the ends of other blocks.
            let read = if data.opcode == Opcode::Phi { Read::Freely } else { Read::Once(block, data.guard) };
            self.0[reg] = self.0[reg].and(read);
        }
        let others = func.elses(inst).iter().filter_map(|operand| operand.reg()).chain(data.guard.map(Guard::reg));
        for reg in others {
            self.0[reg] = self.0[reg].and(Read::Once(block, None));
        }
    }

    /// Whether a register may show that it has more than one value, where the instruction that defines it leaves it
    /// undefined: `guard` is the condition under which it does not.
    pub(super) fn see_several(&self, reg: Reg, block: Block, guard: Option<Guard>) -> bool {
        match self.0[reg] {
            Read::Never => false,
            Read::Once(at, under) => at != block && (under.is_none() || under != guard),
            Read::Under(under) => Some(under) != guard,
            Read::Freely => true,
        }
    }
}

impl Read {
    /// This read and one more.
    fn and(self, more: Read) -> Read {
        match (self, more) {
            (Read::Never, more) => more,
            (Read::Once(_, Some(guard)) | Read::Under(guard), Read::Once(_, Some(other))) if guard == other => {
                Read::Under(guard)
            }
            _ => Read::Freely,
        }
    }
}
