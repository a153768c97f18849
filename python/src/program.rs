//! Programs: modules of PTX or Ori, and cubins.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use oriole_check::input::{self, InputError, Language, MAX_KERNEL_BYTES, parse_kernel_in, write_ptx};
use oriole_ir::FunctionKind;
use oriole_ir::ops::FieldValue;
use oriole_launch::file::read_file;
use oriole_ptx::Dialect;
use oriole_sass::{Table, cubin, schedule, text};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::Error;
use crate::work;

/// Bytes of a machine word.
const WORD_BYTES: usize = text::WORD_BYTES as usize;

/// A program of PTX or Ori.
#[pyclass(frozen, module = "oriole._oriole")]
pub struct Module {
    /// The program.
    pub inner: Arc<oriole_ir::Module>,
    /// Its name in messages.
    pub name: String,
    /// The PTX that it was read from, if it was.
    pub source: Option<Arc<str>>,
}

impl Module {
    /// A program that was made of another one.
    pub fn made(name: &str, inner: oriole_ir::Module) -> Module {
        Module { inner: Arc::new(inner), name: name.to_owned(), source: None }
    }

    fn read(name: String, bytes: &[u8], language: Option<Language>, dialect: &Dialect) -> Result<Module, Error> {
        let language = language.unwrap_or_else(|| Language::of_text(bytes));
        let module = parse_kernel_in(language, Path::new(&name), bytes, dialect).map_err(|error| Error::of(&error))?;
        let source = (language == Language::Ptx).then(|| String::from_utf8_lossy(bytes).into());
        Ok(Module { inner: Arc::new(module), name, source })
    }
}

/// The PTX of a program: as it was read, or printed.
pub fn ptx_of(module: &oriole_ir::Module, source: Option<&str>, name: &str) -> Result<String, Error> {
    match source {
        Some(source) => Ok(source.to_owned()),
        None => write_ptx(module)
            .map_err(|error| Error::input(format!("{name} has no words in PTX: {error}"), "`Module.ori` prints it")),
    }
}

#[pymethods]
impl Module {
    /// The program of a text in PTX or Ori.
    #[staticmethod]
    fn parse(py: Python<'_>, text: String, name: String, opaque: Vec<String>) -> PyResult<Module> {
        work::run(py, move |_| Module::read(name, text.as_bytes(), None, &Dialect { opaque }))
    }

    /// The program of a file, whose name ends in .ptx or .ori.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, opaque: Vec<String>) -> PyResult<Module> {
        work::run(py, move |_| {
            let language = Language::of(&path);
            if language.is_none() {
                // Says whether there is no such file, or one of another kind.
                input::read_kernel(&path).map_err(|error| Error::of(&error))?;
            }
            let bytes = read_file(&path, MAX_KERNEL_BYTES)
                .map_err(|failure| Error::of(&InputError::Unreadable { path: path.clone(), failure }))?;
            Module::read(path.display().to_string(), &bytes, language, &Dialect { opaque })
        })
    }

    /// Its name in messages.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The architecture that it is for: `sm_90`.
    #[getter]
    fn target(&self) -> &str {
        &self.inner.target
    }

    /// Instructions of all functions.
    #[getter]
    fn instructions(&self) -> usize {
        self.inner.inst_count()
    }

    /// The entries with their parameters: name, PTX type, number of elements, bytes.
    fn kernels(&self) -> Vec<(String, Vec<(String, String, Option<u64>, u64)>)> {
        let entries = self.inner.functions.values();
        let entries = entries.filter(|func| func.kind == FunctionKind::Entry && func.is_definition());
        entries
            .map(|func| {
                let parameter = |local: &oriole_ir::Local| {
                    let variable = &func.locals[*local];
                    (variable.name.clone(), variable.ty.name().to_owned(), variable.count, variable.size())
                };
                (func.name.clone(), func.params.iter().map(parameter).collect())
            })
            .collect()
    }

    /// Its text in Ori.
    fn ori(&self, py: Python<'_>) -> PyResult<String> {
        let module = self.inner.clone();
        work::run(py, move |_| Ok(module.to_string()))
    }

    /// Its text in PTX: that which it was read from, or printed.
    fn ptx(&self, py: Python<'_>) -> PyResult<String> {
        let (module, source, name) = (self.inner.clone(), self.source.clone(), self.name.clone());
        work::run(py, move |_| ptx_of(&module, source.as_deref(), &name))
    }
}

/// Machine code.
#[pyclass(frozen, module = "oriole._oriole")]
pub struct Cubin {
    /// The file, read.
    pub inner: Arc<cubin::Cubin>,
    /// Its name in messages.
    pub name: String,
}

#[pymethods]
impl Cubin {
    /// The cubin of some bytes.
    #[staticmethod]
    fn parse(py: Python<'_>, data: Vec<u8>, name: String) -> PyResult<Cubin> {
        work::run(py, move |_| {
            let read = cubin::Cubin::read(&data);
            let wrong =
                |error| Error::input(format!("{name}: {error}"), "give the bytes of a cubin, as ptxas writes it");
            Ok(Cubin { inner: Arc::new(read.map_err(wrong)?), name })
        })
    }

    /// Its name in messages.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The architecture that it is for: `sm_90a`.
    #[getter]
    fn target(&self) -> String {
        self.inner.target.to_string()
    }

    /// The bytes of the file.
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.inner.data())
    }

    /// The functions, each with its instructions: address, word, text, scheduling control, and why a word is not known.
    fn functions<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let cubin = self.inner.clone();
        let functions = work::run(py, move |_| listing(&cubin))?;
        let item = |function: Listed| {
            let dict = PyDict::new(py);
            dict.set_item("name", function.name)?;
            dict.set_item("is_kernel", function.is_kernel)?;
            dict.set_item("registers", function.registers)?;
            dict.set_item("shared", function.shared)?;
            dict.set_item("frame", function.frame)?;
            dict.set_item("instructions", function.words)?;
            Ok(dict)
        };
        functions.into_iter().map(item).collect()
    }
}

/// A function of a cubin.
struct Listed {
    name: String,
    is_kernel: bool,
    registers: Option<u32>,
    shared: u64,
    frame: u32,
    /// Address, word, text, control.
    words: Vec<(u64, u128, String, String)>,
}

fn listing(cubin: &cubin::Cubin) -> Result<Vec<Listed>, Error> {
    let sm = cubin.target.sm;
    let table = Table::of(sm).ok_or_else(|| {
        let known = oriole_sass::SMS.map(|sm| format!("sm_{sm}")).join(", ");
        Error::input(format!("the words of sm_{sm} are not known"), format!("those of {known} are"))
    })?;
    let print = |(address, word): (u64, u128)| {
        let text = match table.decode(word) {
            Ok(instruction) => {
                let mut printed = String::new();
                text::print(&mut printed, &instruction, address);
                printed
            }
            Err(error) => format!(".word {word:#034x} // {error}"),
        };
        (address, word, text, schedule(word).to_string())
    };
    let listed = |function: &cubin::Function| Listed {
        name: function.name.clone(),
        is_kernel: function.is_entry,
        registers: function.info.registers,
        shared: cubin.shared_size(function),
        frame: function.info.frame_size,
        words: {
            let addresses = (cubin.own_range(function).start..).step_by(WORD_BYTES);
            addresses.zip(own_words(cubin, function)).map(print).collect()
        },
    };
    Ok(cubin.functions.iter().map(listed).collect())
}

/// The words of a function alone, without those of functions behind a kernel.
fn own_words(cubin: &cubin::Cubin, function: &cubin::Function) -> Vec<u128> {
    let range = cubin.own_range(function);
    let bytes = cubin.bytes(function.section).get(range.start as usize..range.end as usize).unwrap_or(&[]);
    cubin::words(bytes).collect()
}
