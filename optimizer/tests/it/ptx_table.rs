//! The opcode table against PTX: every row, over its legal field combinations, is printed, read again to the same
//! opcode and fields, and accepted by ptxas where that tool is found.

#[path = "common/rows.rs"]
mod rows;

use std::collections::BTreeMap;
use std::path::Path;

use crate::common;
use oriole_ir::ops::{Availability, FieldSpec, FieldValues, OpRow, Opcode, ROWS, SpecialReg};
use oriole_ir::sm::{Target, Variant};
use oriole_ir::{Inst, Module};
use oriole_optimizer::ssa;
use oriole_ptx as ptx;
use rows::{combinations, is_tried, kernel};

/// The most combinations of one row that are tried; larger rows are sampled evenly.
const MOST: u64 = 600;
/// No code: the text is read, for whatever target it names.
const READ: [&str; 2] = ["-arch=compute_121", "-O0"];

/// The block whose label is last before each line; lines count from one.
fn blocks_by_line(text: &str) -> Vec<Option<usize>> {
    let mut current = None;
    let mut out = vec![None];
    for line in text.lines() {
        if let Some(label) = line.strip_prefix("$L_") {
            current = label.trim_end_matches(':').parse().ok();
        }
        out.push(current);
    }
    out
}

fn describe(module: &Module, inst: Inst) -> String {
    let func = module.functions.values().next().expect("one function");
    oriole_ir::inst_to_string(func, inst, Some(module))
}

#[test]
fn printed_rows_read_back_to_themselves() {
    let mut faults = Vec::new();
    for row in ROWS.iter().filter(|row| is_tried(row)) {
        let (module, placed) = kernel(row, &combinations(row, MOST));
        let text = ptx::emit(&ssa::destructed(&module)).unwrap_or_else(|error| panic!("{}: {error}", row.name));
        let blocks = blocks_by_line(&text);
        let tree = ptx::parse(&text).unwrap_or_else(|error| panic!("{}: {error:?}", row.name));
        let again = match ptx::lower(&tree, &text) {
            Ok(again) => again,
            Err(errors) => {
                let (line, _) = errors[0].line_column(&text);
                faults.push(format!("{}: {}: {}", row.name, text.lines().nth(line - 1).unwrap_or(""), errors[0]));
                continue;
            }
        };
        let func = again.functions.values().next().expect("one function");
        let mut found: BTreeMap<usize, Vec<(Opcode, FieldValues)>> = BTreeMap::new();
        for inst in func.layout_insts() {
            let data = func.inst(inst);
            if let Some(block) = blocks[data.line as usize] {
                found.entry(block).or_default().push((data.opcode, data.fields));
            }
        }
        let original = module.functions.values().next().expect("one function");
        for (block, inst) in placed {
            let data = original.inst(inst);
            let told = match data.opcode {
                // PTX knows only copies that may be looked through.
                Opcode::Split => Opcode::Mov,
                // Printed as a product and a sum.
                Opcode::IMadWide if data.ty().bits() == 32 => Opcode::IMulWide,
                opcode => opcode,
            };
            let hit = found.get(&(block.as_u32() as usize)).is_some_and(|list| list.contains(&(told, data.fields)));
            if !hit {
                faults.push(format!("{}: read back as something else", describe(&module, inst)));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults[..faults.len().min(40)].join("\n"));
}

/// What a kernel that reads every special register is printed as, read again and printed once more.
#[test]
fn special_registers_read_back_and_ptxas_takes_them() {
    let read = |reg: &SpecialReg| match reg.bits() {
        1 => format!("mov.pred %p, %{};\n", reg.name()),
        bits => format!("mov.b{bits} %r{bits}, %{};\n", reg.name()),
    };
    let reads: String = SpecialReg::ALL.iter().map(read).collect();
    let head = ".version 9.0\n.target sm_90\n.address_size 64\n";
    let registers = ".reg .pred %p; .reg .b32 %r32; .reg .b64 %r64;\n";
    let text = format!("{head}.visible .entry k()\n{{\n{registers}{reads}ret;\n}}\n");
    let module = ptx::read(&text).unwrap_or_else(|faults| panic!("{}", faults[0].message));
    let printed = ptx::emit(&module).expect("each has a name in PTX");
    for reg in SpecialReg::ALL {
        assert!(printed.contains(&format!(", %{};", reg.name())), "no `%{}` in\n{printed}", reg.name());
    }
    let again = ptx::read(&printed).unwrap_or_else(|faults| panic!("{}", faults[0].message));
    assert_eq!(ptx::emit(&again).as_ref(), Ok(&printed));
    let Some(tool) = common::ptxas() else {
        println!("skipped: no ptxas");
        return;
    };
    assert_eq!(common::complaints(&tool, &common::compile(&printed), "special", &printed), Ok(BTreeMap::new()));
}

#[test]
fn ptxas_accepts_every_legal_combination() {
    let Some(tool) = common::ptxas() else {
        println!("skipped: no ptxas");
        return;
    };
    let mut faults = Vec::new();
    for row in ROWS.iter().filter(|row| is_tried(row)) {
        let (module, placed) = kernel(row, &combinations(row, MOST));
        let text = ptx::emit(&ssa::destructed(&module)).unwrap_or_else(|error| panic!("{}: {error}", row.name));
        let blocks = blocks_by_line(&text);
        let complaints = common::complaints(&tool, &common::compile(&text), row.name, &text);
        for (line, message) in complaints.expect("ptxas says what it does not take") {
            let Some(block) = blocks.get(line).copied().flatten() else { continue };
            faults.push(format!("{}: {message}", describe(&module, placed[block].1)));
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Whether ptxas refuses each combination of a row on a target.
fn refused(tool: &Path, row: &'static OpRow, combinations: &[FieldValues], target: Target) -> Vec<bool> {
    let (mut module, placed) = kernel(row, combinations);
    module.target = target.to_string();
    let text = ptx::emit(&module).unwrap_or_else(|error| panic!("{}: {error}", row.name));
    let blocks = blocks_by_line(&text);
    let mut refused = vec![false; combinations.len()];
    // What code for one SM alone has is not read for a later one.
    let specific = common::compile(&text);
    let options = if target.variant() == Variant::Portable { READ.map(str::to_owned) } else { specific };
    let complaints = common::complaints(tool, &options, row.name, &text);
    for (line, _) in complaints.expect("ptxas says what it does not take") {
        // A complaint about what precedes the first block is about the registers of some combination.
        if let Some(block) = blocks.get(line).copied().flatten() {
            refused[placed.iter().position(|(at, _)| at.as_u32() as usize == block).unwrap_or_default()] = true;
        }
    }
    refused
}

/// ptxas takes each combination on the SM that the table names, and refuses it on the one before.
#[test]
fn ptxas_agrees_on_the_first_sm_of_every_combination() {
    let Some(tool) = common::ptxas() else {
        println!("skipped: no ptxas");
        return;
    };
    // ptxas 13.0 has another number for sm_101.
    let sms: Vec<u16> = Target::all().map(Target::number).filter(|number| *number != 101).collect();
    let mut faults = Vec::new();
    for row in ROWS.iter().filter(|row| is_tried(row)) {
        let combinations = combinations(row, MOST);
        let firsts: Vec<u16> = combinations.iter().map(|fields| row.first_sm(fields)).collect();
        let before = |sm: u16| sms.iter().rfind(|other| **other < sm).copied();
        let mut tried: Vec<u16> = firsts.iter().flat_map(|sm| [Some(*sm), before(*sm)]).flatten().collect();
        tried.sort_unstable();
        tried.dedup();
        let mut targets: Vec<Target> = tried.iter().filter_map(|sm| Target::portable(*sm)).collect();
        if combinations.iter().any(|fields| !matches!(row.availability(fields), Availability::From(_))) {
            // A later one is there to refuse what Hopper alone has.
            let specific = |target: &Target| tried.contains(&target.number()) || target.number() == 100;
            targets.extend(Target::all_specific().filter(specific));
        }
        for target in targets {
            let sm = target.number();
            // A fence before `sm_70` that `membar` does not stand for cannot be written at all.
            let written = |fields: &FieldValues| row.opcode != Opcode::Fence || row.first_sm(fields) <= sm || sm >= 70;
            let usable: Vec<FieldValues> = combinations.iter().copied().filter(written).collect();
            for (fields, refused) in usable.iter().zip(refused(&tool, row, &usable, target)) {
                if refused != row.missing_on(target, fields).is_some() {
                    faults.push(format!("{} on {target}: {}", row.name, spelled(row, fields)));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults[..faults.len().min(40)].join("\n"));
}

fn spelled(row: &OpRow, fields: &FieldValues) -> String {
    let name = |(spec, value): (&FieldSpec, &u8)| format!("{}={}", spec.field.name(), spec.field.value_name(*value));
    row.fields.iter().zip(&fields.0).map(name).collect::<Vec<_>>().join(" ")
}
