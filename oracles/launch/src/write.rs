//! Launches as launch files again: a single text with the data in place, or a text and `.bin` files beside it.
//!
//! Reading the written file gives the same [`Launch`]; random content becomes plain content, as a reproducer must
//! not depend on how its data was drawn.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use oriole_ir::reference::Setting;

use super::{Arg, ArgValue, Buffer, Image, Launch, LaunchError, Pointer, Problem, Structure, Tolerance};

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
    /// The launch as text. Content of fewer than [`INLINE_BYTES`] bytes is in it as hexadecimal, other
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
            let file = format!("arg{index}");
            ContentWriter { written: &mut written, stem, file, inline }.argument(arg, &self.images);
        }
        for (index, image) in self.images.iter().enumerate() {
            written.text.push_str("\n[[image]]\n");
            let file = format!("image{index}");
            ContentWriter { written: &mut written, stem, file, inline }.image(image);
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

struct ContentWriter<'w> {
    written: &'w mut Written,
    stem: &'w str,
    /// What files of content are called behind the stem.
    file: String,
    inline: usize,
}

impl ContentWriter<'_> {
    fn argument(&mut self, arg: &Arg, images: &[Image]) {
        if let Some(name) = &arg.name {
            self.line("name", quoted(name));
        }
        match &arg.value {
            ArgValue::Scalar(scalar) => {
                self.line("type", quoted(scalar.ty().name()));
                self.line("value", scalar);
            }
            ArgValue::Bytes(bytes) => self.line("bytes", quoted(&hex(bytes))),
            ArgValue::Structure(Structure { bytes, pointers }) => {
                self.line("bytes", quoted(&hex(bytes)));
                let pointer =
                    |Pointer { at, arg, offset }: &Pointer| format!("{{ at = {at}, arg = {arg}, offset = {offset} }}");
                let pointers: Vec<String> = pointers.iter().map(pointer).collect();
                self.line("pointers", format!("[{}]", pointers.join(", ")));
            }
            ArgValue::Alias { arg, offset } => {
                self.line("alias", format!("{{ arg = {arg}, offset = {offset} }}"));
            }
            ArgValue::Multicast { arg, offset } => {
                self.line("multicast", format!("{{ arg = {arg}, offset = {offset} }}"));
            }
            ArgValue::TensorMap(map) => self.line("tensor_map", map.text()),
            ArgValue::Null => self.line("null", true),
            ArgValue::Handle { kind, image } => {
                let name = images.get(*image).map_or("", |image| image.name.as_str());
                self.line(kind.name(), quoted(name));
            }
            ArgValue::Buffer(buffer) => self.buffer(buffer),
        }
    }

    fn image(&mut self, image: &Image) {
        self.line("name", quoted(&image.name));
        if !image.bind.is_empty() {
            let names: Vec<_> = image.bind.iter().map(|name| quoted(name)).collect();
            self.line("bind", format!("[{}]", names.join(", ")));
        }
        for (key, extent) in ["width", "height", "depth"].into_iter().zip(&image.extents) {
            self.line(key, extent);
        }
        if let Some(layers) = image.layers {
            self.line("layers", layers);
        }
        for (key, flag) in [("cube", image.cube), ("normalized_float", image.normalized_float)] {
            if flag {
                self.line(key, true);
            }
        }
        self.line("levels", image.levels);
        self.line("type", quoted(image.format.name()));
        self.line("channels", image.channels);
        self.settings(image);
        if image.buffer.bytes.iter().all(|&byte| byte == 0) {
            self.line("zeroed", true);
        } else {
            self.content("hex", "buffer", "bin", &image.buffer.bytes);
        }
        self.expectation(&image.buffer);
    }

    fn settings(&mut self, image: &Image) {
        if image.level_filter {
            self.line("level_filter", quoted("linear"));
        }
        let value = |setting| image.settings.each().find(|(other, _)| *other == setting).map(|(_, value)| value);
        if let Some(filter) = value(Setting::Filter) {
            self.line("filter", quoted(filter));
        }
        if let Some(normalized) = value(Setting::Normalized) {
            self.line("normalized", normalized == "1");
        }
        let axes = [Setting::Address0, Setting::Address1, Setting::Address2];
        let modes: Vec<_> = axes.into_iter().map_while(value).map(quoted).collect();
        if !modes.is_empty() {
            self.line("address", format!("[{}]", modes.join(", ")));
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
        if buffer.replicas > 0 {
            self.line("replicas", buffer.replicas);
        }
        self.expectation(buffer);
    }

    fn expectation(&mut self, buffer: &Buffer) {
        if let Some(expect) = &buffer.expect {
            self.content("expect_hex", "expect", "expect.bin", expect);
        }
        if let Some(tolerance) = buffer.tolerance {
            self.tolerance(tolerance);
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
        let file = format!("{}.{}.{extension}", self.stem, self.file);
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
    use super::super::{HandleKind, Scalar, ScalarType, random, source::no_files};
    use super::*;
    use oriole_ir::reference::Settings;

    /// One argument of every kind, with small and large buffers.
    fn sample() -> Launch {
        let buffer = |bytes: Vec<u8>, expect, element| {
            ArgValue::Buffer(Buffer { bytes, element, expect, tolerance: None, replicas: 0 })
        };
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
            ArgValue::Handle { kind: HandleKind::Surface, image: 1 },
            ArgValue::Buffer(Buffer { bytes: vec![7; 64], replicas: 2, ..Buffer::default() }),
            ArgValue::Multicast { arg: 12, offset: 16 },
            ArgValue::Structure(Structure {
                bytes: vec![3; 20],
                pointers: vec![Pointer { at: 12, arg: 6, offset: 8 }, Pointer { at: 0, arg: 5, offset: 0 }],
            }),
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
        launch.images = vec![image("first"), Image { layers: Some(3), cube: true, ..image("second") }];
        launch.images.iter_mut().for_each(|image| image.buffer.bytes = random::bytes(3, image.bytes() as usize));
        launch.args[0].name = Some("n = ''' \"".to_owned());
        launch
    }

    /// An image that says everything.
    fn image(name: &str) -> Image {
        let mut settings = Settings::default();
        let said = [(Setting::Filter, 1), (Setting::Normalized, 0), (Setting::Address0, 1), (Setting::Address1, 4)];
        said.into_iter().for_each(|(setting, value)| settings.set(setting, value));
        Image {
            name: name.to_owned(),
            bind: vec!["t".to_owned(), "u".to_owned()],
            extents: vec![4, 4],
            layers: None,
            cube: false,
            levels: 2,
            format: ScalarType::U8,
            channels: 2,
            normalized_float: true,
            level_filter: true,
            settings,
            buffer: Buffer { element: Some(ScalarType::U8), ..Buffer::default() },
        }
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
