//! The compiler that commands judge, and the ways in which it compiles.

use std::sync::Arc;

use oriole_check::compiler::{Axis, Ptxas};
use oriole_gpu::Gpu;

use crate::failure::Failure;
use crate::sass::{NoSm, sm};
use miette::miette;

/// The name that ptxas has for an architecture whose words are known.
pub fn arch(text: &str) -> Result<String, NoSm> {
    let number = text.strip_prefix("sm_").unwrap_or(text);
    let known = number.starts_with(|digit: char| digit.is_ascii_digit()) && sm(number).is_ok();
    known.then(|| format!("sm_{number}")).ok_or_else(|| NoSm(text.to_owned()))
}

/// The real ptxas, or how to get it.
pub fn ptxas() -> Result<Ptxas, Failure> {
    let here = std::env::current_dir().unwrap_or_default();
    Ptxas::find(&here).ok_or_else(|| {
        let help = "ci/cuda-tools installs it, without a GPU; or put it on the path, or set CUDA_HOME";
        Failure::Input(miette!(help = help, "there is no ptxas"))
    })
}

/// The name of the command that is a process beside the GPU.
pub const GPU_WORKER: &str = "gpu-worker";

/// The GPU of this machine, if it is wanted.
pub fn gpu(wanted: bool) -> Result<Option<Arc<Gpu>>, Failure> {
    if !wanted {
        return Ok(None);
    }
    let help = "without --gpu, code is executed here, by the machine-level interpreter";
    let gpu = Gpu::of(&std::env::current_exe()?, &[GPU_WORKER]);
    gpu.map(|gpu| Some(Arc::new(gpu))).map_err(|error| Failure::Input(miette!(help = help, "{error}")))
}

/// Every combination of architecture and level, first without any further option, then with each alone.
pub fn axes(archs: &[String], levels: &[u8], options: &[String]) -> Vec<Axis> {
    let further = std::iter::once(None).chain(options.iter().map(Some));
    let mut axes = Vec::new();
    for option in further {
        for arch in archs {
            let axis = |level: &u8| Axis { options: option.cloned().into_iter().collect(), ..Axis::new(arch, *level) };
            axes.extend(levels.iter().map(axis));
        }
    }
    axes
}
