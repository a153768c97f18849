//! External predicates: a command that gets a candidate and answers by its exit code.
//!
//! Exit code 0 means interesting, as for creduce and llvm-reduce. The command gets the path of the candidate as its
//! last argument, in the language of the file that is reduced; `ORIOLE_ORI`, `ORIOLE_PTX` and `ORIOLE_LAUNCH` name it
//! in every form that there is. It runs in the folder of the caller, with a time limit for itself and what it starts.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::input;
use crate::input::Language;
use crate::report::Evidence;

/// The longest pause between two looks at a command that runs.
const PAUSE: Duration = Duration::from_millis(20);

/// What a candidate must make a command do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// End with exit code 0.
    Success,
    /// Not end within the limit.
    Hang,
}

/// A command that decides.
#[derive(Clone, Debug)]
pub struct External {
    /// The program.
    pub program: PathBuf,
    /// Its arguments, before the candidate's path.
    pub arguments: Vec<String>,
    /// What makes a candidate interesting.
    pub wanted: Wanted,
    /// How long it may run.
    pub limit: Duration,
    /// The language of the candidate's file.
    pub language: Language,
}

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ended {
    Success,
    Failure,
    TimedOut,
}

impl External {
    /// A line for the shell.
    pub fn shell(line: &str, limit: Duration, language: Language) -> External {
        let arguments = ["-c".to_owned(), format!("{line} \"$@\""), "sh".to_owned()].into();
        External { program: "sh".into(), arguments, wanted: Wanted::Success, limit, language }
    }

    /// Whether the command finds the candidate interesting. A candidate that cannot be written in the wanted language
    /// is not.
    ///
    /// # Errors
    ///
    /// A file that cannot be written, a command that does not start.
    pub fn holds(&self, evidence: &Evidence) -> io::Result<bool> {
        let folder = tempfile::tempdir()?;
        let ori = folder.path().join("candidate.ori");
        std::fs::write(&ori, evidence.module.to_string())?;
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env("ORIOLE_ORI", &ori);
        let ptx = write_ptx(evidence, folder.path())?;
        if let Some(ptx) = &ptx {
            command.env("ORIOLE_PTX", ptx);
        }
        if let Some(launch) = &evidence.launch {
            let path = launch.save(folder.path(), "candidate").map_err(io::Error::other)?;
            command.env("ORIOLE_LAUNCH", path);
        }
        let file = if self.language == Language::Ptx { ptx } else { Some(ori) };
        let Some(file) = file else { return Ok(false) };
        self.likes(command.arg(file))
    }

    /// Whether the command finds a text interesting, which need not be one that can be read.
    ///
    /// # Errors
    ///
    /// As [`External::holds`].
    pub fn accepts(&self, text: &str) -> io::Result<bool> {
        let folder = tempfile::tempdir()?;
        let ptx = folder.path().join("candidate.ptx");
        std::fs::write(&ptx, text)?;
        let mut command = Command::new(&self.program);
        self.likes(command.args(&self.arguments).env("ORIOLE_PTX", &ptx).arg(ptx))
    }

    fn likes(&self, command: &mut Command) -> io::Result<bool> {
        let ended = run(command, self.limit)?;
        Ok(match self.wanted {
            Wanted::Success => ended == Ended::Success,
            Wanted::Hang => ended == Ended::TimedOut,
        })
    }
}

fn write_ptx(evidence: &Evidence, folder: &Path) -> io::Result<Option<PathBuf>> {
    let Ok(text) = input::write_ptx(&evidence.module) else { return Ok(None) };
    let path = folder.join("candidate.ptx");
    std::fs::write(&path, text)?;
    Ok(Some(path))
}

/// Runs a command for at most so long, silently.
fn run(command: &mut Command, limit: Duration) -> io::Result<Ended> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let start = Instant::now();
    let mut child = command.spawn()?;
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() { Ended::Success } else { Ended::Failure });
        }
        if start.elapsed() >= limit {
            stop(&mut child)?;
            return Ok(Ended::TimedOut);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSE);
    }
}

/// Ends a command with everything that it has started.
fn stop(child: &mut Child) -> io::Result<()> {
    #[cfg(unix)]
    {
        let group = format!("kill -9 -{}", child.id());
        Command::new("sh").args(["-c", &group]).stderr(Stdio::null()).status()?;
    }
    // It may have ended in between.
    drop(child.kill());
    child.wait().map(drop)
}

#[cfg(test)]
mod tests {
    use oriole_ir::parse_module;

    use super::*;

    fn holds(line: &str, language: Language) -> bool {
        let text = "target sm_90 ptx 9.0\n\nentry @k visible ssa {\nbb0:\n  ret\n}\n";
        let module = parse_module(text).expect("the kernel is well-formed");
        let external = External::shell(line, Duration::from_millis(400), language);
        external.holds(&Evidence { module, launch: None }).expect("a shell is there")
    }

    #[test]
    fn the_exit_code_decides_and_files_are_there() {
        assert!(holds("grep -q 'entry @k'", Language::Ori));
        assert!(!holds("grep -q 'entry @other'", Language::Ori));
        assert!(holds("grep -q '.entry k'", Language::Ptx));
        assert!(holds("test -f $ORIOLE_PTX -a -f $ORIOLE_ORI -a -z \"$ORIOLE_LAUNCH\" -a", Language::Ori));
        assert!(!holds("no-such-command", Language::Ori));
    }

    #[test]
    fn a_command_that_hangs_is_ended() {
        let start = Instant::now();
        assert!(!holds("sleep 60; true", Language::Ori));
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
