//! Products of warpgroups: `wgmma.mma_async`.
//!
//! PTX writes the sum once, which is read and written; whether the first matrix lies in shared memory shows in its
//! operand; and constants behind the operands say what is negated and what is transposed.

use super::body::BodyLowering;
use super::instruction::as_sibling;
use super::operand::describe;
use super::select::Selected;
use crate::ast::{self, OperandKind};
use oriole_ir::Operand;
use oriole_ir::ops::{
    Field, FieldValue, FieldValues, Flags, LeftElement, Matrix, NegateLeft, NegateRight, OpRow, Opcode, Shape,
    TransposeLeft, TransposeRight, Type,
};

/// Whether an opcode is such a product.
pub(crate) fn is_group_product(opcode: Opcode) -> bool {
    opcode.is(Flags::WARPGROUP.or(Flags::ASYNC))
}

impl<'s> BodyLowering<'_, '_, 's> {
    /// `d, a, b{, metadata, selector}, scale-d{, scale-a, scale-b{{, trans-a}, trans-b}}`.
    pub(super) fn lower_group_product(&mut self, inst: &ast::Instruction<'s>, selected: Selected) -> Option<()> {
        let operands = self.body[inst.operands].to_vec();
        let in_registers = matches!(operands.get(1).map(|a| a.kind), Some(OperandKind::Vector(_)));
        let mut selected = if in_registers { as_sibling(selected, in_register(selected.opcode)) } else { selected };
        let row = selected.opcode.row();
        let constants = constants(row, &selected.fields);
        let expected = row.srcs.len() + constants.len();
        if operands.len() != expected {
            return self.wrong_count(inst, expected, operands.len());
        }
        let (registers, rest) = operands.split_at(row.srcs.len());
        for (operand, (field, values)) in rest.iter().zip(constants) {
            let values = *values;
            let value = self.chosen(operand, values)?;
            if let Some(slot) = row.slot(*field) {
                selected.fields.0[slot] = value;
            }
        }
        let mut srcs = Vec::new();
        for (operand, shape) in registers.iter().zip(row.srcs) {
            self.group_source(operand, *shape, &selected, &mut srcs)?;
        }
        let destinations = self.results(&registers[0], selected, false)?;
        let dsts: Vec<Operand> = destinations.iter().map(|destination| destination.reg.into()).collect();
        self.push_full(selected.opcode, selected.fields, self.guard, &dsts, &srcs);
        Some(())
    }

    fn group_source(
        &mut self,
        operand: &ast::Operand<'s>,
        shape: Shape,
        selected: &Selected,
        srcs: &mut Vec<Operand>,
    ) -> Option<()> {
        let row = selected.opcode.row();
        match shape {
            Shape::Imm => {
                let value = self.immediate(operand)?;
                self.check_selector(operand.span, row.selectors(&selected.fields), value)?;
                srcs.push(value);
            }
            Shape::Matrix(_) => {
                let ty = row.shape_type(&selected.fields, shape).unwrap_or(Type::B32);
                for element in self.elements(operand, selected.opcode, shape, row.registers(&selected.fields, shape))? {
                    srcs.push(self.value(&element, ty, false)?);
                }
            }
            shape => {
                let ty = row.shape_type(&selected.fields, shape).unwrap_or(Type::B32);
                srcs.push(self.value(operand, ty, false)?);
            }
        }
        Some(())
    }

    /// Which of two constants an operand is: 0 for the first, 1 for the second.
    fn chosen(&mut self, operand: &ast::Operand<'s>, [no, yes]: [i64; 2]) -> Option<u8> {
        let written = match operand.kind {
            OperandKind::Constant(constant) => constant.integer_bits().map(|bits| bits as i64),
            _ => None,
        };
        match written {
            Some(value) if value == no => Some(0),
            Some(value) if value == yes => Some(1),
            _ => {
                let message = format!("this operand is {no} or {yes}");
                self.report(operand.span, message, describe(operand.kind), format!("write {no} or {yes}"));
                None
            }
        }
    }
}

/// The product that has its first matrix in registers.
fn in_register(opcode: Opcode) -> Opcode {
    if opcode == Opcode::WgmmaSparse { Opcode::WgmmaSparseRegisters } else { Opcode::WgmmaRegisters }
}

/// A constant behind the operands: the field that it sets, and what is no and yes.
pub(crate) type Constant = (Field, [i64; 2]);

/// Those of a product of elements of a kind: floats are negated, halves are transposed too. Registers hold the first
/// matrix one way alone.
pub(crate) fn constants(row: &OpRow, fields: &FieldValues) -> &'static [Constant] {
    const ALL: [Constant; 4] = [
        (NegateLeft::FIELD, [1, -1]),
        (NegateRight::FIELD, [1, -1]),
        (TransposeLeft::FIELD, [0, 1]),
        (TransposeRight::FIELD, [0, 1]),
    ];
    const OF_REGISTERS: [Constant; 3] = [ALL[0], ALL[1], ALL[3]];
    let in_registers = row.srcs.iter().any(|shape| matches!(shape, Shape::Matrix(Matrix::Left | Matrix::Held)));
    match row.value(fields) {
        Some(LeftElement::F16 | LeftElement::Bf16) if in_registers => &OF_REGISTERS,
        Some(LeftElement::F16 | LeftElement::Bf16) => &ALL,
        Some(LeftElement::Tf32 | LeftElement::E4m3 | LeftElement::E5m2) => &ALL[..2],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use crate::{emit, read};
    use oriole_ir::Module;

    fn module(target: &str, body: &str) -> Result<Module, Vec<crate::Fault>> {
        read(&format!(
            ".version 8.0\n.target {target}\n.address_size 64\n.entry k()\n{{\n.reg .pred %p<3>;\n\
             .reg .b32 %r<9>;\n.reg .f32 %f<9>;\n.reg .b64 %d<4>;\n{body}\nret;\n}}\n"
        ))
    }

    fn fault(body: &str) -> String {
        module("sm_90a", body).expect_err("it is refused")[0].message.clone()
    }

    /// Each line is printed as it was read.
    #[test]
    fn products_are_printed_as_they_are_read() {
        let sum = "{%f1, %f2, %f3, %f4}";
        let registers = "{%r1, %r2, %r3, %r4}";
        for line in [
            "wgmma.fence.sync.aligned;".to_owned(),
            "wgmma.wait_group.sync.aligned 3;".to_owned(),
            format!("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {sum}, %d1, %d2, %p1, 1, -1, 0, 1;"),
            format!("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {sum}, {registers}, %d2, %p1, -1, 1, 1;"),
            format!("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {sum}, {registers}, %d2, %p1, 1, -1;"),
            "wgmma.mma_async.sync.aligned.m64n16k32.s32.s8.u8.satfinite \
             {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, %d1, %d2, %p2;"
                .to_owned(),
            "wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc {%r1, %r2, %r3, %r4}, %d1, %d2, %p2;".to_owned(),
            format!("wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e5m2 {sum}, %d1, %d2, %r5, 0, %p1, 1, 1;"),
            format!(
                "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {sum}, {registers}, %d2, %r5, 1, %p1, 1, 1, 0;"
            ),
        ] {
            let module = module("sm_90a", &line).unwrap_or_else(|faults| panic!("{line}: {}", faults[0].message));
            let printed = emit(&module).expect("it can be printed");
            // Registers get other names; their kinds and order stay.
            let shape =
                |text: &str| text.chars().filter(|c| !c.is_ascii_digit() && !c.is_whitespace()).collect::<String>();
            let plain = shape(&line.replace("%f", "%r"));
            assert!(printed.lines().any(|found| shape(&found.replace("%f", "%r")) == plain), "{line}\n{printed}");
        }
    }

    #[test]
    fn products_that_there_are_not_are_refused() {
        let product = |name: &str, rest: &str| {
            fault(&format!("wgmma.mma_async.sync.aligned.{name} {{%f1, %f2, %f3, %f4}}, %d1, %d2, {rest};"))
        };
        let message = product("m64n8k16.f32.f16.f16", "%p1, 1, 2, 0, 0");
        assert_eq!(message, "this operand is 1 or -1");
        assert!(product("m64n8k16.f32.f16.f16", "%p1, 1, 1").contains("takes 8 operands, and has 6"));
        assert!(product("m64n8k16.f32.tf32.tf32", "%p1, 1, 1").starts_with("`.k16`"));
        assert!(product("m64n40k32.s32.s8.s8", "%p1").starts_with("`.m64n40`"));
        let early = module("sm_90", "wgmma.fence.sync.aligned;").expect_err("portable code has none");
        assert_eq!(early[0].message, "`wgmma.fence.sync.aligned` needs sm_90a");
        assert!(module("sm_100a", "wgmma.fence.sync.aligned;").is_err());
        let registers = module("sm_90", "setmaxnreg.inc.sync.aligned.u32 64;").expect_err("portable code has none");
        assert_eq!(registers[0].message, "`setmaxnreg.inc.sync.aligned.u32` needs sm_90a, or later with `a` or `f`");
        assert!(module("sm_120f", "setmaxnreg.inc.sync.aligned.u32 64;").is_ok());
    }

    /// What is added and what comes out have one register in PTX.
    #[test]
    fn sums_are_copied_to_the_registers_of_the_results() {
        let text = "target sm_90a ptx 8.0\nentry @k {\nbb0:\n  \
                    %r1, %r2, %r3, %r4 = wgmma.mma_async.m64n8.k16.f32.f16.f16 %r1, %r5, %r6, 7, %d8, %d9, 1\n  \
                    %r2, %r1, %r3, %r4 = wgmma.mma_async.m64n8.k16.f32.f16.f16 %r1, %r2, %r3, %r4, %d8, %d9, 1\n  \
                    ret\n}\n";
        let module = oriole_ir::parse_module(text).unwrap_or_else(|error| panic!("{error}"));
        let printed = emit(&module).expect("it can be printed");
        let lines: Vec<&str> = printed.lines().map(str::trim).filter(|line| line.starts_with("mov.b32")).collect();
        let into = |to: &str| lines.iter().filter(|line| line.starts_with(&format!("mov.b32 {to},"))).count();
        // Of the first only what is somewhere else; of the second all of them go through registers of their own.
        assert_eq!([into("%r2"), into("%r3"), into("%r4"), into("%r1")], [2, 2, 2, 1], "{printed}");
        assert_eq!(printed.matches("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r").count(), 1, "{printed}");
    }
}
