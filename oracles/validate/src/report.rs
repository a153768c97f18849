//! The result of judging a rule, with its evidence.

use oriole_ir::diagnostics::counted;
use std::collections::BTreeSet;
use std::time::Duration;

use super::kernel::Confirmation;

/// What is known about a rule, from the best to the worst.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// A solver, or simplification of the terms, shows that no input is wrong.
    Proved,
    /// Every input was tried, for some field combinations at least; the others are proved.
    Exhaustive,
    /// There is no meaning as terms for some of it, so each such variant was executed as kernels on many inputs, and
    /// applied there. [`NotShown`] says what nobody has shown.
    Tested,
    /// Many inputs were tried and none is wrong, but there is no proof. Not a pass.
    Unknown,
    /// The rule never applies: no input meets the guards, or the optimizer applies it to no kernel of its left side
    /// (constants that it does not fold, operations that it folds before). Not a pass.
    Vacuous,
    /// Some input is wrong.
    Refuted,
}

impl Verdict {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Proved => "proved",
            Verdict::Exhaustive => "exhaustive",
            Verdict::Tested => "tested",
            Verdict::Unknown => "unknown",
            Verdict::Vacuous => "vacuous",
            Verdict::Refuted => "refuted",
        }
    }

    /// Whether the rule may be used.
    pub fn is_pass(self) -> bool {
        self <= Verdict::Tested
    }
}

/// How the variants of a rule were settled.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Proof {
    /// Both sides are the same term.
    pub simplified: u32,
    /// The solver found no wrong input.
    pub solved: u32,
    /// Every input was tried.
    pub exhausted: u32,
    /// Variants that were executed as kernels only, since an operation has no meaning as terms.
    pub kernels_only: Vec<NotShown>,
    /// Neither, with the reason.
    pub open: Vec<String>,
    /// No input meets the guards.
    pub vacuous: u32,
    /// The solvers, with their versions.
    pub solvers: BTreeSet<String>,
    /// How long they took, when they were asked.
    pub millis: u64,
    /// Inputs that were tried.
    pub tried: u64,
    /// How many of them met the guards.
    pub relevant: u64,
    /// Variants whose guards none of the inputs that were tried met.
    pub unmet: u32,
    /// Kernels that were executed before and after the rule was applied, and in how many places it applied.
    pub kernels: u64,
    /// Applications of the rule in them.
    pub applied: u64,
}

/// A variant that nothing but executing kernels speaks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotShown {
    /// The variant, by its root.
    pub variant: String,
    /// What was not shown, and why.
    pub what: String,
    /// Inputs on which it was executed.
    pub inputs: u64,
    /// How many of those the terms alone call wrong, so that they tell more than others.
    pub telling: u64,
}

impl std::fmt::Display for NotShown {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let NotShown { variant, what, inputs, telling } = self;
        let inputs = counted(inputs, "input");
        write!(out, "{variant}: {what}; executed on {inputs} (boundary values, floats near one, random bits), ")?;
        if *telling > 0 {
            write!(out, "{telling} of them where the terms alone call it wrong, ")?;
        }
        write!(out, "and nothing was wrong")
    }
}

impl Proof {
    /// Inputs on which variants were executed that are shown in no other way.
    pub fn inputs(&self) -> u64 {
        self.kernels_only.iter().map(|one| one.inputs).sum()
    }
}

/// Whether a guard is needed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Need {
    /// Without it, this input is wrong.
    Shown(String),
    /// Without it, the rule is refused when it is read, for this reason.
    Refused(String),
    /// It says nothing about the meaning of the rule, only when to apply it.
    Cost,
    /// The rule is right without it.
    Idle,
    /// Neither a wrong input nor a proof was found without it.
    Unclear,
}

/// A guard and whether it is needed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuardReport {
    /// The guard as it is written.
    pub text: String,
    /// Whether it is needed.
    pub need: Need,
}

/// An input on which a rule is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refutation {
    /// The values of the rule's variables, as `T = u32`.
    pub instance: String,
    /// The root of the pattern with its fields.
    pub root: String,
    /// The inputs: names, widths in bits, values.
    pub inputs: Vec<(String, u32, u128)>,
    /// The results before, and what they become; `None` where that is undefined.
    pub values: [Vec<Option<u128>>; 2],
    /// Whether the root has a guard that does not hold in every thread.
    pub guarded: bool,
    /// Who found it.
    pub found_by: &'static str,
    /// What the optimizer and the interpreter say.
    pub confirmation: Confirmation,
}

/// What is known about a rule.
#[derive(Clone, PartialEq, Debug)]
pub struct RuleReport {
    /// Its name.
    pub name: String,
    /// Its place: `arithmetic.rules:5`.
    pub place: String,
    /// Its priority.
    pub priority: u16,
    /// Combinations of its variables.
    pub instances: usize,
    /// Those, with every field settled.
    pub variants: usize,
    /// `bit-exact` or `modulo nan`.
    pub contract: &'static str,
    /// The verdict.
    pub verdict: Verdict,
    /// How the variants were settled.
    pub proof: Proof,
    /// The guards.
    pub guards: Vec<GuardReport>,
    /// The guards that nobody wrote: what results need that read more of an operand than the pattern does.
    pub added: Vec<String>,
    /// Why it is refuted.
    pub refutation: Option<Refutation>,
    /// How long it took.
    pub time: Duration,
}

impl std::fmt::Display for Refutation {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let input = |(name, width, value): &(String, u32, u128)| format!("{name} = {}", hexadecimal(*value, *width));
        let inputs: Vec<String> = self.inputs.iter().map(input).collect();
        let [before, after] = self.values.clone().map(|values| {
            let shown: Vec<String> =
                values.iter().map(|v| v.map_or("undefined".to_owned(), |v| format!("{v:#x}"))).collect();
            if shown.len() == 1 { shown[0].clone() } else { format!("({})", shown.join(", ")) }
        });
        let instance = if self.instance.is_empty() { String::new() } else { format!(" for {}", self.instance) };
        let mut inputs = if inputs.is_empty() { "always".to_owned() } else { format!("with {}", inputs.join(", ")) };
        inputs += if self.guarded { " and a guard" } else { "" };
        if self.values[0] == self.values[1] {
            return write!(out, "{}{instance}, {inputs}: executed, the kernel leaves another result", self.root);
        }
        write!(out, "{}{instance}, {inputs}: {before} becomes {after}", self.root)
    }
}

/// A value: small ones in decimal, others in hexadecimal.
fn hexadecimal(value: u128, width: u32) -> String {
    if value < 10 || width == 1 { value.to_string() } else { format!("{value:#x}") }
}
