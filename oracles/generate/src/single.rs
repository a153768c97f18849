//! One operation at a time: every legal value of every field of every row, on corner operands.
//!
//! The cases of this generator walk through a list of *pins*, a row with one value of one of its fields each, in a
//! fixed shuffled order: after one lap every legal value has been executed, and a wrong evaluation of one operation
//! waits for no luck in flow or data. What the pin leaves open is chosen at random.
//!
//! An operation whose results follow from its operands is repeated [`Config::repeats`] times on different operands:
//! constants alone, which the optimizer folds and the interpreter computes; constants beside registers, where
//! identities apply; registers, of which every lane has corner values of its own; and the same register several times.
//! Each result is stored as it is. Others (memory, barriers, collectives, effects) are in the frame of a whole
//! kernel.
//!
//! Rows are picked up from the table by level ([`Config::level`]) the day they land.

use std::sync::LazyLock;

use oriole_ir::ops::{Compare, Field, FieldValues, OpRow, Opcode, ROWS, Space, SpecialReg, Type};
use oriole_ir::{Function, FunctionKind, InstBuilder, Linkage, Module, Operand, Reg, RegInfo, Variable};

use super::Generated;
use super::bounded::RANGED;
use super::builder::Builder;
use super::config::{Config, TableLevel};
use super::entropy::Entropy;
use super::insts::{Family, result_info};
use super::kernel;
use super::recompute::{exchange, is_exchangeable};
use super::values::{Place, extreme};
use oriole_launch::random::SplitMix64;
use oriole_launch::{Arg, ArgValue, Buffer, Launch, NamedLaunch};

/// Threads of the kernel: one warp, so that registers take 32 values of each operand.
const LANES: u32 = 32;
/// Bytes of one operand or result of a lane: the widest value.
const VALUE: u32 = 16;
/// Operands of a lane in memory at most; rows with more types fall back to constants.
const MOST_OPERANDS: usize = 24;
/// Registers of a type: as many as operations have operands of one type, mostly.
const REGISTERS: usize = 3;
/// Comparisons of a result whose range is known.
const COMPARISONS: u32 = 3;
/// How often a row that needs its surroundings is tried before a case does without it.
const ATTEMPTS: u32 = 16;

/// A row, and the value that one of its fields has; rows without fields have none.
pub type Pin = (Opcode, Option<(Field, u8)>);

/// Every pin of the rows of a level, control flow left out, in a fixed order that mixes rows.
pub fn pins(level: TableLevel) -> &'static [Pin] {
    static BY_LEVEL: LazyLock<[Vec<Pin>; 2]> =
        LazyLock::new(|| [TableLevel::Virtual, TableLevel::Machine].map(shuffled_pins));
    &BY_LEVEL[level as usize]
}

fn shuffled_pins(level: TableLevel) -> Vec<Pin> {
    let rows = ROWS.iter().filter(|row| level.has(row) && Family::of(row) != Family::Control);
    let mut pins: Vec<Pin> = rows.flat_map(row_pins).collect();
    let mut random = SplitMix64::new(pins.len() as u64);
    for at in (1..pins.len()).rev() {
        pins.swap(at, random.below(at as u64 + 1) as usize);
    }
    pins
}

fn row_pins(row: &OpRow) -> Vec<Pin> {
    let values = row.fields.iter().flat_map(|spec| spec.values().map(|value| Some((spec.field, value))));
    let values: Vec<_> = values.collect();
    let values = if values.is_empty() { vec![None] } else { values };
    values.into_iter().map(|value| (row.opcode, value)).collect()
}

/// Case `index` of this generator: an operation with the pin of that place in the list.
pub fn instruction(index: u64, entropy: &mut Entropy<'_>, config: &Config) -> Generated {
    let pins = pins(config.level);
    match pins.get((index % pins.len().max(1) as u64) as usize) {
        Some((opcode, _)) if !config.makes(*opcode) => super::generate(entropy, config),
        Some(pin) if Family::of(pin.0.row()) == Family::Plain => repeated(*pin, entropy, config),
        Some(pin) => kernel::around(*pin, ATTEMPTS, entropy, config),
        None => super::generate(entropy, config),
    }
}

/// An operation on many operands, in straight code.
fn repeated((opcode, field): Pin, entropy: &mut Entropy<'_>, config: &Config) -> Generated {
    let mut func = Function::new("kernel", FunctionKind::Entry);
    func.linkage = Linkage::Visible;
    for name in ["results", "operands"] {
        let local = func.locals.push(Variable::new(name, Space::Param, Type::U64, None));
        func.params.push(local);
    }
    let mut builder = Builder::new(func, entropy, config);
    builder.pin = field.map(|(field, value)| (opcode, field, value));
    let [results, operands] = builder.lane_addresses();
    let mut sweep = Sweep { opcode, results, operands, loaded: Vec::new(), stored: 0, zeros: false, last: None };
    for _ in 0..config.repeats.max(1) {
        sweep.once(&mut builder);
    }
    let end = builder.entropy.choose(&[Opcode::Ret, Opcode::Exit]);
    let block = builder.block;
    InstBuilder::new(end).append(&mut builder.func, block);
    let mut module = Module::default();
    module.functions.push(builder.func);
    let (loaded, stored) = (sweep.loaded, sweep.stored);
    // One launch: the lanes have other data each, and constants none.
    let launches = vec![launch(&loaded, stored, entropy)];
    Generated { module, form: config.form(), launches }
}

impl Builder<'_, '_> {
    /// The lane's place in the results and in the operands. Each value of a lane has those of the other lanes beside
    /// it.
    fn lane_addresses(&mut self) -> [Reg; 2] {
        let lane = Self::typed(Opcode::S2r, Type::B32).src(Operand::Special(SpecialReg::TidX));
        let lane = self.hidden(lane, RegInfo::words(1));
        let params = self.func.params.clone();
        [params[0], params[1]].map(|param| {
            let base = self.read_param(param, Type::U64);
            let at = Self::typed(Opcode::IMadWide, Type::U32).src(lane).src(u64::from(VALUE)).src(base);
            self.hidden(at, RegInfo::words(2))
        })
    }
}

/// The instances of an operation, and what they have read and written so far.
struct Sweep {
    opcode: Opcode,
    results: Reg,
    operands: Reg,
    /// Registers with corner values of their types, in the order of the operands in memory.
    loaded: Vec<(Type, Reg)>,
    /// Results in memory.
    stored: u32,
    /// Whether the constants of the instance at hand are zeros, of either sign: two of them rarely meet by chance.
    zeros: bool,
    /// The instance before, whose operands may be exchanged in this one.
    last: Option<Instance>,
}

/// An operation with its operands, and where these come from.
struct Instance {
    fields: FieldValues,
    sources: Vec<Operand>,
    mixture: Mixture,
}

/// Percentage of instances that are the one before with its first two operands exchanged, where the operation allows
/// that: it is the same then, or its mirror image, or looks like that.
const EXCHANGED: u32 = 15;

/// Whether a register of the type is one word and a number.
fn is_integer_word(ty: Type) -> bool {
    RegInfo::of(ty) == RegInfo::words(1) && !ty.is_float()
}

/// Where the operands of an instance come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mixture {
    /// Constants alone.
    Constants,
    /// One register, the others constants.
    OneRegister(usize),
    /// One constant, the others registers.
    OneConstant(usize),
    /// Registers alone.
    Registers,
    /// One register for all places that it fits.
    Same,
    /// Registers of which a few bits are left where they are integers of a word.
    Bounded,
}

impl Sweep {
    /// The instance before with its operands exchanged; otherwise a new one, if fields and places go together.
    fn instance(&mut self, builder: &mut Builder<'_, '_>) -> Option<Instance> {
        if let Some(mut last) = self.last.take().filter(|_| is_exchangeable(self.opcode))
            && builder.entropy.percent(EXCHANGED)
        {
            exchange(self.opcode, &mut last.fields, &mut last.sources, builder.entropy);
            return Some(last);
        }
        let row = self.opcode.row();
        let fields = builder.fields(self.opcode, &[])?;
        let places = builder.places(row, &fields)?;
        let mixture = self.mixture(builder, places.len());
        self.zeros = builder.entropy.percent(builder.config.operand.zeros);
        let mut sources: Vec<Operand> =
            places.iter().enumerate().map(|(at, place)| self.operand(builder, mixture, at, *place)).collect();
        builder.specify(self.opcode, row.value::<Type>(&fields).unwrap_or(Type::B32), &mut sources);
        Some(Instance { fields, sources, mixture })
    }

    /// One instance.
    fn once(&mut self, builder: &mut Builder<'_, '_>) {
        let Some(instance) = self.instance(builder) else { return };
        let Instance { fields, sources, mixture } = &instance;
        let row = self.opcode.row();
        let mut inst = InstBuilder::new(self.opcode).fields(*fields).srcs(sources.iter().copied());
        let mut results = Vec::new();
        for shape in row.dsts {
            let reg = builder.func.new_reg(result_info(row, fields, *shape, sources.len()));
            results.push(reg);
            inst = inst.dst(reg);
        }
        builder.push(&inst);
        let types = row.dsts.iter().map(|shape| row.shape_type(fields, *shape));
        for (reg, ty) in results.into_iter().zip(types.collect::<Vec<_>>()) {
            match *mixture == Mixture::Bounded && ty.is_some_and(is_integer_word) {
                true => self.compare(builder, reg),
                false => self.store(builder, reg),
            }
        }
        self.last = Some(instance);
    }

    /// Stores a number where a comparison with a number near an end of its range holds, or where it does not.
    fn compare(&mut self, builder: &mut Builder<'_, '_>, reg: Reg) {
        let one = builder.hidden(Builder::typed(Opcode::Mov, Type::B32).src(Operand::imm(1)), RegInfo::words(1));
        for _ in 0..COMPARISONS {
            let [inside, join] = builder.blocks();
            builder.branch_near(reg, [inside, join]);
            self.store(builder, one);
            builder.jump(join, join);
        }
    }

    fn mixture(&self, builder: &mut Builder<'_, '_>, places: usize) -> Mixture {
        let weights = &builder.config.mixture;
        let weights = [
            weights.constants,
            weights.one_register,
            weights.one_constant,
            weights.registers,
            weights.same,
            if RANGED.contains(&self.opcode) { weights.bounded } else { 0 },
        ];
        match builder.entropy.weighted(&weights) {
            0 => Mixture::Constants,
            1 => Mixture::OneRegister(builder.entropy.below(places)),
            2 => Mixture::OneConstant(builder.entropy.below(places)),
            3 => Mixture::Registers,
            4 => Mixture::Same,
            _ => Mixture::Bounded,
        }
    }

    fn operand(&mut self, builder: &mut Builder<'_, '_>, mixture: Mixture, at: usize, place: Place) -> Operand {
        let ty = match place {
            Place::Immediate(bits) => return builder.func.imm(bits),
            Place::Value(ty) => ty,
        };
        let is_constant = match mixture {
            Mixture::Constants => true,
            Mixture::OneRegister(register) => at != register,
            Mixture::OneConstant(constant) => at == constant,
            Mixture::Registers | Mixture::Same | Mixture::Bounded => false,
        };
        let which = if mixture == Mixture::Same { 0 } else { at % REGISTERS };
        let register = if is_constant { None } else { self.register(builder, ty, which) };
        match register {
            Some(reg) if mixture == Mixture::Bounded && is_integer_word(ty) && builder.entropy.percent(75) => {
                builder.bounded_word(reg.into()).into()
            }
            register => register.map_or_else(|| self.constant(builder, ty), Operand::Reg),
        }
    }

    fn constant(&self, builder: &mut Builder<'_, '_>, ty: Type) -> Operand {
        let bits = match self.zeros {
            true if builder.entropy.percent(50) => 1 << (ty.bits().min(64) - 1),
            true => 0,
            false => extreme(builder.entropy, ty),
        };
        builder.func.imm(bits)
    }

    /// One of the registers of a type, loaded when it is first asked for; `None` where memory is full.
    fn register(&mut self, builder: &mut Builder<'_, '_>, ty: Type, which: usize) -> Option<Reg> {
        let known = self.loaded.iter().filter(|(loaded, _)| *loaded == ty).nth(which);
        if let Some((_, reg)) = known {
            return Some(*reg);
        }
        if self.loaded.len() >= MOST_OPERANDS {
            return self.loaded.iter().find(|(loaded, _)| *loaded == ty).map(|(_, reg)| *reg);
        }
        let info = RegInfo::of(ty);
        let access = match info.words {
            2 => Type::B64,
            4 => Type::B128,
            _ => Type::B32,
        };
        let offset = u64::from(VALUE * LANES) * self.loaded.len() as u64;
        let load = Builder::typed(Opcode::Ld, access).field(Space::Global).src(self.operands);
        let reg = builder.hidden(load.src(offset), RegInfo::of(access));
        let reg = if info.is_predicate() { builder.compare(Compare::Ne, reg.into(), 0) } else { reg };
        self.loaded.push((ty, reg));
        Some(reg)
    }

    /// Stores a result as it is, all its words.
    fn store(&mut self, builder: &mut Builder<'_, '_>, reg: Reg) {
        let info = builder.info(reg);
        let (value, ty) = match info.words {
            _ if info.is_predicate() => {
                let one = Builder::typed(Opcode::SelP, Type::U32).src(Operand::imm(1)).src(Operand::imm(0)).src(reg);
                (builder.hidden(one, RegInfo::words(1)), Type::B32)
            }
            2 => (reg, Type::B64),
            4 => (reg, Type::B128),
            _ => (reg, Type::B32),
        };
        let offset = u64::from(VALUE * LANES * self.stored);
        let store = Builder::typed(Opcode::St, ty).field(Space::Global).src(self.results).src(offset);
        builder.push(&store.src(value));
        self.stored += 1;
    }
}

/// A launch: corner values of the type that each operand has.
fn launch(loaded: &[(Type, Reg)], stored: u32, entropy: &mut Entropy<'_>) -> NamedLaunch {
    let mut operands = Vec::with_capacity(loaded.len() * (VALUE * LANES) as usize);
    for (ty, _) in loaded {
        for _ in 0..LANES {
            operands.extend_from_slice(&extreme(entropy, *ty).to_le_bytes());
            operands.extend_from_slice(&extreme(entropy, *ty).to_le_bytes());
        }
    }
    // Constants alone read nothing, and yet the parameter has a buffer.
    operands.resize(operands.len().max(VALUE as usize), 0);
    let results = vec![0; (VALUE * LANES * stored.max(1)) as usize];
    let mut launch = Launch::new(Some("kernel".to_owned()));
    launch.block = [LANES, 1, 1];
    launch.steps = Some(kernel::STEPS);
    let buffer = |bytes| ArgValue::Buffer(Buffer { bytes, ..Buffer::default() });
    launch.args = [results, operands].map(|bytes| Arg { name: None, value: buffer(bytes) }).into();
    NamedLaunch { name: "generated".to_owned(), launch }
}
