//! Votes and shuffles that do not name the lanes which take part: all that execute them together do (PTX ISA, "vote"
//! and "shfl", without `.sync`). They are read as the synchronised ones with the mask of these lanes.

use super::body::{BodyLowering, typed};
use crate::ast;
use oriole_ir::ops::{Opcode, Type};

impl<'s> BodyLowering<'_, '_, 's> {
    /// Lowers a `vote` or `shfl` without `.sync`. `None` after a fault, which is reported.
    pub(super) fn lower_without_sync(&mut self, inst: &ast::Instruction<'s>) -> Option<()> {
        let (base, span) = (inst.opcode.text, inst.mnemonic_span(self.body));
        if self.cx.needs_sync {
            let message = format!("`{base}` needs `.sync` since PTX 6.4 for sm_70 and later");
            let help = format!("write `{base}.sync` with a mask of the lanes that take part behind the operands");
            self.report(span, message, "modifier missing", help);
            return None;
        }
        let written = self.body[inst.modifiers].iter().map(|modifier| modifier.text);
        let modifiers: Vec<&str> = ["sync"].into_iter().chain(written).collect();
        let selected = self.selected_as(inst, base, &modifiers)?;
        let lanes = self.temp(Type::B32);
        self.push_full(Opcode::ActiveMask, typed(Opcode::ActiveMask, Type::B32), self.guard, &[lanes.into()], &[]);
        self.lower_operation(inst, selected, &self.body[inst.operands], Some(lanes.into()))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Fault, emit, read};

    fn kernel(version: &str, target: &str, body: &str) -> String {
        format!(
            ".version {version}\n.target {target}\n.address_size 64\n.entry k() {{\n.reg .pred %p<4>;\n\
             .reg .b32 %r<4>;\n{body}\n}}\n"
        )
    }

    fn printed(version: &str, target: &str, body: &str) -> Result<Vec<String>, Vec<Fault>> {
        let module = read(&kernel(version, target, body))?;
        let text = emit(&module).expect("PTX has all of it");
        let body = text.lines().filter(|line| line.contains(".sync") || line.contains("mask"));
        Ok(body.map(|line| line.trim().to_owned()).collect())
    }

    #[test]
    fn what_names_no_lanes_is_for_those_that_execute_it() {
        let body = "vote.any.pred %p1, %p2;\nvote.ballot.b32 %r1, !%p1;\n@%p3 shfl.up.b32 %r2|%p2, %r1, 1, 0;";
        let lines = printed("3.0", "sm_30", body).expect("it is read");
        let expected = [
            "activemask.b32 %r0;",
            "vote.sync.any.pred %p2, %p1, %r0;",
            "activemask.b32 %r3;",
            "vote.sync.ballot.b32 %r5, %p4, %r3;",
            "@%p6 activemask.b32 %r7;",
            "@%p6 shfl.sync.up.b32 %r8|%p1, %r5, 1, 0, %r7;",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn later_modules_have_to_name_the_lanes() {
        for (version, target) in [("6.3", "sm_90"), ("9.0", "sm_61")] {
            assert!(printed(version, target, "vote.all.pred %p1, %p2;").is_ok(), "{version} {target}");
        }
        let faults = printed("6.4", "sm_70", "shfl.idx.b32 %r1, %r2, 0, 31;").expect_err("ptxas refuses it");
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].message, "`shfl` needs `.sync` since PTX 6.4 for sm_70 and later");
        let faults = printed("3.0", "sm_30", "shfl.idx.b32 %r1, %r2;").expect_err("operands are missing");
        assert_eq!(faults.len(), 1);
    }
}
