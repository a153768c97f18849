//! Machine rules with their names resolved: rows of the machine's table, registers, captured values and constants.
//!
//! A mnemonic is one row with its modifiers, so a rule is about exactly one identity ([`MachineId`]); variables of a
//! rule over parts of mnemonics make an [`Instance`] for each combination that the table has. Constants have 32 bits.

use std::collections::BTreeMap;

use oriole_ir::machine::{MachineTable, table};
use oriole_ir::{MachineId, Modifiers, PhysicalReg, RegFile};

use crate::instance::{Function, interned, ones};
use crate::language::ast::{BinaryOp, Expr, Guard, Name, Relation, UnaryOp};
use crate::language::machine::{MachineInst, MachineKind, MachineOperand, MachineRule, Marks};
use crate::language::{Fault, Span, parse};
use crate::number;
use crate::resolve::function_named;

/// The width of constants.
const BITS: u32 = 32;
/// How many instances a rule may have.
const MAX_INSTANCES: usize = 512;
/// How many instructions a pattern may have.
const MAX_INSTS: usize = 8;

/// A machine rule, ready to be matched.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// The sentences above it.
    pub doc: String,
    /// The category, where it says one.
    pub category: Option<Category>,
    /// The highest that matches wins; among equals the first.
    pub priority: u16,
    /// The number of the template that it selects.
    pub template: Option<u64>,
    /// Where it is tried.
    pub contexts: Contexts,
    /// The numbers of the SMs for which it is there; none for all.
    pub only: Vec<u16>,
    /// One for each combination of its variables.
    pub instances: Vec<Instance>,
    /// Its examples: the instructions, and the one that the last of them becomes, if any.
    pub examples: Vec<(Vec<Inst>, Option<Inst>, Span)>,
    /// Its text.
    pub text: String,
}

/// The categories of `spec/peephole.txt`, "Representative rewrite categories".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Category {
    /// A move goes, or what does nothing.
    MoveElimination,
    /// The same operation by another word.
    ModifierFlip,
    /// Signed and unsigned forms of one operation.
    SignedUnsigned,
    /// Predicates: chains of comparisons, polarity.
    Predicate,
    /// A constant becomes an operand.
    Immediate,
    /// Two operations of two sources become one.
    TwoSource,
    /// A product and a sum, or others of three sources, become one.
    ThreeSource,
    /// Scopes and orders of memory.
    ScopeOrder,
    /// Products of matrices.
    Tensor,
    /// Selections.
    SelectCollapse,
}

impl Category {
    /// Each with its name in rules.
    pub const NAMES: [(Category, &'static str); 10] = [
        (Category::MoveElimination, "move-elimination"),
        (Category::ModifierFlip, "modifier-flip"),
        (Category::SignedUnsigned, "signed-unsigned"),
        (Category::Predicate, "predicate"),
        (Category::Immediate, "immediate"),
        (Category::TwoSource, "two-source"),
        (Category::ThreeSource, "three-source"),
        (Category::ScopeOrder, "scope-order"),
        (Category::Tensor, "tensor"),
        (Category::SelectCollapse, "select-collapse"),
    ];

    /// Its name in rules.
    pub fn name(self) -> &'static str {
        Category::NAMES.iter().find(|(category, _)| *category == self).map_or("", |(_, name)| name)
    }
}

/// A stage of compilation at which rules are tried.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Context {
    /// Before code is scheduled, on every SM.
    Generic,
    /// The same, once more, with what one family of SMs has.
    Sm,
    /// When code is scheduled.
    PostSchedule,
}

impl Context {
    /// Each with its name in rules.
    pub const NAMES: [(Context, &'static str); 3] =
        [(Context::Generic, "generic"), (Context::Sm, "sm"), (Context::PostSchedule, "post-schedule")];
}

/// A set of contexts; the empty one is all of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Contexts(Vec<Context>);

impl Contexts {
    /// Whether rules with this set are tried in a context.
    pub fn has(&self, context: Context) -> bool {
        self.0.is_empty() || self.0.contains(&context)
    }
}

/// A rule for one combination of its variables.
#[derive(Clone, PartialEq, Debug)]
pub struct Instance {
    /// The names of the values; elsewhere they are indices into this.
    pub values: Vec<String>,
    /// For each value the instruction of the pattern, and its result, that makes it.
    pub made: Vec<Option<(usize, usize)>>,
    /// The names of captured constants.
    pub constants: Vec<String>,
    /// The instructions in the order of the code, the root last.
    pub pattern: Vec<Inst>,
    /// The instruction in the root's place.
    pub result: Inst,
    /// The conditions, all of which must hold.
    pub conditions: Vec<Condition>,
}

impl Instance {
    /// The instruction that is rewritten.
    pub fn root(&self) -> &Inst {
        self.pattern.last().expect("a pattern has a root")
    }
}

/// An instruction of a rule.
#[derive(Clone, PartialEq, Debug)]
pub struct Inst {
    /// Its identity.
    pub id: MachineId,
    /// Its results.
    pub results: Vec<Operand>,
    /// Its sources.
    pub operands: Vec<Operand>,
}

/// An operand of a rule.
#[derive(Clone, PartialEq, Debug)]
pub struct Operand {
    /// Its marks.
    pub marks: Modifiers,
    /// Whether any marks fit, which the result takes over.
    pub any_marks: bool,
    /// Its kind.
    pub kind: Kind,
}

/// The kind of an operand of a rule.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    /// Anything.
    Any,
    /// A value by its index, in a register of this file and width where that is said.
    Value(usize, Option<(RegFile, u8)>),
    /// Zero or true.
    Wired(RegFile, u8),
    /// A register, in examples.
    Register(PhysicalReg),
    /// A constant.
    Constant(Const),
    /// A word of a constant bank: bank and offset.
    Bank(Const, Const),
}

/// A constant of 32 bits.
#[derive(Clone, PartialEq, Debug)]
pub enum Const {
    /// A number.
    Number(u64),
    /// A captured one, by its index.
    Capture(usize),
    /// `-C`, `~C`.
    Unary(UnaryOp, Box<Const>),
    /// `C + D`.
    Binary(BinaryOp, Box<Const>, Box<Const>),
    /// `log2(C)`.
    Function(Function, Vec<Const>),
}

/// A condition of a rule.
#[derive(Clone, PartialEq, Debug)]
pub enum Condition {
    /// A comparison.
    Compare(Relation, bool, Const, Const),
    /// One bit is set.
    IsPowerOfTwo(Const),
    /// A run of ones from bit 0.
    IsMask(Const),
    /// Every lane of a warp has the same value: it comes from a uniform register or a constant.
    Uniform(usize),
    /// The bits of a value from a number on are known to be zero.
    Narrow(usize, Const),
    /// The condition inside does not hold.
    Not(Box<Condition>),
    /// One of them holds.
    Any(Vec<Condition>),
}

impl Const {
    /// Its number, where captures have these; `None` where it has none, as of a division by zero.
    pub fn value(&self, captures: &[Option<u64>]) -> Option<u64> {
        let value = match self {
            Const::Number(value) => *value,
            Const::Capture(index) => (*captures.get(*index)?)?,
            Const::Unary(UnaryOp::Neg, of) => of.value(captures)?.wrapping_neg(),
            Const::Unary(UnaryOp::Not, of) => !of.value(captures)?,
            Const::Binary(op, left, right) => number::binary(*op, left.value(captures)?, right.value(captures)?, BITS)?,
            Const::Function(function, arguments) => {
                let values: Option<Vec<u64>> = arguments.iter().map(|argument| argument.value(captures)).collect();
                number::function_value(*function, &values?, BITS, BITS)?
            }
        };
        Some(value & ones(BITS))
    }
}

/// Reads the machine rules of a file. What could be read is returned beside the faults.
pub fn resolve(source: &str) -> (Vec<Rule>, Vec<Fault>) {
    let (file, mut faults) = parse(source);
    let mut rules = Vec::with_capacity(file.machine.len());
    for decl in &file.machine {
        match rule(decl) {
            Ok(rule) => rules.push(rule),
            Err(fault) => faults.push(fault),
        }
    }
    (rules, faults)
}

/// A rule with its names resolved.
///
/// # Errors
/// A mnemonic, register, category or context that does not exist, or a name that the pattern does not bind; all rules
/// where the rows of the machine are not known to the process.
pub fn rule(decl: &MachineRule) -> Result<Rule, Fault> {
    let Some(table) = table() else {
        let message = "no instructions of the machine are known here";
        return Err(Fault::new(decl.span, message, "this rule", "`oriole opt --machine` and `oriole rules` know them"));
    };
    let category = decl.category.as_ref().map(|name| named(name, &Category::NAMES, "category")).transpose()?;
    let contexts = decl.contexts.iter().map(|name| named(name, &Context::NAMES, "context"));
    let contexts = Contexts(contexts.collect::<Result<_, _>>()?);
    let only = decl.only.iter().map(sm).collect::<Result<_, _>>()?;
    if decl.pattern.len() > MAX_INSTS {
        let message = format!("a pattern has at most {MAX_INSTS} instructions");
        return Err(Fault::new(decl.span, message, "this rule", "split the rule in two"));
    }
    let mut instances = Vec::new();
    for variables in combinations(decl)? {
        instances.push(Scope { table, variables, ..Scope::new(table) }.instance(decl)?);
    }
    let mut examples = Vec::new();
    for example in &decl.examples {
        let mut scope = Scope::new(table);
        let input = example.input.iter().map(|inst| scope.inst(inst)).collect::<Result<_, _>>()?;
        let expected = example.expected.as_ref().map(|inst| scope.inst(inst)).transpose()?;
        examples.push((input, expected, example.span));
    }
    Ok(Rule {
        name: interned(&decl.name.text),
        doc: decl.doc.clone(),
        category,
        priority: decl.priority,
        template: decl.template,
        contexts,
        only,
        instances,
        examples,
        text: decl.to_string(),
    })
}

/// The thing with a name.
fn named<T: Copy>(name: &Name, all: &[(T, &'static str)], what: &str) -> Result<T, Fault> {
    all.iter().find(|(_, known)| *known == name.text).map(|(thing, _)| *thing).ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|(_, name)| *name).collect();
        let message = format!("there is no {what} `{}`", name.text);
        Fault::new(name.span, message, "this word", format!("there are {}", known.join(", ")))
    })
}

/// The number of `sm_90`.
fn sm(name: &Name) -> Result<u16, Fault> {
    let number = name.text.strip_prefix("sm_").and_then(|number| number.parse().ok());
    number.ok_or_else(|| Fault::new(name.span, format!("`{}` is no SM", name.text), "this word", "write `sm_90`"))
}

type Variables = BTreeMap<String, String>;

/// The values of the variables, for every combination.
fn combinations(decl: &MachineRule) -> Result<Vec<Variables>, Fault> {
    let mut all = vec![Variables::new()];
    for binder in &decl.binders {
        let with = |known: &Variables, value: &Name| {
            let mut known = known.clone();
            known.insert(binder.name.text.clone(), value.text.clone());
            known
        };
        all = all.iter().flat_map(|known| binder.set.iter().map(move |value| with(known, value))).collect();
        if all.len() > MAX_INSTANCES {
            let message = format!("the rule has more than {MAX_INSTANCES} combinations");
            return Err(Fault::new(binder.name.span, message, "this variable", "split the rule in two"));
        }
    }
    Ok(all)
}

/// The value of a variable where a part of a mnemonic is left out.
const LEFT_OUT: &str = "none";

/// What names stand for.
struct Scope {
    table: &'static MachineTable,
    variables: Variables,
    values: Vec<String>,
    constants: Vec<String>,
    /// Whether names may be new.
    is_closed: bool,
}

impl Scope {
    fn new(table: &'static MachineTable) -> Scope {
        let (variables, values, constants) = (Variables::new(), Vec::new(), Vec::new());
        Scope { table, variables, values, constants, is_closed: false }
    }

    fn instance(mut self, decl: &MachineRule) -> Result<Instance, Fault> {
        // The root binds first, as it is matched first: a constant is captured before it is computed with.
        let mut pattern = Vec::with_capacity(decl.pattern.len());
        for inst in decl.pattern.iter().rev() {
            pattern.push(self.inst(inst)?);
        }
        pattern.reverse();
        self.is_closed = true;
        let mut result = self.inst(&decl.result)?;
        // What stood with any marks has them still.
        let has_any = |value: usize| {
            let operands = pattern.iter().flat_map(|inst| &inst.operands);
            operands
                .into_iter()
                .any(|operand| operand.any_marks && matches!(operand.kind, Kind::Value(own, _) if own == value))
        };
        for operand in &mut result.operands {
            operand.any_marks |= matches!(operand.kind, Kind::Value(value, _) if has_any(value));
        }
        let conditions = decl.guards.iter().map(|guard| self.condition(guard)).collect::<Result<_, _>>()?;
        let mut made = vec![None; self.values.len()];
        for (at, inst) in pattern[..pattern.len() - 1].iter().enumerate() {
            for (place, result) in inst.results.iter().enumerate() {
                if let Kind::Value(value, _) = result.kind {
                    made[value] = Some((at, place));
                }
            }
        }
        let instance = Instance { values: self.values, made, constants: self.constants, pattern, result, conditions };
        let is_left_out =
            |result: &&Operand| matches!(result.kind, Kind::Value(..)) && !instance.result.results.contains(result);
        if instance.root().results.iter().any(|result| is_left_out(&result)) {
            let message = "the result leaves out what the last instruction writes";
            return Err(Fault::new(decl.result.span, message, "here", "write it, or a wired register in the pattern"));
        }
        Ok(instance)
    }

    fn inst(&mut self, inst: &MachineInst) -> Result<Inst, Fault> {
        let parts = inst.mnemonic.iter().map(|part| self.word(part)).filter(|part| *part != LEFT_OUT);
        let mnemonic = parts.collect::<Vec<_>>().join(".");
        let Some(id) = self.table.identify(&mnemonic) else {
            let (known, span) = (self.table.similar(&mnemonic), inst.mnemonic[0].span);
            let help = match known.is_empty() {
                true => "`oriole sass` prints the mnemonics of a cubin".to_owned(),
                false => format!("modifiers or their order are others; there is {}", known.join(", ")),
            };
            return Err(Fault::new(span, format!("no SM has `{mnemonic}`"), "this mnemonic", help));
        };
        let results = inst.results.iter().map(|result| self.operand(result)).collect::<Result<_, _>>()?;
        let operands = inst.operands.iter().map(|operand| self.operand(operand)).collect::<Result<_, _>>()?;
        Ok(Inst { id, results, operands })
    }

    /// A word, or the value of the variable that it is.
    fn word<'a>(&'a self, name: &'a Name) -> &'a str {
        self.variables.get(&name.text).map_or(&name.text, String::as_str)
    }

    fn operand(&mut self, operand: &MachineOperand) -> Result<Operand, Fault> {
        let Marks { negate, absolute, invert, any } = operand.marks;
        let each = [(negate, Modifiers::NEGATE), (absolute, Modifiers::ABSOLUTE), (invert, Modifiers::INVERT)];
        let set = each.into_iter().filter(|(is_set, _)| *is_set);
        let marks = set.fold(Modifiers::NONE, |all, (_, mark)| all.or(mark));
        let kind = match &operand.kind {
            MachineKind::Wildcard => Kind::Any,
            MachineKind::Value(name, file) => {
                let file = file.as_ref().map(file_named).transpose()?;
                Kind::Value(index(&mut self.values, name, self.is_closed)?, file)
            }
            MachineKind::Wired(name) => {
                let PhysicalReg { file, words, .. } = register(name)?;
                Kind::Wired(file, words)
            }
            MachineKind::Register(name) => {
                let reg = register(name)?;
                if reg.is_constant() { Kind::Wired(reg.file, reg.words) } else { Kind::Register(reg) }
            }
            MachineKind::Constant(value) => Kind::Constant(self.constant(value)?),
            MachineKind::Bank(bank, offset) => Kind::Bank(self.constant(bank)?, self.constant(offset)?),
        };
        Ok(Operand { marks, any_marks: any, kind })
    }

    fn constant(&mut self, expr: &Expr) -> Result<Const, Fault> {
        Ok(match expr {
            Expr::Number { value, .. } => Const::Number(*value),
            Expr::Name(name) => match self.variables.get(&name.text) {
                Some(value) => Const::Number(number_of(value).ok_or_else(|| {
                    Fault::new(
                        name.span,
                        format!("`{value}` is no number"),
                        "here",
                        "a variable here has numbers alone",
                    )
                })?),
                None if name.text == "MIN" => Const::Number(1 << (BITS - 1)),
                None if name.text == "MAX" => Const::Number(ones(BITS - 1)),
                None => Const::Capture(index(&mut self.constants, name, self.is_closed)?),
            },
            Expr::Unary { op, of, .. } => Const::Unary(*op, Box::new(self.constant(of)?)),
            Expr::Binary { op, left, right } => {
                Const::Binary(*op, Box::new(self.constant(left)?), Box::new(self.constant(right)?))
            }
            Expr::Call { function, arguments, .. } => {
                let found = function_named(&function.text, arguments.len());
                let found = found.ok_or_else(|| unknown(function.span, "function of constants"))?;
                let arguments = arguments.iter().map(|argument| self.constant(argument));
                Const::Function(found, arguments.collect::<Result<_, _>>()?)
            }
            Expr::Float { value, .. } => Const::Number((*value as f32).to_bits().into()),
            Expr::Fold { span, .. } => return Err(unknown(*span, "operation on constants of the machine")),
        })
    }

    fn condition(&mut self, guard: &Guard) -> Result<Condition, Fault> {
        Ok(match guard {
            Guard::Compare { relation, signed, left, right } => {
                Condition::Compare(*relation, *signed, self.constant(left)?, self.constant(right)?)
            }
            Guard::Not { guard, .. } => Condition::Not(Box::new(self.condition(guard)?)),
            Guard::Any(all) => Condition::Any(all.iter().map(|guard| self.condition(guard)).collect::<Result<_, _>>()?),
            Guard::Call { function, arguments, span } => match (function.text.as_str(), &arguments[..]) {
                ("is_power_of_two", [of]) => Condition::IsPowerOfTwo(self.constant(of)?),
                ("is_mask", [of]) => Condition::IsMask(self.constant(of)?),
                ("uniform", [Expr::Name(name)]) => Condition::Uniform(index(&mut self.values, name, true)?),
                ("narrow", [Expr::Name(name), bits]) => {
                    Condition::Narrow(index(&mut self.values, name, true)?, self.constant(bits)?)
                }
                _ => return Err(unknown(*span, "condition of a machine rule")),
            },
            Guard::Member { variable, .. } => return Err(unknown(variable.span, "condition of a machine rule")),
            Guard::Field { rest, .. } => return Err(unknown(rest.span, "condition of a machine rule")),
        })
    }
}

/// The index of a name, which may be a new one unless the names are all known.
fn index(names: &mut Vec<String>, name: &Name, is_closed: bool) -> Result<usize, Fault> {
    if let Some(known) = names.iter().position(|known| *known == name.text) {
        return Ok(known);
    }
    if is_closed {
        let message = format!("`{}` is not in the pattern", name.text);
        return Err(Fault::new(name.span, message, "this name", "name it in an instruction before `=>`"));
    }
    names.push(name.text.clone());
    Ok(names.len() - 1)
}

/// A number as it is written: `12`, `0x7770`.
fn number_of(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A register by its name.
fn register(name: &Name) -> Result<PhysicalReg, Fault> {
    PhysicalReg::from_name(&name.text)
        .ok_or_else(|| Fault::new(name.span, format!("`{}` is no register", name.text), "this name", "write `%R4x2`"))
}

/// A file and a width: `R`, `Rx2`, `UP`.
fn file_named(name: &Name) -> Result<(RegFile, u8), Fault> {
    let (file, words) = name.text.split_once('x').unwrap_or((&name.text, "1"));
    let file = [("R", RegFile::R), ("UR", RegFile::UR), ("P", RegFile::P), ("UP", RegFile::UP)]
        .into_iter()
        .find_map(|(known, which)| (known == file).then_some(which));
    let words = words.parse().ok().filter(|words| (1..=4).contains(words));
    file.zip(words).ok_or_else(|| {
        let message = format!("`{}` is no file of registers", name.text);
        Fault::new(name.span, message, "this word", "write `R`, `Rx2`, `UR`, `P` or `UP`")
    })
}

fn unknown(span: Span, what: &str) -> Fault {
    Fault::new(span, format!("this is no {what}"), "here", "`optimizer/rules/README.md` lists them")
}
