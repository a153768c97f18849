//! A kernel's frame: parameters, memory, variables in front; stores of all results behind; the launch that fits.
//!
//! Parameters, in order: the results, one slot a thread; bytes that are only read; one region of global memory a
//! thread; the cells; a word and a double; a structure by value.

use std::collections::BTreeSet;

use oriole_ir::ops::{CvtaDirection, Field, Flags, Opcode, Space, SpecialReg, Type, Vector};
use oriole_ir::sm::Target;
use oriole_ir::{
    Directive, FuncId, Function, FunctionKind, Global, InstBuilder, Linkage, Local, Module, Operand, Reg, RegInfo,
    Relocation, SymbolRef, Variable,
};

use super::builder::{Builder, fixed};
use super::call;
use super::config::Config;
use super::entropy::Entropy;
use super::image::{self, Pool};
use super::lean::{self, Named};
use super::memory::{CELLS, REGION, Region};
use super::multimem;
use super::single::Pin;
use super::values::constant;
use super::{Generated, raise_target};
use oriole_launch::{Arg, ArgValue, Buffer, Launch, NamedLaunch, Scalar, ScalarType};

/// Variables of each file and width; few, so that values meet in phis.
const WORDS: usize = 4;
const DOUBLES: usize = 3;
const QUADS: usize = 1;
const PREDICATES: usize = 3;
/// Ways to part the lanes of a warp.
const SPLITS: usize = 2;

/// Bytes of a thread's results: the variables and the checksums, and then its own shared and local memory.
const RESULTS: u32 = VALUES + 2 * REGION;
const VALUES: u32 = (16 * QUADS + 8 * (DOUBLES + 1) + 4 * (WORDS + 1) + 12).next_multiple_of(16) as u32;
/// The byte of a thread's results that says whether a kernel comes to its entry block for the first time.
pub(super) const AGAIN: u32 = VALUES - 1;

/// Bytes of the parameters that a kernel may read from the constant bank, word by word: the numbers and the structure,
/// not the addresses.
pub(super) const BANK_WORDS: [u32; 11] = [32, 40, 44, 48, 52, 56, 60, 64, 68, 72, 76];

/// Percentage of launches in which asynchronous operations are done at any moment, not at the last one.
const EARLY: u32 = 30;

/// Threads of a warp.
const LANES: u32 = 32;

/// Blocks of a cluster, where a kernel runs in clusters: each has one neighbour.
const CLUSTER: u32 = 2;

/// The grid and block of a kernel, and how many blocks a cluster has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    pub blocks: u32,
    pub threads: u32,
    pub cluster: u32,
}

/// The module's variables that a kernel uses.
struct Variables {
    shared: Global,
    constants: Global,
    table: Global,
    /// More of the same, in some kernels.
    tables: Vec<Global>,
    /// What one thread alone accesses, in the same kernels.
    sole: Option<Global>,
    addresses: Option<Addresses>,
}

/// A variable with generic addresses: bytes beside the table, and bytes beside the constants.
#[derive(Clone, Copy)]
struct Addresses {
    global: Global,
    space: Space,
    /// How many bytes beside each.
    addends: [i64; 2],
}

/// Adds a kernel to a module; the names of what it is made of.
pub(super) fn kernel(
    module: &mut Module,
    entropy: &mut Entropy<'_>,
    config: &Config,
) -> (Geometry, BTreeSet<&'static str>) {
    let mut kinds = BTreeSet::new();
    let needs = Needs { whole: false, least: 1, multicast: false };
    let geometry = frame(module, entropy, config, needs, |builder| {
        let [low, high] = builder.config.instructions;
        builder.budget = builder.entropy.between(low, high);
        if builder.entropy.percent(builder.config.again) {
            builder.again();
        }
        let crowd = builder.entropy.percent(builder.config.crowd).then(|| builder.crowd());
        builder.body();
        crowd.into_iter().flatten().for_each(|reg| builder.fold(reg));
        kinds = std::mem::take(&mut builder.kinds.made);
    });
    (geometry, kinds)
}

/// Values that live across all of a kernel: more than a word of a set of registers has bits.
const CROWD: [u32; 2] = [66, 90];

/// A kernel of one instruction with what it needs, tried so many times until it has a place. Results that it does not
/// have to hide are stored as those of any other instruction.
pub(super) fn around(pin: Pin, attempts: u32, entropy: &mut Entropy<'_>, config: &Config) -> Generated {
    let mut module = Module::default();
    let (opcode, field) = pin;
    // Nothing but a call reads parameter memory that a thread writes.
    let calls = opcode == Opcode::St && field == Some(fixed(Space::Param));
    if calls {
        let callee = call::device("device", &module, entropy, config);
        module.functions.push(callee);
    }
    let warps = if opcode.is(Flags::WARPGROUP) { 4 } else { 1 };
    let needs = Needs { whole: true, least: warps, multicast: opcode.is(Flags::MULTIMEM) };
    let geometry = frame(&mut module, entropy, config, needs, |builder| {
        builder.pin = field.map(|(field, value)| (opcode, field, value));
        for _ in 0..attempts {
            builder.budget = attempts;
            if calls {
                builder.call();
            } else {
                builder.instruction_of(opcode);
            }
            if has(&builder.func, opcode, field) {
                break;
            }
        }
    });
    raise_target(&mut module);
    let launches = launches(&module, entropy, config, geometry);
    Generated { launches, form: config.form(), module }
}

/// Whether the function's first block holds the pinned instruction, unguarded.
fn has(func: &Function, opcode: Opcode, field: Option<(Field, u8)>) -> bool {
    func.block_insts(func.entry()).any(|inst| {
        let data = func.inst(inst);
        let value = field.is_none_or(|(field, value)| data.field_index(field) == Some(value));
        data.opcode == opcode && data.guard.is_none() && value
    })
}

/// What the body of a kernel needs.
#[derive(Clone, Copy)]
struct Needs {
    /// Memory of every space.
    whole: bool,
    /// So many warps at least.
    least: u32,
    /// Multicast memory.
    multicast: bool,
}

/// Adds a kernel with a body to a module.
fn frame(
    module: &mut Module,
    entropy: &mut Entropy<'_>,
    config: &Config,
    Needs { whole, least, multicast: has_multicast }: Needs,
    body: impl FnOnce(&mut Builder<'_, '_>),
) -> Geometry {
    // Two blocks of one warp see more than one block of two at the same cost: uniform values differ between them.
    let blocks = entropy.between(1, config.blocks).max(entropy.between(1, config.blocks));
    let cluster = if blocks > 1 && entropy.percent(config.cluster) { CLUSTER } else { 1 };
    let blocks = blocks.next_multiple_of(cluster);
    let sizes = config.warps.clamp(1, 4) as usize;
    let warps = [1, 2, 4, 8][entropy.below(sizes).min(entropy.below(sizes))].max(least);
    let geometry = Geometry { blocks, threads: LANES * warps, cluster };
    let variables = variables(module, entropy, config, geometry);
    let mut func = Function::new("kernel", FunctionKind::Entry);
    func.linkage = Linkage::Visible;
    if geometry.threads == LANES && entropy.percent(config.one_warp) {
        func.directives.push(Directive { name: "reqntid".to_owned(), values: vec![u64::from(LANES)] });
    }
    let types = [Type::U64, Type::U64, Type::U64, Type::U64, Type::B32, Type::B64];
    for (at, ty) in types.into_iter().enumerate() {
        let local = func.locals.push(Variable::new(format!("a{at}"), Space::Param, ty, None));
        func.params.push(local);
    }
    let structure = Variable { align: 16, ..Variable::new("a6", Space::Param, Type::B8, Some(REGION.into())) };
    let structure = func.locals.push(structure);
    func.params.push(structure);
    let multicast = (has_multicast || entropy.percent(config.operand.multimem)).then(|| multimem::declare(&mut func));
    let mut builder = Builder::new(func, entropy, config);
    builder.threads = geometry.threads;
    builder.cluster = geometry.cluster;
    builder.is_late = Target::all_specific().next().is_none_or(|hopper| !module.is_for(hopper));
    let touches = |id: &FuncId| module.functions[*id].name == call::TOUCHING;
    (builder.callees, builder.touching) =
        (module.functions.keys().filter(|id| !touches(id)).collect(), module.functions.keys().find(touches));
    builder.budget = 1000;
    let number = builder.prologue(structure, &variables, whole, blocks);
    if let Some(params) = multicast {
        builder.read_multicast(params, number);
    }
    builder.images = Some(Pool::new(module, number));
    builder.bank = !whole && builder.entropy.percent(builder.config.operand.bank_kernel);
    let front = builder.func.insts().len();
    body(&mut builder);
    builder.call_rest(module);
    builder.settle();
    let keeps = config.unused >= 100 || builder.entropy.percent(config.unused);
    let named = (!keeps).then(|| Named::since(&builder.func, front));
    let back = builder.func.insts().len();
    if let Some(named) = &named {
        builder.forget_regions(named, front);
    }
    builder.store_results(named.as_ref());
    let block = builder.block;
    builder.end(&InstBuilder::new(Opcode::Ret), block);
    let (mut func, images) = (builder.func, builder.images);
    if named.is_some() {
        lean::forget_unread(&mut func, front);
        lean::join_accesses(&mut func, front..back);
    }
    module.functions.push(func);
    let threads = geometry.blocks * geometry.threads;
    images.into_iter().for_each(|images| images.declare(module, threads));
    if named.is_some() {
        lean::forget_unnamed(module);
    }
    geometry
}

fn variables(module: &mut Module, entropy: &mut Entropy<'_>, config: &Config, geometry: Geometry) -> Variables {
    let more = if entropy.percent(config.operand.tables) { 2 } else { 0 };
    let mut add = |name: &str, space, count: u32, filled: bool| {
        let mut variable = Variable { align: 256, ..Variable::new(name, space, Type::B8, Some(count.into())) };
        if filled {
            variable.init = bytes(entropy, count as usize);
        }
        module.globals.push(variable)
    };
    let shared = add("shared_memory", Space::Shared, REGION * geometry.threads, false);
    let constants = add("constants", Space::Const, REGION, true);
    let table = add("table", Space::Global, REGION, true);
    let tables = (0..more).map(|at| add(&format!("table{at}"), Space::Global, REGION, true)).collect();
    let sole = (more > 0).then(|| add("sole", Space::Global, REGION, true));
    Variables { shared, constants, table, tables, sole, addresses: addresses(module, [table, constants]) }
}

/// Addresses of the table and the constants, in one kernel of four. They are made from bytes that are there, so that
/// what else is generated is the same with and without them.
fn addresses(module: &mut Module, of: [Global; 2]) -> Option<Addresses> {
    // A single byte is a zero too often: the bytes are those of corner values.
    let some = |at: usize| &module.globals[of[1]].init[10 * at..][..10];
    let random = |at| some(at).iter().fold(0, |sum: u8, byte| sum.wrapping_mul(31).wrapping_add(*byte));
    let space = match random(0) % 8 {
        0 => Space::Const,
        1 => Space::Global,
        _ => return None,
    };
    let addends = [random(1), random(2)].map(|byte| i64::from(byte as i8));
    let relocation = |(at, (global, addend))| Relocation {
        offset: 8 * at as u32,
        width: 8,
        symbol: SymbolRef::Global(global),
        addend,
        generic: true,
    };
    let relocations = of.into_iter().zip(addends).enumerate().map(relocation).collect();
    let variable = Variable::new("addresses", space, Type::B64, Some(of.len() as u64));
    let global = module.globals.push(Variable { init: vec![0; 8 * of.len()], relocations, ..variable });
    Some(Addresses { global, space, addends })
}

impl Builder<'_, '_> {
    /// Many values, beside whatever else is made.
    fn crowd(&mut self) -> Vec<Reg> {
        let [a, b] = [(); 2].map(|()| self.variable_word());
        let (count, budget) = (self.entropy.between(CROWD[0], CROWD[1]), self.budget);
        let made = |at| Self::typed(Opcode::IMadLo, Type::U32).src(a).src(Operand::imm(2 * at + 1)).src(b);
        let crowd = (0..count).map(|at| self.hidden(made(at), RegInfo::words(1))).collect();
        self.budget = budget;
        crowd
    }

    /// Reads the parameters and defines the variables, for a launch of so many blocks; the thread's index in the grid.
    fn prologue(&mut self, structure: Local, variables: &Variables, whole: bool, blocks: u32) -> Reg {
        let (word, double) = (RegInfo::words(1), RegInfo::words(2));
        let read = |reg| Self::typed(Opcode::S2r, Type::B32).src(Operand::Special(reg));
        let tid = self.hidden(read(SpecialReg::TidX), word);
        let cta = self.hidden(read(SpecialReg::CtaidX), word);
        let number = Self::typed(Opcode::IMadLo, Type::U32).src(cta).src(u64::from(self.threads)).src(tid);
        let number = self.hidden(number, word);
        let params = self.func.params.clone();
        let mut addresses = Vec::new();
        for (local, stride) in params[..4].iter().zip([RESULTS, 0, REGION, 0]) {
            let base = self.read_param(*local, Type::B64);
            let at = Self::typed(Opcode::IMadWide, Type::U32).src(number).src(u64::from(stride)).src(base);
            addresses.push(if stride == 0 { base } else { self.hidden(at, double) });
        }
        let plain = self.read_param(params[UNIFORM], Type::B32);
        let wide = self.read_param(params[5], Type::B64);
        self.uniforms = vec![(plain, 8), (plain, 8)];
        if self.cluster == 1 {
            if blocks > 1 {
                // The second block goes the other way wherever this decides, so that one launch sees both.
                let turn = self.hidden(Self::typed(Opcode::ISub, Type::U32).src(Operand::imm(0)).src(cta), word);
                let turned = Self::typed(Opcode::Xor, Type::B32).src(plain).src(turn);
                self.uniforms[1] = (self.hidden(turned, word), 8);
            }
            self.uniforms.push((cta, 1));
        }
        self.cells = Some(addresses[3]);
        self.results = Some(addresses[0]);
        self.regions(&addresses, structure, variables, [tid, number], whole);
        let seed = Self::typed(Opcode::Xor, Type::B32).src(plain).src(number);
        let seed = self.hidden(seed, word);
        self.variables_from(seed, wide, Some(addresses[2]));
        number
    }

    fn regions(
        &mut self,
        addresses: &[Reg],
        structure: Local,
        variables: &Variables,
        [tid, number]: [Reg; 2],
        whole: bool,
    ) {
        let double = RegInfo::words(2);
        let region = |space, base, generic, writable, constant| Region { space, base, generic, writable, constant };
        let (input, scratch) = (addresses[1], addresses[2]);
        self.regions.push(region(Space::Global, input.into(), Some(input), false, true));
        self.regions.push(region(Space::Global, scratch.into(), Some(scratch), true, false));
        let table = Operand::Global(variables.table);
        self.sole = variables.sole.map(Operand::Global);
        self.tables =
            std::iter::once(table).chain(variables.tables.iter().map(|table| Operand::Global(*table))).collect();
        let generic = self.generic_at(0, Space::Global, table, variables.addresses);
        self.regions.push(region(Space::Global, table, Some(generic), false, true));
        let constants = Operand::Global(variables.constants);
        let generic = self.generic_at(1, Space::Const, constants, variables.addresses);
        self.regions.push(region(Space::Const, constants, Some(generic), false, true));
        let generic =
            (whole || self.entropy.percent(20)).then(|| self.generic(Space::Param, Operand::Local(structure)));
        self.regions.push(region(Space::Param, Operand::Local(structure), generic, false, true));
        if whole || self.entropy.percent(60) {
            let base = self.hidden(Self::typed(Opcode::Mov, Type::B64).src(Operand::Global(variables.shared)), double);
            self.shared = Some(base);
            let own = Self::typed(Opcode::IMadWide, Type::U32).src(tid).src(u64::from(REGION)).src(base);
            let own = Operand::Reg(self.hidden(own, double));
            let generic = self.generic(Space::Shared, own);
            self.clear(Space::Shared, own, number);
            self.regions.push(region(Space::Shared, own, Some(generic), true, false));
        }
        if whole || self.entropy.percent(40) {
            let array = Variable { align: 16, ..Variable::new("array", Space::Local, Type::B8, Some(REGION.into())) };
            let array = Operand::Local(self.func.locals.push(array));
            let generic = self.generic(Space::Local, array);
            self.clear(Space::Local, array, number);
            self.regions.push(region(Space::Local, array, Some(generic), true, false));
        }
    }

    /// The generic address of a variable: converted, or loaded from a place among addresses.
    fn generic_at(&mut self, at: usize, space: Space, variable: Operand, addresses: Option<Addresses>) -> Reg {
        let Some(Addresses { global, space: from, addends }) = addresses else {
            return self.generic(space, variable);
        };
        let load = Self::typed(Opcode::Ld, Type::B64).field(from).src(Operand::Global(global)).src(8 * at as u64);
        let beside = self.hidden(load, RegInfo::words(2));
        let back = Self::typed(Opcode::IAdd, Type::U64).src(beside).src(-addends[at] as u64);
        self.hidden(back, RegInfo::words(2))
    }

    pub(super) fn generic(&mut self, space: Space, address: Operand) -> Reg {
        let convert = Self::typed(Opcode::Cvta, Type::U64).field(CvtaDirection::ToGeneric).field(space).src(address);
        self.hidden(convert, RegInfo::words(2))
    }

    /// Defines a region's bytes. Some of them are the thread's number, so that it matters whose region it is.
    pub(super) fn clear(&mut self, space: Space, base: Operand, number: Reg) {
        for at in (0..REGION).step_by(16) {
            let store = Self::typed(Opcode::St, Type::B32).field(space).field(Vector::V4);
            let at = store.src(base).src(u64::from(at));
            let values = [0; 3].map(|_: u8| constant(self.entropy, Type::B32));
            self.push(&at.src(number).srcs(values));
        }
    }

    /// Defines the variables and the checksums. Most variables hold what the thread's own memory does, so that each
    /// thread has other corner values; the others, and all where there is none, come from a word and a double.
    pub(super) fn variables_from(&mut self, word: Reg, double: Reg, memory: Option<Reg>) {
        for at in 0..WORDS as u64 {
            // The last one is less than zero, as a signed number, for half of all words, however small these are.
            let top = if at + 1 == WORDS as u64 { 1 << 31 } else { 0 };
            let made = Self::typed(Opcode::IMulLo, Type::U32).src(word).src(top | (2 * at * at * 977 + 1));
            let load = |base| Self::typed(Opcode::Ld, Type::B32).src(base).src(16 + 4 * at);
            let base = memory.filter(|_| at + 1 < WORDS as u64);
            self.variable(base.map_or(made, |base| load(base).field(Space::Global)), RegInfo::words(1));
        }
        for at in 0..DOUBLES as u64 {
            let factor = self.variables[WORDS - 1];
            let made = Self::typed(Opcode::IMadWide, Type::U32).src(factor).src(at * 0x0100_0005).src(double);
            let load = |base| Self::typed(Opcode::Ld, Type::B64).src(base).src(8 * at);
            self.variable(memory.map_or(made, |base| load(base).field(Space::Global)), RegInfo::words(2));
        }
        for _ in 0..QUADS {
            // What is packed is known word by word, and what is loaded is not.
            let made = Self::typed(Opcode::Pack, Type::B64).src(double).src(self.variables[WORDS]);
            let loaded = memory.filter(|_| self.entropy.percent(30));
            let load = |base| Self::typed(Opcode::Ld, Type::B128).field(Space::Global).src(base).src(0);
            self.variable(loaded.map_or(made, load), RegInfo::words(4));
        }
        for at in 0..PREDICATES {
            let bit = self.bit_of(self.variables[at], at as u32);
            self.variables.push(bit);
        }
        let lane = Self::typed(Opcode::S2r, Type::B32).src(Operand::Special(SpecialReg::LaneId));
        let lane = self.hidden(lane, RegInfo::words(1));
        self.lane = Some(lane);
        for _ in 0..SPLITS {
            let bit = self.entropy.between(0, 4);
            let split = self.bit_of(lane, bit);
            self.splits.push(split);
        }
        let [sum, wide_sum] = self.sums;
        self.push(&Self::typed(Opcode::Mov, Type::B32).src(Operand::imm(0)).dst(sum));
        self.push(&Self::typed(Opcode::Mov, Type::B64).src(Operand::imm(0)).dst(wide_sum));
    }

    fn variable(&mut self, inst: InstBuilder, info: RegInfo) {
        let reg = self.hidden(inst, info);
        self.variables.push(reg);
    }

    /// All variables and checksums in one word.
    pub(super) fn combine(&mut self) -> Reg {
        for reg in self.variables.clone() {
            self.fold(reg);
        }
        let [sum, wide] = self.sums;
        for at in [0, 1] {
            self.mix(sum, Type::U32, Operand::Word(wide, at));
        }
        sum
    }

    /// Every thread stores its variables and checksums to its slot of the results; those alone that are written, where
    /// that is said. Each has its place, whatever else is stored.
    pub(super) fn store_results(&mut self, named: Option<&Named>) {
        let Some(results) = self.results else { return };
        let mut offset = 0;
        let [sum, wide_sum] = self.sums;
        let (predicates, mut values): (Vec<Reg>, Vec<Reg>) =
            self.variables.iter().copied().chain([wide_sum]).partition(|reg| self.info(*reg).is_predicate());
        let is_stored = |reg: Reg| named.is_none_or(|named| named.writes(reg));
        for predicate in predicates.iter().filter(|reg| is_stored(**reg)) {
            self.fold(*predicate);
        }
        let is_stored = |reg: Reg| is_stored(reg) || reg == sum && predicates.iter().any(|other| is_stored(*other));
        values.push(sum);
        values.sort_by_key(|reg| std::cmp::Reverse(self.info(*reg).words));
        for reg in values {
            let words = self.info(reg).words;
            let ty = [Type::B32, Type::B64, Type::B128][usize::from(words) / 2];
            let store = Self::typed(Opcode::St, ty).field(Space::Global).src(results).src(offset).src(reg);
            if is_stored(reg) {
                self.push(&store);
            }
            offset += 4 * u64::from(words);
        }
        self.store_regions(results);
    }

    /// Every thread stores its shared and local memory behind its results.
    fn store_regions(&mut self, results: Reg) {
        let own = self.regions.iter().filter(|region| region.is_transient());
        let own: Vec<(Space, Operand)> = own.map(|region| (region.space, region.base)).collect();
        for (slot, (space, base)) in own.into_iter().enumerate() {
            for at in (0..REGION).step_by(16) {
                let pair = [0; 2].map(|_: u8| self.func.new_reg(RegInfo::words(2)));
                let load = Self::typed(Opcode::Ld, Type::B64).field(space).field(Vector::V2);
                self.push(&load.dst(pair[0]).dst(pair[1]).src(base).src(u64::from(at)));
                let place = VALUES + slot as u32 * REGION + at;
                let store = Self::typed(Opcode::St, Type::B64).field(Space::Global).field(Vector::V2);
                self.push(&store.src(results).src(u64::from(place)).srcs(pair.map(Operand::Reg)));
            }
        }
    }
}

/// Corner values that the bytes of a launch are made of.
const CORNERS: usize = 128;

/// Bytes of corner values of all kinds. Long ones repeat values in another order: drawing each anew would take a tenth
/// of a check.
pub(super) fn bytes(entropy: &mut Entropy<'_>, length: usize) -> Vec<u8> {
    // Most operations that treat subnormals in ways of their own are of `f32`.
    const TYPES: [Type; 8] =
        [Type::U32, Type::U64, Type::F32, Type::F32, Type::F64, Type::F16x2, Type::Bf16x2, Type::U16x2];
    /// Bytes of eight of the widest values.
    const ROUND: usize = 64;
    let mut corners = Vec::with_capacity(CORNERS);
    let mut out = Vec::with_capacity(length + ROUND);
    while out.len() < length && corners.len() < CORNERS {
        let ty = entropy.choose(&TYPES);
        let corner = (constant(entropy, ty).to_le_bytes(), ty.bits() as usize / 8);
        // All eight bytes are written, so that their number is known here; those that are not its go again.
        let end = out.len() + corner.1;
        out.extend_from_slice(&corner.0);
        out.truncate(end);
        corners.push(corner);
    }
    // The same here, where the next value goes over those that are not its.
    let mut at = out.len();
    out.resize(length + ROUND, 0);
    while at < length {
        let choices = entropy.bits().to_le_bytes();
        for choice in choices {
            let (value, bytes) = corners[usize::from(choice) % CORNERS];
            out[at..at + 8].copy_from_slice(&value);
            at += bytes;
        }
    }
    out.truncate(length);
    out
}

/// The launches of a kernel: other data each, and other grids where that changes what the kernel sees.
pub(super) fn launches(
    module: &Module,
    entropy: &mut Entropy<'_>,
    config: &Config,
    geometry: Geometry,
) -> Vec<NamedLaunch> {
    let one = |at| {
        // The block's size is part of the code (barriers, neighbours); the grid's is not.
        let blocks = if at == 0 { geometry.blocks } else { entropy.between(1, config.blocks) };
        let blocks = blocks.next_multiple_of(geometry.cluster);
        let mut launch = launch(entropy, Geometry { blocks, ..geometry });
        if multimem::is_in(module) {
            let more = multimem::arguments(launch.args.len(), entropy, blocks * geometry.threads);
            launch.args.extend(more);
        }
        launch.images = image::of_module(module, blocks * geometry.threads, entropy);
        launch.copies = entropy.percent(EARLY).then(|| entropy.bits() >> 32);
        NamedLaunch { name: format!("generated {at}"), launch }
    };
    (0..config.launches.max(1)).map(one).collect()
}

/// A launch that fits the kernel.
pub(super) fn launch(entropy: &mut Entropy<'_>, geometry: Geometry) -> Launch {
    let mut launch = Launch::new(Some("kernel".to_owned()));
    launch.grid = [geometry.blocks, 1, 1];
    launch.cluster = (geometry.cluster > 1).then_some([geometry.cluster, 1, 1]);
    launch.block = [geometry.threads, 1, 1];
    launch.steps = Some(STEPS);
    let threads = (geometry.blocks * geometry.threads) as usize;
    let buffer = |bytes| ArgValue::Buffer(Buffer { bytes, ..Buffer::default() });
    let scalar = |ty, bits| ArgValue::Scalar(Scalar::from_bits(ty, bits));
    let values = [
        buffer(not_stored(RESULTS as usize * threads)),
        buffer(bytes(entropy, REGION as usize)),
        buffer(bytes(entropy, REGION as usize * threads)),
        buffer(bytes(entropy, 8 * CELLS.len())),
        scalar(
            ScalarType::B32,
            if entropy.percent(PLAIN) { constant(entropy, Type::B32) } else { uniform_word(entropy) },
        ),
        scalar(
            ScalarType::B64,
            constant(entropy, Type::F64) | if entropy.percent(PLAIN) { 0 } else { entropy.bits() >> 32 },
        ),
        ArgValue::Bytes(bytes(entropy, REGION as usize)),
    ];
    launch.args = values.into_iter().map(|value| Arg { name: None, value }).collect();
    launch
}

/// A word that is less than zero as a signed one nearly always: all values of some kernels are made from it, and
/// signedness shows in these alone.
fn uniform_word(entropy: &mut Entropy<'_>) -> u64 {
    let word = entropy.bits() >> 32;
    if entropy.percent(90) { word | 0x8000_0000 } else { word }
}

/// What so many bytes of results hold before the kernel runs.
fn not_stored(bytes: usize) -> Vec<u8> {
    let mut all = NOT_STORED.repeat(bytes.div_ceil(NOT_STORED.len()));
    all.truncate(bytes);
    all
}

/// Not zero, which kernels store too often for a lost store to show. The length is prime, so that no two slots begin
/// alike.
const NOT_STORED: [u8; 251] = {
    let mut bytes = [1; 251];
    let mut at = 0;
    while at < bytes.len() {
        bytes[at] |= at as u8;
        at += 1;
    }
    bytes
};

/// Of a hundred words in arguments, so many are corner values. The others have something in each byte, so that bytes
/// that are not loaded show.
const PLAIN: u32 = 5;

/// The argument whose bits decide where whole warps go.
const UNIFORM: usize = 4;

/// Lets a launch go other ways than one that it is like: the first other way at every branch that is uniform, then at
/// some.
pub(super) fn turn(launch: &mut Launch, like: &Launch, seed: u64) {
    const TURNS: [u64; 4] = [0xFFFF_FFFF, 0x5555_5555, 0xAAAA_AAAA, 0x3333_3333];
    if let (ArgValue::Scalar(own), ArgValue::Scalar(like)) =
        (&mut launch.args[UNIFORM].value, &like.args[UNIFORM].value)
        && let Some(turn) = TURNS.get(seed as usize)
    {
        *own = Scalar::from_bits(like.ty(), like.bits() ^ turn);
    }
}

/// Warp instructions that a kernel may execute: far more than any does, so that running out of them is a bug.
pub(super) const STEPS: u64 = 200_000;
