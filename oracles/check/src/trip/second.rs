//! ptxas as a second reader of the texts that the round trip makes.
//!
//! Where our reader takes another spelling for what our generator means by it, both may be wrong. So ptxas compiles
//! some of the texts without optimization, the code is executed, and what it leaves is compared. A text that ptxas
//! makes something else of also as it was printed says nothing about spellings: that is for a campaign against the
//! compiler.

use oriole_generate::spell::respelled;
use oriole_interp::{Executable, LaneOrder};
use oriole_ir::Module;

use super::printed;
use crate::cases::Case;
use crate::compiler::{Axis, Ptxas};
use crate::judge::Verdict;
use crate::judge::code::Executor;
use crate::supervise::catch;
use crate::target_of;

/// The first SM whose code is executed.
const OLDEST: u16 = 80;

/// Who reads a text beside ourselves.
#[derive(Clone, Debug)]
pub struct SecondReader {
    /// The real ptxas.
    pub ptxas: Ptxas,
    /// One kernel in so many is read, drawn by its name. To start the compiler and to execute the code takes as long as
    /// two checks of a generated kernel (measured 2026-11-28).
    pub every: u64,
}

impl SecondReader {
    /// Where ptxas makes something else of a module's text in another spelling than of the printed one: the case that
    /// tells, and what is to be said.
    pub(crate) fn disagreement(&self, name: &str, module: &Module, cases: &[Case<'_>]) -> Option<(usize, Verdict)> {
        if !hash(name).is_multiple_of(self.every.max(1)) {
            return None;
        }
        let text = catch(|| printed(module)).ok()?.ok()?;
        let (case, said) = self.difference(&respelled(&text), module, cases)?;
        let is_spelling = self.difference(&text, module, cases).is_none();
        let verdict = || Verdict::Unexpected(format!("in another spelling, ptxas reads the text otherwise: {said}"));
        is_spelling.then(|| (case, verdict()))
    }

    /// The first case on which code that ptxas makes of a text does not do what the module does, and how it differs.
    /// `None` as well where there is no code, or nothing can be said about it.
    fn difference(&self, text: &str, module: &Module, cases: &[Case<'_>]) -> Option<(usize, String)> {
        let own = target_of(module).ok()?;
        let arch = if own.number() < OLDEST { format!("sm_{OLDEST}") } else { own.to_string() };
        let folder = tempfile::tempdir().ok()?;
        let file = folder.path().join("kernel.ptx");
        std::fs::write(&file, text).ok()?;
        let cubin = self.ptxas.compile(&file, &Axis::new(&arch, 0)).ok()?;
        let original = Executable::new(module).ok()?;
        cases.iter().enumerate().find_map(|(at, case)| {
            let code = case.judge.judge_code(&original, &cubin, Executor::Interpreter, &[LaneOrder::default()]).ok()?;
            let verdict = code.verdict;
            verdict.is_finding().then(|| (at, verdict.to_string()))
        })
    }
}

/// FNV-1a.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use oriole_ir::parse_module;
    use oriole_launch::command_line;

    use super::*;
    use crate::CheckOptions;
    use crate::cases::first_runs;
    use crate::input::NamedLaunch;

    #[test]
    fn a_text_that_means_something_else_is_told() {
        let Some(ptxas) = Ptxas::find(Path::new(env!("CARGO_MANIFEST_DIR"))) else {
            println!("skipped: no ptxas");
            return;
        };
        let text = "target sm_90 ptx 9.0\n\nentry @k visible virtual {\n  param $out: u64 param align 8\nbb0:\n  \
                    %d1 = ld.param.u64 [$out]\n  st.global.b32 [%d1], 77\n  ret\n}\n";
        let module = parse_module(text).expect("it parses");
        let launch = command_line::launch(None, "1", "1", &["zeroed:4".to_owned()]).expect("it is well-formed");
        let launches = [NamedLaunch { name: "zeros".to_owned(), launch }];
        let (cases, _) = first_runs("k", &module, &launches, &CheckOptions::default()).expect("it runs");
        let reader = SecondReader { ptxas, every: 1 };
        let text = printed(&module).expect("it prints");
        assert_eq!(reader.difference(&text, &module, &cases), None);
        assert_eq!(reader.difference(&text.replace("77", "(-616 >> 3) + 154"), &module, &cases), None);
        assert!(reader.difference(&text.replace("77", "-616U >> 3"), &module, &cases).is_some());
        assert!(reader.disagreement("k", &module, &cases).is_none());
    }
}
