//! The compiler that commands judge, and the ways in which it compiles.

use std::sync::Arc;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use oriole_check::compiled::Compiler;
use oriole_check::compiler::{self, Axis, Effort, FastCompile, Own, Ptxas, Tool};
use oriole_check::trip::second::SecondReader;
use oriole_gpu::Gpu;
use oriole_ir::Module;
use oriole_sass::SMS;

use crate::failure::Failure;
use crate::sass::{NoSm, sm};
use miette::miette;

/// The name that ptxas has for an architecture whose words are known.
pub fn arch(text: &str) -> Result<String, NoSm> {
    let number = text.strip_prefix("sm_").unwrap_or(text);
    let known = number.starts_with(|digit: char| digit.is_ascii_digit()) && sm(number).is_ok();
    known.then(|| format!("sm_{number}")).ok_or_else(|| NoSm(text.to_owned()))
}

/// The architecture that code of a module is made for where `--sm` names none.
pub fn own_arch(module: &Module) -> Result<String, Failure> {
    compiler::own_arch(module).map_err(|error| {
        let known = SMS.map(|sm| format!("sm_{sm}")).join(", ");
        let help = format!("name an architecture with --sm; the words of {known} are known");
        Failure::Input(miette!(help = help, "{error}"))
    })
}

/// The real ptxas, or how to get it.
pub fn ptxas() -> Result<Ptxas, Failure> {
    let here = std::env::current_dir().unwrap_or_default();
    Ptxas::find(&here).ok_or_else(|| {
        let help = "ci/cuda-tools installs it, without a GPU; or put it on the path, or set CUDA_HOME";
        Failure::Input(miette!(help = help, "there is no ptxas"))
    })
}

/// The real ptxas as a second reader of one kernel in so many, where there is one.
pub fn second_reader(every: u64) -> Option<SecondReader> {
    let here = std::env::current_dir().unwrap_or_default();
    Ptxas::find(&here).map(|ptxas| SecondReader { ptxas, every })
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

/// Ways to compile beside the levels of optimization.
#[derive(clap::Args)]
pub struct Variants {
    /// How far ptxas goes to compile fast; each is an axis of its own beside the levels, which ptxas does not take with
    /// it
    #[arg(long, value_name = "EFFORT", value_delimiter = ',', value_parser = fast_compile())]
    fast_compile: Vec<FastCompile>,
    /// How many registers a thread may have; each is an axis of its own beside those without a limit
    #[arg(long, value_name = "N", value_delimiter = ',')]
    max_registers: Vec<u32>,
    /// A further option of ptxas; each is an axis of its own beside those without any
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    ptxas_option: Vec<String>,
}

impl Variants {
    /// Every combination of architecture with level or fast compilation, first without any further option, then with
    /// each alone.
    pub fn axes(&self, archs: &[String], levels: &[u8]) -> Vec<Axis> {
        let limits = self.max_registers.iter().map(|limit| format!("--maxrregcount={limit}"));
        let options: Vec<String> = limits.chain(self.ptxas_option.iter().cloned()).collect();
        let levels = levels.iter().copied().map(Effort::Level);
        let efforts: Vec<Effort> = levels.chain(self.fast_compile.iter().copied().map(Effort::Fast)).collect();
        let mut axes = Vec::new();
        for option in std::iter::once(None).chain(options.iter().map(Some)) {
            for arch in archs {
                let axis = |effort: &Effort| Axis {
                    options: option.cloned().into_iter().collect(),
                    ..Axis::with(arch, *effort)
                };
                axes.extend(efforts.iter().map(axis));
            }
        }
        axes
    }

    fn is_idle(&self) -> bool {
        self.fast_compile.is_empty() && self.max_registers.is_empty() && self.ptxas_option.is_empty()
    }
}

/// The compiler that makes code at some levels, 0 and 3 where none is named, on which phases are judged.
pub fn for_phases(archs: &[String], levels: &[u8], patience: Duration) -> Result<Compiler, Failure> {
    let ptxas = ptxas()?.within(patience);
    let version = ptxas.version().map_err(|error| Failure::Input(miette!("{error}")))?;
    let levels = if levels.is_empty() { &[0, 3] } else { levels };
    let axis = |arch: &String| levels.iter().map(|level| Axis::new(arch, *level)).collect::<Vec<_>>();
    Ok(Compiler {
        tool: ptxas.into(),
        axes: archs.iter().flat_map(axis).collect(),
        version,
        gpu: None,
        phases: Some(patience),
        witness: None,
    })
}

/// Who Oriole's own compiler is, for campaigns: its findings are those of a build.
const OWN: &str = "oriole";

/// Which code of Oriole's own compiler is judged.
#[derive(clap::Args)]
pub struct Generating {
    /// Judge the code that Oriole's own compiler makes of each kernel for these architectures: it must do what the PTX
    /// says, and its scheduling must cover every register. What is not compiled yet is not judged
    #[arg(long, value_name = "ARCH", value_delimiter = ',', value_parser = arch)]
    compile: Vec<String>,
    /// Levels of optimization of Oriole's own compiler; 0 and 3 where none is named
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "compile",
        value_parser = clap::value_parser!(u8).range(0..=3))]
    compile_level: Vec<u8>,
    /// How many registers a thread may have at most; each is an axis of its own beside those without a limit
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "compile",
        value_parser = clap::value_parser!(u16).range(16..=255))]
    compile_registers: Vec<u16>,
    /// Have ptxas compile each kernel for the same architectures and levels, too: of its code, ours, and the PTX, two
    /// that agree say who is wrong
    #[arg(long, requires = "compile")]
    with_ptxas: bool,
}

impl Generating {
    /// Whether it is judged at all.
    pub fn is_asked(&self) -> bool {
        !self.compile.is_empty()
    }

    /// The compiler; it hangs where it has not ended after so long. The work of every stage is executed, or that of a
    /// finding alone.
    ///
    /// # Errors
    ///
    /// If ptxas is to compile as well, and there is none.
    pub fn compiler(&self, patience: Duration, every_stage: bool) -> Result<Compiler, Failure> {
        let witness = self.with_ptxas.then(ptxas).transpose()?.map(|ptxas| ptxas.within(patience));
        let levels = if self.compile_level.is_empty() { &[0, 3] } else { &self.compile_level[..] };
        let limits = self.compile_registers.iter().map(|limit| format!("--maxrregcount={limit}"));
        let mut axes = Vec::new();
        for option in std::iter::once(None).chain(limits.map(Some)) {
            let options: Vec<String> = option.into_iter().collect();
            let of = |arch: &String, level: &u8| Axis { options: options.clone(), ..Axis::new(arch, *level) };
            axes.extend(
                self.compile
                    .iter()
                    .flat_map(|arch| levels.iter().map(move |level| (arch, level)))
                    .map(|(arch, level)| of(arch, level)),
            );
        }
        Ok(Compiler {
            tool: Tool::Own(Own { every_stage, ..Own::new(patience) }),
            axes,
            version: OWN.to_owned(),
            gpu: None,
            phases: None,
            witness,
        })
    }
}

/// What is no way of ptxas to compile fast.
#[derive(Debug, thiserror::Error)]
#[error("ptxas has no such way to compile fast")]
struct NoFastCompile;

fn fast_compile() -> impl TypedValueParser<Value = FastCompile> {
    let names = PossibleValuesParser::new(FastCompile::NAMES.map(|(_, name)| name));
    names.try_map(|name| FastCompile::of(&name).ok_or(NoFastCompile))
}

/// How ptxas compiles where it is judged by invented or reduced kernels.
#[derive(clap::Args)]
pub struct Compiling {
    /// The architectures that ptxas compiles for; where none is named, that of a kernel's .target, and sm_90 for
    /// invented ones
    #[arg(long, value_name = "ARCH", value_delimiter = ',', value_parser = arch)]
    sm: Vec<String>,
    /// Levels of optimization of ptxas; 0 and 3 where none is named
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(0..=3))]
    ptxas_level: Vec<u8>,
    #[command(flatten)]
    variants: Variants,
    /// The code that ptxas makes runs on this machine's GPU, too; each such run is an axis of its own
    #[arg(long)]
    gpu: bool,
}

impl Compiling {
    /// The compiler, for the architecture `own` where none is named; it hangs where it has not ended after so long.
    pub fn compiler(
        &self,
        patience: Duration,
        own: impl FnOnce() -> Result<String, Failure>,
    ) -> Result<Compiler, Failure> {
        let ptxas = ptxas()?.within(patience);
        let version = ptxas.version().map_err(|error| Failure::Input(miette!("{error}")))?;
        let sm = if self.sm.is_empty() { vec![own()?] } else { self.sm.clone() };
        let levels = if self.ptxas_level.is_empty() { &[0, 3] } else { &self.ptxas_level[..] };
        Ok(Compiler {
            tool: ptxas.into(),
            axes: self.variants.axes(&sm, levels),
            version,
            gpu: gpu(self.gpu)?,
            phases: None,
            witness: None,
        })
    }

    /// The compiler that makes code for these architectures on which phases are judged; one that takes longer does not
    /// end.
    pub fn for_phases(&self, archs: &[String], patience: Duration) -> Result<Compiler, Failure> {
        if !self.sm.is_empty() || !self.variants.is_idle() || self.gpu {
            let options = "--sm, --fast-compile, --max-registers, --ptxas-option and --gpu";
            let help = "--machine names the architectures, and --ptxas-level the levels of ptxas";
            return Err(Failure::Input(miette!(help = help, "{options} are for ptxas, and --machine judges phases")));
        }
        for_phases(archs, &self.ptxas_level, patience)
    }

    /// Refuses options that say how ptxas compiles, where it is not judged. `help` says how it is chosen.
    pub fn require_unused(&self, help: &str) -> Result<(), Failure> {
        let is_idle = self.sm.is_empty() && self.ptxas_level.is_empty() && self.variants.is_idle() && !self.gpu;
        let options = "--sm, --ptxas-level, --fast-compile, --max-registers, --ptxas-option and --gpu";
        if is_idle { Ok(()) } else { Err(Failure::Input(miette!(help = help.to_owned(), "{options} are for ptxas"))) }
    }
}
