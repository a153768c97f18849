//! Instructions that are carried through as they are written: their text, with a place for each register and symbol.

use std::fmt::Write;

use super::body::BodyLowering;
use super::operand::{Named, Place as Wanted, describe, special_component};
use crate::ast::{self, Constant, OperandKind, ScalarType, Span};
use crate::opaque::{Opaque, Results};
use oriole_ir::ops::{Opcode, Type};
use oriole_ir::template::Place;
use oriole_ir::{InstData, Operand, Reg};

/// What an operand in front is to the instruction.
#[derive(Clone, Copy)]
enum Role {
    Read,
    Written,
    Both,
}

/// An instruction in the making: the text so far, and what is in its places.
#[derive(Default)]
struct Made {
    text: String,
    dsts: Vec<Operand>,
    srcs: Vec<Operand>,
}

impl Made {
    fn place(&mut self, place: Place, operand: Operand) {
        self.text.push_str(&place.text());
        if place.written().is_some() {
            self.dsts.push(operand);
        }
        if place.is_source() {
            self.srcs.push(operand);
        }
    }

    fn register(&mut self, role: Role, ty: Type, reg: Operand) {
        let place = match role {
            Role::Read => Place::Read(ty),
            Role::Written => Place::Written(ty),
            Role::Both => Place::Both(ty),
        };
        self.place(place, reg);
    }
}

impl<'s> BodyLowering<'_, '_, 's> {
    /// Lowers an instruction of which no more is known than this. `None` after a fault, which is reported.
    pub(super) fn lower_opaque(&mut self, inst: &ast::Instruction<'s>, known: Opaque) -> Option<()> {
        let mut made = Made { text: inst.opcode.text.to_owned(), ..Made::default() };
        for modifier in &self.body[inst.modifiers] {
            let _ = write!(made.text, ".{}", modifier.text);
        }
        for (at, operand) in self.body[inst.operands].iter().enumerate() {
            made.text.push_str(if at == 0 { " " } else { ", " });
            let role = match known.results {
                Results::First(count) if at < count => Role::Written,
                Results::Unknown if at == 0 => Role::Both,
                _ => Role::Read,
            };
            self.placed_operand(&mut made, operand, role)?;
        }
        if made.dsts.len() > InstData::MAX_DSTS {
            let message = format!("`{}` has more than {} results", inst.opcode.text, InstData::MAX_DSTS);
            self.report(inst.span, message, "too many", "no instruction of PTX has as many");
            return None;
        }
        let template = self.func.template(&made.text);
        let srcs: Vec<_> = std::iter::once(template).chain(made.srcs).collect();
        self.push_full(Opcode::Opaque, Opcode::Opaque.row().default_fields(), self.guard, &made.dsts, &srcs);
        self.missing = known.needs.filter(|needs| self.cx.target.is_some_and(|target| !needs.includes(target)));
        Some(())
    }

    fn placed_operand(&mut self, made: &mut Made, operand: &ast::Operand<'s>, role: Role) -> Option<()> {
        match operand.kind {
            OperandKind::Name(name) => match self.vector_lanes(name) {
                Some(lanes) => self.placed_list(made, ["{", "}"], &Self::components(operand, name, lanes), role)?,
                None => self.placed_name(made, name, operand.span, role)?,
            },
            OperandKind::Component { name, component } => {
                self.placed_component(made, operand, name, component, role)?
            }
            OperandKind::Vector(list) => self.placed_list(made, ["{", "}"], &self.body[list], role)?,
            OperandKind::Pair(list) => {
                let [first, second] = &self.body[list] else { return None };
                self.placed_operand(made, first, role)?;
                made.text.push('|');
                self.placed_operand(made, second, role)?;
            }
            OperandKind::Address(address) => {
                made.text.push('[');
                match address.base {
                    Some(base) => self.placed_name(made, base, operand.span, Role::Read)?,
                    None => made.text.push_str(&address.offset.to_string()),
                }
                offset(made, address.offset, address.base.is_some());
                for part in &self.body[address.rest] {
                    made.text.push_str(", ");
                    self.placed_operand(made, part, Role::Read)?;
                }
                made.text.push(']');
            }
            OperandKind::Sum { name, offset: by } => {
                self.placed_name(made, name, operand.span, Role::Read)?;
                offset(made, by, true);
            }
            OperandKind::Element { .. } | OperandKind::Indexed { .. } => {
                let address = self.address_value(operand, Type::U64)?;
                made.register(Role::Read, Type::B64, address);
            }
            OperandKind::Constant(constant) => made.text.push_str(&constant_text(constant)),
            OperandKind::Sink => made.text.push('_'),
            OperandKind::Not(name) => {
                made.text.push('!');
                self.placed_name(made, name, operand.span, Role::Read)?;
            }
            OperandKind::Negate(list) => {
                made.text.push('-');
                self.placed_list(made, ["", ""], &self.body[list], Role::Read)?;
            }
            OperandKind::Group(_) => {
                let help = "calls alone have operands in parentheses";
                self.report(operand.span, "this operand does not fit here".into(), describe(operand.kind), help);
                return None;
            }
        }
        Some(())
    }

    fn placed_list(
        &mut self,
        made: &mut Made,
        [open, close]: [&str; 2],
        list: &[ast::Operand<'s>],
        role: Role,
    ) -> Option<()> {
        made.text.push_str(open);
        for (at, element) in list.iter().enumerate() {
            made.text.push_str(if at == 0 { "" } else { ", " });
            self.placed_operand(made, element, role)?;
        }
        made.text.push_str(close);
        Some(())
    }

    fn placed_name(&mut self, made: &mut Made, name: &'s str, span: Span, role: Role) -> Option<()> {
        match self.lookup(name, span)? {
            Named::Reg(reg, declared) => self.placed_register(made, reg, declared, role),
            Named::Address(symbol) => made.place(Place::Symbol, symbol),
            Named::Special(special) => {
                let ty = match special.bits() {
                    1 => Type::Pred,
                    64 => Type::B64,
                    _ => Type::B32,
                };
                let value = self.named_value(name, Wanted { span, ty, loose: false })?;
                made.register(Role::Read, ty, value);
            }
        }
        Some(())
    }

    fn placed_component(
        &mut self,
        made: &mut Made,
        operand: &ast::Operand<'s>,
        name: &'s str,
        component: &str,
        role: Role,
    ) -> Option<()> {
        if special_component(name, component).is_some() {
            let value = self.value(operand, Type::B32, false)?;
            made.register(Role::Read, Type::B32, value);
            return Some(());
        }
        let (reg, declared) = self.lane_register(name, component, operand.span)?;
        self.placed_register(made, reg, declared, role);
        Some(())
    }

    fn placed_register(&mut self, made: &mut Made, reg: Reg, declared: ScalarType, role: Role) {
        let ty = match declared.bits() {
            1 => Type::Pred,
            8 => Type::B8,
            16 => Type::B16,
            32 => Type::B32,
            64 => Type::B64,
            _ => Type::B128,
        };
        made.register(role, ty, reg.into());
    }
}

/// `+8` behind a name, `+-8`; nothing where it is zero.
fn offset(made: &mut Made, offset: i64, behind_name: bool) {
    if behind_name && offset != 0 {
        let _ = write!(made.text, "+{offset}");
    }
}

/// A constant as ptxas reads it.
fn constant_text(constant: Constant) -> String {
    match constant {
        Constant::Signed(value) => value.to_string(),
        Constant::Unsigned(value) if value > i64::MAX as u64 => format!("{value:#x}"),
        Constant::Unsigned(value) => value.to_string(),
        Constant::Single(bits) => format!("0f{bits:08X}"),
        Constant::Double(bits) => format!("0d{bits:016X}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::{emit, read};
    use oriole_ir::Module;

    fn module(target: &str, body: &str) -> Result<Module, Vec<crate::Fault>> {
        read(&format!(
            ".version 9.0\n.target {target}\n.address_size 64\n.shared .align 16 .b8 tile[512];\n\
             .entry k(.param .align 64 .b8 map[128])\n{{\n.reg .pred %p<4>;\n.reg .b8 %b<4>;\n.reg .b16 %h<4>;\n\
             .reg .b32 %r<9>;\n.reg .f32 %f<9>;\n.reg .b64 %d<4>;\n.reg .b128 %q<3>;\n.reg .v2 .b32 %v;\n{body}\nret;\n}}\n"
        ))
    }

    /// The text of the only such instruction of a body.
    fn template(body: &str) -> String {
        let module = module("sm_100a", body).unwrap_or_else(|faults| panic!("{body}: {}", faults[0].message));
        let text = module.to_string();
        let line = text.lines().find(|line| line.contains("opaque '")).unwrap_or_else(|| panic!("{text}"));
        line.trim().split(" !").next().unwrap_or("").to_owned()
    }

    #[test]
    fn registers_and_symbols_stand_in_places() {
        for (body, expected) in [
            ("tcgen05.wait::ld.sync.aligned;", "opaque 'tcgen05.wait::ld.sync.aligned'"),
            (
                "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %f2}, [%r3+4];",
                "%r0, %r1 = opaque 'tcgen05.ld.sync.aligned.32x32b.x2.b32 {=b32, =b32}, [%b32+4]', %r2",
            ),
            (
                "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes \
                 [tile+16], [map, {%r1, -3}], [%r2];",
                "opaque 'cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [@+16], \
                 [@, {%b32, -3}], [%b32]', @tile, $map, %r0, %r1",
            ),
            (
                "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r1, %r2, %r3, _}, %q1;",
                "%r0, %r1, %r2 = opaque 'clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 \
                 {=b32, =b32, =b32, _}, %b128', %q3",
            ),
            (
                "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %v.x, 64;",
                "opaque 'tcgen05.dealloc.cta_group::1.sync.aligned.b32 %b32, 64', %r0",
            ),
            (
                "cvt.rn.satfinite.e2m1x2.f32 %b1, 1.0, 0f3F800000;",
                "%r0 = opaque 'cvt.rn.satfinite.e2m1x2.f32 =b8, 0d3FF0000000000000, 0f3F800000'",
            ),
            ("@!%p1 stackrestore.u64 %d1;", "@!%p0 opaque 'stackrestore.u64 %b64', %d1"),
        ] {
            assert_eq!(template(body), expected);
        }
    }

    #[test]
    fn what_is_misspelled_or_not_there_is_a_fault() {
        let fault = |target: &str, body: &str| module(target, body).expect_err(body)[0].message.clone();
        assert_eq!(
            fault("sm_100a", "tcgen05.lb.sync.aligned %r1;"),
            "`tcgen05` is not an instruction: `tcgen05.lb.sync.aligned`"
        );
        assert_eq!(fault("sm_100a", "ad.u32 %r1, %r2, %r3;"), "`ad` is not an instruction: `ad.u32`");
        assert_eq!(
            fault("sm_90a", "tcgen05.wait::st.sync.aligned;"),
            "`tcgen05.wait::st.sync.aligned` needs sm_100a, or later with `a` or `f`"
        );
        assert_eq!(fault("sm_100a", "stackrestore.u64 %nothing;"), "`%nothing` is not declared");
    }

    /// Each line is printed as it was read, whatever brings its operands there.
    #[test]
    fn they_are_printed_as_they_are_read() {
        for line in [
            "tcgen05.mma.cta_group::1.kind::f16 [%r1], %d1, %d2, %r2, %p1;",
            "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tile], 128;",
            "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q1;",
            "st.bulk.weak.shared::cta [tile+8], %d1, 0;",
            "cvt.rn.f16x2.e2m1x2 %r1, %b1;",
        ] {
            let module = module("sm_100a", line).unwrap_or_else(|faults| panic!("{line}: {}", faults[0].message));
            let printed = emit(&module).expect("it can be printed");
            let shape =
                |text: &str| text.replace("%xb", "%b").chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
            assert!(printed.lines().any(|found| shape(found.trim()) == shape(line)), "{line}\n{printed}");
        }
    }
}
