//! The process in which kernels run, from inside.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::time::{Duration, Instant};

use crate::driver::{Driver, Fault, Loaded, Memory};
use crate::{ANSWER, Job, Left, Parameter, Reply, Request};

/// How often a kernel that has run for a while is looked at.
const LOOK: Duration = Duration::from_micros(200);
/// How long it is looked at without rest.
const BUSY: Duration = Duration::from_millis(2);

/// Answers questions until they end, or a kernel fails: then the process is of no more use.
///
/// # Errors
///
/// If the questions cannot be read or are none, or the answers cannot be written.
pub fn serve(questions: &mut dyn BufRead, answers: &mut dyn Write) -> io::Result<()> {
    let driver = Driver::start();
    let mut code = Vec::new();
    let mut loaded = None;
    let mut line = String::new();
    loop {
        line.clear();
        if questions.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let question = serde_json::from_str(&line).map_err(|error| {
            let what = "this is no question of a judge; `oriole judge --gpu` starts its workers itself";
            io::Error::new(io::ErrorKind::InvalidInput, format!("{what} ({error})"))
        });
        let reply = match (question?, &driver) {
            (Request::Code(bytes), _) => {
                (code, loaded) = (bytes, None);
                continue;
            }
            (_, Err(fault)) => Reply::NoGpu(fault.to_string()),
            (Request::Device, Ok(driver)) => Reply::Device(driver.device.clone()),
            (Request::Run(job), Ok(driver)) => {
                run(driver, &code, &mut loaded, &job).unwrap_or_else(|fault| Reply::Refused(fault.to_string()))
            }
        };
        write!(answers, "\n{ANSWER}")?;
        serde_json::to_writer(&mut *answers, &reply)?;
        answers.write_all(b"\n")?;
        answers.flush()?;
        if matches!(reply, Reply::Failed(_) | Reply::Hangs | Reply::NoGpu(_)) {
            return Ok(());
        }
    }
}

/// A module that is loaded, and what was in its variables before any job that names them.
struct Module {
    loaded: Loaded,
    fresh: BTreeMap<String, Vec<u8>>,
}

impl Module {
    /// Gives the variables of a job the content that they had at first; whether the driver knows them all.
    fn make_fresh(&mut self, variables: &[String]) -> Result<bool, Fault> {
        let mut knows_all = true;
        for name in variables {
            match (self.fresh.get(name), self.loaded.variable(name)) {
                (_, None) => knows_all = false,
                (Some(content), Some(memory)) => memory.fill(content)?,
                (None, Some(memory)) => _ = self.fresh.insert(name.clone(), memory.bytes()?),
            }
        }
        Ok(knows_all)
    }
}

/// Runs a job. Where the driver does not know a variable, the module is loaded again for the next one.
fn run(driver: &Driver, code: &[u8], module: &mut Option<Module>, job: &Job) -> Result<Reply, Fault> {
    let mut own = match module.take() {
        Some(module) => module,
        None => Module { loaded: driver.load(code)?, fresh: BTreeMap::new() },
    };
    let knows_all = own.make_fresh(&job.variables)?;
    let reply = run_on(driver, &own.loaded, job)?;
    *module = Some(own).filter(|_| knows_all);
    Ok(reply)
}

fn run_on(driver: &Driver, module: &Loaded, job: &Job) -> Result<Reply, Fault> {
    let buffers: Vec<Memory> = job.buffers.iter().map(|bytes| driver.memory(bytes)).collect::<Result<_, _>>()?;
    let parameters = job.parameters.iter().map(|parameter| match parameter {
        Parameter::Bytes(bytes) => Ok(bytes.clone()),
        Parameter::Address { buffer, offset } => {
            let memory = buffers.get(*buffer).ok_or(Fault::Buffer(*buffer))?;
            Ok((memory.address() + offset).to_ne_bytes().to_vec())
        }
    });
    let parameters: Vec<Vec<u8>> = parameters.collect::<Result<_, Fault>>()?;
    driver.launch(module, job, parameters)?;
    let start = Instant::now();
    loop {
        match driver.has_ended() {
            Ok(true) => break,
            Ok(false) if start.elapsed() > Duration::from_millis(job.patience) => return Ok(Reply::Hangs),
            Ok(false) if start.elapsed() < BUSY => std::hint::spin_loop(),
            Ok(false) => std::thread::sleep(LOOK),
            Err(fault) => return Ok(Reply::Failed(fault.to_string())),
        }
    }
    let left = buffers.iter().map(Memory::bytes).collect::<Result<_, _>>()?;
    let content = |name: &String| module.variable(name).map(|memory| memory.bytes()).transpose();
    let variables = job.variables.iter().map(content).collect::<Result<_, _>>()?;
    Ok(Reply::Left(Left { buffers: left, variables }))
}
