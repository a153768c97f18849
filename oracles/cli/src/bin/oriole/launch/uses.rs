//! What a kernel's code says of its parameters: which are addresses, and of elements of which type.
//!
//! A walk without regard to control flow: a parameter is an address where its value comes, through copies, conversions
//! of address spaces, sums and choices, to the address of an access or into a call. Accesses through it say the type of
//! its elements, and whether the code reads them.

use oriole_ir::ops::{FieldValue, Flags, Opcode, Space, SpecialReg, Type};
use oriole_ir::{Function, Inst, Local, Module, Operand, Reg};
use oriole_launch::ScalarType;

/// What is known of one parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Use {
    /// Its value is an address.
    pub is_address: bool,
    /// The type of the elements there, from the first access that has one.
    pub element: Option<ScalarType>,
    /// Some access reads them, or a call may.
    pub is_read: bool,
}

/// The parameters of an entry, in their order.
pub fn of(func: &Function) -> Vec<Use> {
    let mut walk = Walk { func, owner: vec![None; func.regs().len()], uses: vec![Use::default(); func.params.len()] };
    // Each round reaches at least one more register, or is the last one.
    while walk.round() {}
    walk.uses
}

struct Walk<'f> {
    func: &'f Function,
    /// The parameter whose value a register holds, possibly with an offset.
    owner: Vec<Option<usize>>,
    uses: Vec<Use>,
}

impl Walk<'_> {
    /// Looks at every instruction once; whether a register was reached.
    fn round(&mut self) -> bool {
        let mut reached = false;
        for inst in self.func.layout_insts() {
            let data = self.func.inst(inst);
            let carried = match data.opcode {
                Opcode::Ld if data.field::<Space>() == Some(Space::Param) => self.parameter(self.func.srcs(inst)),
                _ if data.is(Flags::READS) || data.is(Flags::WRITES) => {
                    self.access(inst);
                    None
                }
                Opcode::IMadWide => self.func.srcs(inst).last().and_then(|addend| self.owner_of(*addend)),
                Opcode::Mov | Opcode::Phi | Opcode::Cvta | Opcode::IAdd | Opcode::ISub | Opcode::SelP => {
                    self.func.inputs(inst).iter().find_map(|operand| self.owner_of(*operand))
                }
                _ => None,
            };
            let (Some(owner), [dst]) = (carried, self.func.dsts(inst)) else { continue };
            let Some(reg) = dst.reg().filter(|reg| self.is_wide(*reg)) else { continue };
            reached |= self.owner[reg.as_u32() as usize].replace(owner).is_none();
        }
        reached
    }

    /// The parameter that a load from parameter space reads, if it reads one from its beginning.
    fn parameter(&self, srcs: &[Operand]) -> Option<usize> {
        let Operand::Local(local) = *srcs.first()? else { return None };
        let at_start = srcs.get(1).is_none_or(|offset| self.func.imm_bits(*offset) == Some(0));
        self.func.params.iter().position(|param: &Local| *param == local).filter(|_| at_start)
    }

    fn access(&mut self, inst: Inst) {
        let data = self.func.inst(inst);
        // What is stored is no address of this access; what is handed to a function may be one there.
        let is_handed = data.field::<Space>() == Some(Space::Param);
        let stores = matches!(data.opcode, Opcode::St | Opcode::Atom | Opcode::AtomCas | Opcode::Red);
        let addresses = if stores && !is_handed { 1 } else { usize::MAX };
        let owners = self.func.srcs(inst).iter().take(addresses).map(|operand| self.owner_of(*operand));
        for owner in owners.flatten().collect::<Vec<usize>>() {
            let found = &mut self.uses[owner];
            found.is_address = true;
            found.is_read |= is_handed || data.is(Flags::READS);
            found.element = found.element.or_else(|| if is_handed { None } else { element(data.ty()) });
        }
    }

    fn owner_of(&self, operand: Operand) -> Option<usize> {
        self.owner[operand.whole_reg()?.as_u32() as usize]
    }

    /// Whether a register holds 64 bits, as addresses do.
    fn is_wide(&self, reg: Reg) -> bool {
        self.func.regs()[reg].words == 2
    }
}

/// The type of a buffer's elements that are accessed with a type.
fn element(ty: Type) -> Option<ScalarType> {
    ScalarType::from_name(ty.name())
}

/// How many dimensions of threads, and of blocks, the functions of a module look at: one at least.
pub fn dimensions(module: &Module) -> (usize, usize) {
    use SpecialReg::{CtaidY, CtaidZ, TidY, TidZ};
    let mut read = Vec::new();
    for func in module.functions.values() {
        let operands = func.layout_insts().flat_map(|inst| func.srcs(inst));
        read.extend(operands.filter_map(|operand| match operand {
            Operand::Special(special) => Some(*special),
            _ => None,
        }));
    }
    let count = |y, z| match (read.contains(&z), read.contains(&y)) {
        (true, _) => 3,
        (false, true) => 2,
        (false, false) => 1,
    };
    (count(TidY, TidZ), count(CtaidY, CtaidZ))
}
