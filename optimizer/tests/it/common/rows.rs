//! Kernels of the opcode table's rows, over their legal field combinations.

use oriole_ir::ops::{FieldValues, Flags, OpRow, Opcode, Shape, Space, Type};
use oriole_ir::{Block, Function, FunctionKind, Inst, InstBuilder, Level, Linkage, Module, Operand, RegInfo, Variable};

/// Legal field combinations of a row, evenly spaced where there are more than so many.
pub fn combinations(row: &OpRow, most: u64) -> Vec<FieldValues> {
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
    // 32-bit addresses belong to 32-bit modules, which ptxas no longer makes code for.
    let usable = |fields: &FieldValues| row.opcode != Opcode::Cvta || row.value::<Type>(fields) != Some(Type::U32);
    let fitting: Vec<_> = all.filter(|f| usable(f) && row.broken_rule(f).is_none()).collect();
    let step = (fitting.len() as u64).div_ceil(most).max(1) as usize;
    fitting.into_iter().step_by(step).collect()
}

/// An operand of a shape, in a register where it can be.
fn operand(func: &mut Function, row: &OpRow, fields: &FieldValues, shape: Shape, position: usize) -> Operand {
    match shape {
        Shape::Offset => Operand::imm(16),
        // ptxas 13.0 crashes on stores to the parameter space through a register.
        Shape::Base if row.value::<Space>(fields) == Some(Space::Param) && row.opcode == Opcode::St => {
            let next = func.locals.len();
            let variable = Variable::new(format!("v{next}"), Space::Param, Type::B32, Some(64));
            Operand::Local(func.locals.push(Variable { align: 16, ..variable }))
        }
        // Only accesses have an offset; other addresses are as wide as their type.
        Shape::Base if !row.srcs.contains(&Shape::Offset) && row.value::<Type>(fields) == Some(Type::U32) => {
            func.new_reg(RegInfo::words(1)).into()
        }
        Shape::Base => func.new_reg(RegInfo::words(2)).into(),
        Shape::Imm => Operand::imm(match row.opcode {
            Opcode::Discard | Opcode::ApplyPriority | Opcode::AcquireTensorMap => 128,
            Opcode::CpAsync => 16,
            Opcode::SetMaxNReg => 64,
            _ if row.selectors(fields).is_some() => row.selectors(fields).map_or(0, |count| count - 1),
            op if op.row().name.ends_with('2') && op.row().name.starts_with('v') => 0x0301_A008,
            op if op.row().name.ends_with('4') && op.row().name.starts_with('v') => 0x0FFA_C688,
            op if op.row().name.starts_with('v') => 0,
            _ => 1,
        }),
        shape if position == 4 && row.opcode == Opcode::CpAsync && shape == Shape::R => Operand::imm(16),
        shape => {
            let ty = row.shape_type(fields, shape).unwrap_or(Type::B32);
            func.new_reg(RegInfo::of(ty)).into()
        }
    }
}

/// A kernel with one instruction a block, which falls into the next.
pub fn kernel(row: &'static OpRow, combinations: &[FieldValues]) -> (Module, Vec<(Block, Inst)>) {
    let mut func = Function::new("k", FunctionKind::Entry);
    func.linkage = Linkage::Visible;
    let mut placed = Vec::new();
    for fields in combinations {
        let block = func.new_block();
        let repeat = |shape: &Shape| if *shape == Shape::Parts { 2 } else { row.registers(fields, *shape) };
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
    let first = module.first_target().expect("the combinations of a row are for one target");
    module.target = first.to_string();
    if first.number() < 90 {
        module.target = "sm_90".to_owned();
    }
    (module, placed)
}

/// Rows that one instruction of a kernel can stand for.
pub fn is_tried(row: &OpRow) -> bool {
    let whole =
        matches!(row.opcode, Opcode::Phi | Opcode::Call | Opcode::S2r | Opcode::Cs2r | Opcode::Pack | Opcode::Opaque);
    !whole && !row.opcode.is(Flags::TERMINATOR) && Level::Virtual.has(row)
}
