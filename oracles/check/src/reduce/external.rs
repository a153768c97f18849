//! External predicates: a command that gets a candidate and answers by its exit code.
//!
//! Exit code 0 means interesting, as for creduce and llvm-reduce. The command gets the path of the candidate as its
//! last argument, in the language of the file that is reduced; `ORIOLE_ORI`, `ORIOLE_PTX` and `ORIOLE_LAUNCH` name it
//! in every form that there is. It runs in the folder of the caller, with a time limit for itself and what it starts.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::input;
use crate::input::Language;
use crate::report::Evidence;

/// The longest pause between two looks at a command that runs.
const PAUSE: Duration = Duration::from_millis(20);
/// So much of what a command says is looked at.
const MOST_SAID: u64 = 1 << 20;

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
    /// Ends what runs, once it is true.
    pub stop: Arc<AtomicBool>,
}

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// With an exit code; 0 is success.
    Code(i32),
    /// By a signal, or by who asked it.
    Killed,
    /// Not within the limit.
    TimedOut,
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ended::Code(126) => f.write_str("cannot be executed (exit code 126)"),
            Ended::Code(127) => f.write_str("is not found (exit code 127)"),
            Ended::Code(code) => write!(f, "ends with exit code {code}"),
            Ended::Killed => f.write_str("is killed by a signal"),
            Ended::TimedOut => f.write_str("does not end within the limit"),
        }
    }
}

/// What a command made of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// How it ended.
    pub ended: Ended,
    /// The last line that it wrote to standard error; empty where there is none.
    pub said: String,
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.ended)?;
        if self.said.is_empty() { Ok(()) } else { write!(f, ", and says `{}`", self.said) }
    }
}

impl External {
    /// A line for the shell.
    pub fn shell(line: &str, limit: Duration, language: Language) -> External {
        let arguments = ["-c".to_owned(), format!("{line} \"$@\""), "sh".to_owned()].into();
        External { program: "sh".into(), arguments, wanted: Wanted::Success, limit, language, stop: Arc::default() }
    }

    /// Whether the command finds the candidate interesting. A candidate that cannot be written in the wanted language
    /// is not.
    ///
    /// # Errors
    ///
    /// A file that cannot be written, a command that does not start.
    pub fn holds(&self, evidence: &Evidence) -> io::Result<bool> {
        let folder = tempfile::tempdir()?;
        let command = self.command_for(evidence, folder.path())?;
        command.map_or(Ok(false), |mut command| Ok(self.likes(run(&mut command, self)?)))
    }

    /// What the command makes of a candidate; `None` where it cannot be written in the wanted language.
    ///
    /// # Errors
    ///
    /// As [`External::holds`].
    pub fn answer(&self, evidence: &Evidence) -> io::Result<Option<Answer>> {
        let folder = tempfile::tempdir()?;
        let command = self.command_for(evidence, folder.path())?;
        command.map(|command| self.heard(command)).transpose()
    }

    /// What the command makes of a file as it is, with the launch beside it.
    ///
    /// # Errors
    ///
    /// As [`External::holds`].
    pub fn answer_on(&self, file: &Path, launch: Option<&Path>) -> io::Result<Answer> {
        let mut command = Command::new(&self.program);
        let name = if self.language == Language::Ptx { "ORIOLE_PTX" } else { "ORIOLE_ORI" };
        command.args(&self.arguments).env(name, file).arg(file);
        if let Some(launch) = launch {
            command.env("ORIOLE_LAUNCH", launch);
        }
        self.heard(command)
    }

    /// The command with a candidate's files.
    fn command_for(&self, evidence: &Evidence, folder: &Path) -> io::Result<Option<Command>> {
        let ori = folder.join("candidate.ori");
        std::fs::write(&ori, evidence.module.to_string())?;
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env("ORIOLE_ORI", &ori);
        let ptx = write_ptx(evidence, folder)?;
        if let Some(ptx) = &ptx {
            command.env("ORIOLE_PTX", ptx);
        }
        if let Some(launch) = &evidence.launch {
            let path = launch.save(folder, "candidate").map_err(io::Error::other)?;
            command.env("ORIOLE_LAUNCH", path);
        }
        let file = if self.language == Language::Ptx { ptx } else { Some(ori) };
        Ok(file.map(|file| {
            command.arg(file);
            command
        }))
    }

    /// Runs a command, and keeps what it says last.
    fn heard(&self, mut command: Command) -> io::Result<Answer> {
        let mut file = tempfile::tempfile()?;
        command.stderr(file.try_clone()?);
        let ended = run_with(&mut command, self)?;
        let mut said = Vec::new();
        io::Seek::rewind(&mut file)?;
        io::Read::read_to_end(&mut io::Read::take(&mut file, MOST_SAID), &mut said)?;
        let said = String::from_utf8_lossy(&said);
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Ok(Answer { ended, said: last.trim().to_owned() })
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
        command.args(&self.arguments).env("ORIOLE_PTX", &ptx).arg(ptx);
        Ok(self.likes(run(&mut command, self)?))
    }

    /// Whether a candidate is interesting of which a command made this.
    pub fn likes(&self, ended: Ended) -> bool {
        match self.wanted {
            Wanted::Success => ended == Ended::Code(0),
            Wanted::Hang => ended == Ended::TimedOut,
        }
    }
}

fn write_ptx(evidence: &Evidence, folder: &Path) -> io::Result<Option<PathBuf>> {
    let Ok(text) = input::write_ptx(&evidence.module) else { return Ok(None) };
    let path = folder.join("candidate.ptx");
    std::fs::write(&path, text)?;
    Ok(Some(path))
}

/// Runs a command within its limit, silently.
fn run(command: &mut Command, external: &External) -> io::Result<Ended> {
    run_with(command.stderr(Stdio::null()), external)
}

/// Runs a command within its limit; what it writes to standard error goes where that leads.
fn run_with(command: &mut Command, external: &External) -> io::Result<Ended> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let start = Instant::now();
    let mut child = command.spawn()?;
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code().map_or(Ended::Killed, Ended::Code));
        }
        let is_late = start.elapsed() >= external.limit;
        if is_late || external.stop.load(Ordering::Relaxed) {
            stop(&mut child)?;
            return Ok(if is_late { Ended::TimedOut } else { Ended::Killed });
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
    fn what_a_command_says_is_told() {
        let text = "target sm_90 ptx 9.0\n\nentry @k visible ssa {\nbb0:\n  ret\n}\n";
        let evidence = Evidence { module: parse_module(text).expect("the kernel is well-formed"), launch: None };
        let answer = |line: &str| {
            let external = External::shell(line, Duration::from_secs(20), Language::Ori);
            external.answer(&evidence).expect("a shell is there").expect("it is printed").to_string()
        };
        assert_eq!(answer("true"), "ends with exit code 0");
        assert_eq!(answer("echo one >&2; echo two >&2; exit 3;"), "ends with exit code 3, and says `two`");
        assert!(answer("no-such-command").starts_with("is not found (exit code 127), and says `"));
        assert_eq!(answer("kill -9 $$;"), "is killed by a signal");
    }

    #[test]
    fn a_command_that_hangs_is_ended() {
        let start = Instant::now();
        assert!(!holds("sleep 60; true", Language::Ori));
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
