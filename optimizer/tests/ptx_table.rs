//! The opcode table against PTX: every row, over its legal field combinations, is printed, read again to the same
//! opcode and fields, and accepted by ptxas where that tool is found.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use oriole_optimizer::ir::{Block, Function, FunctionKind, Inst, InstBuilder, Linkage, Module, Operand, RegInfo};
use oriole_optimizer::ops::{FieldValues, Flags, Opcode, OpRow, ROWS, Shape, Type, Vector};
use oriole_optimizer::ptx;

/// The most combinations of one row that are tried; larger rows are sampled evenly.
const MOST: u64 = 600;

/// Field combinations of a row, legal or not by its rules, evenly spaced where there are too many.
fn combinations(row: &OpRow, legal: bool) -> Vec<FieldValues> {
    let values: Vec<Vec<u8>> = row.fields.iter().map(|spec| spec.values().collect()).collect();
    let total = values.iter().fold(1u64, |total, list| total.saturating_mul(list.len() as u64));
    let decode = |mut index: u64| {
        let mut fields = row.default_fields();
        for (slot, list) in values.iter().enumerate() {
            fields.0[slot] = list[(index % list.len() as u64) as usize];
            index /= list.len() as u64;
        }
        fields
    };
    // A stride without common factors with the sizes walks every value of every field.
    let (tries, stride) = if total <= 40_000 { (total, 1) } else { (400_000, 1_000_003) };
    let all = (0..tries).map(|i| decode((i * stride) % total));
    let fitting: Vec<_> = all.filter(|fields| row.broken_rule(fields).is_none() == legal).collect();
    let step = (fitting.len() as u64).div_ceil(MOST).max(1) as usize;
    fitting.into_iter().step_by(step).collect()
}

/// An operand of a shape, in a register where it can be.
fn operand(func: &mut Function, row: &OpRow, fields: &FieldValues, shape: Shape, position: usize) -> Operand {
    match shape {
        Shape::Offset => Operand::Imm(16),
        Shape::Base => func.new_reg(RegInfo::of(match row.value::<Type>(fields) {
            Some(Type::U32) if row.opcode == Opcode::Cvta => Type::U32,
            _ => Type::U64,
        }))
        .into(),
        Shape::Imm => Operand::Imm(match row.opcode {
            Opcode::Discard | Opcode::ApplyPriority => 128,
            Opcode::CpAsync => 16,
            Opcode::SetMaxNReg => 64,
            op if op.row().name.ends_with('2') && op.row().name.starts_with('v') => 0x0301_A008,
            op if op.row().name.ends_with('4') && op.row().name.starts_with('v') => 0x0FFA_C688,
            op if op.row().name.starts_with('v') => 0,
            _ => 1,
        }),
        shape if position == 4 && row.opcode == Opcode::CpAsync && shape == Shape::R => Operand::Imm(16),
        shape => {
            let ty = row.shape_type(fields, shape).unwrap_or(Type::B32);
            func.new_reg(RegInfo::of(ty)).into()
        }
    }
}

/// A kernel with one instruction a block, which falls into the next.
fn kernel(row: &'static OpRow, combinations: &[FieldValues]) -> (Module, Vec<(Block, Inst)>) {
    let mut func = Function::new("k", FunctionKind::Entry);
    func.linkage = Linkage::Visible;
    let mut placed = Vec::new();
    for fields in combinations {
        let block = func.new_block();
        let lanes = row.value::<Vector>(fields).map_or(1, Vector::len);
        let repeat = |shape: &Shape| match shape {
            Shape::V => lanes,
            Shape::Parts => 2,
            _ => 1,
        };
        let shapes = |list: &[Shape]| -> Vec<Shape> {
            list.iter().flat_map(|shape| std::iter::repeat_n(*shape, repeat(shape))).collect()
        };
        let mut builder = InstBuilder::new(row.opcode).fields(*fields);
        for (position, shape) in shapes(row.srcs).into_iter().enumerate() {
            builder = builder.src(operand(&mut func, row, fields, shape, position));
        }
        for shape in shapes(row.dsts) {
            let info = row.shape_type(fields, shape).map_or(RegInfo::words(1), RegInfo::of);
            builder = builder.dst(func.new_reg(info));
        }
        placed.push((block, builder.append(&mut func, block)));
    }
    let end = func.new_block();
    InstBuilder::new(Opcode::Ret).append(&mut func, end);
    for (i, (block, _)) in placed.iter().enumerate() {
        let next = placed.get(i + 1).map_or(end, |(next, _)| *next);
        InstBuilder::new(Opcode::Bra).src(next).append(&mut func, *block);
    }
    let mut module = Module::default();
    module.functions.push(func);
    (module, placed)
}

/// Rows that one instruction of a kernel can stand for.
fn is_tried(row: &OpRow) -> bool {
    let whole = matches!(row.opcode, Opcode::Phi | Opcode::Call | Opcode::S2r | Opcode::Cs2r | Opcode::Pack);
    // `setmaxnreg` needs `sm_90a`.
    let whole = whole || row.opcode == Opcode::SetMaxNReg;
    !whole && !row.opcode.is(Flags::TERMINATOR)
}

/// The block whose label stands last before each line; lines count from one.
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

/// ptxas: in `CUDA_HOME`, on `PATH`, or in the environment that `ci/cuda-tools` makes.
fn ptxas() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../.cuda");
    let home = std::env::var_os("CUDA_HOME").map(|home| PathBuf::from(home).join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = home.into_iter().chain(std::env::split_paths(&path)).collect();
    let pythons = std::fs::read_dir(root.join("lib")).into_iter().flatten().flatten();
    folders.extend(pythons.map(|python| python.path().join("site-packages/nvidia/cu13/bin")));
    folders.into_iter().map(|folder| folder.join("ptxas")).find(|tool| tool.is_file())
}

/// What ptxas says about a text: a message for each faulty line.
fn complaints(tool: &PathBuf, name: &str, text: &str) -> BTreeMap<usize, String> {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.ptx"));
    std::fs::write(&file, text).expect("the test folder is writable");
    let output = Command::new(tool).args(["-arch=sm_90", "-O0", "-o", "/dev/null"]).arg(&file).output();
    let output = output.expect("ptxas starts");
    let messages = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    let mut found = BTreeMap::new();
    for message in messages.lines() {
        let Some((_, rest)) = message.split_once(", line ") else { continue };
        let Some((number, what)) = rest.split_once(';') else { continue };
        found.entry(number.parse().unwrap_or(0)).or_insert_with(|| what.trim().to_owned());
    }
    assert!(output.status.success() || !found.is_empty(), "{name}: {messages}");
    found
}

fn describe(module: &Module, inst: Inst) -> String {
    let func = module.functions.values().next().expect("one function");
    oriole_optimizer::ir::inst_to_string(func, inst, Some(module))
}

#[test]
fn printed_rows_read_back_to_themselves() {
    let mut faults = Vec::new();
    for row in ROWS.iter().filter(|row| is_tried(row)) {
        let (module, placed) = kernel(row, &combinations(row, true));
        let text = ptx::emit(&module).unwrap_or_else(|error| panic!("{}: {error}", row.name));
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
        for inst in func.layout.iter().flat_map(|block| &func.blocks[*block].insts) {
            let data = &func.insts[*inst];
            if let Some(block) = blocks[data.line as usize] {
                found.entry(block).or_default().push((data.opcode, data.fields));
            }
        }
        let original = module.functions.values().next().expect("one function");
        for (block, inst) in placed {
            let data = &original.insts[inst];
            let hit = found.get(&(block.as_u32() as usize)).is_some_and(|list| list.contains(&(data.opcode, data.fields)));
            if !hit {
                faults.push(format!("{}: read back as something else", describe(&module, inst)));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults[..faults.len().min(40)].join("\n"));
}

#[test]
fn ptxas_accepts_every_legal_combination() {
    let Some(tool) = ptxas() else {
        println!("skipped: no ptxas");
        return;
    };
    let mut faults = Vec::new();
    for row in ROWS.iter().filter(|row| is_tried(row)) {
        let (module, placed) = kernel(row, &combinations(row, true));
        let text = ptx::emit(&module).unwrap_or_else(|error| panic!("{}: {error}", row.name));
        let blocks = blocks_by_line(&text);
        for (line, message) in complaints(&tool, row.name, &text) {
            let Some(block) = blocks.get(line).copied().flatten() else { continue };
            faults.push(format!("{}: {message}", describe(&module, placed[block].1)));
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
