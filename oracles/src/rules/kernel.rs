//! Rules at work: kernels of their left sides, changed by the optimizer with one rule alone, and executed.
//!
//! A counterexample of the terms is believed only where the interpreter sees it too. And rules that the terms call right
//! are executed on some inputs each, undefined ones among them, so that matcher, rewriter, evaluation of constants and
//! guards, and the meaning of operations as terms are held against the interpreter.

use std::sync::Arc;

use oriole_optimizer::ir::{
    Block, Function, FunctionKind, InstBuilder, Linkage, Module, Operand, Reg, RegInfo, Variable,
};
use oriole_optimizer::ops::{Compare, Flags, Opcode, Shape, Space, Type};
use oriole_optimizer::peephole::RuleSet;
use oriole_optimizer::peephole::instance::{Condition, Pattern, Source, place_type};
use oriole_optimizer::pipeline::runner::{Options, PhaseEntry, default_phases, run_phases};
use oriole_optimizer::target::Target;

use super::judge::described;
use super::report::{Proof, Refutation};
use super::translate::Question;
use crate::check::catch::catch;
use crate::equivalence::{Verdict, compare};
use crate::interp::{Executable, RunOptions};
use crate::launch::{Arg, ArgValue, Buffer, Launch, Scalar, ScalarType};
use crate::smt::eval::Program;
use crate::smt::search::examples;
use crate::smt::term::{Op, ones};
use crate::smt::{Inputs, Term, solve};

/// The phase that applies rules, as `oriole check --phase` knows it.
pub const PHASE: &str = "GeneralOptimizeEarly";

/// Inputs of each variant that are executed.
const SAMPLES: usize = 6;
/// The same where an operation has no meaning as terms: then executing is all the evidence.
const OPAQUE_SAMPLES: usize = 64;
/// Variants of a rule that are executed.
const MOST_VARIANTS: usize = 48;
/// Changes of a kernel: some for every place, and an end to rules that feed themselves. An odd number, so that one which
/// undoes itself leaves a trace.
const MOST_REWRITES: u64 = 511;
/// Bytes between two inputs or results in memory.
const SLOT: u64 = 16;

/// What executing a counterexample shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Confirmation {
    /// It was not executed.
    NotTried,
    /// The optimizer applies the rule, and the interpreter sees another result.
    Confirmed(Box<Reproducer>),
    /// The terms say that the rule is wrong here, and executing does not show it: one of them is wrong, or the rule
    /// cannot be made to apply to this input.
    Disagreement {
        /// What executing shows instead.
        reason: String,
        /// The kernel.
        reproducer: Box<Reproducer>,
    },
}

/// A kernel with its launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reproducer {
    /// The kernel as `.ori` text.
    pub kernel: String,
    /// Its launch.
    pub launch: Launch,
    /// The kernel after the rule was applied.
    pub after: String,
}

/// Executes a counterexample before and after the optimizer with this rule alone. The variable of the number
/// `undefined`, if any, has no value.
pub fn confirm(
    question: &Question<'_>,
    inputs: &[u128],
    undefined: Option<usize>,
    only: &Arc<RuleSet>,
) -> Confirmation {
    let wide = question.terms.variables().iter().any(|variable| variable.width > 64);
    let mut builder = Builder::new(question, if wide { Feed::Buffer } else { Feed::Parameters });
    builder.sample(inputs, undefined);
    let (module, launch) = builder.finish();
    let (applied, verdict, after) = match executed(&module, &launch, only) {
        Ok(ran) => (ran.applied, ran.verdict, ran.after),
        Err(reason) => (0, Err(reason), String::new()),
    };
    let reproducer = Box::new(Reproducer { kernel: module.to_string(), launch, after });
    let reason = match verdict {
        Ok(verdict) if verdict.is_finding() => return Confirmation::Confirmed(reproducer),
        Err(reason) => reason,
        Ok(_) if applied == 0 => "the optimizer does not apply the rule to this kernel".to_owned(),
        Ok(verdict) => format!("the rule applies, and the interpreter sees no difference ({})", verdict.name()),
    };
    Confirmation::Disagreement { reason, reproducer }
}

/// Executes variants on some inputs each; the first that goes wrong is a refutation.
pub fn execute(questions: &[Question<'_>], only: &Arc<RuleSet>, proof: &mut Proof) -> Option<Refutation> {
    if !only.rules()[0].instances.iter().all(|instance| instance.pattern().opcode.is(Flags::PURE)) {
        return None;
    }
    let step = questions.len().div_ceil(MOST_VARIANTS).max(1);
    for question in questions.iter().step_by(step) {
        let samples = samples(question);
        if samples.is_empty() {
            continue;
        }
        if let Some((inputs, undefined, confirmation)) = execute_variant(question, &samples, only, proof) {
            return Some(described(question, &inputs, undefined, "executing kernels", confirmation));
        }
    }
    None
}

/// Inputs under which the rule applies.
fn samples(question: &Question<'_>) -> Vec<Inputs> {
    let mut terms = question.terms.clone();
    let count = if question.opaque { OPAQUE_SAMPLES } else { SAMPLES };
    match solve(&mut terms, &question.query) {
        Some(solved) => {
            let found = examples(&terms, &solved.query, count, 5);
            found.into_iter().map(|inputs| solved.inputs(&terms, inputs)).collect()
        }
        None => examples(&terms, &question.query, count, 5),
    }
}

fn execute_variant(
    question: &Question<'_>,
    samples: &[Inputs],
    only: &Arc<RuleSet>,
    proof: &mut Proof,
) -> Option<(Inputs, Option<usize>, Confirmation)> {
    let mut builder = Builder::new(question, Feed::Buffer);
    samples.iter().for_each(|inputs| builder.sample(inputs, None));
    for undefined in 0..question.terms.variables().len() {
        builder.sample(&samples[undefined % samples.len()], Some(undefined));
    }
    let (module, launch) = builder.finish();
    let ran = executed(&module, &launch, only);
    proof.kernels += 1;
    let reason = match ran {
        Ok(ran) => {
            proof.applied += ran.applied;
            match ran.verdict {
                Ok(verdict) if verdict.is_finding() => format!("{} leaves another result", only.rules()[0].name),
                Ok(_) => return None,
                Err(reason) => reason,
            }
        }
        Err(reason) => reason,
    };
    // Which input it is: each alone, then each with a variable that nothing has defined.
    let variables = question.terms.variables().len();
    let undefined = (0..variables).map(|number| (&samples[number % samples.len()], Some(number)));
    for (inputs, undefined) in samples.iter().map(|inputs| (inputs, None)).chain(undefined) {
        let confirmation = confirm(question, inputs, undefined, only);
        if matches!(confirmation, Confirmation::Confirmed(_)) {
            return Some((inputs.clone(), undefined, confirmation));
        }
    }
    let reproducer = Box::new(Reproducer { kernel: module.to_string(), launch, after: String::new() });
    Some((samples[0].clone(), None, Confirmation::Disagreement { reason, reproducer }))
}

/// What became of a kernel.
struct Executed {
    /// How often the rule was applied.
    applied: u64,
    verdict: Result<Verdict, String>,
    after: String,
}

/// Optimizes a module with these rules and compares; an error where the module itself cannot be run.
fn executed(module: &Module, launch: &Launch, only: &Arc<RuleSet>) -> Result<Executed, String> {
    let options = RunOptions::default();
    let run = |module: &Module| {
        let executable = Executable::new(module).map_err(|error| error.to_string())?;
        executable.run(launch, &options).map_err(|error| error.to_string())
    };
    let original = run(module)?;
    let phases: Vec<PhaseEntry> = default_phases().into_iter().filter(|entry| entry.name() == PHASE).collect();
    let target = Target::portable(90).expect("sm_90 has a row");
    let mut options = Options { rules: Some(only.clone()), verify: true, ..Options::new(target) };
    options.rewrite_limit = Some(MOST_REWRITES);
    let mut after = module.clone();
    let report = catch(|| run_phases(&phases, &mut after, &options, &mut ()));
    let report = match report {
        Ok(Ok(report)) => report,
        Ok(Err(error)) => return Err(error.to_string()),
        Err(panic) => return Err(format!("the optimizer panics: {panic}")),
    };
    let names: Vec<&str> = only.rules().iter().map(|rule| rule.name).collect();
    let counted = report.phases.iter().flat_map(|phase| phase.statistics.iter());
    let applied = counted.filter(|(name, _)| names.contains(name)).map(|(_, count)| count).sum();
    let verdict = run(&after).map(|after| compare(&original, &after));
    Ok(Executed { applied, verdict, after: after.to_string() })
}

/// Where the kernel's inputs come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feed {
    /// A parameter each, for one sample.
    Parameters,
    /// A buffer.
    Buffer,
}

/// A kernel in the making: the left side of a variant on one input after the other, every result stored.
struct Builder<'q, 'i> {
    question: &'q Question<'i>,
    feed: Feed,
    func: Function,
    block: Block,
    results: Reg,
    operands: Option<Reg>,
    /// The bytes of the input buffer.
    bytes: Vec<u8>,
    /// The values of the parameters behind the first.
    scalars: Vec<(String, Scalar)>,
    stored: u64,
    /// The register of each variable for the sample at hand.
    loaded: Vec<Option<Reg>>,
    captures: Vec<Option<Operand>>,
    next_fields: usize,
    next_other: usize,
    next_constant: usize,
}

impl<'q, 'i> Builder<'q, 'i> {
    fn new(question: &'q Question<'i>, feed: Feed) -> Builder<'q, 'i> {
        let mut func = Function::new("rule", FunctionKind::Entry);
        func.linkage = Linkage::Visible;
        func.form = oriole_optimizer::ir::Form::Ssa;
        let block = func.new_block();
        let mut builder = Builder {
            question,
            feed,
            func,
            block,
            results: Reg::from_u32(0),
            operands: None,
            bytes: Vec::new(),
            scalars: Vec::new(),
            stored: 0,
            loaded: Vec::new(),
            captures: Vec::new(),
            next_fields: 0,
            next_other: 0,
            next_constant: 0,
        };
        builder.results = builder.parameter("results", Type::U64);
        if feed == Feed::Buffer {
            builder.operands = Some(builder.parameter("operands", Type::U64));
        }
        builder
    }

    fn parameter(&mut self, name: &str, ty: Type) -> Reg {
        let local = self.func.locals.push(Variable::new(name, Space::Param, ty, None));
        self.func.params.push(local);
        let load = InstBuilder::new(Opcode::Ld).field(ty).field(Space::Param);
        self.value(load.src(Operand::Local(local)).src(Operand::Imm(0)), RegInfo::of(ty))
    }

    fn value(&mut self, inst: InstBuilder, info: RegInfo) -> Reg {
        inst.append_value(&mut self.func, self.block, info)
    }

    /// The left side on one input; the variable of this number, if any, is undefined.
    fn sample(&mut self, inputs: &[u128], undefined: Option<usize>) {
        let question = self.question;
        let instance = question.variant.instance;
        self.loaded = vec![None; question.terms.variables().len()];
        self.captures = vec![None; instance.captures.len()];
        (self.next_fields, self.next_other, self.next_constant) = (0, 0, 0);
        for index in 0..instance.captures.len() {
            self.captures[index] = self.captured(index, inputs, undefined);
        }
        let results = self.pattern(instance.pattern(), inputs, undefined);
        let (row, fields) = (instance.pattern().opcode.row(), question.variant.fields[0]);
        for (reg, shape) in results.into_iter().zip(row.dsts) {
            let ty = place_type(row.opcode, &fields, *shape);
            // Of a narrow value that nothing has defined, whether its zero extension is defined says nothing.
            let narrow = undefined.is_some() && ty.is_some_and(|ty| ty.bits() == 16);
            self.store(reg, narrow);
        }
    }

    /// The variable that a term is.
    fn variable_of(&self, term: Term) -> Option<usize> {
        match self.question.terms.node(term).op {
            Op::Variable(number) => Some(number as usize),
            _ => None,
        }
    }

    /// The operand of a capture that is no operation of the pattern.
    fn captured(&mut self, index: usize, inputs: &[u128], undefined: Option<usize>) -> Option<Operand> {
        let instance = self.question.variant.instance;
        let capture = &instance.captures[index];
        let number = self.variable_of(self.question.captures[index])?;
        let value = inputs[number] as u64;
        if capture.constant {
            return Some(Operand::Imm(value));
        }
        let wants_constant = |condition: &Condition| *condition == Condition::IsConstant(index);
        if instance.conditions.iter().any(wants_constant) || is_immediate(instance.pattern(), index) {
            let bits = capture.ty.map_or(32, Type::bits);
            return Some(Operand::Imm(value & ones(bits.clamp(1, 64)) as u64));
        }
        let reg = self.load(number, inputs, undefined);
        Some(Operand::Reg(self.with_known_bits(index, reg, inputs)))
    }

    /// The register of a variable, loaded from where the optimizer sees nothing of its value.
    fn load(&mut self, number: usize, inputs: &[u128], undefined: Option<usize>) -> Reg {
        if let Some(reg) = self.loaded[number] {
            return reg;
        }
        let variable = &self.question.terms.variables()[number];
        let (name, width, value) = (variable.name.clone(), variable.width, inputs[number]);
        let ty = match width {
            64 => Type::B64,
            128 => Type::B128,
            _ => Type::B32,
        };
        let info = RegInfo::of(ty);
        let reg = if undefined == Some(number) {
            self.undefined(ty)
        } else if self.feed == Feed::Parameters {
            let scalar = if width == 64 { ScalarType::B64 } else { ScalarType::B32 };
            self.scalars.push((name.clone(), Scalar::from_bits(scalar, value as u64)));
            self.parameter(&format!("p{}_{}", self.scalars.len(), clean(&name)), ty)
        } else {
            let offset = self.bytes.len() as u64;
            self.bytes.extend_from_slice(&value.to_le_bytes());
            let base = self.operands.unwrap_or(self.results);
            let load = InstBuilder::new(Opcode::Ld).field(ty).field(Space::Global);
            self.value(load.src(base).src(Operand::Imm(offset)), info)
        };
        let reg = if width == 1 {
            let test = InstBuilder::new(Opcode::SetP).field(Type::U32).field(Compare::Ne);
            self.value(test.src(reg).src(Operand::Imm(0)), RegInfo::PRED)
        } else {
            reg
        };
        self.loaded[number] = Some(reg);
        reg
    }

    /// A register with what nothing has written.
    fn undefined(&mut self, ty: Type) -> Reg {
        let name = format!("nothing{}", self.func.locals.len());
        let local = self.func.locals.push(Variable::new(name, Space::Local, ty, None));
        let load = InstBuilder::new(Opcode::Ld).field(ty).field(Space::Local);
        self.value(load.src(Operand::Local(local)).src(Operand::Imm(0)), RegInfo::of(ty))
    }

    /// The value with operations that show the bits which conditions want to be known.
    fn with_known_bits(&mut self, capture: usize, reg: Reg, inputs: &[u128]) -> Reg {
        let info = self.func.regs[reg];
        if info.is_predicate() || info.words > 2 {
            return reg;
        }
        let (mut zeros, mut set) = (0u64, 0u64);
        let value = self.variable_of(self.question.captures[capture]).map_or(0, |number| inputs[number] as u64);
        for (of, is_set, mask) in &self.question.known {
            let mask = Program::new(&self.question.terms, &[*mask]).eval(inputs)[0] as u64;
            if *of == capture && *is_set && mask & !value == 0 {
                set |= mask;
            } else if *of == capture && !*is_set && mask & value == 0 {
                zeros |= mask;
            }
        }
        let ty = if info.words == 2 { Type::B64 } else { Type::B32 };
        let all = ones(ty.bits()) as u64;
        let mut reg = reg;
        if zeros & all != 0 {
            let and = InstBuilder::new(Opcode::And).field(ty).src(reg).src(Operand::Imm(!zeros & all));
            reg = self.value(and, info);
        }
        if set & all != 0 {
            let or = InstBuilder::new(Opcode::Or).field(ty).src(reg).src(Operand::Imm(set & all));
            reg = self.value(or, info);
        }
        reg
    }

    /// The operations of a pattern; the registers of its results.
    fn pattern(&mut self, pattern: &Pattern, inputs: &[u128], undefined: Option<usize>) -> Vec<Reg> {
        let fields = self.question.variant.fields[self.next_fields];
        self.next_fields += 1;
        let row = pattern.opcode.row();
        let mut inst = InstBuilder::new(pattern.opcode).fields(fields);
        for (source, shape) in pattern.srcs.iter().zip(row.srcs) {
            let ty = place_type(pattern.opcode, &fields, *shape);
            inst = inst.src(self.source(source, ty, *shape, inputs, undefined));
        }
        let mut results = Vec::with_capacity(row.dsts.len());
        for shape in row.dsts {
            let ty = place_type(pattern.opcode, &fields, *shape).unwrap_or(Type::B32);
            let reg = self.func.new_reg(RegInfo::of(ty));
            inst = inst.dst(reg);
            results.push(reg);
        }
        inst.append(&mut self.func, self.block);
        if let (Some(binding), [reg]) = (pattern.binding, results.as_slice()) {
            self.captures[binding] = Some(Operand::Reg(*reg));
        }
        results
    }

    fn source(
        &mut self,
        source: &Source,
        ty: Option<Type>,
        shape: Shape,
        inputs: &[u128],
        undefined: Option<usize>,
    ) -> Operand {
        match source {
            Source::Any => {
                let other = self.question.others[self.next_other];
                self.next_other += 1;
                let number = self.variable_of(other).unwrap_or(0);
                if shape == Shape::Imm {
                    return Operand::Imm(inputs[number] as u64);
                }
                Operand::Reg(self.load(number, inputs, undefined))
            }
            Source::Capture(capture) => match self.captures[*capture] {
                Some(operand) => operand,
                None => Operand::Undef,
            },
            Source::Constant(capture) => self.captures[*capture].unwrap_or(Operand::Undef),
            Source::Equals(_) => {
                // The translation has the value; nothing is computed here a third time.
                let value = self.question.constants[self.next_constant];
                self.next_constant += 1;
                let bits = Program::new(&self.question.terms, &[value]).eval(inputs)[0] as u64;
                Operand::Imm(bits & ones(ty.map_or(64, Type::bits).clamp(1, 64)) as u64)
            }
            Source::Inst(pattern) => match self.pattern(pattern, inputs, undefined).first() {
                Some(reg) => Operand::Reg(*reg),
                None => Operand::Undef,
            },
            Source::Word(word, of) => match self.source(of, Some(Type::B64), Shape::D, inputs, undefined) {
                Operand::Reg(reg) => Operand::Word(reg, *word),
                Operand::Imm(bits) => Operand::Imm(bits >> (32 * u32::from(*word & 1)) & 0xffff_ffff),
                other => other,
            },
        }
    }

    /// Stores a result as it is, or its low half.
    fn store(&mut self, reg: Reg, narrow: bool) {
        let info = self.func.regs[reg];
        let (value, ty) = match info.words {
            _ if info.is_predicate() => {
                let select = InstBuilder::new(Opcode::SelP).field(Type::U32);
                let select = select.src(Operand::Imm(1)).src(Operand::Imm(0)).src(reg);
                (self.value(select, RegInfo::words(1)), Type::B32)
            }
            2 => (reg, Type::B64),
            4 => (reg, Type::B128),
            _ if narrow => (reg, Type::B16),
            _ => (reg, Type::B32),
        };
        let offset = Operand::Imm(SLOT * self.stored);
        let store = InstBuilder::new(Opcode::St).field(ty).field(Space::Global);
        store.src(self.results).src(offset).src(value).append(&mut self.func, self.block);
        self.stored += 1;
    }

    fn finish(mut self) -> (Module, Launch) {
        InstBuilder::new(Opcode::Ret).append(&mut self.func, self.block);
        let mut launch = Launch::new(Some("rule".to_owned()));
        let buffer = |name: &str, bytes: Vec<u8>, element| Arg {
            name: Some(name.to_owned()),
            value: ArgValue::Buffer(Buffer { bytes, element, expect: None }),
        };
        let results = vec![0; (SLOT * self.stored.max(1)) as usize];
        launch.args.push(buffer("results", results, Some(ScalarType::B32)));
        if self.feed == Feed::Buffer {
            self.bytes.resize(self.bytes.len().max(SLOT as usize), 0);
            launch.args.push(buffer("operands", self.bytes, None));
        }
        let scalar = |(name, scalar)| Arg { name: Some(name), value: ArgValue::Scalar(scalar) };
        launch.args.extend(self.scalars.into_iter().map(scalar));
        let mut module = Module::default();
        module.functions.push(self.func);
        (module, launch)
    }
}

/// Whether a capture stands where only immediates can.
fn is_immediate(pattern: &Pattern, capture: usize) -> bool {
    pattern.srcs.iter().zip(pattern.opcode.row().srcs).any(|(source, shape)| match source {
        Source::Capture(one) => *one == capture && *shape == Shape::Imm,
        Source::Inst(inner) => is_immediate(inner, capture),
        _ => false,
    })
}

/// A name as the text form takes it.
fn clean(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect()
}
