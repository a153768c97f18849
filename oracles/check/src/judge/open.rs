//! What the PTX ISA leaves open, and a compiler may therefore decide: which NaN an operation yields, the errors of
//! approximate functions, the order in which matrix products are summed, what registers of the machine hold, where
//! variables in local and shared memory lie, which lane has which element of a `wmma` fragment, what `istypep` and
//! `isspacep` say of what is no handle or address, whether `.ftz` flushes before or after rounding, whether a barrier's
//! phase is over of which the state is older than the phase before, and whether a program goes on behind a breakpoint.
//!
//! Whether a result depends on such a choice is found by making another one: a copy of the program gets instructions
//! behind each open result that change it within what is allowed, or far beyond for sums, whose errors have no bound
//! that is known. Words of memory that another choice changes are open. A difference that is confined to these says
//! nothing about the code.

use oriole_interp::{Executable, Outcome, Placement, RunOptions, RunResult};
use oriole_ir::ops::{Approx, Compare, Flags, Ftz, Opcode, Space, Type};
use oriole_ir::{
    Function, FunctionKind, Guard, Inst, InstBuilder, Local, Module, Operand, Reg, RegFile, RegInfo, Variable,
};
use oriole_launch::Launch;
use oriole_optimizer::ssa;

use super::budget;

mod addresses;
mod choice;
mod fragments;
#[cfg(test)]
mod tests;

use choice::{Choice, Format};

/// How much coarser variables are aligned to be elsewhere, and the coarsest alignment that PTX has any use for.
const COARSER: u32 = 32;
const MOST_ALIGN: u32 = 1024;
/// Where variables begin by each choice, in bytes. The machine has those in shared memory where the first has them. An
/// address that is taken for a number is another one by each, as far as its bits go: of a variable in a frame that is
/// aligned to 4 bytes, or to 16, each bit above is set by one of the last two.
fn placement(choice: Choice) -> Placement {
    let (shared, frame) = match choice {
        Choice::Larger => (1, 1024),
        Choice::Smaller => (0, 0),
        Choice::MixedLarger => (3, 6 * 1024 + 0x5c),
        Choice::MixedSmaller => (6, 11 * 1024 + 0xa4),
    };
    Placement { shared: 1024 * shared, frame }
}
/// The bit of a barrier's state that says whether its phase is odd.
const ODD_PHASE: u32 = 63;
/// Bytes that are open together: a float may straddle a carry into any of its bytes.
const WORD: usize = 4;

/// The words of each buffer and variable that another choice changes; everything, where one ends otherwise.
#[derive(Debug, Default)]
pub struct Open {
    everything: bool,
    /// By memory in the order of a run's results, by word.
    words: Vec<Vec<bool>>,
}

impl Open {
    /// What is open in the results of a program, given a run of it.
    pub fn of(original: &Module, launch: &Launch, before: &RunResult) -> Open {
        let words = |len: usize| vec![false; len.div_ceil(WORD)];
        let mut open =
            Open { everything: false, words: before.memory.iter().map(|state| words(state.bytes.len())).collect() };
        for choice in Choice::ALL {
            let Some(Chosen { module: other, moves }) = chosen(original, choice) else { continue };
            open.everything |= moves;
            let options = RunOptions { steps: Some(budget(before.steps)), ..RunOptions::default() };
            let other = Executable::placed(&other, placement(choice));
            let run = other.and_then(|other| other.run(launch, &options));
            let Ok(run) = run else { continue };
            if run.outcome != Outcome::Finished {
                open.everything = true;
            }
            for ((one, another), words) in before.memory.iter().zip(&run.memory).zip(&mut open.words) {
                let pairs = one.bytes.data().chunks(WORD).zip(another.bytes.data().chunks(WORD));
                pairs.zip(words.iter_mut()).for_each(|((one, another), word)| *word |= one != another);
                let lost = |at: &usize| another.bytes.is_undefined(*at) && !one.bytes.is_undefined(*at);
                (0..another.bytes.len()).filter(lost).for_each(|at| words[at / WORD] = true);
            }
        }
        open
    }

    /// Whether all that another run leaves otherwise is open.
    pub fn covers(&self, before: &RunResult, after: &RunResult) -> bool {
        if self.everything {
            return true;
        }
        if after.outcome != before.outcome || after.memory.len() != before.memory.len() {
            return false;
        }
        let both = before.memory.iter().zip(&after.memory).zip(&self.words);
        both.into_iter().all(|((one, another), words)| {
            let differs =
                |at: &usize| !one.bytes.is_undefined(*at) && one.bytes.data().get(*at) != another.bytes.data().get(*at);
            one.bytes.len() == another.bytes.len()
                && (0..one.bytes.len()).filter(differs).all(|at| words.get(at / WORD) == Some(&true))
        })
    }
}

/// A program with another choice.
struct Chosen {
    module: Module,
    /// Whether an open result may be an address, or may be anything: then no other choice shows all the words that it
    /// may reach.
    moves: bool,
}

/// The program with another choice; `None` where nothing in it is open.
fn chosen(original: &Module, choice: Choice) -> Option<Chosen> {
    let mut module = ssa::destructed(original);
    let shared = module.globals.values_mut().filter(|global| global.space == Space::Shared);
    let mut any = false;
    for global in shared.filter(|_| choice != Choice::Smaller) {
        any = true;
        if choice == Choice::Larger {
            spread(global);
        }
    }
    let mut moves = false;
    for func in module.functions.values_mut() {
        match choice {
            Choice::Larger => any |= move_locals(func),
            // Factors have at most four registers, as a rule: each of them is in the place of each other one.
            Choice::Smaller => any |= fragments::permute(func, 1),
            Choice::MixedLarger => any |= fragments::permute(func, 2) | has_locals(func),
            Choice::MixedSmaller => any |= fragments::permute(func, 3) | has_locals(func),
        }
        let insts: Vec<Inst> = func.layout_insts().collect();
        let mut results = Vec::new();
        for inst in insts {
            any |= choose(func, inst, choice, &mut results);
        }
        moves |= addresses::reaches(func, &results) || has_count_of_nothing(func);
    }
    any.then_some(Chosen { module, moves })
}

/// Whether a function asks for the pending count of a constant, which is no state of a barrier.
fn has_count_of_nothing(func: &Function) -> bool {
    let is_pending = |inst: &Inst| func.inst(*inst).opcode == Opcode::MbarrierPending;
    func.layout_insts().filter(is_pending).any(|inst| func.srcs(inst).iter().all(|src| src.reg().is_none()))
}

/// Puts a variable farther from the one before it.
fn spread(variable: &mut Variable) {
    variable.align = (variable.align * COARSER).min(MOST_ALIGN).max(variable.align);
}

/// Whether a function has variables in a frame, which may lie elsewhere.
fn has_locals(func: &Function) -> bool {
    let fixed = if func.kind == FunctionKind::Entry { func.params.len() } else { 0 };
    func.locals.len() > fixed
}

/// Gives the variables of a function other addresses; whether it has any. The parameters of a kernel stay, since the
/// launch fills them.
fn move_locals(func: &mut Function) -> bool {
    let is_entry = func.kind == FunctionKind::Entry;
    let fixed: Vec<Local> = if is_entry { func.params.clone() } else { Vec::new() };
    let mut any = false;
    for (_, variable) in func.locals.iter_mut().filter(|(local, _)| !fixed.contains(local)) {
        spread(variable);
        any = true;
    }
    any
}

/// Changes what is open of an instruction's results; whether something is. Those that have no few other values, as NaNs
/// do, are put to `wide`.
fn choose(func: &mut Function, inst: Inst, choice: Choice, wide: &mut Vec<Reg>) -> bool {
    let data = func.inst(inst);
    let (opcode, guard, row) = (data.opcode, data.guard, data.opcode.row());
    let is_computed = data.is(Flags::PURE) && !data.is(Flags::COPY);
    let approx = data.field::<Approx>().unwrap_or(Approx::Exact);
    // Sums of 16 bits are in pairs in registers that have no type of their own.
    let is_sum = data.is(Flags::MATRIX) && !data.is(Flags::READS);
    let sum = data.field::<Type>().and_then(Format::of).map(|format| match format.significand {
        ..16 => format.payload | format.payload << 16,
        _ => format.payload,
    });
    let fields = data.fields;
    let of_machine = |operand: &Operand| matches!(operand, Operand::Special(special) if special.is_of_machine());
    let is_of_machine = func.srcs(inst).iter().any(of_machine) || opcode == Opcode::MbarrierPending;
    let dsts: Vec<Reg> = func.defs(inst).collect();
    let types = row.dsts.iter().flat_map(|shape| {
        let count = row.registers(&fields, *shape);
        std::iter::repeat_n(row.shape_type(&fields, *shape), count)
    });
    let results: Vec<(Reg, Option<Type>)> = dsts.into_iter().zip(types).collect();
    let is_flushed = data.field() == Some(Ftz::Ftz);
    let is_angle = approx != Approx::Exact && matches!(opcode, Opcode::FSin | Opcode::FCos);
    let is_far = if is_angle { Some(far_angle(func, inst)) } else { None };
    let mut patch = Patch { func, last: inst, guard };
    if opcode == Opcode::BrkPt {
        patch.put(InstBuilder::new(Opcode::Trap));
    }
    if opcode == Opcode::MbarrierWait && choice == Choice::Larger {
        patch.ask_by_parity();
    }
    for (reg, ty) in results {
        if matches!(opcode, Opcode::IsTypeP | Opcode::IsSpaceP) {
            patch.put(InstBuilder::new(Opcode::Not).field(Type::Pred).dst(reg).src(reg));
        }
        if patch.func.regs()[reg].file != RegFile::R {
            continue;
        }
        let words = patch.func.regs()[reg].words;
        if is_of_machine || is_sum && sum.is_some() || is_computed && approx != Approx::Exact {
            wide.push(reg);
        }
        match ty.and_then(Format::of) {
            _ if is_of_machine => patch.flip(reg, words, choice.flips()),
            _ if is_sum => sum.iter().for_each(|sum| patch.flip(reg, words, choice.pick(*sum, *sum << 1))),
            Some(format) if is_computed => {
                if approx != Approx::Exact {
                    patch.err(reg, format, format.error(opcode), choice);
                }
                if let Some(is_far) = is_far {
                    // What was small becomes large, and what was large small, of the other sign.
                    let one = (format.infinity >> 1) & format.infinity;
                    let bits = format.sign | one | choice.flips() & ((1 << format.significand) - 1);
                    patch.change(reg, format, Opcode::Xor, (is_far, bits));
                }
                if is_flushed && choice == Choice::Smaller {
                    patch.flush_least(reg, format);
                }
                patch.other_nan(reg, format, choice);
            }
            _ => {}
        }
    }
    patch.last != inst
}

/// A predicate, computed before the sine or cosine of an angle: whether the angle is so large that the PTX ISA states
/// no error, as it does up to 100 pi.
fn far_angle(func: &mut Function, inst: Inst) -> Reg {
    let angle = func.srcs(inst)[0];
    let (magnitude, pred) = (func.new_reg(RegInfo::words(1)), func.new_reg(RegInfo::PRED));
    let mask = u64::from(u32::MAX >> 1);
    InstBuilder::new(Opcode::And).field(Type::B32).dst(magnitude).src(angle).src(mask).insert_before(func, inst);
    let limit = (100.0 * std::f32::consts::PI).to_bits();
    let test = InstBuilder::new(Opcode::SetP).field(Type::U32).field(Compare::Gt).dst(pred);
    test.src(magnitude).src(u64::from(limit)).insert_before(func, inst);
    pred
}

/// Instructions put behind another one, under its guard.
struct Patch<'a> {
    func: &'a mut Function,
    last: Inst,
    guard: Option<Guard>,
}

impl Patch<'_> {
    fn put(&mut self, builder: InstBuilder) {
        self.last = builder.guard(self.guard).insert_after(self.func, self.last);
    }

    /// Asks a barrier again, for the parity of a state's phase: of the current phase and the one before the answer is
    /// the same.
    fn ask_by_parity(&mut self) {
        let inst = self.last;
        let (&[base, offset, state], Some(answer)) = (self.func.srcs(inst), self.func.defs(inst).next()) else {
            return;
        };
        if self.guard.is_some_and(|guard| guard.reg() == answer) {
            return;
        }
        let space = self.func.inst(inst).field::<Space>();
        let [shifted, parity] = [2, 1].map(|words| self.func.new_reg(RegInfo::words(words)));
        let odd = InstBuilder::new(Opcode::Shr).field(Type::U64).src(state).src(Operand::imm(ODD_PHASE));
        self.put(odd.dst(shifted));
        self.put(InstBuilder::new(Opcode::Mov).field(Type::B32).src(Operand::Word(shifted, 0)).dst(parity));
        let again = InstBuilder::new(Opcode::MbarrierWaitParity).field(Type::B64);
        let again = space.into_iter().fold(again, InstBuilder::field);
        self.put(again.src(base).src(offset).src(parity).dst(answer));
    }

    fn temporary(&mut self, format: Format) -> Reg {
        self.func.new_reg(RegInfo { file: RegFile::R, words: if format.wide { 2 } else { 1 } })
    }

    /// Flips bits of each word or pair of words.
    fn flip(&mut self, reg: Reg, words: u8, mask: u64) {
        let ty = if words == 2 { Type::B64 } else { Type::B32 };
        let mask = if words == 2 { mask } else { mask & u64::from(u32::MAX) };
        if words <= 2 {
            self.put(InstBuilder::new(Opcode::Xor).field(ty).dst(reg).src(reg).src(mask));
        }
    }

    /// A predicate that compares the magnitude of an element with a constant.
    fn compared(&mut self, reg: Reg, format: Format, place: u32, compare: Compare, with: u64) -> Reg {
        let (magnitude, pred) = (self.temporary(format), self.func.new_reg(RegInfo::PRED));
        let mask = (format.sign - 1) << place;
        self.put(InstBuilder::new(Opcode::And).field(format.bits()).dst(magnitude).src(reg).src(mask));
        let test = InstBuilder::new(Opcode::SetP).field(format.word()).field(compare);
        self.put(test.dst(pred).src(magnitude).src(with << place));
        pred
    }

    /// Changes a register by an operation with a constant, where a predicate holds.
    fn change(&mut self, reg: Reg, format: Format, opcode: Opcode, (pred, by): (Reg, u64)) {
        let is_sum = matches!(opcode, Opcode::IAdd | Opcode::ISub);
        let (amount, ty) = (self.temporary(format), if is_sum { format.word() } else { format.bits() });
        let select = InstBuilder::new(Opcode::SelP).field(format.bits()).dst(amount);
        self.put(select.src(by).src(0u64).src(pred));
        self.put(InstBuilder::new(opcode).field(ty).dst(reg).src(reg).src(amount));
    }

    /// Makes an element zero where a predicate holds.
    fn clear(&mut self, reg: Reg, format: Format, (pred, place): (Reg, u32)) {
        let kept = self.temporary(format);
        let (element, all) = (format.sign | (format.sign - 1), if format.wide { u64::MAX } else { u32::MAX.into() });
        let select = InstBuilder::new(Opcode::SelP).field(format.bits()).dst(kept);
        self.put(select.src(all & !(element << place)).src(all).src(pred));
        self.put(InstBuilder::new(Opcode::And).field(format.bits()).dst(reg).src(reg).src(kept));
    }

    /// Makes each of the least normal numbers a zero of its sign: one that is rounded up to it was subnormal before,
    /// and PTX does not say whether results are flushed before or after.
    fn flush_least(&mut self, reg: Reg, format: Format) {
        let least = 1 << format.significand;
        for &place in format.places {
            let is_least = self.compared(reg, format, place, Compare::Eq, least);
            self.change(reg, format, Opcode::Xor, (is_least, least << place));
        }
    }

    /// Makes each NaN a certain one. Flipping bits instead would do nothing where an operation follows that keeps them.
    fn other_nan(&mut self, reg: Reg, format: Format, choice: Choice) {
        let element = format.sign | (format.sign - 1);
        for &place in format.places {
            let is_nan = self.compared(reg, format, place, Compare::Gt, format.infinity);
            self.change(reg, format, Opcode::Or, (is_nan, element << place));
            self.change(reg, format, Opcode::Xor, (is_nan, (element ^ format.nan(choice)) << place));
        }
    }

    /// Makes each result of an approximate function larger or smaller. Where it is small its error is absolute, and
    /// even its sign is open; it may be zero.
    fn err(&mut self, reg: Reg, format: Format, error: u64, choice: Choice) {
        // 2^-10, in any format: exponents are biased by half of their largest.
        let one = (format.infinity >> 1) & !((1 << format.significand) - 1);
        let small = one - (10 << format.significand);
        for &place in format.places {
            let is_small = self.compared(reg, format, place, Compare::Lt, small);
            match choice {
                Choice::MixedSmaller => self.clear(reg, format, (is_small, place)),
                _ => {
                    let bits = choice.pick(format.sign, format.payload) << place;
                    self.change(reg, format, Opcode::Xor, (is_small, bits));
                }
            }
            let distance = choice.distance(error);
            let (compare, limit, opcode) = choice
                .pick((Compare::Lt, format.infinity - distance, Opcode::IAdd), (Compare::Gt, distance, Opcode::ISub));
            let fits = self.compared(reg, format, place, compare, limit);
            self.change(reg, format, opcode, (fits, distance << place));
        }
    }
}
