//! Machine code against the program that it was made of: whoever compiled it, its words are executed on the launches of
//! the program, and what both leave behind is compared as of any step.
//!
//! What may differ: code has no undefined values, so it may leave anything where the program leaves a byte undefined.
//! PTX leaves open which NaN many operations on floats yield. So where the program computes in a format, two NaNs of
//! it are the same if one is canonical, of either sign; in 64 bits any two are, since code puts those together from
//! halves. (Integers that look like that, as -1 does, are taken for NaNs then.) Where a program has approximate
//! functions, normal single floats that are as close as [`APPROXIMATE`] says are the same, too: code makes such
//! functions of others, with other errors within the bounds that the PTX ISA gives.
//! Lanes of a warp that have parted may execute in any order, so code is executed in several ([`LaneOrder`]) where that
//! may matter: what is wrong in one is wrong.
//! A program whose threads race, or depend on the order in which they run, says nothing about its code; nor does one
//! where the code differs only in what depends on other choices that the PTX ISA leaves open ([`super::open`]).

use oriole_gpu::{Gpu, GpuError};
use oriole_interp::{Bound, Bytes, Executable, LaneOrder, LoadError, Outcome, RunOptions, RunResult, StoreRecord};
use oriole_ir::ops::{Addend, Approx, AtomOp, Flags, Order, Type};
use oriole_ir::{Function, InstData, Module};
use oriole_machine::{Image, RunError};
use oriole_sass::cubin::Cubin;

use super::fused::fused;
use super::open::Open;
use super::{Judge, Mismatch, Verdict, budget, equivalence, gpu};

/// Machine instructions that may be executed for each step of the program: code that is not optimized has several for
/// one, and functions of floats have dozens.
const EXPANSION: u64 = 64;
/// Machine instructions that other orders of lanes may execute in any case. Beyond that, orders are tried until they
/// have taken as long as the usual one: the first two find nearly all that any order shows.
const CHEAP: u64 = 1 << 18;

/// Why code cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum CodeError {
    /// The program does not run on the launch.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The code does not run, or holds what is not executed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// It does not run on the GPU.
    #[error("on the GPU: {0}")]
    Gpu(#[from] GpuError),
    /// A GPU is given no such launch.
    #[error("on the GPU: launches with images are not made")]
    Images,
    /// Nor one with tensor maps, which the driver encodes.
    #[error("on the GPU: launches with tensor maps are not made")]
    TensorMaps,
    /// Nor one with addresses in structures.
    #[error("on the GPU: launches with addresses in structures are not made")]
    Pointers,
    /// Nor one with multicast memory, which takes several GPUs.
    #[error("on the GPU: launches with multicast memory are not made")]
    Multicast,
}

/// What is known of code.
#[derive(Clone, Debug)]
pub struct OnCode {
    /// The verdict.
    pub verdict: Verdict,
    /// The order of lanes in which it does something else, or the usual one.
    pub lanes: LaneOrder,
}

/// Who executes code.
#[derive(Clone, Copy, Debug)]
pub enum Executor<'a> {
    /// The machine-level interpreter.
    Interpreter,
    /// A GPU.
    Gpu(&'a Gpu),
}

impl Executor<'_> {
    /// Whether it may round what a program leaves otherwise than any order of its sums does here.
    fn rounds_products(self, original: &Module) -> bool {
        matches!(self, Executor::Gpu(_)) && gpu::has_float_products(original)
    }
}

impl Judge<'_> {
    /// Judges the code of a cubin that was made of the original, on the interpreter in these orders of lanes.
    ///
    /// # Errors
    ///
    /// If the cubin has no such kernel, an instruction is executed that the machine-level interpreter does not have, or
    /// the GPU does not take it.
    pub fn judge_code(
        &self,
        original: &Executable<'_>,
        cubin: &Cubin,
        executor: Executor<'_>,
        orders: &[LaneOrder],
    ) -> Result<OnCode, CodeError> {
        let of = |verdict| OnCode { verdict, lanes: LaneOrder::default() };
        match executor {
            Executor::Interpreter => self.judge_in_orders(original, cubin, orders),
            Executor::Gpu(gpu) => match self.run_on_gpu(original, cubin, gpu) {
                Err(CodeError::Gpu(error)) if error.is_of_kernel() => {
                    let mismatch = || Verdict::Mismatch(Mismatch::Gpu(error.to_string()));
                    Ok(of(if self.races() { Verdict::OriginalRaces } else { mismatch() }))
                }
                result => Ok(of(self.verdict_on_code(original, result?, executor))),
            },
        }
    }

    /// Judges code in the first of the orders, and in the others where these may leave something else.
    fn judge_in_orders(
        &self,
        original: &Executable<'_>,
        cubin: &Cubin,
        orders: &[LaneOrder],
    ) -> Result<OnCode, CodeError> {
        let code = self.load_code(original, cubin)?;
        let run = |lanes| self.run_loaded(&code, &RunOptions { lanes, ..RunOptions::default() });
        let verdict = |result| self.verdict_on_code(original, result, Executor::Interpreter);
        let lanes = orders.first().copied().unwrap_or_default();
        let first = run(lanes)?;
        let (has_orders, executed) = (first.has_orders, first.executed);
        let usual = OnCode { verdict: verdict(first), lanes };
        if !has_orders || !usual.verdict.is_good() {
            return Ok(usual);
        }
        let (most, mut spent) = (executed.max(CHEAP), 0);
        for lanes in orders.iter().skip(1).copied() {
            // What another order comes to may be not executed; and where threads wait for others, it may take long.
            let Ok(result) = run(lanes) else { continue };
            spent += result.executed;
            let takes_long = matches!(result.outcome, Outcome::OutOfSteps { .. }) && may_wait(self.original);
            let verdict = verdict(result);
            if verdict.is_finding() && !takes_long {
                return Ok(OnCode { verdict, lanes });
            }
            if spent >= most {
                break;
            }
        }
        Ok(usual)
    }

    /// Compares what code has left with what the original has.
    fn verdict_on_code(&self, original: &Executable<'_>, mut result: RunResult, executor: Executor<'_>) -> Verdict {
        let floats = Floats::of(original.module());
        for (before, after) in self.before.memory.iter().zip(&mut result.memory) {
            after.bytes = floats.settled(&before.bytes, &after.bytes);
        }
        match self.with_element(equivalence::compare(&self.before, &result), &result) {
            verdict if verdict.is_finding() && self.races() => Verdict::OriginalRaces,
            verdict if verdict.is_finding() && self.is_open(&result) => Verdict::OriginalUndefined,
            verdict if verdict.is_finding() && executor.rounds_products(self.original) => Verdict::OriginalUndefined,
            verdict => verdict,
        }
    }

    /// Whether code that differs from the original does what it does once products are fused with sums, where PTX
    /// leaves that to the compiler.
    pub fn is_fused(&self, original: &Executable<'_>, cubin: &Cubin, executor: Executor<'_>) -> bool {
        let lanes = LaneOrder::default();
        let Ok(result) = self.run_by(original, cubin, executor, lanes) else { return false };
        let floats = Floats::of(original.module());
        let options = RunOptions { steps: Some(budget(self.before.steps)), ..RunOptions::default() };
        fused(self.original).iter().any(|module| {
            let run = Executable::new(module).ok().and_then(|fused| fused.run(&self.launch, &options).ok());
            let Some(before) = run else { return false };
            let mut after = result.clone();
            for (before, after) in before.memory.iter().zip(&mut after.memory) {
                after.bytes = floats.settled(&before.bytes, &after.bytes);
            }
            equivalence::compare(&before, &after).is_good()
        })
    }

    /// Has the code of a cubin executed.
    ///
    /// # Errors
    ///
    /// As [`Judge::judge_code`], and if the kernel fails on the GPU.
    pub fn run_by(
        &self,
        original: &Executable<'_>,
        cubin: &Cubin,
        executor: Executor<'_>,
        lanes: LaneOrder,
    ) -> Result<RunResult, CodeError> {
        match executor {
            Executor::Interpreter => self.run_code(original, cubin, &RunOptions { lanes, ..RunOptions::default() }),
            Executor::Gpu(gpu) => self.run_on_gpu(original, cubin, gpu),
        }
    }

    /// Whether code differs only in what the PTX ISA leaves open.
    fn is_open(&self, result: &RunResult) -> bool {
        let open = self.open.get_or_init(|| Open::of(self.original, &self.launch, &self.before));
        open.covers(&self.before, result)
    }

    /// The last store of the code to a byte of a buffer: the argument that owns it, and the offset.
    pub fn last_store_of_code(
        &self,
        original: &Executable<'_>,
        cubin: &Cubin,
        byte: (usize, usize),
        lanes: LaneOrder,
    ) -> Option<StoreRecord> {
        let options = RunOptions { watch: vec![byte], lanes, ..RunOptions::default() };
        self.run_code(original, cubin, &options).ok()?.stores.pop()
    }

    /// Runs the code of a cubin on the launch.
    ///
    /// # Errors
    ///
    /// As [`Judge::judge_code`].
    pub fn run_code(
        &self,
        original: &Executable<'_>,
        cubin: &Cubin,
        options: &RunOptions,
    ) -> Result<RunResult, CodeError> {
        self.run_loaded(&self.load_code(original, cubin)?, options)
    }

    fn load_code(&self, original: &Executable<'_>, cubin: &Cubin) -> Result<(Image, Bound), CodeError> {
        let bound = original.bound(&self.launch)?;
        Ok((Image::load(cubin, &bound)?, bound))
    }

    fn run_loaded(&self, (image, bound): &(Image, Bound), options: &RunOptions) -> Result<RunResult, CodeError> {
        let steps = Some(budget(self.before.steps).saturating_mul(EXPANSION));
        Ok(image.run(&self.launch, bound, &RunOptions { steps, ..options.clone() })?)
    }
}

/// Whether a thread of a program may wait for another one in a loop: it reads what others write meanwhile.
fn may_wait(module: &Module) -> bool {
    let is_strong = |data: &InstData| data.field::<AtomOp>().is_some() || data.field() != Some(Order::Weak);
    module.operations().any(|data| data.is(Flags::READS) && is_strong(data))
}

/// The relative difference of floats that approximate functions may make: several errors of 2 units in the last place.
const APPROXIMATE: f32 = 1.0 / (1 << 18) as f32;

/// What a program computes in floats.
#[derive(Clone, Debug, Default)]
struct Floats {
    /// In how many bytes.
    widths: Vec<usize>,
    /// With functions that are approximate.
    approximates: bool,
}

impl Floats {
    fn of(module: &Module) -> Floats {
        let mut floats = Floats::default();
        let insts = |func: &Function, floats: &mut Floats| {
            for inst in func.layout().iter().flat_map(|block| func.block_insts(*block)) {
                floats.note(func.inst(inst));
            }
        };
        module.functions.values().for_each(|func| insts(func, &mut floats));
        floats
    }

    fn note(&mut self, data: &InstData) {
        let computes = data.is(Flags::PURE) && !data.is(Flags::COPY) || data.field::<AtomOp>().is_some();
        let result = data.field::<Type>().filter(|_| computes);
        let width = match result.or(data.field::<Addend>().map(Addend::ty)) {
            Some(Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2) => 2,
            Some(Type::F32 | Type::Tf32) => 4,
            Some(Type::F64) => 8,
            _ => return,
        };
        if !self.widths.contains(&width) {
            self.widths.push(width);
            self.widths.sort_unstable_by(|a, b| b.cmp(a));
        }
        self.approximates |= data.field::<Approx>().is_some_and(|approx| approx != Approx::Exact);
    }

    /// What code leaves, with the floats of the program in place of those that count as the same.
    fn settled(&self, before: &Bytes, after: &Bytes) -> Bytes {
        let (ours, mut theirs) = (before.data(), after.data().to_vec());
        if ours.len() != theirs.len() || ours == theirs {
            return after.clone();
        }
        for start in (0..ours.len()).step_by(8) {
            let unit = start..(start + 8).min(ours.len());
            if ours[unit.clone()] == theirs[unit.clone()] {
                continue;
            }
            for bytes in &self.widths {
                for at in unit.clone().step_by(*bytes).filter(|at| at + bytes <= unit.end) {
                    let (one, other) = (&ours[at..at + bytes], &theirs[at..at + bytes]);
                    if is_same_nan(one, other) || self.approximates && is_close(one, other) {
                        theirs[at..at + bytes].copy_from_slice(one);
                    }
                }
            }
        }
        Bytes::defined(theirs)
    }
}

/// Whether two single floats differ by little. Integers below 2^23, which are no normal floats, do not.
fn is_close(one: &[u8], other: &[u8]) -> bool {
    let float = |bytes: &[u8]| Some(f32::from_le_bytes(bytes.try_into().ok()?)).filter(|float| float.is_normal());
    let (Some(one), Some(other)) = (float(one), float(other)) else { return false };
    (one - other).abs() <= APPROXIMATE * one.abs().max(other.abs())
}

/// Whether two NaNs of a format count as one.
fn is_same_nan(one: &[u8], other: &[u8]) -> bool {
    let is_canonical = |bytes: &[u8]| match *bytes {
        [0xff, 0xff, 0xff, high] | [0xff, high] => high | 0x80 == 0xff,
        _ => bytes.len() == 8,
    };
    is_nan(one) && is_nan(other) && (is_canonical(one) || is_canonical(other))
}

/// Whether 2, 4 or 8 bytes are a NaN: two bytes of either format.
fn is_nan(bytes: &[u8]) -> bool {
    match *bytes {
        [a, b, c, d, e, f, g, h] => f64::from_le_bytes([a, b, c, d, e, f, g, h]).is_nan(),
        [a, b, c, d] => f32::from_le_bytes([a, b, c, d]).is_nan(),
        [low, high] => {
            let magnitude = u16::from_le_bytes([low, high]) & 0x7fff;
            // Above the infinity of f16, which is below that of bf16.
            magnitude > 0x7c00
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_same(floats: &Floats, ours: &[u8], theirs: &[u8]) -> bool {
        let [ours, theirs] = [ours, theirs].map(|bytes| Bytes::defined(bytes.to_vec()));
        floats.settled(&ours, &theirs).data() == ours.data()
    }

    #[test]
    fn nans_of_a_format_in_which_the_program_computes_are_the_same() {
        let of = |widths: &[usize]| Floats { widths: widths.to_vec(), approximates: false };
        let [canonical, negative, other] = [0x7fff_ffffu32, 0xffff_ffff, 0xffff_fffe].map(u32::to_le_bytes);
        assert!(is_same(&of(&[4]), &canonical, &other) && is_same(&of(&[4]), &negative, &other));
        assert!(is_same(&of(&[4]), &other, &canonical));
        let third = 0xffff_fffdu32.to_le_bytes();
        assert!(!is_same(&of(&[4]), &other, &third), "-2 and -3 are no canonical NaNs");
        assert!(!is_same(&of(&[8]), &canonical, &other), "no single floats");
        assert!(!is_same(&of(&[4]), &canonical, &f32::INFINITY.to_le_bytes()));
        assert!(!is_same(&of(&[4]), &1f32.to_le_bytes(), &negative));
        assert!(is_same(&of(&[8]), &f64::NAN.to_le_bytes(), &(-f64::NAN).to_le_bytes()));
        assert!(is_same(&of(&[2]), &[0xff, 0x7f, 1, 2], &[0x01, 0x7e, 1, 2]));
        assert!(!is_same(&of(&[2]), &[0xff, 0x7f, 1, 2], &[0x01, 0x7e, 1, 3]));
    }

    #[test]
    fn what_a_program_computes_in_memory_counts() {
        let of = |inst: &str| {
            let text = format!(
                ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n.reg .b64 \
                 %d<3>;\n.reg .b32 %r<2>;\nld.param.u64 %d1, [p];\n{inst}\nret;\n}}\n"
            );
            Floats::of(&crate::input::read_ptx(&text).unwrap_or_else(|faults| panic!("{faults:?}"))).widths
        };
        assert_eq!(of("red.global.add.f64 [%d1], %d2;"), [8]);
        assert_eq!(of("atom.global.add.f32 %r1, [%d1], %r1;"), [4]);
        assert_eq!(of("red.global.add.u64 [%d1], %d2;\nst.global.f32 [%d1], %r1;"), [] as [usize; 0]);
    }

    #[test]
    fn close_floats_are_the_same_where_functions_are_approximate() {
        let same = |ours: f32, theirs: f32, approximates: bool| {
            let floats = Floats { widths: vec![4], approximates };
            is_same(&floats, &ours.to_le_bytes(), &theirs.to_le_bytes())
        };
        assert!(same(1.0, 1.000001, true) && !same(1.0, 1.000001, false));
        assert!(!same(1.0, 1.00001, true) && !same(1.0, -1.0, true) && !same(1.0, f32::INFINITY, true));
        assert!(!same(f32::from_bits(1_000_000), f32::from_bits(1_000_001), true), "integers");
    }
}
