//! The PTX round trip: prints the optimized module as PTX, puts it in another spelling, and reads that.
//!
//! [`misread`] says what of the text is misread, [`operands`] which operands of it ptxas would not take, and [`second`]
//! has ptxas itself read some of the texts.

pub(crate) mod misread;
pub mod operands;
pub mod second;

use oriole_generate::spell::Respelling;
use oriole_ir::{Module, Operand};
use oriole_optimizer::ssa;
use oriole_ptx as ptx;
use oriole_ptx::{self, Dialect, EmitError, Fault};

use crate::constants::{self, Misread};
use crate::supervise::catch;

/// Why a module cannot make the trip.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// It cannot be printed as PTX.
    #[error(transparent)]
    Emit(#[from] EmitError),
    /// What was printed cannot be read.
    #[error("our own PTX is refused at `{excerpt}`: {fault}")]
    Read {
        /// The line that is refused.
        excerpt: String,
        /// Why.
        fault: Box<Fault>,
    },
    /// What was printed has an operand that ptxas does not take.
    #[error("ptxas takes no {} as operand {} of `{}`", .0.kind, .0.position, .0.excerpt)]
    Operand(operands::Wrong),
    /// A constant of what was printed is misread.
    #[error("the front end is wrong: {0}")]
    Constant(Misread),
    /// What was printed cannot be read, and nothing says why.
    #[error("our own PTX is refused")]
    Silent,
}

/// Whether an operand is a word of a constant bank, which PTX cannot spell.
pub fn reads_banks(module: &Module) -> bool {
    module.functions.values().any(|func| {
        let mut insts = func.layout_insts();
        insts.any(|inst| func.inputs(inst).iter().any(|operand| matches!(operand, Operand::Const { .. })))
    })
}

/// A module as PTX, as our printer writes it.
///
/// # Errors
///
/// What PTX has no words for, and an operand that ptxas does not take.
pub(super) fn printed(module: &Module) -> Result<String, Refusal> {
    taken(ptx::emit(&ssa::destructed(module))?)
}

/// What was printed, where ptxas takes its operands.
fn taken(text: String) -> Result<String, Refusal> {
    match operands::refused(&text) {
        Some(wrong) => Err(Refusal::Operand(wrong)),
        None => Ok(text),
    }
}

/// The PTX that the round trip reads: what is printed, in another spelling, without changes that ptxas would not take.
///
/// # Errors
///
/// As [`printed`].
pub(super) fn spelled(module: &Module) -> Result<String, Refusal> {
    let printed = printed(module)?;
    let respelling = Respelling::of(&printed);
    let whole = respelling.text(|_| true);
    if operands::refused(&whole).is_none() {
        return Ok(whole);
    }
    Ok(respelling.text(|change| operands::refused(&respelling.change(change).text).is_none()))
}

/// The same; `None` where the module cannot be printed, or not without a panic.
pub fn text(module: &Module) -> Option<String> {
    catch(|| spelled(module)).ok()?.ok()
}

/// Reads PTX that was printed of a module that carries the instructions of a dialect through, in whichever spelling;
/// the module is in virtual form.
///
/// # Errors
///
/// What our own front end refuses.
pub(super) fn read(text: &str, dialect: &Dialect) -> Result<Module, Refusal> {
    let refusal = |faults: Vec<Fault>| match faults.into_iter().next() {
        Some(fault) => {
            let (line, _) = fault.line_column(text);
            let excerpt = text.lines().nth(line.saturating_sub(1)).unwrap_or_default().trim().to_owned();
            Refusal::Read { excerpt, fault: Box::new(fault) }
        }
        None => Refusal::Silent,
    };
    let tree = ptx::parse(text).map_err(refusal)?;
    match constants::misread(text, &tree) {
        Some(misread) => Err(Refusal::Constant(misread)),
        None => ptx::lower_dialect(&tree, text, dialect).map_err(refusal),
    }
}

#[cfg(test)]
mod tests {
    use oriole_generate::Config;
    use oriole_generate::spell::respelled;
    use oriole_ir::parse_module;
    use oriole_optimizer::pipeline::Pipeline;

    use super::super::{CheckOptions, check_module};
    use crate::input::NamedLaunch;
    use crate::kernels::case;
    use oriole_launch::command_line;

    /// Checks a kernel in virtual form, of which nothing but the round trip changes anything.
    fn trip(body: &str) -> bool {
        let text = format!(
            "target sm_90 ptx 9.0\n\nentry @k visible virtual {{\n  param $out: u64 param align 8\nbb0:\n  \
             %r1 = s2r.b32 sr.tid.x\n  %d2 = ld.param.u64 [$out]\n  %d3 = imad.wide.u32 %r1, 4, %d2\n{body}\n  \
             st.global.b32 [%d3], %r9\n  ret\n}}\n"
        );
        let module = parse_module(&text).expect("it parses");
        let launch = command_line::launch(None, "1", "8", &["zeroed:32".to_owned()]).expect("it is well-formed");
        let launches = [NamedLaunch { name: "zeros".to_owned(), launch }];
        let options = CheckOptions { randoms: 0, passes: Pipeline::default(), ..CheckOptions::default() };
        check_module("k", &module, &launches, &options).expect("it fits").clean
    }

    #[test]
    fn operands_that_ptxas_refuses_are_said() {
        let taken = |line: &str| super::taken(format!("\t{line}\n")).map_err(|refusal| refusal.to_string());
        assert!(taken("add.u16x2 %r1, %r2, %r3;").is_ok());
        let refused = "ptxas takes no integer as operand 3 of `add.u16x2 %r1, %r2, 7;`";
        assert_eq!(taken("add.u16x2 %r1, %r2, 7;"), Err(refused.to_owned()));
    }

    /// Leaving out what ptxas would not take is a last resort: spellings make nothing of the kind.
    #[test]
    fn spellings_have_operands_that_ptxas_takes() {
        for number in 0..60 {
            let generated = case(5, number, &Config::default());
            let Ok(text) = super::printed(&generated.module) else { continue };
            assert_eq!(super::operands::refused(&respelled(&text)), None, "case {number}");
        }
    }

    #[test]
    fn a_result_may_be_the_guard() {
        // Where 1.0 > 2.0 is asked for, the first result becomes false and the second true.
        assert!(trip(
            "  %r6 = and.b32 %r1, 1\n  %p4 = setp.eq.u32 %r6, 0\n  %p5 = setp.ne.u32 %r6, 0\n  \
             %p7 = setp.ge.u32 %r1, 0\n  @%p4 %p4, %p5 = setp.bool.gt.and.bf16 16256, 16384, %p7\n  \
             %r8 = selp.u32 1, 0, %p5\n  %r9 = selp.u32 2, %r8, %p4"
        ));
    }

    #[test]
    fn constant_banks_have_no_ptx() {
        assert!(trip("  %r9 = mov.b32 c[0][0x210]"));
    }
}
