//! Instructions of `sm_100` that are several here, which compute exactly the same: packed pairs of `.f32`, extremes of
//! three values, and sums with an addend of 16 bits (PTX ISA 9.0, "Floating Point Instructions" and "Mixed Precision
//! Floating Point Instructions"). They are printed as these several.

use super::body::BodyLowering;
use super::operand::word;
use super::select::{Selected, select};
use crate::ast;
use oriole_ir::ops::{Availability, FieldValues, Opcode, Type};
use oriole_ir::sm::Target;
use oriole_ir::{Operand, RegInfo};

/// The first SM that has them.
const SINCE: Availability = Availability::From(100);

/// What an instruction is several of.
enum Compound {
    /// Operations on the halves of 64 bits.
    Pair,
    /// Two extremes, of magnitudes or not.
    Extremes { magnitudes: bool },
    /// An operation on `.f32` of which all sources but the last are widened.
    Widened(&'static str),
}

impl<'s> BodyLowering<'_, '_, 's> {
    /// Lowers such an instruction, which succeeds or not; `None` for all others.
    pub(super) fn lower_compound(&mut self, inst: &ast::Instruction<'s>) -> Option<Option<()>> {
        let mut modifiers: Vec<&str> = self.body[inst.modifiers].iter().map(|modifier| modifier.text).collect();
        let operands = self.body[inst.operands].len();
        let compound = match (inst.opcode.text, modifiers.last().copied()) {
            ("add" | "sub" | "mul" | "fma", Some("f32x2")) => {
                modifiers.pop();
                modifiers.push("f32");
                Compound::Pair
            }
            ("min" | "max", Some("f32")) if operands == 4 => {
                let before = modifiers.len();
                modifiers.retain(|modifier| *modifier != "abs");
                Compound::Extremes { magnitudes: modifiers.len() < before }
            }
            ("add" | "sub" | "fma", Some(narrow @ ("f16" | "bf16"))) if modifiers.contains(&"f32") => {
                modifiers.pop();
                Compound::Widened(if narrow == "f16" { "f16" } else { "bf16" })
            }
            _ => return None,
        };
        Some(self.lower_several(inst, &modifiers, compound))
    }

    fn lower_several(&mut self, inst: &ast::Instruction<'s>, modifiers: &[&str], compound: Compound) -> Option<()> {
        let selected = self.selected_as(inst, inst.opcode.text, modifiers)?;
        let none = match compound {
            Compound::Pair => "sat",
            Compound::Extremes { .. } => "xorsign",
            Compound::Widened(_) => "ftz",
        };
        if modifiers.contains(&none) {
            let span = inst.mnemonic_span(self.body);
            let ty = self.body[inst.modifiers].last().map_or("", |modifier| modifier.text);
            let message = format!("`{}.{ty}` has no `.{none}`", inst.opcode.text);
            self.report(span, message, "does not fit", format!("leave out `.{none}`"));
            return None;
        }
        let [first, sources @ ..] = &self.body[inst.operands] else { return self.wrong_count(inst, 1, 0) };
        let extra = usize::from(matches!(compound, Compound::Extremes { .. }));
        let expected = selected.opcode.row().srcs.len() + extra;
        if sources.len() != expected {
            return self.wrong_count(inst, expected + 1, sources.len() + 1);
        }
        let missing = self.cx.target.filter(|target: &Target| !SINCE.includes(*target)).map(|_| SINCE);
        self.missing = missing.or(self.missing);
        match compound {
            Compound::Pair => self.pair(first, sources, selected),
            Compound::Extremes { magnitudes } => self.extremes(first, sources, selected, magnitudes),
            Compound::Widened(narrow) => self.widened(inst, first, sources, selected, narrow),
        }
    }

    /// The row that a name with these modifiers stands for.
    pub(super) fn selected_as(
        &mut self,
        inst: &ast::Instruction<'s>,
        base: &str,
        modifiers: &[&str],
    ) -> Option<Selected> {
        match select(base, modifiers, self.cx.version) {
            Ok(selected) => Some(selected),
            Err(refusal) => {
                let span = inst.mnemonic_span(self.body);
                self.report(span, refusal.message, refusal.label, refusal.help);
                None
            }
        }
    }

    fn pair(&mut self, first: &ast::Operand<'s>, sources: &[ast::Operand<'s>], selected: Selected) -> Option<()> {
        let values = sources.iter().map(|source| self.value(source, Type::B64, false)).collect::<Option<Vec<_>>>()?;
        let target = self.destination(first, Type::B64, false)?;
        let halves = [0, 1].map(|half| {
            let halves: Vec<Operand> = values.iter().map(|value| self.half_of(*value, half)).collect();
            self.computed(selected.opcode, selected.fields, &halves)
        });
        let fields = super::body::typed(Opcode::Pack, Type::B32);
        self.push_full(Opcode::Pack, fields, self.guard, &[target.reg.into()], &halves);
        self.finish(target);
        Some(())
    }

    /// A word of 64 bits.
    fn half_of(&mut self, value: Operand, half: u8) -> Operand {
        match value {
            Operand::Reg(reg) => word(reg, half, RegInfo::of(Type::B64).words),
            Operand::Imm(imm) => self.func.imm_word(imm, half),
            other => other,
        }
    }

    fn extremes(
        &mut self,
        first: &ast::Operand<'s>,
        sources: &[ast::Operand<'s>],
        selected: Selected,
        magnitudes: bool,
    ) -> Option<()> {
        let mut values = Vec::with_capacity(sources.len());
        for source in sources {
            let value = self.value(source, Type::F32, false)?;
            let fields = super::body::typed(Opcode::FAbs, Type::F32);
            values.push(if magnitudes { self.computed(Opcode::FAbs, fields, &[value]) } else { value });
        }
        let two = self.computed(selected.opcode, selected.fields, &values[..2]);
        self.put(first, selected, &[two, values[2]])
    }

    fn widened(
        &mut self,
        inst: &ast::Instruction<'s>,
        first: &ast::Operand<'s>,
        sources: &[ast::Operand<'s>],
        selected: Selected,
        narrow: &str,
    ) -> Option<()> {
        let widen = self.selected_as(inst, "cvt", &["f32", narrow])?;
        let ty = if narrow == "f16" { Type::F16 } else { Type::Bf16 };
        let [narrows @ .., last] = sources else { return None };
        let mut values = Vec::with_capacity(sources.len());
        for source in narrows {
            let value = self.value(source, ty, false)?;
            values.push(self.computed(widen.opcode, widen.fields, &[value]));
        }
        values.push(self.value(last, Type::F32, false)?);
        self.put(first, selected, &values)
    }

    /// A result in a new register. It needs no guard: nobody else reads it.
    fn computed(&mut self, opcode: Opcode, fields: FieldValues, srcs: &[Operand]) -> Operand {
        let to = self.temp(Type::F32);
        self.push_full(opcode, fields, None, &[to.into()], srcs);
        to.into()
    }

    /// The last operation, which writes the result.
    fn put(&mut self, first: &ast::Operand<'s>, selected: Selected, srcs: &[Operand]) -> Option<()> {
        let target = self.destination(first, Type::F32, false)?;
        self.push_full(selected.opcode, selected.fields, self.guard, &[target.reg.into()], srcs);
        self.finish(target);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Fault, read};

    /// The instructions that a line becomes.
    fn lowered(target: &str, line: &str) -> Result<Vec<String>, Vec<Fault>> {
        let text = format!(
            ".version 8.6\n.target {target}\n.address_size 64\n.entry k()\n{{\n.reg .pred %p;\n.reg .b16 %h<3>;\n\
             .reg .f32 %f<5>;\n.reg .b64 %d<5>;\n{line}\nret;\n}}\n"
        );
        let module = read(&text)?;
        let text = module.to_string();
        let body = text.split("bb0:\n").nth(1).unwrap_or("");
        Ok(body.lines().map(|line| line.split(" !").next().unwrap_or("").trim().to_owned()).collect())
    }

    fn names(line: &str) -> Vec<String> {
        let lines = lowered("sm_100", line).unwrap_or_else(|faults| panic!("{line}: {}", faults[0].message));
        let name = |line: &String| line.split(" = ").nth(1)?.split(' ').next().map(str::to_owned);
        lines.iter().filter_map(name).collect()
    }

    #[test]
    fn pairs_are_two_operations() {
        assert_eq!(names("add.rn.ftz.f32x2 %d1, %d2, %d3;"), ["fadd.rn.ftz.f32", "fadd.rn.ftz.f32", "pack.b32"]);
        assert_eq!(names("fma.rz.f32x2 %d1, %d2, %d3, %d4;"), ["ffma.rz.f32", "ffma.rz.f32", "pack.b32"]);
        assert_eq!(names("mul.f32x2 %d1, %d2, 0x3f80000040000000;"), ["fmul.f32", "fmul.f32", "pack.b32"]);
        let guarded = lowered("sm_100", "@%p sub.f32x2 %d1, %d2, %d3;").expect("it is read");
        assert_eq!(guarded.iter().filter(|line| line.starts_with('@')).count(), 1, "{guarded:?}");
    }

    #[test]
    fn extremes_of_three_are_two() {
        assert_eq!(names("max.NaN.f32 %f1, %f2, %f3, %f4;"), ["fmax.NaN.f32"; 2]);
        assert_eq!(names("min.ftz.abs.f32 %f1, %f2, %f3, 0f3f800000;")[3..], ["fmin.ftz.f32"; 2]);
        assert_eq!(names("min.f32 %f1, %f2, %f3;"), ["fmin.f32"]);
    }

    #[test]
    fn narrow_addends_are_widened() {
        assert_eq!(names("add.rz.sat.f32.f16 %f1, %h1, %f2;"), ["cvt.f32.f16", "fadd.rz.sat.f32"]);
        assert_eq!(names("fma.rn.f32.bf16 %f1, %h1, %h2, %f2;"), ["cvt.f32.bf16", "cvt.f32.bf16", "ffma.rn.f32"]);
    }

    #[test]
    fn what_there_is_not_is_refused() {
        let fault = |target: &str, line: &str| lowered(target, line).expect_err("it is refused")[0].message.clone();
        assert_eq!(fault("sm_90", "add.f32x2 %d1, %d2, %d3;"), "`add.f32x2` needs sm_100 or later");
        assert_eq!(fault("sm_90", "min.f32 %f1, %f2, %f3, %f4;"), "`min.f32` needs sm_100 or later");
        assert_eq!(fault("sm_100", "add.f32x2 %d1, %d2;"), "`add` takes 3 operands, and has 2");
        assert_eq!(fault("sm_100", "add.sat.f32x2 %d1, %d2, %d3;"), "`add.f32x2` has no `.sat`");
    }
}
