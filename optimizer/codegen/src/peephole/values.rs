//! The contents of the machine's registers: numbers of values, unit by unit, from instruction to instruction.
//!
//! Two units with the same number hold the same bits whenever control is here. An instruction whose results depend on
//! its operands alone makes the same values of the same operands (hash-based value numbering: Cocke and Schwartz, 1970;
//! Briggs, Cooper and Simpson, 1997); everything else makes new ones. `MOV` makes none: its result is its source's
//! value, and so is a word of a constant bank that `LDC` reads at an address without a register.
//!
//! At the beginning of a block a unit has the value on which all predecessors agree; around a loop, what no block of
//! the loop writes. Uniform registers begin anew: lanes that took another way of a branch may have written them
//! meanwhile. Those into which the function writes one constant alone keep it ([`Values::surveyed`]).
//!
//! **Invariant:** a value is never reused for other bits, so what was once found about it stays true.

mod width;

use cranelift_entity::EntityRef;
use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst, MachineId, Modifiers, Operand, PhysicalReg, Reg, RegFile};
use oriole_pass::analysis::Cfg;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// A value: 32 bits, or the truth of a predicate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Value(u32);

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Origin {
    /// Nobody knows.
    Opaque,
    /// It is this constant, as an immediate has it.
    Bits(u64),
    /// It is true.
    True,
    /// It is a word of a constant bank.
    Bank(u8, u32),
    /// It is a result of an instruction: its number in [`Values`], and which unit of its results.
    Made(Made, u8),
}

/// An instruction that makes values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Made(u32);

/// The values of an operand, lowest first.
pub type Several = SmallVec<[Value; 4]>;

/// A source of an instruction: an operand, and the values that it had.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Source {
    /// Its values, before its marks; none of what is no value, such as a name.
    pub values: Several,
    /// The operand as it stood there.
    pub operand: Operand,
}

/// An instruction whose results depend on what it reads alone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Maker {
    /// Its identity.
    pub id: MachineId,
    /// Its sources, in order.
    pub sources: Vec<Source>,
    /// The units of its results, by operand: the first and how many.
    pub results: Vec<(u8, u8)>,
}

/// The identity of values: an instruction, its operands without their places, and the stretch of code where that
/// matters.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Key {
    id: MachineId,
    /// The stretch of code, or the number of the load, where these matter.
    stretch: (u32, u32),
    sources: Vec<(Several, Modifiers, Option<Operand>)>,
}

/// The values of all registers at a place in a function.
#[derive(Debug)]
pub struct Values {
    /// By unit.
    held: Vec<Value>,
    origins: Vec<Origin>,
    makers: Vec<Maker>,
    known: FxHashMap<Origin, Value>,
    /// The first of the values that an instruction made.
    made: FxHashMap<Key, Value>,
    /// At the ends of blocks.
    ends: FxHashMap<Block, Vec<Value>>,
    /// The number of the stretch of code in which the same lanes execute together.
    stretch: u32,
    /// How many loads there were.
    loads: u32,
    /// The uniform registers into which nothing but one constant is written in the whole function, by their units.
    settled: FxHashMap<usize, Value>,
    /// The constant that is written into a uniform register, by its unit; `None` where there are several, or others.
    written: FxHashMap<usize, Option<Value>>,
}

/// The files whose registers hold values.
const FILES: [RegFile; 4] = [RegFile::R, RegFile::P, RegFile::UR, RegFile::UP];
/// The files of one value for a warp.
const UNIFORM: [RegFile; 2] = [RegFile::UR, RegFile::UP];

impl Values {
    /// Of a function in physical form, of which nothing is known.
    pub fn new(func: &Function) -> Values {
        let mut values = Values {
            held: Vec::new(),
            origins: Vec::new(),
            makers: Vec::new(),
            known: FxHashMap::default(),
            made: FxHashMap::default(),
            ends: FxHashMap::default(),
            stretch: 0,
            loads: 0,
            settled: FxHashMap::default(),
            written: FxHashMap::default(),
        };
        let unknown = values.opaque();
        values.held = vec![unknown; func.regs().len()];
        values.forget();
        values
    }

    fn new_value(&mut self, origin: Origin) -> Value {
        self.origins.push(origin);
        Value(self.origins.len() as u32 - 1)
    }

    fn opaque(&mut self) -> Value {
        self.new_value(Origin::Opaque)
    }

    /// The one value with an origin other than an instruction.
    fn constant(&mut self, origin: Origin) -> Value {
        match self.known.get(&origin) {
            Some(value) => *value,
            None => {
                let value = self.new_value(origin);
                self.known.insert(origin, value);
                value
            }
        }
    }

    /// Where a value comes from.
    pub fn origin(&self, value: Value) -> Origin {
        self.origins[value.0 as usize]
    }

    /// The instruction that made values.
    pub fn maker(&self, made: Made) -> &Maker {
        &self.makers[made.0 as usize]
    }

    /// The constant that an operand of one unit is.
    pub fn bits(&self, values: &[Value]) -> Option<u64> {
        match *values {
            [value] => match self.origin(value) {
                Origin::Bits(bits) => Some(bits),
                _ => None,
            },
            _ => None,
        }
    }

    /// The contents of a register.
    pub fn of_reg(&self, func: &Function, reg: Reg) -> Several {
        func.units(reg).map(|unit| self.held[unit.index()]).collect()
    }

    /// The values of an operand, without its marks.
    pub fn of(&mut self, func: &Function, operand: Operand) -> Several {
        match operand {
            Operand::Reg(reg) | Operand::Modified { reg, word: None, .. } => self.of_reg(func, reg),
            Operand::Wired { file: RegFile::P | RegFile::UP, .. } => {
                [self.constant(Origin::True)].into_iter().collect()
            }
            Operand::Wired { words, .. } => {
                let zero = self.constant(Origin::Bits(0));
                SmallVec::from_elem(zero, words.into())
            }
            Operand::Imm(imm) => [self.constant(Origin::Bits(func.bits(imm)))].into_iter().collect(),
            Operand::Const { bank, offset, .. } => [self.constant(Origin::Bank(bank, offset))].into_iter().collect(),
            _ => Several::new(),
        }
    }

    /// The register of a file that holds values side by side, where the machine can name it.
    pub fn holder(&self, func: &Function, file: RegFile, values: &[Value]) -> Option<Reg> {
        let first = PhysicalReg { file, number: 0, words: values.len() as u8 };
        let numbers = (0..PhysicalReg::count(file)).map(|number| PhysicalReg { number: number as u8, ..first });
        let named = numbers.filter(|reg| !reg.is_constant() && reg.is_aligned()).filter_map(PhysicalReg::reg);
        named.into_iter().find(|reg| self.of_reg(func, *reg)[..] == *values)
    }

    /// Of a function in physical form, with what is true of uniform registers in the whole of it: one into which the
    /// same constant is written everywhere holds that behind any such place.
    pub fn surveyed(func: &Function, cfg: &Cfg) -> Values {
        let mut survey = Values::new(func);
        for block in cfg.rpo() {
            survey.begin(func, cfg, *block);
            func.block_insts(*block).for_each(|inst| survey.step(func, inst));
            survey.end(*block);
        }
        let mut values = Values::new(func);
        for (unit, written) in &survey.written {
            if let Some(origin) = written.map(|value| survey.origin(value)) {
                let settled = values.constant(origin);
                values.settled.insert(*unit, settled);
            }
        }
        values
    }

    /// Goes to the beginning of a block.
    pub fn begin(&mut self, func: &Function, cfg: &Cfg, block: Block) {
        self.stretch += 1;
        let preds: SmallVec<[Block; 4]> = cfg.predecessors(block).iter().copied().collect();
        let (seen, later): (SmallVec<[Block; 4]>, SmallVec<[Block; 4]>) =
            preds.into_iter().partition(|pred| self.ends.contains_key(pred));
        let around = Around::of(func, cfg, block, &later);
        let (Some(first), Some(around)) = (seen.first().filter(|_| block != func.entry()), around) else {
            return self.forget();
        };
        let mut held = self.ends[first].clone();
        for (unit, value) in held.iter_mut().enumerate() {
            let agrees = seen[1..].iter().all(|pred| self.ends[pred][unit] == *value);
            let is_settled = self.settled.get(&unit) == Some(value);
            if !agrees || !is_settled && around.writes.contains(&Reg::new(unit)) {
                *value = self.opaque();
            }
        }
        self.held = held;
        self.forget_uniform();
    }

    /// Notes what registers hold at the end of a block.
    pub fn end(&mut self, block: Block) {
        self.ends.insert(block, self.held.clone());
    }

    /// Anything may be in any register.
    fn forget(&mut self) {
        self.forget_files(&FILES);
    }

    fn forget_uniform(&mut self) {
        for unit in UNIFORM.into_iter().flat_map(PhysicalReg::file_units) {
            let unit = unit.index();
            if self.settled.get(&unit) != Some(&self.held[unit]) {
                self.held[unit] = self.opaque();
            }
        }
    }

    fn forget_files(&mut self, files: &[RegFile]) {
        for unit in files.iter().copied().flat_map(PhysicalReg::file_units) {
            self.held[unit.index()] = self.opaque();
        }
    }

    /// The values that an instruction makes, by the units of its results. Under a guard, nobody knows whether it does.
    pub fn results(&mut self, func: &Function, inst: Inst) -> Several {
        let units: usize = func.dsts(inst).iter().map(|dst| usize::from(units_of(func, *dst))).sum();
        if let Some(copied) = self.copied(func, inst).filter(|copied| copied.len() == units) {
            return copied;
        }
        let data = func.inst(inst);
        let is_pure = data.opcode == Opcode::MachinePure;
        let is_same_here = data.machine_row().is_some_and(|row| row.name == "R2UR");
        let is_load = data.opcode == Opcode::MachineLoad;
        if !(is_pure || is_same_here || is_load) || data.guard.is_some() || func.unsaid_bits(inst) != 0 {
            return (0..units).map(|_| self.opaque()).collect();
        }
        // Another load may find something else.
        self.loads += u32::from(is_load);
        match (is_pure, is_load) {
            (true, _) => self.made(func, inst, (0, 0)),
            (_, true) => self.made(func, inst, (0, self.loads)),
            (false, false) => self.made(func, inst, (self.stretch, 0)),
        }
    }

    fn made(&mut self, func: &Function, inst: Inst, stretch: (u32, u32)) -> Several {
        let id = func.inst(inst).machine().expect("it is of the machine");
        let sources: Vec<Source> = func.srcs(inst).iter().map(|operand| self.source(func, *operand)).collect();
        let of_key = |source: &Source| {
            let own = Some(source.operand).filter(|_| source.values.is_empty());
            (source.values.clone(), source.operand.modifiers().without(Modifiers::REUSE), own)
        };
        let key = Key { id, stretch, sources: sources.iter().map(of_key).collect() };
        let mut first = 0;
        let results: Vec<(u8, u8)> = func
            .dsts(inst)
            .iter()
            .map(|dst| {
                let count = units_of(func, *dst);
                first += count;
                (first - count, count)
            })
            .collect();
        let start = match self.made.get(&key) {
            Some(known) => *known,
            None => {
                let made = Made(self.makers.len() as u32);
                self.makers.push(Maker { id, sources, results });
                let start = Value(self.origins.len() as u32);
                (0..first).for_each(|unit| self.origins.push(Origin::Made(made, unit)));
                self.made.insert(key, start);
                start
            }
        };
        (0..u32::from(first)).map(|unit| Value(start.0 + unit)).collect()
    }

    fn source(&mut self, func: &Function, operand: Operand) -> Source {
        Source { values: self.of(func, operand), operand }
    }

    /// The values that an instruction takes from elsewhere as they are.
    fn copied(&mut self, func: &Function, inst: Inst) -> Option<Several> {
        if func.inst(inst).guard.is_some() {
            return None;
        }
        if let Some(from) = func.machine_copy(inst).filter(|from| from.modifiers().without(Modifiers::REUSE).is_none())
        {
            return Some(self.of(func, from)).filter(|values| !values.is_empty());
        }
        let name = func.mnemonic(inst)?;
        if name == "R2UR" {
            return self.moved(func, inst);
        }
        let words = match name.as_str() {
            "LDC" | "ULDC" => 1,
            "LDC.64" | "ULDC.64" => 2,
            _ => return None,
        };
        let bank = match *func.srcs(inst) {
            [Operand::Wired { file: RegFile::R | RegFile::UR, .. }, bank] | [bank] => bank,
            _ => return None,
        };
        let Operand::Const { bank, offset, modifiers: Modifiers::NONE } = bank else { return None };
        Some((0..words).map(|word| self.constant(Origin::Bank(bank, offset + 4 * word))).collect())
    }

    /// The results of `R2UR` where all lanes have the same constant.
    fn moved(&mut self, func: &Function, inst: Inst) -> Option<Several> {
        let [source] = *func.srcs(inst) else { return None };
        let known = self.of(func, source);
        let [value] = known[..] else { return None };
        if !source.modifiers().without(Modifiers::REUSE).is_none()
            || !matches!(self.origin(value), Origin::Bits(_) | Origin::Bank(..))
        {
            return None;
        }
        let is_number = |dst: &Operand| matches!(func.operand_info(*dst), Some(info) if info.file == RegFile::UR);
        let results = func.dsts(inst).iter().map(|dst| if is_number(dst) { value } else { self.opaque() });
        Some(results.collect())
    }

    /// How many of the lower bits of a value may be set: the others are zero.
    pub fn width(&self, value: Value) -> u8 {
        width::of(self, value, width::MOST_STEPS)
    }

    /// Whether the results of an instruction hold what it makes already.
    pub fn has(&mut self, func: &Function, inst: Inst) -> bool {
        let made = self.results(func, inst);
        let mut made = made.iter();
        func.dsts(inst).iter().all(|dst| {
            let own: Several = made.by_ref().take(units_of(func, *dst).into()).copied().collect();
            match dst {
                Operand::Reg(reg) => self.of_reg(func, *reg) == own,
                _ => true,
            }
        })
    }

    /// Goes over an instruction.
    pub fn step(&mut self, func: &Function, inst: Inst) {
        if func.hands_over(inst) {
            return self.forget();
        }
        let made = self.results(func, inst);
        let mut made = made.into_iter();
        for dst in func.dsts(inst) {
            let count = usize::from(units_of(func, *dst));
            let own: Several = made.by_ref().take(count).collect();
            let Operand::Reg(reg) = *dst else { continue };
            let is_uniform = PhysicalReg::of(reg).is_some_and(|reg| UNIFORM.contains(&reg.file));
            for (unit, value) in func.units(reg).zip(own) {
                self.held[unit.index()] = value;
                if is_uniform {
                    let constant =
                        Some(value).filter(|_| matches!(self.origin(value), Origin::Bits(_) | Origin::Bank(..)));
                    let known = self.written.entry(unit.index()).or_insert(constant);
                    *known = known.filter(|known| Some(*known) == constant);
                }
            }
        }
        let opcode = func.inst(inst).opcode;
        if matches!(opcode, Opcode::MachineOp | Opcode::MachineState) || func.inst(inst).is(Flags::TERMINATOR) {
            self.stretch += 1;
            self.forget_uniform();
        }
    }
}

/// How many units a result has: those of a register, and as many of a wired one.
pub(super) fn units_of(func: &Function, operand: Operand) -> u8 {
    match operand {
        Operand::Reg(reg) => func.units(reg).count() as u8,
        Operand::Wired { words, .. } => words,
        _ => 1,
    }
}

/// The registers that the blocks of a loop write.
struct Around {
    writes: FxHashSet<Reg>,
}

impl Around {
    /// Of the loop that leads back to a block from others, which were not seen yet; `None` where it can be entered
    /// elsewhere, or hands the registers over.
    fn of(func: &Function, cfg: &Cfg, header: Block, back: &[Block]) -> Option<Around> {
        let mut inside: FxHashSet<Block> = FxHashSet::from_iter([header]);
        let mut stack = back.to_vec();
        while let Some(block) = stack.pop() {
            if inside.insert(block) {
                if block == func.entry() {
                    return None;
                }
                stack.extend(cfg.predecessors(block));
            }
        }
        if back.is_empty() {
            return Some(Around { writes: FxHashSet::default() });
        }
        let insts = || inside.iter().flat_map(|block| func.block_insts(*block));
        if insts().any(|inst| func.hands_over(inst)) {
            return None;
        }
        Some(Around { writes: insts().flat_map(|inst| func.defs(inst)).collect() })
    }
}
