//! Launches as launch files again: a single text with the data in place, or a text and `.bin` files beside it.
//!
//! Reading the written file gives the same [`Launch`]; random content becomes plain content, as a reproducer must
//! not depend on how its data was drawn.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{Arg, ArgValue, Buffer, Launch, LaunchError, Problem, Tolerance};

/// Content up to this many bytes is written in place by [`Launch::to_toml`]; longer content goes into a file.
pub const INLINE_BYTES: usize = 4096;

/// A launch file as text, and the files that it names, by the paths it uses for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The content of the launch file.
    pub text: String,
    /// The buffer files: path as in the text, and content.
    pub files: Vec<(PathBuf, Vec<u8>)>,
}

impl Launch {
    /// The launch as text. Content of fewer than [`INLINE_BYTES`] bytes stands in it as hexadecimal, other
    /// content in files called `stem.arg3.bin` and `stem.arg3.expect.bin`.
    pub fn to_toml(&self, stem: &str) -> Written {
        self.written(stem, INLINE_BYTES)
    }

    /// Writes `stem.launch.toml` and its `.bin` files into `folder`, and returns the launch file's path.
    pub fn save(&self, folder: &Path, stem: &str) -> Result<PathBuf, LaunchError> {
        let Written { text, files } = self.to_toml(stem);
        for (path, content) in files {
            store(&folder.join(path), &content)?;
        }
        // The launch file comes last, so that one which exists is complete.
        let path = folder.join(format!("{stem}.launch.toml"));
        store(&path, text.as_bytes())?;
        Ok(path)
    }

    fn written(&self, stem: &str, inline: usize) -> Written {
        let mut written = Written { text: self.head(), files: Vec::new() };
        for (index, arg) in self.args.iter().enumerate() {
            written.text.push_str("\n[[arg]]\n");
            let mut writer = ArgWriter { written: &mut written, stem, index, inline };
            writer.argument(arg);
        }
        written
    }

    fn head(&self) -> String {
        let mut text = String::new();
        if let Some(kernel) = &self.kernel {
            line(&mut text, "kernel", quoted(kernel));
        }
        line(&mut text, "grid", format!("{:?}", self.grid));
        line(&mut text, "block", format!("{:?}", self.block));
        if let Some(cluster) = self.cluster {
            line(&mut text, "cluster", format!("{cluster:?}"));
        }
        if self.dynamic_shared != 0 {
            line(&mut text, "dynamic_shared", self.dynamic_shared);
        }
        if let Some(steps) = self.steps {
            line(&mut text, "steps", steps);
        }
        if self.race_check {
            line(&mut text, "race_check", true);
        }
        if let Some(copies) = self.copies {
            line(&mut text, "copies", copies);
        }
        text
    }
}

struct ArgWriter<'w> {
    written: &'w mut Written,
    stem: &'w str,
    index: usize,
    inline: usize,
}

impl ArgWriter<'_> {
    fn argument(&mut self, arg: &Arg) {
        if let Some(name) = &arg.name {
            self.line("name", quoted(name));
        }
        match &arg.value {
            ArgValue::Scalar(scalar) => {
                self.line("type", quoted(scalar.ty().name()));
                self.line("value", scalar);
            }
            ArgValue::Bytes(bytes) => self.line("bytes", quoted(&hex(bytes))),
            ArgValue::Alias { arg, offset } => {
                self.line("alias", format!("{{ arg = {arg}, offset = {offset} }}"));
            }
            ArgValue::Null => self.line("null", true),
            ArgValue::Buffer(buffer) => self.buffer(buffer),
        }
    }

    fn buffer(&mut self, buffer: &Buffer) {
        if let Some(ty) = buffer.element {
            self.line("type", quoted(ty.name()));
        }
        if buffer.bytes.iter().all(|&byte| byte == 0) {
            self.line("zeroed", buffer.bytes.len());
        } else {
            self.content("hex", "buffer", "bin", &buffer.bytes);
        }
        if let Some(expect) = &buffer.expect {
            self.content("expect_hex", "expect", "expect.bin", expect);
            if let Some(tolerance) = buffer.tolerance {
                self.tolerance(tolerance);
            }
        }
    }

    fn tolerance(&mut self, tolerance: Tolerance) {
        let text = match tolerance {
            Tolerance::Ulp(ulp) => format!("{{ ulp = {ulp} }}"),
            Tolerance::Near { relative, absolute } => {
                let [relative, absolute] = [relative, absolute].map(|scalar| quoted(&scalar.to_string()));
                format!("{{ relative = {relative}, absolute = {absolute} }}")
            }
        };
        self.line("tolerance", text);
    }

    fn content(&mut self, inline_key: &str, file_key: &str, extension: &str, bytes: &[u8]) {
        if bytes.len() < self.inline {
            return self.line(inline_key, quoted(&hex(bytes)));
        }
        let file = format!("{}.arg{}.{extension}", self.stem, self.index);
        self.line(file_key, quoted(&file));
        self.written.files.push((PathBuf::from(file), bytes.to_vec()));
    }

    fn line(&mut self, key: &str, value: impl std::fmt::Display) {
        line(&mut self.written.text, key, value);
    }
}

fn line(text: &mut String, key: &str, value: impl std::fmt::Display) {
    writeln!(text, "{key} = {value}").expect("writing to a string does not fail");
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 9 / 4);
    for (index, byte) in bytes.iter().enumerate() {
        if index > 0 && index % 4 == 0 {
            text.push(' ');
        }
        write!(text, "{byte:02x}").expect("writing to a string does not fail");
    }
    text
}

fn store(path: &Path, content: &[u8]) -> Result<(), LaunchError> {
    std::fs::write(path, content)
        .map_err(|error| LaunchError::new(Problem::Write { path: path.to_owned(), reason: error.to_string() }))
}

#[cfg(test)]
mod tests {
    use super::super::{Scalar, ScalarType, random, source::no_files};
    use super::*;

    /// One argument of every kind, with small and large buffers.
    fn sample() -> Launch {
        let buffer =
            |bytes: Vec<u8>, expect, element| ArgValue::Buffer(Buffer { bytes, element, expect, tolerance: None });
        let values = [
            ArgValue::Scalar(Scalar::from_bits(ScalarType::U64, u64::MAX)),
            ArgValue::Scalar(Scalar::from_bits(ScalarType::F32, 0x7fc0_1234)),
            ArgValue::Scalar(Scalar::from_bits(ScalarType::F64, f64::NEG_INFINITY.to_bits())),
            ArgValue::Scalar(Scalar::from_bits(ScalarType::F32, 1)),
            ArgValue::Bytes(vec![1, 2, 3, 4, 5]),
            buffer(vec![1, 2, 3, 4, 5, 6], Some(vec![0; 6]), None),
            buffer(vec![0; 5000], Some(random::bytes(1, 5000)), Some(ScalarType::F64)),
            buffer(random::bytes(2, 4096), None, Some(ScalarType::U8)),
            buffer(Vec::new(), Some(Vec::new()), None),
            ArgValue::Alias { arg: 6, offset: 5000 },
            ArgValue::Null,
        ];
        let mut launch = Launch::new(Some("odd \"name\"\\ \n é".to_owned()));
        launch.grid = [2, 3, 4];
        launch.block = [32, 1, 2];
        launch.cluster = Some([1, 3, 2]);
        launch.dynamic_shared = 48;
        launch.steps = Some(u64::MAX);
        launch.race_check = true;
        launch.copies = Some(u64::MAX);
        launch.args = values.map(|value| Arg { name: None, value }).to_vec();
        launch.args[0].name = Some("n = ''' \"".to_owned());
        launch
    }

    #[test]
    fn a_saved_launch_loads_to_the_same_value() {
        let folder = tempfile::tempdir().unwrap();
        let path = sample().save(folder.path(), "case.1").unwrap();
        assert_eq!(path.file_name().unwrap(), "case.1.launch.toml");
        assert_eq!(Launch::load(&path), Ok(sample()));
        // Two contents of at least 4096 bytes that are not zeros, and the launch file.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn small_launches_are_a_single_text() {
        let mut launch = sample();
        launch.args.truncate(6);
        let written = launch.to_toml("x");
        assert_eq!(written.files, []);
        assert_eq!(Launch::parse(&written.text, "x", no_files), Ok(launch));
    }

    #[test]
    fn an_unwritable_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = sample().save(&folder.path().join("absent"), "x").unwrap_err();
        assert!(matches!(error.problem(), Problem::Write { .. }), "{error:?}");
    }
}
