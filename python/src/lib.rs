//! The extension module of the Python package `oriole`: what the libraries know, without any second way to do it.
//!
//! The package in `oriole/` is what users see; it makes launches of NumPy arrays and objects of answers. This crate
//! has the objects that hold programs ([`program`]), launches ([`launch`]) and findings ([`finding`]), and the work.
//! Work runs on a thread of its own, without the interpreter's lock, and is left where a signal asks for it ([`work`]).
//!
//! **Invariant:** bad input is an exception of `oriole.errors` with place and remedy ([`error`]), and so is a panic:
//! nothing that input decides is evaluated outside of [`work::run`] but conversions that cannot panic.

mod check;
mod error;
mod finding;
mod judge;
mod launch;
mod program;
mod reduce;
mod run;
mod settings;
mod work;

use pyo3::prelude::*;

/// The functions and classes of the extension.
#[pymodule]
fn _oriole(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<program::Module>()?;
    module.add_class::<program::Cubin>()?;
    module.add_class::<launch::Launch>()?;
    module.add_class::<finding::Finding>()?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(run::run_code, module)?)?;
    module.add_function(wrap_pyfunction!(check::optimize, module)?)?;
    module.add_function(wrap_pyfunction!(check::check, module)?)?;
    module.add_function(wrap_pyfunction!(check::compare, module)?)?;
    module.add_function(wrap_pyfunction!(judge::judge, module)?)?;
    module.add_function(wrap_pyfunction!(judge::compile, module)?)?;
    module.add_function(wrap_pyfunction!(work::panic_for_tests, module)?)?;
    Ok(())
}
