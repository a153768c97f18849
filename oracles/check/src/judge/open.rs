//! What the PTX ISA leaves open, and a compiler may therefore decide: which NaN an operation yields, the errors of
//! approximate functions, the order in which matrix products are summed, what registers of the machine hold, where
//! variables in local and shared memory lie, which lane has which element of a `wmma` fragment, what `istypep` says of
//! what is no handle, and whether a program goes on behind a breakpoint.
//!
//! Whether a result depends on such a choice is found by making another one: a copy of the program gets instructions
//! behind each open result that change it within what is allowed, or far beyond for sums, whose errors have no bound
//! that is known. Words of memory that another choice changes are open. A difference that is confined to these says
//! nothing about the code.

use oriole_interp::launch::Launch;
use oriole_interp::{Executable, Outcome, Placement, RunOptions, RunResult};
use oriole_ir::ops::{Approx, Compare, Flags, Opcode, Space, Type};
use oriole_ir::{
    Function, FunctionKind, Guard, Inst, InstBuilder, Local, Module, Operand, Reg, RegFile, RegInfo, Variable,
};
use oriole_optimizer::ssa;

use super::budget;

mod addresses;
mod fragments;

/// A choice. What is open in one direction alone is so in one of them: variables lie elsewhere with the first, and
/// fragments have another layout with the second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Choice {
    /// Other payloads, larger magnitudes.
    Larger,
    /// The other sign as well, smaller magnitudes.
    Smaller,
}

/// How much coarser variables are aligned to be elsewhere, and the coarsest alignment that PTX has any use for.
const COARSER: u32 = 32;
const MOST_ALIGN: u32 = 1024;
/// Where variables begin to be elsewhere, in bytes. The machine has those in shared memory there.
const ELSEWHERE: Placement = Placement { shared: 1024, frame: 1024 };
/// The bits in which what the machine holds is otherwise: these, or all others. No two bytes are alike, so that what
/// programs compute of two of them changes, too.
const SOME_BITS: u64 = 0x9e37_79b9_7f4a_7c15;
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
        for choice in [Choice::Larger, Choice::Smaller] {
            let Some(Chosen { module: other, moves }) = chosen(original, choice) else { continue };
            open.everything |= moves;
            let options = RunOptions { steps: Some(budget(before.steps)), ..RunOptions::default() };
            let other = Executable::placed(&other, choice.pick(ELSEWHERE, Placement::default()));
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
    /// Whether an open result may be an address: then no other choice shows all the words that it may reach.
    moves: bool,
}

/// The program with another choice; `None` where nothing in it is open.
fn chosen(original: &Module, choice: Choice) -> Option<Chosen> {
    let mut module = ssa::destructed(original);
    let mut any = false;
    if choice == Choice::Larger {
        for global in module.globals.values_mut().filter(|global| global.space == Space::Shared) {
            spread(global);
            any = true;
        }
    }
    let mut moves = false;
    for func in module.functions.values_mut() {
        match choice {
            Choice::Larger => any |= move_locals(func),
            Choice::Smaller => any |= fragments::permute(func),
        }
        let insts: Vec<Inst> = func.layout_insts().collect();
        let mut results = Vec::new();
        for inst in insts {
            any |= choose(func, inst, choice, &mut results);
        }
        moves |= addresses::reaches(func, &results);
    }
    any.then_some(Chosen { module, moves })
}

/// Puts a variable farther from the one before it.
fn spread(variable: &mut Variable) {
    variable.align = (variable.align * COARSER).min(MOST_ALIGN).max(variable.align);
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
    // Sums of 16 bits stand in pairs in registers that have no type of their own.
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
    let mut patch = Patch { func, last: inst, guard };
    if opcode == Opcode::BrkPt {
        patch.put(InstBuilder::new(Opcode::Trap));
    }
    for (reg, ty) in results {
        if opcode == Opcode::IsTypeP {
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
            _ if is_of_machine => patch.flip(reg, words, choice.pick(SOME_BITS, !SOME_BITS)),
            _ if is_sum => sum.iter().for_each(|sum| patch.flip(reg, words, choice.pick(*sum, *sum << 1))),
            Some(format) if is_computed => {
                if approx != Approx::Exact {
                    patch.err(reg, format, format.error(opcode), choice);
                }
                patch.other_nan(reg, format, choice);
            }
            _ => {}
        }
    }
    patch.last != inst
}

impl Choice {
    fn pick<T>(self, larger: T, smaller: T) -> T {
        match self {
            Choice::Larger => larger,
            Choice::Smaller => smaller,
        }
    }
}

/// A floating-point format, as bits of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Format {
    /// Of 32 or 64 bits.
    wide: bool,
    /// Bits of the significand.
    significand: u32,
    /// The bits of an infinity, in the lowest element.
    infinity: u64,
    /// The sign, in the lowest element.
    sign: u64,
    /// Some bits of the significand: what another sum differs in.
    payload: u64,
    /// Where elements begin.
    places: &'static [u32],
}

const ONE: &[u32] = &[0];
const TWO: &[u32] = &[0, 16];

impl Format {
    fn of(ty: Type) -> Option<Format> {
        let half =
            |places| Format { wide: false, significand: 10, infinity: 0x7c00, sign: 1 << 15, payload: 0x55, places };
        let brain = |places| Format { infinity: 0x7f80, significand: 7, payload: 0x15, ..half(places) };
        Some(match ty {
            Type::F16 => half(ONE),
            Type::F16x2 => half(TWO),
            Type::Bf16 => brain(ONE),
            Type::Bf16x2 => brain(TWO),
            Type::F32 | Type::Tf32 => {
                let (infinity, sign, payload) = (0x7f80_0000, 1 << 31, 0x0015_5555);
                Format { significand: 23, infinity, sign, payload, ..half(ONE) }
            }
            Type::F64 => {
                let (infinity, sign, payload) = (0x7ff0_0000_0000_0000, 1 << 63, 0x0002_aaaa_5555_5555);
                Format { wide: true, significand: 52, infinity, sign, payload, ..half(ONE) }
            }
            _ => return None,
        })
    }

    /// How far an approximate function may be off, in units of the last place: several times what the PTX ISA allows
    /// (2^-11 for `tanh`, a few units or 2^-20 for others), since code makes such functions of others.
    fn error(self, opcode: Opcode) -> u64 {
        let exact = match (opcode, self.significand) {
            (_, ..16) => 7,
            (Opcode::FTanh, _) => 10,
            _ => 17,
        };
        // Both words of a wide one change.
        1 << self.significand.saturating_sub(exact) | if self.wide { self.payload & u64::from(u32::MAX) } else { 0 }
    }

    /// A NaN: with the first choice the one that the machine makes, with the second one that differs in each word.
    fn nan(self, choice: Choice) -> u64 {
        let quiet = self.infinity | 1 << (self.significand - 1);
        let filled = self.sign - 1;
        if self.wide { choice.pick(quiet, self.sign | filled) } else { choice.pick(filled, self.sign | quiet) }
    }

    fn word(self) -> Type {
        if self.wide { Type::U64 } else { Type::U32 }
    }

    fn bits(self) -> Type {
        if self.wide { Type::B64 } else { Type::B32 }
    }
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
    /// even its sign is open.
    fn err(&mut self, reg: Reg, format: Format, error: u64, choice: Choice) {
        // 2^-10, in any format: exponents are biased by half of their largest.
        let one = (format.infinity >> 1) & !((1 << format.significand) - 1);
        let small = one - (10 << format.significand);
        for &place in format.places {
            let is_small = self.compared(reg, format, place, Compare::Lt, small);
            self.change(reg, format, Opcode::Xor, (is_small, choice.pick(format.sign, format.payload) << place));
            match choice {
                Choice::Larger => {
                    let fits = self.compared(reg, format, place, Compare::Lt, format.infinity - error);
                    self.change(reg, format, Opcode::IAdd, (fits, error << place));
                }
                Choice::Smaller => {
                    let fits = self.compared(reg, format, place, Compare::Gt, error);
                    self.change(reg, format, Opcode::ISub, (fits, error << place));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use oriole_interp::launch::{Arg, ArgValue, Buffer};

    use super::*;

    /// The words of two that are open where a kernel of one thread fills them.
    fn open_words(body: &str, registers: &str) -> Vec<bool> {
        let open = open_of(body, registers);
        assert!(!open.everything);
        open.words.concat()
    }

    fn open_of(body: &str, registers: &str) -> Open {
        let head = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n";
        let text = format!("{head}.reg .b64 %d<4>;\n{registers}ld.param.u64 %d1, [p];\n{body}ret;\n}}\n");
        let module = crate::input::read_ptx(&text).unwrap_or_else(|faults| panic!("{faults:?}"));
        let bytes = vec![0xff; 8];
        let buffer = Buffer { bytes, element: None, expect: None, tolerance: None };
        // A whole warp, which products take; all lanes store the same.
        let mut launch = Launch { block: [32, 1, 1], ..Launch::new(None) };
        launch.args.push(Arg { name: None, value: ArgValue::Buffer(buffer) });
        let run = Executable::new(&module).unwrap().run(&launch, &RunOptions::default()).unwrap();
        assert_eq!(run.outcome, Outcome::Finished);
        let open = Open::of(&module, &launch, &run);
        assert!(open.covers(&run, &run));
        open
    }

    #[test]
    fn nans_are_open_and_what_they_do_not_reach_is_not() {
        let registers = ".reg .f32 %f<4>;\n.reg .b32 %r<4>;\n";
        // The second word is a number in every choice; the first one tells the payload.
        let body = "ld.global.f32 %f1, [%d1];\nadd.f32 %f2, %f1, 0f3f800000;\nmov.b32 %r1, %f2;\n\
            shr.u32 %r1, %r1, 2;\nst.global.u32 [%d1], %r1;\nmin.f32 %f3, %f2, 0f40000000;\n\
            st.global.f32 [%d1+4], %f3;\n";
        assert_eq!(open_words(body, registers), [true, false]);
        let number = body.replace("ld.global.f32 %f1, [%d1]", "mov.f32 %f1, 0f3f800000");
        assert_eq!(open_words(&number, registers), [false, false]);
        let twice = "ld.global.f32 %f1, [%d1];\nneg.f32 %f2, %f1;\nneg.f32 %f3, %f2;\nst.global.f32 [%d1], %f3;\n\
            st.global.u32 [%d1+4], 7;\n";
        assert_eq!(open_words(twice, registers), [true, false], "the second one does not undo the first");
        let packed = "ld.global.b32 %r1, [%d1];\nneg.f16x2 %r2, %r1;\nand.b32 %r3, %r2, 0xf;\n\
            st.global.u32 [%d1], %r3;\nst.global.u32 [%d1+4], 7;\n";
        assert_eq!(open_words(packed, registers), [true, false]);
    }

    #[test]
    fn approximations_and_registers_of_the_machine_are_open() {
        let registers = ".reg .f32 %f<4>;\n.reg .b32 %r<4>;\n";
        let body = "sin.approx.f32 %f1, 0f3f800000;\ncvt.rzi.s32.f32 %r1, %f1;\nst.global.f32 [%d1], %f1;\n\
            st.global.u32 [%d1+4], %r1;\n";
        assert_eq!(open_words(body, registers), [true, false]);
        let body = body.replace("sin.approx.f32 %f1, 0f3f800000", "sqrt.rn.f32 %f1, 0f40400000");
        assert_eq!(open_words(&body, registers), [false, false]);
        let body =
            "mov.u32 %r1, %smid;\nst.global.u32 [%d1], %r1;\nmov.u32 %r2, %ntid.x;\nst.global.u32 [%d1+4], %r2;\n";
        assert_eq!(open_words(body, registers), [true, false]);
        // Close to zero the error is absolute, so that even the sign is open.
        let body = "cos.approx.f32 %f1, 0f3fc90fdb;\nsetp.lt.f32 %p1, %f1, 0f00000000;\nselp.u32 %r1, 1, 2, %p1;\n\
            st.global.u32 [%d1], %r1;\nst.global.u32 [%d1+4], 0;\n";
        assert_eq!(open_words(body, &format!("{registers}.reg .pred %p<2>;\n")), [true, false]);
    }

    #[test]
    fn addresses_of_locals_are_open() {
        let registers = ".reg .b32 %r<4>;\n.reg .b64 %a<3>;\n.local .align 4 .b8 spare[4];\n\
            .local .align 4 .b8 array[8];\n";
        let body = "mov.u64 %a1, array;\ncvt.u32.u64 %r1, %a1;\nst.global.u32 [%d1], %r1;\nmov.u32 %r2, 5;\n\
            st.local.u32 [array], %r2;\nld.local.u32 %r3, [array];\nst.global.u32 [%d1+4], %r3;\n";
        assert_eq!(open_words(body, registers), [true, false]);
        let alone = registers.replace(".local .align 4 .b8 spare[4];\n", "");
        assert_eq!(open_words(body, &alone), [true, false], "the first one");
        let apart = "mov.u64 %a1, array;\nmov.u64 %a2, spare;\nsub.u64 %a1, %a1, %a2;\ncvt.u32.u64 %r1, %a1;\n\
            st.global.u32 [%d1], %r1;\nst.global.u32 [%d1+4], 7;\n";
        assert_eq!(open_words(apart, registers), [true, false], "how far two are apart");
    }

    #[test]
    fn addresses_of_shared_variables_are_open() {
        let registers = ".reg .b32 %r<4>;\n.shared .align 4 .b8 array[8];\n";
        let body = "mov.u32 %r1, array;\nst.global.u32 [%d1], %r1;\nst.shared.u32 [array], 5;\n\
            ld.shared.u32 %r3, [array];\nst.global.u32 [%d1+4], %r3;\n";
        assert_eq!(open_words(body, registers), [true, false]);
        // Zero is where the variable lies by chance.
        let body = "st.shared.u32 [array], 5;\nmov.u32 %r2, 0;\nld.shared.u32 %r3, [%r2];\n\
            st.global.u32 [%d1], %r3;\nst.global.u32 [%d1+4], 0;\n";
        assert_eq!(open_words(body, registers), [true, false]);
    }

    #[test]
    fn fragments_taken_for_numbers_are_open() {
        let registers = ".reg .b32 %r<4>;\n.reg .s32 %s<9>;\n.shared .align 32 .b8 tile[1024];\n";
        let product = |left: &str, last: &str| {
            let body = format!(
                "mov.u32 %r1, %laneid;\nwmma.load.a.sync.aligned.row.m16n16k16.shared.s8 {{%r2, %r3}}, [tile];\n\
                 st.global.u32 [%d1+4], 7;\nwmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 \
                 {{%s1, %s2, %s3, %s4, %s5, %s6, %s7, %s8}}, {left}, {{1, 1}}, {{0, 0, 0, 0, 0, 0, 0, 0}};\n{last}"
            );
            open_words(&body, registers)
        };
        let number = "and.b32 %s1, %s1, 0xff;\nst.global.u32 [%d1], %s1;\n";
        assert_eq!(product("{%r1, %r1}", number), [true, false]);
        assert_eq!(product("{1, 1}", number), [false, false], "all lanes and elements are alike");
        // All lanes are alike, and the registers of a fragment are not.
        assert_eq!(product("{0, 1}", number), [true, false]);
        // Nothing else is open here.
        let alone = "mov.u32 %r1, %laneid;\nwmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 {%s1, %s2, %s3, %s4, \
            %s5, %s6, %s7, %s8}, {%r1, %r1}, {1, 1}, {0, 0, 0, 0, 0, 0, 0, 0};\nst.global.u32 [%d1], %s1;\n\
            st.global.u32 [%d1+4], 7;\n";
        assert_eq!(open_words(alone, ".reg .b32 %r<4>;\n.reg .s32 %s<9>;\n"), [true, false]);
    }

    #[test]
    fn fragments_that_are_nothing_else_are_not_open() {
        let registers = ".reg .b32 %r<8>;\n.reg .s32 %s<9>;\n.shared .align 32 .b8 tile[1024];\n";
        let eight = "{%s1, %s2, %s3, %s4, %s5, %s6, %s7, %s8}";
        let body = format!(
            "mov.u32 %r1, %laneid;\nmul.lo.u32 %r2, %r1, 77;\nmov.u32 %r3, tile;\nmad.lo.u32 %r3, %r1, 8, %r3;\n\
             st.shared.v2.u32 [%r3], {{%r1, %r2}};\nbar.warp.sync 0xffffffff;\n\
             wmma.load.a.sync.aligned.row.m16n16k16.shared.s8 {{%r4, %r5}}, [tile];\n\
             wmma.load.b.sync.aligned.col.m16n16k16.shared.s8 {{%r6, %r7}}, [tile];\n\
             wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 {eight}, {{%r4, %r5}}, {{%r6, %r7}}, \
             {{0, 0, 0, 0, 0, 0, 0, 0}};\n\
             wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 {eight}, {{%r4, %r5}}, {{%r6, %r7}}, {eight};\n\
             wmma.store.d.sync.aligned.row.m16n16k16.shared.s32 [tile], {eight};\nld.shared.u32 %r1, [tile+72];\n\
             st.global.u32 [%d1], %r1;\nld.shared.u32 %r1, [tile+516];\nst.global.u32 [%d1+4], %r1;\n"
        );
        assert_eq!(open_words(&body, registers), [false, false]);
    }

    #[test]
    fn what_is_loaded_for_a_sum_is_no_sum() {
        let registers = ".reg .f32 %f<9>;\n.reg .b32 %r<4>;\n.shared .align 32 .b8 tile[1024];\n";
        let eight = "{%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}";
        let body = format!(
            "mov.u32 %r1, %laneid;\nmov.u32 %r2, tile;\nshl.b32 %r1, %r1, 2;\nadd.u32 %r1, %r1, %r2;\n\
             st.shared.f32 [%r1], 0f3f800000;\nbar.warp.sync 0xffffffff;\n\
             wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {eight}, [tile];\n\
             wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [tile], {eight};\n\
             ld.shared.f32 %f1, [tile];\nst.global.f32 [%d1], %f1;\nst.global.u32 [%d1+4], 7;\n"
        );
        assert_eq!(open_words(&body, registers), [false, false]);
    }

    #[test]
    fn all_is_open_where_an_approximation_is_an_address() {
        let registers = ".reg .f32 %f<4>;\n.reg .b32 %r<4>;\n";
        let at = |function: &str| {
            let body = format!(
                "{function}.f32 %f1, 0f40400000;\nmov.b32 %r1, %f1;\nand.b32 %r1, %r1, 4;\ncvt.u64.u32 %d2, %r1;\n\
                 add.u64 %d2, %d2, %d1;\nst.global.u32 [%d2], 7;\n"
            );
            open_of(&body, registers).everything
        };
        assert!(at("sin.approx"));
        assert!(!at("sqrt.rn"));
    }

    #[test]
    fn all_is_open_behind_a_breakpoint() {
        let stores = "st.global.u32 [%d1], 1;\nst.global.u32 [%d1+4], 7;\n";
        assert!(open_of(&format!("brkpt;\n{stores}"), "").everything);
        let registers = ".reg .pred %p<2>;\n";
        let passed = format!("setp.eq.u64 %p1, %d1, 0;\n@%p1 brkpt;\n{stores}");
        assert_eq!(open_words(&passed, registers), [false, false]);
    }

    #[test]
    fn every_bit_of_a_pending_count_is_open() {
        let body = |bit: u32| {
            format!(
                "mbarrier.pending_count.b64 %r1, %d1;\nand.b32 %r1, %r1, {};\nst.global.u32 [%d1], %r1;\n\
                 st.global.u32 [%d1+4], 7;\n",
                1u32 << bit
            )
        };
        for bit in [0, 9, 10, 19, 31] {
            assert_eq!(open_words(&body(bit), ".reg .b32 %r<4>;\n"), [true, false], "bit {bit}");
        }
        let bytes = "mbarrier.pending_count.b64 %r1, 0;\nshr.u32 %r2, %r1, 16;\nsub.u32 %r1, %r1, %r2;\n\
            and.b32 %r1, %r1, 0xff;\nst.global.u32 [%d1], %r1;\nst.global.u32 [%d1+4], 7;\n";
        assert_eq!(open_words(bytes, ".reg .b32 %r<4>;\n"), [true, false], "the difference of two bytes");
    }

    #[test]
    fn types_of_what_is_no_handle_are_open() {
        let registers = ".reg .b32 %r<4>;\n.reg .pred %p<2>;\n";
        let body = "istypep.texref %p1, %d1;\nselp.u32 %r1, 1, 2, %p1;\nst.global.u32 [%d1], %r1;\n\
            st.global.u32 [%d1+4], 7;\n";
        assert_eq!(open_words(body, registers), [true, false]);
    }

    #[test]
    fn sums_of_matrix_products_are_open_where_they_are_floats() {
        let product = |kind: &str, ty: &str| {
            let registers = format!(".reg .b32 %r<4>;\n.reg {ty} %s<5>;\n");
            let zero = if ty == ".f32" { "0f00000000" } else { "0" };
            let body = format!(
                "mov.b32 %r1, 0x3c003c00;\nmov.b32 %r2, 1;\nmma.sync.aligned.{kind} {{%s1, %s2, %s3, %s4}}, \
                 {{%r1, %r1}}, {{%r1}}, {{{zero}, {zero}, {zero}, {zero}}};\nst.global.b32 [%d1], %s1;\n\
                 st.global.u32 [%d1+4], 7;\n"
            );
            open_words(&body, &registers)
        };
        assert_eq!(product("m16n8k8.row.col.f32.f16.f16.f32", ".f32"), [true, false]);
        let halves = "mov.b32 %r1, 0x3c003c00;\nmma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r2, %r3}, {%r1, %r1}, \
            {%r1}, {0, 0};\nshr.u32 %r2, %r2, 16;\nst.global.b32 [%d1], %r2;\nst.global.u32 [%d1+4], 7;\n";
        assert_eq!(open_words(halves, ".reg .b32 %r<4>;\n"), [true, false], "the upper one of two");
        assert_eq!(product("m16n8k16.row.col.s32.s8.s8.s32", ".s32"), [false, false]);
    }
}
