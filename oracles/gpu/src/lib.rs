//! Runs kernels on the GPU of this machine: a third witness beside PTX and machine code as they are executed here.
//!
//! A kernel that fails on a GPU leaves the process that launched it without one ("CUDA Driver API", `CUDA_ERROR_*`:
//! "the process must be terminated and relaunched"), and one without end cannot be stopped otherwise. So kernels run in
//! processes of their own, the workers ([`worker::serve`]), with which [`Gpu`] speaks by lines of JSON: a worker is
//! used until a kernel fails in it. The driver is loaded when a worker starts; nothing needs CUDA to be built.

mod driver;
mod process;
pub mod worker;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use process::Worker;

/// What a line begins with that is an answer. Kernels print to standard output, too (`vprintf`).
const ANSWER: &str = "\u{1}oriole ";

/// How long a kernel may take where nobody says.
const PATIENCE: Duration = Duration::from_secs(10);

/// A kernel on a launch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The entry's name.
    pub entry: String,
    /// CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y and z.
    pub block: [u32; 3],
    /// CTAs of a cluster, where the launch says.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The content of buffers.
    pub buffers: Vec<Vec<u8>>,
    /// The parameters, in order.
    pub parameters: Vec<Parameter>,
    /// Variables in global memory whose content is asked for, and is as at first when the kernel starts: all that
    /// kernels of the code write.
    pub variables: Vec<String>,
    /// Milliseconds after which the kernel is given up.
    pub patience: u64,
}

impl Job {
    /// A job without data for an entry, on a grid of CTAs.
    pub fn new(entry: &str, grid: [u32; 3], block: [u32; 3]) -> Job {
        Job {
            entry: entry.to_owned(),
            grid,
            block,
            cluster: None,
            dynamic_shared: 0,
            buffers: Vec::new(),
            parameters: Vec::new(),
            variables: Vec::new(),
            patience: PATIENCE.as_millis() as u64,
        }
    }
}

/// A parameter of a kernel.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Parameter {
    /// These bytes.
    Bytes(Vec<u8>),
    /// An address within a buffer.
    Address {
        /// The buffer's place in [`Job::buffers`].
        buffer: usize,
        /// Bytes from its begin.
        offset: u64,
    },
}

/// What a kernel leaves.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Left {
    /// The content of buffers.
    pub buffers: Vec<Vec<u8>>,
    /// The content of variables; `None` where the driver does not know the name, as of those that are not visible.
    pub variables: Vec<Option<Vec<u8>>>,
}

/// The GPU.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub struct Device {
    /// Its name, as the driver says: `NVIDIA H100 80GB HBM3`.
    pub name: String,
    /// Its compute capability: 90 for 9.0.
    pub sm: u32,
}

/// `NVIDIA H200 (sm_90)`.
impl fmt::Display for Device {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} (sm_{})", self.name, self.sm)
    }
}

/// Why a kernel leaves nothing.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// The driver is not there, or there is no GPU.
    #[error("there is no GPU: {0}")]
    NoGpu(String),
    /// The worker could not be started, or did not answer.
    #[error("the process beside the GPU: {0}")]
    Worker(#[from] std::io::Error),
    /// The driver does not take the code or the launch.
    #[error("the driver refuses it: {0}")]
    Refused(String),
    /// The kernel ended by an error.
    #[error("it fails: {0}")]
    Failed(String),
    /// It has not ended in time.
    #[error("it has not ended after {0:?}")]
    Hangs(Duration),
}

impl GpuError {
    /// Whether it is the kernel that went wrong.
    pub fn is_of_kernel(&self) -> bool {
        matches!(self, GpuError::Failed(_) | GpuError::Hangs(_))
    }
}

/// A question to a worker.
#[derive(Serialize, Deserialize)]
enum Request {
    /// Which GPU there is.
    Device,
    /// From now on jobs are about this code.
    Code(Vec<u8>),
    /// A job about the code.
    Run(Job),
}

/// An answer of a worker.
#[derive(Serialize, Deserialize)]
enum Reply {
    Device(Device),
    NoGpu(String),
    Left(Left),
    Refused(String),
    Failed(String),
    Hangs,
}

/// The first GPU of this machine, and the workers that are waiting for jobs. Threads may share it; each that runs
/// something has a worker then.
#[derive(Debug)]
pub struct Gpu {
    /// What it is.
    pub device: Device,
    program: PathBuf,
    arguments: Vec<String>,
    idle: Mutex<Vec<Worker>>,
}

impl Gpu {
    /// The GPU by workers that a program with these arguments is: it calls [`worker::serve`].
    ///
    /// # Errors
    ///
    /// If there is none, or the program does not start.
    pub fn of(program: &Path, arguments: &[&str]) -> Result<Gpu, GpuError> {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let mut worker = Worker::start(program, &arguments)?;
        let device = match worker.ask(&Request::Device)? {
            Reply::Device(device) => device,
            Reply::NoGpu(why) => return Err(GpuError::NoGpu(why)),
            _ => return Err(std::io::Error::other("it answers something else").into()),
        };
        Ok(Gpu { device, program: program.to_owned(), arguments, idle: Mutex::new(vec![worker]) })
    }

    /// Runs a job about a cubin.
    ///
    /// # Errors
    ///
    /// If the kernel fails or does not end, or nothing could be run.
    pub fn run(&self, code: &Arc<[u8]>, job: &Job) -> Result<Left, GpuError> {
        let waiting = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut worker = match waiting {
            Some(worker) => worker,
            None => Worker::start(&self.program, &self.arguments)?,
        };
        let reply = worker.run(code, job)?;
        let goes_on = matches!(reply, Reply::Left(_) | Reply::Refused(_));
        if goes_on {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        }
        match reply {
            Reply::Left(left) => Ok(left),
            Reply::Refused(why) => Err(GpuError::Refused(why)),
            Reply::Failed(why) => Err(GpuError::Failed(why)),
            Reply::Hangs => Err(GpuError::Hangs(Duration::from_millis(job.patience))),
            Reply::NoGpu(why) => Err(GpuError::NoGpu(why)),
            Reply::Device(_) => Err(std::io::Error::other("it answers something else").into()),
        }
    }
}
