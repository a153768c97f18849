//! Examples of machine rules, held against what the rules do.

use oriole_ir::ops::Opcode;
use oriole_ir::{Form, Function, FunctionKind, Guard, Inst, InstHead, Level, Operand};
use oriole_rules::language::{Fault, Span};
use oriole_rules::machine::{self as rules, Kind, Rule};
use oriole_sass::Table;

use super::build::{Builder, Candidate};
use super::matcher::Matcher;
use super::values::{Several, Values};

/// The SM on which an example is tried where the rule names none.
const SM: u16 = 90;

/// The examples of a rule that say what is not so.
///
/// # Panics
/// If the words of the SM that a rule names are not known.
pub fn wrong(rule: &Rule) -> Vec<Fault> {
    let table = Table::of(rule.only.first().copied().unwrap_or(SM)).expect("the SM's words are known");
    let wrong = |(input, expected, span): &(Vec<rules::Inst>, Option<rules::Inst>, Span)| {
        let mut func = Function::new("example", FunctionKind::Entry);
        func.level = Level::Machine;
        func.use_physical_registers();
        debug_assert_eq!(func.form, Form::Physical);
        let block = func.new_block();
        for inst in input {
            let Some(made) = made(&mut func, inst) else {
                return Some(fault(*span, "it is no instruction".to_owned()));
            };
            func.append_inst(block, made);
        }
        let last = func.last_inst(block)?;
        let expected = match expected {
            Some(expected) => Some(candidate(&mut func, expected)?),
            None => None,
        };
        let found = applied(&mut func, table, rule, last);
        let says = |candidate: &Option<Candidate>| match candidate {
            None => "the rule does not apply".to_owned(),
            Some(candidate) => format!("it becomes {}", text(&func, candidate)),
        };
        (found != expected).then(|| fault(*span, says(&found)))
    };
    rule.examples.iter().filter_map(wrong).collect()
}

fn fault(span: Span, message: String) -> Fault {
    Fault::new(span, message, "this example", "mend the rule or the example")
}

/// An instruction of an example.
fn made(func: &mut Function, inst: &rules::Inst) -> Option<Inst> {
    let Candidate { id, dsts, srcs } = candidate(func, inst)?;
    let opcode = func.machine_opcode(id, &srcs).unwrap_or(Opcode::MachineOp);
    let guard: Option<Guard> = None;
    Some(func.new_inst(InstHead { opcode, fields: id.fields(), guard, line: 0 }, &dsts, &srcs, &[]))
}

fn candidate(func: &mut Function, inst: &rules::Inst) -> Option<Candidate> {
    let dsts = inst.results.iter().map(|result| operand(func, result)).collect::<Option<_>>()?;
    let srcs = inst.operands.iter().map(|source| operand(func, source)).collect::<Option<_>>()?;
    Some(Candidate { id: inst.id, dsts, srcs })
}

fn operand(func: &mut Function, operand: &rules::Operand) -> Option<Operand> {
    let plain = match &operand.kind {
        Kind::Wired(file, words) => Operand::wired(*file, *words),
        Kind::Register(reg) => reg.operand()?,
        Kind::Constant(constant) => func.imm(constant.value(&[])?),
        Kind::Bank(bank, offset) => {
            let (bank, offset) = (bank.value(&[])?, offset.value(&[])?);
            Operand::constant(u8::try_from(bank).ok()?, u32::try_from(offset).ok()?)
        }
        Kind::Any | Kind::Value(..) => return None,
    };
    plain.with_modifiers(operand.marks)
}

/// The last instruction as a rule makes it.
fn applied(func: &mut Function, table: &'static Table, rule: &Rule, last: Inst) -> Option<Candidate> {
    let mut values = Values::new(func);
    let insts: Vec<Inst> = func.layout_insts().collect();
    insts[..insts.len() - 1].iter().for_each(|inst| values.step(func, *inst));
    let sources: Vec<Several> = func.srcs(last).iter().map(|operand| values.of(func, *operand)).collect();
    let id = func.inst(last).machine()?;
    let about = rule.instances.iter().filter(|instance| instance.root().id == id);
    let mut builder = Builder { func, table, is_serial: true };
    about.into_iter().find_map(|instance| {
        let binding = Matcher::find(builder.func, &values, instance, last, &sources)?;
        let candidate = builder.result(&values, instance, &binding)?;
        builder.has_word(last, &candidate).then_some(candidate)
    })
}

fn text(func: &Function, candidate: &Candidate) -> String {
    let mut func = func.clone();
    let opcode = func.machine_opcode(candidate.id, &candidate.srcs).unwrap_or(Opcode::MachineOp);
    let head = InstHead { opcode, fields: candidate.id.fields(), guard: None, line: 0 };
    let inst = func.new_inst(head, &candidate.dsts, &candidate.srcs, &[]);
    oriole_ir::inst_to_string(&func, inst, None)
}

#[cfg(test)]
mod tests {
    use super::super::set::MachineRules;
    use super::*;

    #[test]
    fn examples_of_the_tree_say_what_the_rules_do() {
        let rules = MachineRules::builtin().rules();
        let wrong: Vec<String> = rules
            .iter()
            .flat_map(|rule| wrong(rule).into_iter().map(move |fault| format!("{}: {fault}", rule.name)))
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        for rule in rules {
            let (yes, no): (Vec<_>, Vec<_>) = rule.examples.iter().partition(|(_, expected, _)| expected.is_some());
            assert!(!no.is_empty(), "{} has no example of what it leaves alone", rule.name);
            assert!(!yes.is_empty() || rule.name == "difference-of-constants", "{} has no example", rule.name);
            assert!(rule.category.is_some(), "{} has no category", rule.name);
        }
    }
}
