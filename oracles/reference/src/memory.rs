//! Memory dependence by ways: what an access may depend on is what the ways that lead to it come by last.
//!
//! From an access every way is followed backward, instruction by instruction, up to the first on it that may change the
//! bytes. An address is a variable, a register or zero, and a distance; one that is known to be a variable's
//! (`pointers.rs`) is an access to that variable, whatever it is computed by. Once a way has passed the definition of
//! the register that the access is counted from, the same register is another value.

use cranelift_entity::EntityRef;
use oriole_ir::ops::{Flags, NonCoherent, Opcode, Order, Saturate, Space, Type};
use oriole_ir::{Form, Function, Inst, Local, Operand, Reg};

use super::graph::Graph;
use super::pointers::{Pointers, inside};

/// Bytes behind a variable of the module up to which an address counted from it counts as one in its space.
const WINDOW: u64 = 1 << 24;

/// What the ways to an access come by last.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reached {
    /// Instructions that may change the bytes, sorted.
    pub insts: Vec<Inst>,
    /// Whether a way leads to the start of the function.
    pub entry: bool,
}

/// The bytes of an access, or what else an instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Touch {
    Nothing,
    Bytes {
        writes: bool,
        at: At,
    },
    /// Lets changes by other threads be seen.
    Order,
    Everything,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct At {
    space: Space,
    root: Option<Operand>,
    distance: u64,
    /// The variable of the function that the address is counted from.
    variable: Option<Local>,
    bits: u32,
    size: u64,
    constant: bool,
}

/// Follows ways through a function.
pub struct Memory<'a> {
    func: &'a Function,
    graph: &'a Graph,
    reachable: Vec<bool>,
    /// By instruction.
    touches: Vec<Touch>,
    pointers: Pointers,
}

impl<'a> Memory<'a> {
    /// The memory of a function.
    pub fn new(func: &'a Function, graph: &'a Graph) -> Memory<'a> {
        let reachable = graph.reachable(0, None);
        let mut memory = Memory { func, graph, reachable, touches: Vec::new(), pointers: Pointers::of(func) };
        memory.touches = func.insts().keys().map(|inst| memory.touch(inst)).collect();
        memory
    }

    /// Whether an instruction has to do with memory.
    pub fn touches(&self, inst: Inst) -> bool {
        self.touches[inst.index()] != Touch::Nothing
    }

    /// What the instruction at a place depends on. Ways end at the start of the block `stop` too, where it is another
    /// one.
    pub fn reached(&self, place: usize, index: usize, stop: Option<usize>) -> Reached {
        let inst = self.func.inst_at(self.graph.blocks[place], index);
        let touch = self.touches[inst.index()];
        if matches!(touch, Touch::Bytes { at, .. } if at.constant) {
            return Reached { insts: Vec::new(), entry: true };
        }
        let root = match touch {
            Touch::Bytes { at, .. } => at.root.and_then(|root| root.reg()),
            _ => None,
        };
        let (mut found, mut seen, mut work) = (Reached::default(), Vec::new(), vec![(place, index, false)]);
        while let Some((place, index, mut stale)) = work.pop() {
            let insts = self.func.block_insts(self.graph.blocks[place]);
            let mut stopped = false;
            for before in insts.take(index).collect::<Vec<_>>().into_iter().rev() {
                stale |= root.is_some_and(|root| self.func.dsts(before).iter().any(|dst| dst.reg() == Some(root)));
                if self.changes(self.touches[before.index()], touch, stale) {
                    found.insts.push(before);
                    stopped = true;
                    break;
                }
            }
            if stopped || stop == Some(place) {
                continue;
            }
            found.entry |= place == 0;
            for from in self.graph.predecessors[place].iter().filter(|from| self.reachable[**from]) {
                let end = self.func.block_insts(self.graph.blocks[*from]).len();
                if !seen.contains(&(*from, stale)) {
                    seen.push((*from, stale));
                    work.push((*from, end, stale));
                }
            }
        }
        found.insts.sort_unstable();
        found.insts.dedup();
        found
    }

    /// Whether what an instruction does may change what another one touches.
    fn changes(&self, change: Touch, touch: Touch, stale: bool) -> bool {
        let changes = matches!(change, Touch::Order | Touch::Everything | Touch::Bytes { writes: true, .. });
        let Touch::Bytes { at, .. } = touch else { return changes };
        match change {
            Touch::Order => !matches!(at.space, Space::Local | Space::Param),
            Touch::Everything => !self.is_private(at),
            Touch::Bytes { writes: true, at: other } => {
                let own = |at: At| at.variable.filter(|_| matches!(at.space, Space::Local | Space::Param));
                let named = match (own(at), own(other)) {
                    (Some(one), Some(another)) => one == another,
                    _ => !self.is_private(at) && !self.is_private(other),
                };
                let generic = at.space == Space::Generic || other.space == Space::Generic;
                let shared = [at, other].iter().all(|at| matches!(at.space, Space::Shared | Space::Cluster));
                let spaces = at.space == other.space || generic || shared;
                named && spaces && !apart(at, other, stale)
            }
            _ => false,
        }
    }

    /// Whether only accesses that are counted from the variable reach the bytes.
    fn is_private(&self, at: At) -> bool {
        let own = matches!(at.space, Space::Local | Space::Param);
        own && at.variable.is_some_and(|variable| !self.pointers.is_lost(variable))
    }

    fn touch(&self, inst: Inst) -> Touch {
        let data = self.func.inst(inst);
        let (reads, writes, fence) = (data.is(Flags::READS), data.is(Flags::WRITES), data.is(Flags::FENCE));
        let order = data.field::<Order>().unwrap_or(Order::Weak);
        if fence && !writes {
            return Touch::Order;
        }
        if !reads && !writes {
            return Touch::Nothing;
        }
        if data.is(Flags::IMAGE) && !fence {
            // An image lies somewhere in global memory.
            let at = At {
                space: Space::Global,
                root: None,
                distance: 0,
                variable: None,
                bits: 64,
                size: 16,
                constant: false,
            };
            return Touch::Bytes { writes, at };
        }
        let one_address =
            matches!(data.opcode, Opcode::Ld | Opcode::Ldu | Opcode::St | Opcode::Atom | Opcode::AtomCas | Opcode::Red);
        if fence || !one_address || !matches!(order, Order::Weak | Order::Relaxed) {
            return Touch::Everything;
        }
        let srcs = self.func.srcs(inst);
        let (root, distance, bits) = self.address(srcs[0]);
        let distance = distance.wrapping_add(self.func.imm_bits(srcs[1]).unwrap_or(0));
        let size = u64::from(data.ty().bits() / 8) * data.vector_len() as u64;
        let space = data.field::<Space>().unwrap_or(Space::Generic);
        let constant = space == Space::Const || data.field::<NonCoherent>() == Some(NonCoherent::Nc);
        let at = At { space, root, distance, variable: None, bits, size, constant };
        Touch::Bytes { writes: writes || order == Order::Relaxed, at: self.in_variable(inst, at) }
    }

    /// The same access as one to the variable that its address is counted from.
    fn in_variable(&self, inst: Inst, at: At) -> At {
        let Some(place) = self.pointers.place(self.func, inst).filter(|_| !self.pointers.beyond) else { return at };
        let space = place.pointer.space.unwrap_or(at.space);
        let at = At { space, constant: at.constant || space == Space::Const, ..at };
        let (variable, size) = match place.pointer.variable {
            Some(Operand::Local(local)) => (Some(local), self.func.locals[local].size()),
            Some(_) => (None, WINDOW),
            None => return at,
        };
        match inside(place, size) {
            Some(distance) => At { root: place.pointer.variable, distance, variable, bits: 64, ..at },
            None => At { variable, ..at },
        }
    }

    /// The root of an address, how far it is from there, and its width.
    fn address(&self, base: Operand) -> (Option<Operand>, u64, u32) {
        let bits = match base {
            Operand::Reg(reg) => 32 * u32::from(self.func.regs()[reg].words),
            Operand::Word(..) => 32,
            _ => 64,
        };
        match base {
            Operand::Imm(address) => (Some(Operand::imm(0)), self.func.bits(address), bits),
            Operand::Global(_) | Operand::Local(_) => (Some(base), 0, bits),
            Operand::Reg(reg) if self.func.form == Form::Ssa => {
                let (root, distance) = self.counted(reg, bits).unwrap_or((base, 0));
                let (root, distance) = if let Operand::Imm(at) = root {
                    (Operand::imm(0), distance.wrapping_add(self.func.bits(at)))
                } else {
                    (root, distance)
                };
                (Some(root).filter(|root| !matches!(root, Operand::Word(..) | Operand::Undef)), distance, bits)
            }
            _ => (None, 0, bits),
        }
    }

    /// What a register is counted from, if its definition says so.
    fn counted(&self, reg: Reg, bits: u32) -> Option<(Operand, u64)> {
        let mut insts = self.graph.blocks.iter().flat_map(|block| self.func.block_insts(*block));
        let inst = insts.find(|inst| self.func.dsts(*inst).contains(&Operand::Reg(reg)))?;
        let (data, srcs) = (self.func.inst(inst), self.func.srcs(inst));
        let integer = matches!(data.ty(), Type::B32 | Type::B64 | Type::U32 | Type::U64 | Type::S32 | Type::S64);
        let saturates = data.field::<Saturate>() == Some(Saturate::Sat);
        if data.guard.is_some() || !integer || saturates || data.ty().bits() != bits {
            return None;
        }
        let (from, distance) = match (data.opcode, srcs) {
            (Opcode::Mov, [from]) => (*from, 0),
            (Opcode::IAdd, [from, Operand::Imm(by)]) | (Opcode::IAdd, [Operand::Imm(by), from]) => {
                (*from, self.func.bits(*by))
            }
            (Opcode::ISub, [from, Operand::Imm(by)]) => (*from, self.func.bits(*by).wrapping_neg()),
            _ => return None,
        };
        // A circle of copies, which only a phi could break, does not occur in SSA form.
        let further = if let Operand::Reg(reg) = from { self.counted(reg, bits) } else { None };
        Some(further.map_or((from, distance), |(root, more)| (root, distance.wrapping_add(more))))
    }
}

/// Whether two accesses of one space have no byte in common, whatever their root is.
fn apart(a: At, b: At, stale: bool) -> bool {
    let comparable = a.root.is_some() && a.root == b.root && a.space == b.space && a.bits == b.bits;
    if !comparable || stale && a.root.is_some_and(|root| root.reg().is_some()) {
        return false;
    }
    let around: u128 = 1 << a.bits;
    let distance = u128::from(b.distance.wrapping_sub(a.distance)) % around;
    distance >= u128::from(a.size) && distance + u128::from(b.size) <= around
}
