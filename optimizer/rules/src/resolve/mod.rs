//! From the syntax tree to instances: variables are given values, names are bound, widths are inferred.
//!
//! A rule is resolved for each combination of its variables, pattern first: that declares the captures. The first fault
//! of a rule ends its resolution.

mod constants;
mod head;
mod pattern;
mod result;
mod sets;

use std::cell::RefCell;

pub(crate) use constants::function_named;
pub use pattern::is_constant;

use super::instance::{Capture, Condition, Const, Instance};
use super::language::ast::{Binder, Expr, Head, Inst, Name, RuleDecl, Segment};
use super::language::{Fault, Span};
use head::Written;
use oriole_ir::diagnostics::counted;
use oriole_ir::ops::{Field, FieldValues, Opcode};
use sets::NONE;

/// How many instances a rule may stand for.
const MAX_INSTANCES: usize = 2048;

/// A fault, and whether the opcode table is what forbids the combination.
#[derive(Debug)]
struct Trouble {
    fault: Fault,
    illegal: bool,
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Trouble {
        Trouble { fault, illegal: false }
    }
}

type Resolved<T> = Result<T, Trouble>;

fn fault(span: Span, message: String, label: &str, help: impl Into<String>) -> Trouble {
    Fault::new(span, message, label, help).into()
}

/// The instances of a rule.
pub fn instances(decl: &RuleDecl) -> Result<Vec<Instance>, Fault> {
    resolved(decl, true)
}

/// The instances of a rule that may match an opcode with these values in some of its slots. None that does match is
/// left out, and most that do not are.
pub(super) fn instances_for(decl: &RuleDecl, opcode: Opcode, values: &[(usize, u8)]) -> Result<Vec<Instance>, Fault> {
    let sets = members(decl)?;
    let kept: Vec<Vec<String>> =
        decl.binders.iter().zip(&sets).map(|(binder, set)| fitting(decl, binder, set, opcode, values)).collect();
    let found = combinations(decl, &sets, &kept, true)?;
    Ok(found.into_iter().filter(|instance| instance.pattern().opcode == opcode).collect())
}

/// The values of a variable with which the root may be this opcode with these values.
fn fitting(decl: &RuleDecl, binder: &Binder, set: &[String], opcode: Opcode, values: &[(usize, u8)]) -> Vec<String> {
    let row = opcode.row();
    let in_head = |segment: &Segment| segment.word().is_some_and(|name| name.text == binder.name.text);
    // The variable goes to the first field that takes its whole set; all fields that do must be among those known.
    let takes = |field: Field| set.iter().all(|text| text == NONE || field.value_index(text).is_some());
    let places = || row.fields.iter().enumerate().filter(|(_, spec)| takes(spec.field));
    let is_known = |slot: usize| values.iter().any(|(known, _)| *known == slot);
    if !decl.pattern.head.segments.iter().any(in_head) || !places().all(|(slot, _)| is_known(slot)) {
        return set.to_vec();
    }
    let fits = |text: &&String| {
        let has = |(slot, value): &(usize, u8)| row.fields[*slot].field.value_index(text) == Some(*value);
        *text == NONE || row.name.contains(text.as_str()) || values.iter().any(has)
    };
    set.iter().filter(fits).cloned().collect()
}

/// The instances that a rule has without one of its guards. That a capture is then used nowhere is no fault.
///
/// # Panics
/// If the rule has no guard of that number.
pub fn without_guard(decl: &RuleDecl, guard: usize) -> Result<Vec<Instance>, Fault> {
    let mut decl = decl.clone();
    decl.guards.remove(guard);
    resolved(&decl, false)
}

fn resolved(decl: &RuleDecl, strict: bool) -> Result<Vec<Instance>, Fault> {
    let sets = members(decl)?;
    check_variables(decl)?;
    let found = combinations(decl, &sets, &sets, strict)?;
    if found.is_empty() {
        return Err(Fault::new(
            decl.name.span,
            format!("rule `{}` applies to nothing", decl.name.text),
            "this rule",
            "no combination of its variables is legal and fulfils the conditions on them",
        ));
    }
    Ok(found)
}

/// By variable, the values that it goes through.
fn members(decl: &RuleDecl) -> Result<Vec<Vec<String>>, Fault> {
    decl.binders.iter().map(sets::members).collect()
}

/// The instances for all combinations of some values of the variables, which go through `sets` in all.
fn combinations(
    decl: &RuleDecl,
    sets: &[Vec<String>],
    kept: &[Vec<String>],
    strict: bool,
) -> Result<Vec<Instance>, Fault> {
    let count = kept.iter().try_fold(1usize, |product, set| product.checked_mul(set.len()));
    let Some(count) = count.filter(|count| *count <= MAX_INSTANCES) else {
        let help = format!("at most {MAX_INSTANCES}: split the rule");
        return Err(Fault::new(decl.name.span, "the rule stands for too many combinations", "this rule", help));
    };
    let mut found = Vec::new();
    for number in 0..count {
        let values = combination(kept, number);
        match Resolver::new(decl, sets, values).instance(strict) {
            Ok(instance) => found.extend(instance),
            Err(Trouble { illegal: true, .. }) if decl.legal_only => {}
            Err(Trouble { fault, .. }) => return Err(fault),
        }
    }
    Ok(found)
}

/// The opcodes that the root of a rule may have. They follow from its mnemonic alone, without resolving the rule.
pub fn root_opcodes(binders: &[Binder], head: &Head) -> Vec<Opcode> {
    let words: Vec<&Name> = head.segments.iter().map_while(|segment| segment.word()).collect();
    let Some((first, more)) = words.split_first() else { return Vec::new() };
    let binder = |name: &Name| binders.iter().find(|binder| binder.name.text == name.text);
    let firsts = match binder(first) {
        Some(binder) => sets::members(binder).unwrap_or_default(),
        None => vec![first.text.clone()],
    };
    let longest = |first: String| {
        let mut text = first;
        let mut found = Opcode::from_name(&text);
        for word in more.iter().take_while(|word| binder(word).is_none()) {
            text = format!("{text}.{}", word.text);
            found = Opcode::from_name(&text).or(found);
        }
        found
    };
    let mut found: Vec<Opcode> = firsts.into_iter().filter_map(longest).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The combination with this number; the last variable changes fastest.
fn combination(sets: &[Vec<String>], mut number: usize) -> Vec<String> {
    let mut values = vec![String::new(); sets.len()];
    for (index, set) in sets.iter().enumerate().rev() {
        values[index] = set[number % set.len()].clone();
        number /= set.len();
    }
    values
}

fn check_variables(decl: &RuleDecl) -> Result<(), Fault> {
    for (index, Binder { name, .. }) in decl.binders.iter().enumerate() {
        let help = "variables are written in capitals, such as `T` or `CMP`, and each is declared once";
        if !is_capital(&name.text) || constants::is_reserved(&name.text) {
            let message = format!("`{}` cannot be a variable", name.text);
            return Err(Fault::new(name.span, message, "here", help));
        }
        if decl.binders[..index].iter().any(|other| other.name.text == name.text) {
            return Err(Fault::new(name.span, format!("`{}` is declared twice", name.text), "again", help));
        }
    }
    Ok(())
}

/// Whether a name is one of a constant or variable.
fn is_capital(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
}

/// One combination under resolution.
struct Resolver<'a> {
    decl: &'a RuleDecl,
    sets: &'a [Vec<String>],
    instance: Instance,
    /// By capture: how often the pattern, the conditions and the results name it.
    uses: Vec<u32>,
    /// The heads that are read, by their places.
    heads: RefCell<Vec<(Span, Written)>>,
    /// Names of `let`, with the bits of their values.
    lets: Vec<(String, Option<u32>)>,
    /// The width of the root's type.
    root_bits: u32,
}

impl<'a> Resolver<'a> {
    fn new(decl: &'a RuleDecl, sets: &'a [Vec<String>], values: Vec<String>) -> Resolver<'a> {
        let variables = decl.binders.iter().map(|binder| binder.name.text.clone()).zip(values).collect();
        let instance = Instance { variables, contract: decl.contract, ..Instance::default() };
        Resolver { decl, sets, instance, uses: Vec::new(), heads: RefCell::default(), lets: Vec::new(), root_bits: 32 }
    }

    /// The instance; nothing where a condition on the variables alone rules it out.
    fn instance(mut self, strict: bool) -> Resolved<Option<Instance>> {
        self.root()?;
        for guard in &self.decl.guards {
            match self.condition(guard)? {
                Condition::Always(true) => {}
                Condition::Always(false) => return Ok(None),
                condition => self.instance.conditions.push(condition),
            }
        }
        match self.results() {
            Ok(()) => {}
            // A result that the table forbids is a mistake even where patterns may be illegal.
            Err(Trouble { fault, .. }) => return Err(Trouble { fault, illegal: false }),
        }
        if strict {
            self.check_uses()?;
        }
        Ok(Some(self.instance))
    }

    /// The value of a variable.
    fn variable(&self, name: &str) -> Option<&str> {
        self.instance.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn capture(&self, name: &str) -> Option<usize> {
        self.instance.captures.iter().position(|capture| capture.name == name)
    }

    fn declare(&mut self, name: &Name, constant: bool) -> usize {
        let capture = Capture { name: name.text.clone(), constant, bits: 0, ty: None, span: name.span };
        self.instance.captures.push(capture);
        self.uses.push(0);
        self.uses.len() - 1
    }

    /// A captured name where it is used.
    fn used(&mut self, name: &Name) -> Resolved<usize> {
        match self.capture(&name.text) {
            Some(capture) => {
                self.uses[capture] += 1;
                Ok(capture)
            }
            None => Err(self.unbound(name)),
        }
    }

    fn unbound(&self, name: &Name) -> Trouble {
        let known: Vec<&str> = self.instance.captures.iter().map(|capture| capture.name.as_str()).collect();
        let message = format!("`{}` is not bound", name.text);
        let help = match known.is_empty() {
            true => "capture it in the pattern".to_owned(),
            false => format!("the pattern captures {}", known.join(", ")),
        };
        fault(name.span, message, "this name", help)
    }

    /// A name that is captured and never used might be a slip of the pen.
    fn check_uses(&self) -> Resolved<()> {
        let idle = self.uses.iter().position(|uses| *uses < 2);
        let Some(capture) = idle.map(|index| &self.instance.captures[index]) else { return Ok(()) };
        let message = format!("`{}` is captured and not used", capture.name);
        Err(fault(capture.span, message, "this name", "write `_` where the operand does not matter"))
    }
}

/// The name that an expression is, and nothing else.
fn lone_name(expr: &Expr) -> Option<&Name> {
    match expr {
        Expr::Name(name) => Some(name),
        _ => None,
    }
}

/// Operations and constants without variables and captures: those of examples.
pub struct Concrete<'a>(Resolver<'a>);

impl<'a> Concrete<'a> {
    /// What resolves the examples of a rule.
    pub fn new(decl: &'a RuleDecl) -> Concrete<'a> {
        Concrete(Resolver::new(decl, &[], Vec::new()))
    }

    /// An opcode with its fields.
    pub fn head(&self, head: &Head) -> Result<(Opcode, FieldValues), Fault> {
        let (opcode, fields, ..) = self.0.operation_head(head).map_err(|trouble| trouble.fault)?;
        Ok((opcode, fields))
    }

    /// Whether an operation may be in a rule, with these operands.
    pub fn check(&self, opcode: Opcode, fields: &FieldValues, inst: &Inst, root: bool) -> Result<(), Fault> {
        let row = opcode.row();
        pattern::check_legal(row, inst, root)
            .and_then(|()| head::broken(opcode, fields, inst.head.span))
            .map_err(|trouble| trouble.fault)?;
        if inst.operands.len() == row.srcs.len() {
            return Ok(());
        }
        let message = format!("`{}` has {}, not {}", row.name, counted(row.srcs.len(), "operand"), inst.operands.len());
        Err(Fault::new(inst.span, message, "here", row.doc))
    }

    /// A constant of so many bits.
    pub fn constant(&mut self, expr: &Expr, bits: u32) -> Result<Const, Fault> {
        self.0.constant(expr, bits).map_err(|trouble| trouble.fault)
    }
}
