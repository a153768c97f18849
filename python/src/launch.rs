//! Launches: read from the text of launch files, whose buffers Python has in memory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use oriole_launch::file::ReadFailure;
use oriole_launch::{ArgValue, Buffer, NamedLaunch, Scalar, ScalarType, Structure};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::Error;
use crate::work;

/// A launch with its data.
#[pyclass(frozen, module = "oriole._oriole")]
pub struct Launch {
    /// The launch, and its name in messages.
    pub named: NamedLaunch,
}

#[pymethods]
impl Launch {
    /// The launch of a text, whose buffers are `files`, by the paths that the text has for them.
    #[staticmethod]
    fn parse(py: Python<'_>, name: String, text: String, files: HashMap<String, Vec<u8>>) -> PyResult<Launch> {
        work::run(py, move |_| {
            let resolve = |path: &Path, limit: u64| {
                let content = path.to_str().and_then(|path| files.get(path));
                let content = content.ok_or_else(|| ReadFailure::Io("there is no such buffer".to_owned()))?;
                let bytes = content.len() as u64;
                if bytes > limit { Err(ReadFailure::TooLarge { bytes, limit }) } else { Ok(content.clone()) }
            };
            let launch = oriole_launch::Launch::parse(&text, &name, resolve).map_err(|error| Error::of(&error))?;
            Ok(Launch { named: NamedLaunch { name, launch } })
        })
    }

    /// The launch of a file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Launch> {
        work::run(py, move |_| {
            let launch = oriole_launch::Launch::load(&path).map_err(|error| Error::of(&error))?;
            Ok(Launch { named: NamedLaunch { name: path.display().to_string(), launch } })
        })
    }

    /// Writes `STEM.launch.toml` and its buffers into a folder: the path of the first.
    fn save(&self, py: Python<'_>, folder: PathBuf, stem: String) -> PyResult<PathBuf> {
        let launch = self.named.launch.clone();
        work::run(py, move |_| launch.save(&folder, &stem).map_err(|error| Error::of(&error)))
    }

    /// Its name in messages.
    #[getter]
    fn name(&self) -> &str {
        &self.named.name
    }

    /// The entry that it launches; `None` for the only one.
    #[getter]
    fn kernel(&self) -> Option<&str> {
        self.named.launch.kernel.as_deref()
    }

    /// Blocks of the grid in x, y and z.
    #[getter]
    fn grid(&self) -> [u32; 3] {
        self.named.launch.grid
    }

    /// Threads of a block in x, y and z.
    #[getter]
    fn block(&self) -> [u32; 3] {
        self.named.launch.block
    }

    /// Blocks of a cluster in x, y and z.
    #[getter]
    fn cluster(&self) -> Option<[u32; 3]> {
        self.named.launch.cluster
    }

    /// Bytes of dynamic shared memory.
    #[getter]
    fn dynamic_shared(&self) -> u32 {
        self.named.launch.dynamic_shared
    }

    /// The arguments: each its kind, its name, the type of its elements, and its bytes, which are `None` for addresses
    /// and handles.
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let argument = |index: usize| {
            let arg = &self.named.launch.args[index];
            let (kind, element, bytes): (&str, Option<ScalarType>, Option<&[u8]>) = match &arg.value {
                ArgValue::Buffer(Buffer { bytes, element, .. }) => ("buffer", *element, Some(bytes)),
                ArgValue::Bytes(bytes) | ArgValue::Structure(Structure { bytes, .. }) => ("bytes", None, Some(bytes)),
                ArgValue::Scalar(scalar) => ("scalar", Some(scalar.ty()), None),
                ArgValue::Null => ("null", None, None),
                ArgValue::Alias { .. } | ArgValue::Multicast { .. } => ("alias", None, None),
                ArgValue::TensorMap(_) | ArgValue::Handle { .. } => ("handle", None, None),
            };
            let scalar = match &arg.value {
                ArgValue::Scalar(scalar) => Some(Scalar::to_bytes(*scalar)),
                _ => None,
            };
            let bytes = scalar.as_deref().or(bytes);
            let dict = PyDict::new(py);
            dict.set_item("kind", kind)?;
            dict.set_item("name", self.named.launch.arg_name(index))?;
            dict.set_item("type", element.map(ScalarType::name))?;
            dict.set_item("bytes", bytes.map(|bytes| PyBytes::new(py, bytes)))?;
            Ok(dict)
        };
        (0..self.named.launch.args.len()).map(argument).collect()
    }
}
