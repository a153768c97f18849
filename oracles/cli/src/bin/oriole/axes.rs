//! The compiler that commands judge, and the ways in which it compiles.

use oriole_check::compiler::{Axis, Ptxas};

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

/// Every combination of architecture and level, first without any further option, then with each alone.
pub fn axes(archs: &[String], levels: &[u8], options: &[String]) -> Vec<Axis> {
    let further = std::iter::once(None).chain(options.iter().map(Some));
    let mut axes = Vec::new();
    for option in further {
        for arch in archs {
            let axis =
                |level: &u8| Axis { arch: arch.clone(), level: *level, options: option.cloned().into_iter().collect() };
            axes.extend(levels.iter().map(axis));
        }
    }
    axes
}
