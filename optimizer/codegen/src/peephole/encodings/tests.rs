use std::collections::BTreeMap;

use oriole_ir::{Function, Inst, Level, inst_to_string, parse_function};
use oriole_sass::{Table, ori};

use super::super::build::Builder;
use super::super::values::Values;
use super::*;

/// A function of instructions, one a line.
fn function(text: &str) -> Function {
    ori::register();
    let text = format!("device @f machine physical {{\nbb0:\n{text}  end\n}}\n");
    let func = parse_function(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    assert_eq!(func.level, Level::Machine);
    func
}

fn instruction(text: &str) -> (Function, Inst, Candidate) {
    let func = function(&format!("  {text}\n"));
    let inst = func.layout_insts().next().expect("there is one");
    let candidate = Candidate::of(&func, inst).expect("it is of the machine");
    (func, inst, candidate)
}

#[test]
fn choices_are_sorted_and_named_by_what_they_are() {
    for (one, next) in CHOICES.iter().zip(&CHOICES[1..]) {
        assert!((one.family, one.at, one.kind) < (next.family, next.at, next.kind), "{}", next.name);
    }
    for choice in CHOICES {
        let kind = Kind::NAMES.iter().find(|(kind, _)| *kind == choice.kind).map(|(_, name)| *name);
        assert_eq!(choice.name, format!("{}.{}.{}", choice.family, choice.at, kind.expect("it is named")));
    }
    assert_eq!((CHOICES.len(), pairs().count()), (189, 49));
}

/// Instructions after which a register holds the thing that a choice puts in its place.
fn holding(choice: &Choice, old: Operand, new: Operand, func: &Function) -> String {
    let Some(reg) = old.reg() else { return String::new() };
    let info = func.regs()[reg];
    let first = oriole_ir::PhysicalReg::of(reg).expect("it is physical").number;
    let move_to = |number: u8, what: String| format!("  %R{number} = MOV {what}, 15\n");
    let bits = func.imm_bits(new).unwrap_or_default();
    (0..info.words)
        .map(|word| {
            let what = match (choice.kind, new) {
                (Kind::Zero, _) => "%RZ".to_owned(),
                (Kind::Immediate, _) if word + 1 == info.words => bits.to_string(),
                (Kind::Immediate, _) => "0".to_owned(),
                (Kind::Bank, Operand::Const { bank, offset, .. }) => {
                    format!("c[{bank}][{}]", offset + 4 * u32::from(word))
                }
                (Kind::Uniform, _) => "%UR4".to_owned(),
                other => panic!("{}: {other:?}", choice.name),
            };
            move_to(first + word, what)
        })
        .collect()
}

/// Every choice makes of its example what it says, where the register holds what it has to, and nothing where nothing
/// is known of it. Both are words of the SM, and differ in the one operand.
#[test]
fn choices_do_what_their_examples_say() {
    for choice in CHOICES {
        let table = Table::of(choice.sm).expect("the SM is known");
        let (func, inst, before) = instruction(choice.before);
        let (after_func, _, after) = instruction(choice.after);
        let differs: Vec<usize> = (0..before.srcs.len())
            .filter(|at| {
                let texts = [(&func, &before), (&after_func, &after)].map(|(func, candidate)| {
                    format!("{:?} {:?}", func.imm_bits(candidate.srcs[*at]), candidate.srcs[*at])
                });
                before.srcs[*at] != after.srcs[*at] && texts[0] != texts[1]
            })
            .collect();
        assert_eq!(differs, [choice.at], "{}", choice.name);
        assert_eq!(func.inst(inst).machine_row().map(|row| row.name), Some(choice.family), "{}", choice.name);
        let set = holding(choice, before.srcs[choice.at], after.srcs[choice.at], &after_func);
        for (set, expected) in [(&set[..], choice.after), ("", choice.before)] {
            if choice.kind == Kind::Freed && expected == choice.before {
                continue;
            }
            let mut func = function(&format!("{set}  {}\n", choice.before));
            let insts: Vec<Inst> = func.layout_insts().collect();
            let last = insts[insts.len() - 2];
            let mut values = Values::new(&func);
            insts[..insts.len() - 2].iter().for_each(|inst| values.step(&func, *inst));
            let old = Candidate::of(&func, last).expect("it is of the machine");
            let sources: Vec<Several> = old.srcs.iter().map(|operand| values.of(&func, *operand)).collect();
            let mut builder = Builder { func: &mut func, table, is_serial: true };
            // A register that two sources name may be chosen at an earlier one.
            let found = chosen(&mut builder, &values, last, &old, &sources);
            if let Some((_, candidate)) = &found {
                builder.replace(last, candidate);
            }
            let text = inst_to_string(&func, last, None);
            assert_eq!(text.trim(), expected, "{} on sm_{}, found {found:?}", choice.name, choice.sm);
        }
    }
}

/// How many choices there are by the modifier of the document.
#[test]
fn the_distribution_is_counted() {
    let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
    CHOICES.iter().for_each(|choice| *counts.entry(choice.kind.modifier()).or_default() += 1);
    for (modifier, document) in DOCUMENT {
        println!("{modifier:#04x}: {} here, {document} in the document", counts.get(&modifier).unwrap_or(&0));
    }
    assert_eq!(DOCUMENT.iter().map(|(_, count)| count).sum::<usize>(), 244);
    let ours: Vec<(u8, usize)> = counts.into_iter().collect();
    assert_eq!(ours, [(0x03, 2), (0x05, 93), (0x06, 45), (0x19, 1), (0x22, 48)]);
}
