//! The machine code that phases are checked on: ptxas makes it, or a cubin has it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use miette::miette;
use oriole_check::CheckOptions;
use oriole_check::compiler::{Axis, CompileError, Effort};
use oriole_check::in_place::Code;
use oriole_check::input::{Language, NamedLaunch};
use oriole_check::report::KernelReport;
use oriole_ir::Module;

use crate::axes::{arch, ptxas};
use crate::failure::Failure;
use crate::judge::read_cubin;
use crate::live::remark;
use crate::settings::check_failure;

/// Whose code it is.
#[derive(clap::Args)]
pub struct CodeOptions {
    /// Check phases over the machine code that ptxas makes of each kernel for these architectures: those of `opt
    /// --machine`, unless --passes names others
    #[arg(long, value_name = "ARCH", value_delimiter = ',', value_parser = arch)]
    machine: Vec<String>,
    /// Levels of optimization at which ptxas makes that code; 0 and 3 where none is named
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "machine",
        value_parser = clap::value_parser!(u8).range(0..=3))]
    ptxas_level: Vec<u8>,
    /// Check phases over the machine code of this cubin, which was made of the kernel
    #[arg(long, value_name = "FILE", conflicts_with = "machine")]
    cubin: Option<PathBuf>,
}

impl CodeOptions {
    /// Whether machine code is checked at all.
    pub fn is_asked(&self) -> bool {
        self.cubin.is_some() || !self.machine.is_empty()
    }

    /// The reports on the code of a kernel, on which phases are checked.
    pub fn reports(
        &self,
        file: &Path,
        program: Module,
        launches: Vec<NamedLaunch>,
        options: &CheckOptions,
        patience: Duration,
    ) -> Result<Vec<KernelReport>, Failure> {
        let check =
            |code: Code| code.check_within(options, patience).map_err(|error| check_failure(&code.kernel, &error));
        self.of(file, program, launches)?.into_iter().map(check).collect()
    }

    /// The code of a kernel. Where ptxas refuses the kernel for an architecture, there is none.
    fn of(&self, file: &Path, program: Module, launches: Vec<NamedLaunch>) -> Result<Vec<Code>, Failure> {
        let kernel = file.display().to_string();
        if let Some(path) = &self.cubin {
            let (cubin, origin) = (Arc::new(read_cubin(path)?), path.display().to_string());
            return Ok(vec![Code { kernel, program, launches, cubin, origin, axis: None }]);
        }
        if Language::of(file) != Some(Language::Ptx) {
            let help = "name a .ptx file, or code with --cubin";
            return Err(Failure::Input(miette!(help = help, "ptxas compiles PTX, and `{kernel}` is none")));
        }
        let (ptxas, mut codes) = (ptxas()?, Vec::new());
        let levels = if self.ptxas_level.is_empty() { &[0, 3] } else { &self.ptxas_level[..] };
        for arch in &self.machine {
            for level in levels {
                let axis = Axis::with(arch, Effort::Level(*level));
                let cubin = match ptxas.compile(file, &axis) {
                    Ok(cubin) => Arc::new(cubin),
                    Err(error @ CompileError::Refused(_)) => {
                        remark(format_args!("{kernel}, {axis}: {error}"));
                        continue;
                    }
                    Err(error) => return Err(Failure::Input(miette!("{kernel}, {axis}: {error}"))),
                };
                let (kernel, program) = (kernel.clone(), program.clone());
                let (launches, origin) = (launches.clone(), axis.to_string());
                codes.push(Code { kernel, program, launches, cubin, origin, axis: Some(axis) });
            }
        }
        Ok(codes)
    }
}
