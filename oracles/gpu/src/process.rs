//! The processes in which kernels run, from outside.

use std::io::{BufRead, BufReader, Error, ErrorKind, Result, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use super::{ANSWER, Job, Reply, Request};

/// A worker, which ends with this.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// The code that it has.
    code: Option<Arc<[u8]>>,
}

impl Worker {
    /// Starts one.
    pub fn start(program: &Path, arguments: &[String]) -> Result<Worker> {
        let mut command = Command::new(program);
        let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (questions, answers) = pipes.ok_or_else(|| Error::from(ErrorKind::BrokenPipe))?;
        Ok(Worker { child, questions, answers: BufReader::new(answers), code: None })
    }

    /// The answer to a question.
    pub fn ask(&mut self, request: &Request) -> Result<Reply> {
        self.send(request)?;
        let mut line = Vec::new();
        loop {
            line.clear();
            if self.answers.read_until(b'\n', &mut line)? == 0 {
                return Err(Error::new(ErrorKind::UnexpectedEof, "it ended without an answer"));
            }
            if let Some(answer) = line.strip_prefix(ANSWER.as_bytes()) {
                return serde_json::from_slice(answer).map_err(Error::from);
            }
        }
    }

    /// The answer to a job, for which the code is sent unless the worker has it.
    pub fn run(&mut self, code: &Arc<[u8]>, job: &Job) -> Result<Reply> {
        if !self.code.as_ref().is_some_and(|own| Arc::ptr_eq(own, code) || own == code) {
            self.send(&Request::Code(code.to_vec()))?;
            self.code = Some(code.clone());
        }
        self.ask(&Request::Run(job.clone()))
    }

    fn send(&mut self, request: &Request) -> Result<()> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        self.questions.write_all(&line)?;
        self.questions.flush()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // One that hangs does not end by itself; one that has ended cannot be killed, which is no matter.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
