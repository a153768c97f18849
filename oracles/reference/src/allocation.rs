//! Whether registers of the machine hold what the code before allocation reads.
//!
//! [`check`] takes a function with virtual registers and the same one in physical form, and says which instruction each
//! one of the latter was. It follows, on every way, which words of virtual registers each place holds, a register or a
//! word of the frame, as regalloc2's checker does. An instruction that was there before reads each word from a place
//! that holds it. One that was added copies, keeps a value in the frame, or makes a constant again. One that is gone
//! was a copy, or made a constant.
//!
//! Predicates are kept as numbers in general registers, or as bits of one: `P2R` puts bits in, and `R2P` takes them
//! out. Two faults have names of their own, those of the document's verifier (cases 3 and 8): bits that are taken out
//! and were never put in, and a register with bits that something else has written between.
//!
//! A word that nothing has written on some way is held by every place on that way. Values of other lanes are not
//! followed.
//!
//! Cost: places times instructions, for as many rounds as loops need.

use std::collections::{BTreeMap, BTreeSet};

use oriole_ir::machine::HandsOver;
use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, FuncId, Function, Inst, Modifiers, Operand, PhysicalReg, Reg, RegFile};

use crate::graph::Graph;

/// A fault of an allocation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misplaced {
    /// The block.
    pub block: Block,
    /// The instruction, in physical form where it has one.
    pub inst: String,
    /// Its fault.
    pub what: Wrong,
}

/// The fault of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// It reads another value than it did: the register of before, and its word.
    Value(Reg, u8),
    /// A register of several words does not begin where the machine wants it.
    Alignment,
    /// It is not the instruction that it was.
    Changed,
    /// It was neither a copy nor a constant, and is gone, or comes in another order.
    Gone,
    /// It was added, and nothing that allocation adds.
    Added,
    /// The blocks are not those of before.
    Blocks,
    /// It reads a predicate that `R2P` takes from a bit which no `P2R` puts in: case 3.
    Pattern(Reg),
    /// The same, where the register with the bits was written between: case 8.
    Base(Reg),
    /// It returns, and a register that the caller keeps something in has another value: its file and number.
    Kept(RegFile, u8),
}

/// The registers, by files and numbers, that a function that is called leaves as they are.
fn saved() -> impl Iterator<Item = (RegFile, u8)> {
    (22..32).map(|number| (RegFile::R, number)).chain((6..16).map(|number| (RegFile::B, number)))
}

impl std::fmt::Display for Misplaced {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Misplaced { block, inst, what } = self;
        write!(out, "{block}: `{inst}` ")?;
        match what {
            Wrong::Value(reg, word) => write!(out, "reads another value than word {word} of {reg}"),
            Wrong::Alignment => out.write_str("names a register that is not aligned"),
            Wrong::Changed => out.write_str("is not the instruction that it was"),
            Wrong::Gone => out.write_str("is gone, and was neither a copy nor a constant"),
            Wrong::Added => out.write_str("was added, and is nothing that allocation adds"),
            Wrong::Kept(file, number) => {
                write!(out, "returns with another value in {file:?}{number} than the caller had there")
            }
            Wrong::Pattern(reg) => {
                write!(out, "reads {reg}, P2R_R2P_PATTERN_FAILURE: no P2R puts in what R2P takes out")
            }
            Wrong::Base(reg) => {
                write!(out, "reads {reg}, P2R_R2P_BASE_DESTROYED: the register with its bit was written between")
            }
            Wrong::Blocks => out.write_str("is in blocks that are not those of before"),
        }
    }
}

/// A word of a virtual register by its number; behind all of them the same words of predicates as numbers in general
/// registers, then the address that the frame is counted from, what the caller has in registers, and the words of
/// predicates as bits: for each bit all of them.
type Value = u32;

/// Values for what a caller has in registers.
const OWN: u32 = 512;
/// The bits of a register that predicates are kept in.
const BITS: u32 = 8;

/// A register unit, or a word of the frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Place {
    Unit(RegFile, u8),
    Frame(u64),
}

/// Values by place, at a point of the code.
#[derive(Clone, PartialEq, Eq, Debug)]
struct State {
    /// By place: the values that it holds, sorted.
    holds: BTreeMap<Place, Vec<Value>>,
    /// By word: whether nothing has written it yet.
    undefined: Vec<bool>,
}

/// Of so many words, the one that a value is, as a number or a bit too.
fn word_of(words: usize, value: Value) -> Option<usize> {
    let (value, first_bit) = (value as usize, 2 * words + 1 + OWN as usize);
    match value {
        _ if value < 2 * words => Some(value % words),
        _ if value >= first_bit && words > 0 => Some((value - first_bit) % words),
        _ => None,
    }
}

impl State {
    fn has(&self, place: Place, value: Value) -> bool {
        // The number and the bits of an undefined predicate are as undefined.
        let is_undefined = self.word(value).is_some_and(|word| self.undefined[word]);
        is_undefined || self.holds.get(&place).is_some_and(|held| held.binary_search(&value).is_ok())
    }

    /// The word that a value is, as a number or a bit too.
    fn word(&self, value: Value) -> Option<usize> {
        word_of(self.undefined.len(), value)
    }

    /// Forgets a word everywhere, its number and its bits, too.
    fn forget(&mut self, value: Value) {
        let (words, word) = (self.undefined.len(), self.word(value));
        self.holds.retain(|_, held| {
            held.retain(|other| *other != value && (word.is_none() || word_of(words, *other) != word));
            !held.is_empty()
        });
    }

    fn put(&mut self, place: Place, mut values: Vec<Value>) {
        values.sort_unstable();
        values.dedup();
        if values.is_empty() {
            self.holds.remove(&place)
        } else {
            self.holds.insert(place, values)
        };
    }

    fn at(&self, place: Place) -> Vec<Value> {
        self.holds.get(&place).cloned().unwrap_or_default()
    }

    /// Keeps values that both of two ways agree on; whether these are fewer than on this one.
    fn meet(&mut self, other: &State) -> bool {
        let mut met: BTreeMap<Place, Vec<Value>> = BTreeMap::new();
        let mut places: Vec<Place> = self.holds.keys().chain(other.holds.keys()).copied().collect();
        places.sort_unstable();
        places.dedup();
        for place in places {
            let mut values = self.at(place);
            values.extend(other.at(place));
            values.sort_unstable();
            values.dedup();
            values.retain(|value| self.has(place, *value) && other.has(place, *value));
            if !values.is_empty() {
                met.insert(place, values);
            }
        }
        let undefined = self.undefined.iter().zip(&other.undefined).map(|(one, other)| *one && *other).collect();
        let met = State { holds: met, undefined };
        let changed = met != *self;
        *self = met;
        changed
    }
}

/// The key of a constant: the text of an instruction that reads no register, without its result.
type Key = String;

/// The function before allocation, and what follows from it alone.
struct Before<'a> {
    func: &'a Function,
    /// By register: the number of its first word.
    start: Vec<Value>,
    words: u32,
    /// By register: how many instructions write it.
    definitions: Vec<u32>,
    /// By register: the key of the constant that it is.
    constants: Vec<Option<Key>>,
}

impl<'a> Before<'a> {
    fn new(func: &'a Function) -> Before<'a> {
        let mut start = Vec::new();
        let mut words = 0;
        for info in func.regs().values() {
            start.push(words);
            words += u32::from(info.words);
        }
        let mut before = Before {
            func,
            start,
            words,
            definitions: vec![0; func.regs().len()],
            constants: vec![None; func.regs().len()],
        };
        for inst in func.layout_insts() {
            let mut written: Vec<Reg> = func.dsts(inst).iter().filter_map(|dst| dst.reg()).collect();
            written.dedup();
            written.iter().for_each(|reg| before.definitions[reg.as_u32() as usize] += 1);
        }
        for inst in func.layout_insts() {
            if let ([Operand::Reg(reg)], None, Some(key)) = (func.dsts(inst), func.inst(inst).guard, key(func, inst))
                && before.definitions[reg.as_u32() as usize] == 1
            {
                before.constants[reg.as_u32() as usize] = Some(key);
            }
        }
        before
    }

    fn first(&self, reg: Reg) -> Value {
        self.start[reg.as_u32() as usize]
    }

    fn len(&self, reg: Reg) -> u8 {
        self.func.regs()[reg].words
    }

    /// A predicate's word as a number.
    fn flag(&self, value: Value) -> Value {
        self.words + value
    }

    fn top(&self) -> Value {
        2 * self.words
    }

    /// The value that the caller has in a register that is left as it is.
    fn own(&self, file: RegFile, number: u8) -> Value {
        self.top() + 1 + u32::from(number) + if file == RegFile::B { 256 } else { 0 }
    }

    /// A predicate's word as a bit.
    fn bit(&self, value: Value, bit: u32) -> Value {
        self.top() + 1 + OWN + bit * self.words + value
    }

    /// The predicate's word that a value is as a bit.
    fn of_bit(&self, value: Value, bit: u32) -> Option<Value> {
        let first = self.bit(0, bit);
        (first..first + self.words).contains(&value).then(|| value - first)
    }

    /// The register and word of a value.
    fn named(&self, value: Value) -> (Reg, u8) {
        let at = self.start.partition_point(|start| *start <= value).saturating_sub(1);
        (Reg::from_u32(at as u32), (value - self.start[at]) as u8)
    }

    /// The words that an operand names.
    fn values(&self, operand: Operand) -> std::ops::Range<Value> {
        match operand {
            Operand::Reg(reg) | Operand::Modified { reg, word: None, .. } => {
                self.first(reg)..self.first(reg) + u32::from(self.len(reg))
            }
            Operand::Word(reg, word) | Operand::Modified { reg, word: Some(word), .. } => {
                let at = self.first(reg) + u32::from(word);
                at..at + 1
            }
            _ => 0..0,
        }
    }

    /// A copy of a word, under whatever guard: to which, and from which.
    fn copied(&self, inst: Inst) -> Option<(Value, Value)> {
        let (to, from) = self.copied_words(inst)?;
        (to.len() == 1).then_some((to.start, from.start))
    }

    /// A copy of words, each to the one in its place.
    fn copied_words(&self, inst: Inst) -> Option<(std::ops::Range<Value>, std::ops::Range<Value>)> {
        let (func, data) = (self.func, self.func.inst(inst));
        let ([to], Some(from)) = (func.dsts(inst), func.srcs(inst).first()) else { return None };
        let is_whole = func.srcs(inst).get(1).is_none_or(|mask| func.imm_bits(*mask) == Some(0xf));
        let is_copy = data.machine_row().is_some_and(|row| row.copies) && is_whole;
        let (to, from) = (self.values(*to), self.values(*from));
        let is_plain = func.srcs(inst).first().is_some_and(|from| from.modifiers().is_none());
        (is_copy && is_plain && !to.is_empty() && to.len() == from.len()).then_some((to, from))
    }
}

/// The key of an instruction that makes the same wherever it is.
fn key(func: &Function, inst: Inst) -> Option<Key> {
    let data = func.inst(inst);
    let is_constant = data.opcode == Opcode::MachinePure && func.inputs(inst).iter().all(|src| src.reg().is_none());
    let text = is_constant.then(|| oriole_ir::inst_to_string(func, inst, None))?;
    let behind = text.split(" = ").nth(1)?;
    // The line of the source is behind the operands.
    Some(behind.split(" !").next()?.trim_end().to_owned())
}

/// The units of a register of the machine, and whether it is aligned.
fn units(operand: Operand) -> Option<(Vec<Place>, bool)> {
    let reg = operand.reg()?;
    let PhysicalReg { file, number, words } = PhysicalReg::of(reg)?;
    let is_aligned = number.is_multiple_of(words.next_power_of_two());
    Some(((0..words).map(|word| Place::Unit(file, number.wrapping_add(word))).collect(), is_aligned))
}

/// The registers of the code before allocation that other code knows, with the numbers of their first general
/// registers.
#[derive(Clone, Copy, Default, Debug)]
pub struct Outside<'a> {
    /// The one that the frame may be counted from.
    pub stack: Option<Reg>,
    /// Those that functions outside of the module leave results in.
    pub results: &'a [(Reg, u16)],
    /// Those that the caller puts something into, and this code nothing: the address to return to.
    pub given: &'a [(Reg, u16)],
    /// Those that calls of functions of this kernel hand over, and that such a function returns: operands that the
    /// words of a call and of a return do not have.
    pub passed: &'a [(Reg, u16)],
    /// The functions that take and return them, in physical form. What they do not write they leave as it is.
    pub sequences: &'a [(FuncId, &'a Function)],
}

/// Finds the faults of an allocation. `origin` says which instruction of `before` one of `after` was.
pub fn check(
    before: &Function,
    after: &Function,
    Outside { stack, results, given, passed, sequences }: Outside<'_>,
    origin: &dyn Fn(Inst) -> Option<Inst>,
) -> Vec<Misplaced> {
    let code = Before::new(before);
    let graph = Graph::of(before);
    if before.layout() != after.layout() {
        let block = before.layout().first().copied().unwrap_or(Block::from_u32(0));
        return vec![Misplaced { block, inst: before.name.clone(), what: Wrong::Blocks }];
    }
    let mut follow = Follow {
        before: &code,
        after,
        origin,
        stack,
        results,
        passed,
        sequences,
        frame: None,
        saved_bits: saved_bits(after),
        lost: BTreeMap::new(),
        found: Vec::new(),
    };
    let mut states: Vec<Option<State>> = vec![None; graph.blocks.len()];
    if let Some(first) = states.first_mut() {
        // What the caller has in each register that is left as it is: a value of its own.
        let own = saved().map(|(file, number)| (Place::Unit(file, number), vec![code.own(file, number)]));
        let mut state = State { holds: own.collect(), undefined: vec![true; code.words as usize] };
        for (reg, number) in given {
            for (word, value) in (0u8..).zip(code.values(Operand::Reg(*reg))) {
                state.put(Place::Unit(RegFile::R, *number as u8 + word), vec![value]);
                state.undefined[value as usize] = false;
            }
        }
        *first = Some(state);
    }
    let mut work = vec![0];
    while let Some(at) = work.pop() {
        let Some(mut state) = states.get(at).cloned().flatten() else { continue };
        follow.block(graph.blocks[at], &mut state);
        for next in &graph.successors[at] {
            let changed = match &mut states[*next] {
                Some(known) => known.meet(&state),
                unknown => {
                    *unknown = Some(state.clone());
                    true
                }
            };
            if changed && !work.contains(next) {
                work.push(*next);
            }
        }
    }
    // What is wrong is said with what is known in the end.
    follow.found.clear();
    for (at, state) in states.into_iter().enumerate() {
        if let Some(mut state) = state {
            follow.block(graph.blocks[at], &mut state);
        }
    }
    follow.found
}

struct Follow<'a> {
    before: &'a Before<'a>,
    after: &'a Function,
    origin: &'a dyn Fn(Inst) -> Option<Inst>,
    stack: Option<Reg>,
    results: &'a [(Reg, u16)],
    passed: &'a [(Reg, u16)],
    sequences: &'a [(FuncId, &'a Function)],
    /// The operand that the frame is counted from.
    frame: Option<Operand>,
    /// The bits that some `P2R` puts in.
    saved_bits: u64,
    /// In the block, predicates that `R2P` has taken from nowhere, and whether that bit is put in somewhere.
    lost: BTreeMap<Place, bool>,
    found: Vec<Misplaced>,
}

/// The bits that instructions of a function put into registers from predicates.
fn saved_bits(func: &Function) -> u64 {
    let is_save = |inst: &Inst| func.mnemonic(*inst).is_some_and(|name| name == "P2R");
    let saves = func.layout_insts().filter(is_save);
    saves.filter_map(|inst| func.imm_bits(*func.srcs(inst).last()?)).fold(0, |all, bits| all | bits)
}

impl Follow<'_> {
    fn wrong(&mut self, block: Block, func: &Function, inst: Inst, what: Wrong) {
        let inst = oriole_ir::inst_to_string(func, inst, None);
        let found = Misplaced { block, inst, what };
        if !self.found.contains(&found) {
            self.found.push(found);
        }
    }

    fn block(&mut self, block: Block, state: &mut State) {
        self.lost.clear();
        let mut rest = self.before.func.block_insts(block).collect::<Vec<_>>().into_iter();
        for inst in self.after.block_insts(block).collect::<Vec<_>>() {
            let Some(own) = (self.origin)(inst) else {
                self.added(block, inst, state);
                continue;
            };
            let mut met = false;
            for other in rest.by_ref() {
                if other == own {
                    met = true;
                    break;
                }
                self.gone(block, other, state);
            }
            if met {
                self.kept(block, own, inst, state);
            } else {
                self.wrong(block, self.after, inst, Wrong::Gone);
            }
        }
        rest.for_each(|other| self.gone(block, other, state));
    }

    /// An instruction of before that is no longer there.
    fn gone(&mut self, block: Block, inst: Inst, state: &mut State) {
        let func = self.before.func;
        if let Some((to, from)) = self.before.copied_words(inst) {
            // Where a guard keeps it away, the value before must be none, or the same.
            let is_undefined = |word: Value| state.undefined[word as usize];
            if func.inst(inst).guard.is_none() || to == from || to.clone().all(is_undefined) {
                return to.zip(from).for_each(|(to, from)| copy(state, to, from));
            }
            if !to.zip(from).all(|(to, from)| meet_copy(state, to, from)) {
                self.wrong(block, func, inst, Wrong::Gone);
            }
            return;
        }
        match func.dsts(inst) {
            [Operand::Reg(reg)] if self.before.constants[reg.as_u32() as usize].is_some() => {
                self.before.values(Operand::Reg(*reg)).for_each(|value| state.undefined[value as usize] = false);
            }
            _ => self.wrong(block, func, inst, Wrong::Gone),
        }
    }

    /// An instruction that is still there.
    fn kept(&mut self, block: Block, own: Inst, inst: Inst, state: &mut State) {
        let (func, after) = (self.before.func, self.after);
        let (old, new) = (func.inst(own), after.inst(inst));
        // What is handed over with a call or a return is in its place, and no operand of the word.
        let function = func.srcs(own).iter().position(|src| matches!(src, Operand::Func(_)));
        let (own_dsts, own_srcs, handed) = match function {
            Some(last) => (&[][..], &func.srcs(own)[..=last], &func.srcs(own)[last + 1..]),
            None => (func.dsts(own), func.inputs(own), &[][..]),
        };
        let is_same = (old.opcode, old.fields) == (new.opcode, new.fields)
            && own_dsts.len() == after.dsts(inst).len()
            && own_srcs.len() == after.inputs(inst).len()
            && old.guard.is_some() == new.guard.is_some();
        if !is_same {
            return self.wrong(block, after, inst, Wrong::Changed);
        }
        let mut reads: Vec<(Value, Place)> = Vec::new();
        let mut writes: Vec<(Value, Place)> = Vec::new();
        handed.iter().for_each(|operand| reads.extend(self.handed(*operand)));
        let operands = own_srcs.iter().zip(after.inputs(inst)).map(|pair| (pair, false));
        let results = own_dsts.iter().zip(after.dsts(inst)).map(|pair| (pair, true));
        for ((old, new), is_result) in operands.chain(results) {
            let Some((places, is_aligned)) = units(*new).filter(|_| old.reg().is_some()) else {
                let is_name = |operand: &Operand| matches!(operand, Operand::Name(_));
                if func.free(*old) != after.free(*new) && !(is_name(old) && is_name(new)) {
                    self.wrong(block, after, inst, Wrong::Changed);
                }
                continue;
            };
            let values = self.before.values(*old);
            let file = old.reg().map(|reg| func.regs()[reg].file);
            let same_file = places.iter().all(|place| matches!(place, Place::Unit(own, _) if Some(*own) == file));
            if values.len() != places.len() || old.modifiers() != new.modifiers() || !same_file {
                self.wrong(block, after, inst, Wrong::Changed);
                continue;
            }
            if !is_aligned {
                self.wrong(block, after, inst, Wrong::Alignment);
            }
            if is_result { &mut writes } else { &mut reads }.extend(values.zip(places));
        }
        if let (Some(old), Some(new)) = (old.guard, new.guard) {
            if old.negated() != new.negated() {
                self.wrong(block, after, inst, Wrong::Changed);
            }
            let places = units(Operand::Reg(new.reg())).map(|(places, _)| places).unwrap_or_default();
            reads.extend(self.before.values(Operand::Reg(old.reg())).zip(places));
        }
        for (value, place) in &reads {
            if !state.has(*place, *value) {
                let (reg, word) = self.before.named(*value);
                let what = match self.lost.get(place) {
                    Some(false) => Wrong::Pattern(reg),
                    Some(true) => Wrong::Base(reg),
                    None => Wrong::Value(reg, word),
                };
                self.wrong(block, after, inst, what);
            }
        }
        self.lost.retain(|place, _| !writes.iter().any(|(_, written)| written == place));
        if after.mnemonic(inst).is_some_and(|mnemonic| mnemonic.starts_with("RET")) {
            // A function that takes operands in registers is called where it is known which ones it writes.
            for (file, number) in saved().filter(|(file, _)| handed.is_empty() || *file == RegFile::B) {
                if !state.has(Place::Unit(file, number), self.before.own(file, number)) {
                    self.wrong(block, after, inst, Wrong::Kept(file, number));
                }
            }
        }
        if old.machine_row().is_some_and(|row| row.hands_over == HandsOver::Always) && !old.is(Flags::TERMINATOR) {
            // A function that is called leaves the frame, the stack pointer, and some registers and barriers.
            let tops = self.stack.map(|stack| self.before.first(stack));
            let callee = after.srcs(inst).iter().find_map(|operand| match operand {
                Operand::Func(id) => self.sequences.iter().find(|(known, _)| known == id),
                _ => None,
            });
            let written = callee.map(|(_, callee)| written(callee));
            let is_kept = |place: &Place, held: &[Value]| {
                let is_left = match (place, &written) {
                    (Place::Frame(_), _) => true,
                    (place, Some(written)) => !written.contains(place),
                    (Place::Unit(file, number), None) => saved().any(|own| own == (*file, *number)),
                };
                is_left || tops.is_some_and(|tops| held.contains(&tops))
            };
            state.holds.retain(|place, held| is_kept(place, held));
            let is_outside = !after.srcs(inst).iter().any(|operand| matches!(operand, Operand::Func(_)));
            let mut left: BTreeMap<Place, Vec<Value>> = BTreeMap::new();
            for (reg, number) in self.results.iter().filter(|_| is_outside) {
                for word in 0..self.before.len(*reg) {
                    let value = self.before.first(*reg) + u32::from(word);
                    state.forget(value);
                    left.entry(Place::Unit(RegFile::R, *number as u8 + word)).or_default().push(value);
                }
            }
            left.into_iter().for_each(|(place, values)| state.put(place, values));
            if function.is_some() {
                for (value, place) in func.dsts(own).iter().flat_map(|operand| self.handed(*operand)) {
                    state.forget(value);
                    state.undefined[value as usize] = false;
                    state.put(place, vec![value]);
                }
            }
        }
        if let (Some((to, from)), [(_, place)], None) = (self.before.copied(own), &writes[..], old.guard) {
            let source = units(after.srcs(inst)[0]).and_then(|(places, _)| places.first().copied());
            let held = source.map(|source| state.at(source)).unwrap_or_default();
            copy(state, to, from);
            // The place holds all that the source held, whose copy it is; the old value of the result is gone.
            let held: Vec<Value> = held.into_iter().filter(|value| *value != to).chain([to]).collect();
            return state.put(*place, held);
        }
        // A barrier that is kept in a register, or put back, is that of the caller.
        let moved: Vec<Value> = match (&reads[..], after.mnemonic(inst)) {
            ([(_, from)], Some(mnemonic)) if mnemonic.starts_with("BMOV") => {
                let own = self.before.top() + 1..self.before.bit(0, 0);
                state.at(*from).into_iter().filter(|value| own.contains(value)).collect()
            }
            _ => Vec::new(),
        };
        let held: Vec<bool> = writes.iter().map(|(value, place)| state.has(*place, *value)).collect();
        for ((value, place), held) in writes.iter().zip(held) {
            let (reg, word) = self.before.named(*value);
            let is_certain = old.guard.is_none() || held;
            let mut values = vec![*value];
            match &self.before.constants[reg.as_u32() as usize] {
                Some(key) => values = self.equal(key, word, self.before.len(reg)),
                None => state.forget(*value),
            }
            state.undefined[*value as usize] = false;
            values.extend(&moved);
            state.put(*place, if is_certain { values } else { Vec::new() });
        }
    }

    /// The words of a register that is handed over, with the places where they are then.
    fn handed(&self, operand: Operand) -> Vec<(Value, Place)> {
        let first = self.passed.iter().find(|(reg, _)| Some(*reg) == operand.reg()).map_or(0, |(_, first)| *first);
        let places = (first as u8..).map(|number| Place::Unit(RegFile::R, number));
        self.before.values(operand).zip(places).collect()
    }

    /// The words of all constants with a key.
    fn equal(&self, key: &Key, word: u8, len: u8) -> Vec<Value> {
        let constants = self.before.constants.iter().zip(0u32..);
        let same =
            constants.filter(|(other, reg)| other.as_ref() == Some(key) && self.before.len(Reg::from_u32(*reg)) == len);
        same.map(|(_, reg)| self.before.first(Reg::from_u32(reg)) + u32::from(word)).collect()
    }

    /// An instruction that was not there.
    fn added(&mut self, block: Block, inst: Inst, state: &mut State) {
        let after = self.after;
        let mnemonic = after.mnemonic(inst).unwrap_or_default();
        let (dsts, srcs) = (after.dsts(inst), after.srcs(inst));
        let places = |operand: Option<&Operand>| operand.and_then(|operand| units(*operand));
        if mnemonic == "NOP" {
            return;
        }
        let target = places(dsts.first());
        if target.as_ref().is_some_and(|(_, is_aligned)| !is_aligned) {
            self.wrong(block, after, inst, Wrong::Alignment);
        }
        let target = target.map(|(places, _)| places).unwrap_or_default();
        let top = |state: &State| {
            let base = places(srcs.first()).and_then(|(places, _)| places.first().copied());
            let tops = self.stack.map_or(self.before.top(), |stack| self.before.first(stack));
            base.is_some_and(|base| state.at(base).contains(&tops))
        };
        let offset = srcs.get(1).and_then(|offset| after.imm_bits(*offset));
        let mask = srcs.last().and_then(|mask| after.imm_bits(*mask));
        let inverted = |operand: Option<&Operand>| operand.is_some_and(|it| it.modifiers().has(Modifiers::INVERT));
        let made = match (mnemonic.split('.').next().unwrap_or_default(), after.inst(inst).guard) {
            ("LDC", None) if self.constant(inst, target.len()).is_none() => {
                let source = srcs.get(1).copied();
                let is_same =
                    *self.frame.get_or_insert(source.unwrap_or(Operand::Undef)) == source.unwrap_or(Operand::Undef);
                is_same.then(|| vec![vec![self.before.top()]])
            }
            ("LDL", None) if top(state) => offset
                .map(|offset| (0..target.len() as u64).map(|word| state.at(Place::Frame(offset / 4 + word))).collect()),
            ("STL", None) if top(state) => {
                let Some(((from, _), offset)) = places(srcs.get(2)).zip(offset) else {
                    return self.wrong(block, after, inst, Wrong::Added);
                };
                for (word, place) in (0u64..).zip(from) {
                    let held = state.at(place);
                    state.put(Place::Frame(offset / 4 + word), held);
                }
                return;
            }
            ("SEL", None) if inverted(srcs.get(2)) => places(srcs.get(2)).map(|(from, _)| {
                let held = state.at(from[0]).into_iter().filter(|value| *value < self.before.words);
                vec![held.map(|value| self.before.flag(value)).collect()]
            }),
            ("ISETP", None) if mnemonic == "ISETP.NE.AND" => places(srcs.first()).map(|(from, _)| {
                let is_flag = |value: &Value| (self.before.words..self.before.top()).contains(value);
                let held = state.at(from[0]).into_iter().filter(is_flag);
                vec![held.map(|value| value - self.before.words).collect()]
            }),
            ("P2R", None) if mnemonic == "P2R" => {
                let Some((mask, before)) = mask.zip(srcs.len().checked_sub(2)) else {
                    return self.wrong(block, after, inst, Wrong::Added);
                };
                let base = places(srcs.get(before)).map(|(base, _)| state.at(base[0])).unwrap_or_default();
                // Bits beside those of the mask stay.
                let others = (0..BITS).filter(|bit| mask >> bit & 1 == 0);
                let stays = |value: &Value| others.clone().any(|bit| self.before.of_bit(*value, bit).is_some());
                let mut held: Vec<Value> = base.into_iter().filter(stays).collect();
                for predicate in srcs[..before].iter().filter_map(|src| PhysicalReg::of(src.reg()?)) {
                    let values = state.at(Place::Unit(predicate.file, predicate.number)).into_iter();
                    let own = values.filter(|value| *value < self.before.words);
                    held.extend(own.map(|value| self.before.bit(value, predicate.number.into())));
                }
                Some(vec![held])
            }
            ("R2P", None) if mnemonic == "R2P" => {
                let held = places(srcs.first()).map(|(base, _)| state.at(base[0])).unwrap_or_default();
                for dst in dsts.iter().filter_map(|dst| PhysicalReg::of(dst.reg()?)) {
                    let (bit, place) = (u32::from(dst.number), Place::Unit(dst.file, dst.number));
                    let values: Vec<Value> = held.iter().filter_map(|value| self.before.of_bit(*value, bit)).collect();
                    self.lost.remove(&place);
                    if values.is_empty() {
                        self.lost.insert(place, self.saved_bits >> bit & 1 == 1);
                    }
                    state.put(place, values);
                }
                return;
            }
            (_, None) => self.constant(inst, target.len()),
            _ => None,
        };
        let Some(made) = made.filter(|made: &Vec<Vec<Value>>| made.len() == target.len()) else {
            return self.wrong(block, after, inst, Wrong::Added);
        };
        for (place, values) in target.into_iter().zip(made) {
            self.lost.remove(&place);
            state.put(place, values);
        }
    }

    /// The words that an added instruction makes again.
    fn constant(&self, inst: Inst, len: usize) -> Option<Vec<Vec<Value>>> {
        let key = key(self.after, inst)?;
        let words = (0..len as u8).map(|word| self.equal(&key, word, len as u8));
        let words: Vec<Vec<Value>> = words.collect();
        words.iter().all(|values| !values.is_empty()).then_some(words)
    }
}

/// The registers that a function in physical form writes.
fn written(func: &Function) -> BTreeSet<Place> {
    func.layout_insts()
        .flat_map(|inst| func.dsts(inst))
        .filter_map(|dst| units(*dst))
        .flat_map(|(all, _)| all)
        .collect()
}

/// A word perhaps becomes another one: it is where both were. Whether there is such a place.
fn meet_copy(state: &mut State, to: Value, from: Value) -> bool {
    let mut is_met = false;
    for held in state.holds.values_mut() {
        if held.contains(&from) {
            is_met |= held.contains(&to);
        } else {
            held.retain(|value| *value != to);
        }
    }
    state.holds.retain(|_, held| !held.is_empty());
    is_met
}

/// A word becomes another one: wherever the one is, both are.
fn copy(state: &mut State, to: Value, from: Value) {
    if to == from {
        return;
    }
    state.forget(to);
    for held in state.holds.values_mut() {
        if held.contains(&from)
            && let Err(at) = held.binary_search(&to)
        {
            held.insert(at, to);
        }
    }
    state.undefined[to as usize] = state.undefined[from as usize];
}
