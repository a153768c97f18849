//! What can be wrong with a launch, and where: every error carries a [`Problem`] and, where there is a
//! text to point at, that text with the span of the guilty part. `miette` prints file, line, column and
//! excerpt from it, and the help says what to do.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use miette::{Diagnostic, LabeledSpan, SourceCode, SourceSpan};
use oriole_ir::diagnostics::counted;
use oriole_ir::diagnostics::excerpt::{SourceText, clipped};
use thiserror::Error;

/// What is wrong, without the place.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The text is not TOML.
    #[error("not valid TOML: {0}")]
    Toml(String),
    /// The launch file itself is larger than [`super::MAX_TEXT_BYTES`].
    #[error("a launch file may have at most {limit}", limit = counted(.limit, "byte"))]
    TextTooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// A key that no launch file has.
    #[error("unknown key `{key}` in {table}")]
    UnknownKey {
        /// The key as written.
        key: String,
        /// Which table it is in.
        table: &'static str,
        /// The nearest known key, where one is near.
        nearest: Option<&'static str>,
        /// All keys of this table.
        known: &'static [&'static str],
    },
    /// A key that this kind of argument does not take.
    #[error("`{key}` does not go with `{source_key}`")]
    KeyNotHere {
        /// The key as written.
        key: String,
        /// The key that decides what kind of argument it is.
        source_key: &'static str,
    },
    /// A key is needed and absent.
    #[error("{table} needs the key `{key}`")]
    MissingKey {
        /// The absent key.
        key: &'static str,
        /// The table that needs it.
        table: &'static str,
    },
    /// An argument says nothing about its content.
    #[error("this argument has no content")]
    NoContent,
    /// An argument has two contents, or two expectations.
    #[error("`{first}` and `{second}` exclude each other")]
    Exclusive {
        /// One of them.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// A value of the wrong TOML type.
    #[error("`{key}` must be {wanted}, not {found}")]
    WrongType {
        /// The key.
        key: &'static str,
        /// What it takes, with its article.
        wanted: &'static str,
        /// What is there.
        found: String,
    },
    /// A number beyond a limit of CUDA or of this program.
    #[error("{what} is {value}, but {limit}")]
    Limit {
        /// What was measured.
        what: String,
        /// The value as written.
        value: String,
        /// The limit as a clause: `the limit is 1024`.
        limit: String,
    },
    /// A type name that does not exist.
    #[error("unknown type `{0}`")]
    UnknownType(String),
    /// A value that its type cannot hold, or that is not a number.
    #[error("`{value}` is not a value of type {ty}")]
    BadValue {
        /// The value as written.
        value: String,
        /// The type's name.
        ty: &'static str,
    },
    /// Bounds between which no value lies.
    #[error("no value lies between min {min} and max {max}")]
    EmptyRange {
        /// The lower bound.
        min: String,
        /// The upper bound.
        max: String,
    },
    /// A text that is not pairs of hexadecimal digits.
    #[error("not hexadecimal bytes")]
    BadHex,
    /// An expectation whose length differs from its buffer's.
    #[error("the expected content has {expected}, the buffer has {buffer}", expected = counted(.expected, "byte"))]
    ExpectLength {
        /// Bytes expected.
        expected: u64,
        /// Bytes in the buffer.
        buffer: u64,
    },
    /// A buffer file that cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// A file that cannot be written.
    #[error("cannot write {}: {reason}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// An alias whose target is not a buffer argument.
    #[error("argument {0} is not a buffer, so nothing can alias it")]
    AliasTarget(u64),
    /// An alias beyond the end of its target.
    #[error("offset {offset} is beyond the end of argument {arg}, which has {bytes}", bytes = counted(.bytes, "byte"))]
    AliasOffset {
        /// The target argument, from zero.
        arg: u64,
        /// The offset as written.
        offset: u64,
        /// The size of the target.
        bytes: u64,
    },
    /// A buffer that cannot be so many replicas.
    #[error("{bytes} are not {replicas} of equal size, in steps of 16 bytes", bytes = counted(.bytes, "byte"), replicas = counted(.replicas, "replica"))]
    Replicas {
        /// The replicas as written.
        replicas: u32,
        /// The size of the buffer.
        bytes: u64,
    },
    /// A multicast address of what is no buffer with replicas.
    #[error("argument {0} is no buffer with replicas, so it has no multicast address")]
    MulticastTarget(u64),
    /// A multicast address beyond the end of a replica.
    #[error("offset {offset} is beyond the end of a replica of argument {arg}, which has {bytes}", bytes = counted(.bytes, "byte"))]
    MulticastOffset {
        /// The target argument, from zero.
        arg: u64,
        /// The offset as written.
        offset: u64,
        /// The size of a replica.
        bytes: u64,
    },
    /// A grid that is not made of whole clusters.
    #[error("a grid of {grid:?} blocks is not made of clusters of {cluster:?}")]
    PartOfCluster {
        /// The grid's extents in blocks.
        grid: [u32; 3],
        /// The cluster's.
        cluster: [u32; 3],
    },
    /// An image that there cannot be.
    #[error("there is no such image: {0}")]
    Image(&'static str),
    /// A filter or an address mode that does not exist.
    #[error("`{value}` is no value of `{key}`")]
    UnknownMode {
        /// The key.
        key: &'static str,
        /// The value as written.
        value: String,
        /// All values.
        known: &'static [&'static str],
    },
    /// Content of another length than its image.
    #[error("the content has {found}, the image has {wanted}", found = counted(.found, "byte"))]
    ImageLength {
        /// Bytes found.
        found: u64,
        /// Bytes of the image.
        wanted: u64,
    },
    /// Two images of one name.
    #[error("there are two images `{0}`")]
    RepeatedImage(String),
    /// An argument that names an image which the launch does not have.
    #[error("there is no image `{name}`")]
    NoImage {
        /// The name as written.
        name: String,
        /// The images that there are.
        known: String,
    },
    /// A text that is no tolerance.
    #[error("`{0}` is no tolerance")]
    BadTolerance(String),
    /// A command-line piece of unknown shape.
    #[error("`{0}` does not describe an argument")]
    BadPiece(String),
}

impl Problem {
    /// What to do about it.
    fn advice(&self) -> Option<String> {
        Some(match self {
            Self::Toml(_) => "write `key = value` lines and one [[arg]] table per parameter".to_owned(),
            Self::UnknownKey { nearest: Some(nearest), .. } => format!("did you mean `{nearest}`?"),
            Self::UnknownKey { key, .. } if key == "tolerance" => {
                "a tolerance is of an [[arg]] or [[image]] with elements of a floating-point type".to_owned()
            }
            Self::BadTolerance(_) => "ulp=2, relative=1e-6, absolute=1e-9, or the last two with a comma".to_owned(),
            Self::UnknownKey { known, .. } => format!("known keys: {}", known.join(", ")),
            Self::UnknownMode { known, .. } => format!("it may be {}", known.join(", ")),
            Self::ImageLength { .. } => "levels by layers by rows of texels, without gaps".to_owned(),
            Self::NoImage { known, .. } if known.is_empty() => "describe it in an [[image]] table".to_owned(),
            Self::NoImage { known, .. } => format!("images: {known}"),
            Self::RepeatedImage(_) => "rename one of the two".to_owned(),
            Self::KeyNotHere { source_key, .. } if matches!(*source_key, "alias" | "multicast" | "null") => {
                "describe the buffer at the argument that owns it".to_owned()
            }
            Self::MissingKey { key: "type", .. } => format!("add `type = \"…\"`: {}", type_names()),
            Self::MissingKey { key, .. } => format!("add `{key} = …`"),
            Self::NoContent => {
                "add one of: value (with type), bytes, buffer, hex, data (with type), zeroed, random, alias, \
                 multicast, null, texture, surface, sampler"
                    .to_owned()
            }
            Self::Exclusive { .. } => "keep one of the two".to_owned(),
            Self::UnknownType(_) => format!("known types: {}", type_names()),
            Self::BadValue { ty, .. } if ty.contains('f') => {
                "write a decimal number, inf, nan, or the bit pattern in hexadecimal (0x…)".to_owned()
            }
            Self::BadValue { .. } => "write a decimal, 0x…, 0o… or 0b… integer in the type's range".to_owned(),
            Self::EmptyRange { .. } => "both bounds are inclusive and finite, min not above max".to_owned(),
            Self::BadHex => "write two hexadecimal digits a byte; spaces and `_` may stand between bytes".to_owned(),
            Self::ExpectLength { .. } => "an expectation covers the whole buffer".to_owned(),
            Self::Read { .. } => {
                "buffer paths are relative to the launch file, on the command line to the working folder".to_owned()
            }
            Self::AliasTarget(_) => {
                "arguments are numbered from 0; an alias points at the owner of a buffer".to_owned()
            }
            Self::Replicas { .. } => {
                "write the replicas one after another, each with the same multiple of 16 bytes; there is one at least"
                    .to_owned()
            }
            Self::MulticastTarget(_) => {
                "add `replicas = …` to the argument that owns the buffer; arguments are numbered from 0".to_owned()
            }
            Self::MulticastOffset { .. } => "offsets are counted from the start of each replica".to_owned(),
            Self::PartOfCluster { .. } => "each extent of `grid` is a multiple of that of `cluster`".to_owned(),
            Self::BadPiece(_) => super::command_line::HELP.to_owned(),
            _ => return None,
        })
    }
}

fn type_names() -> String {
    super::ScalarType::ALL.map(super::ScalarType::name).join(" ")
}

/// A [`Problem`] and its place.
#[derive(Clone, PartialEq, Eq)]
pub struct LaunchError(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    problem: Problem,
    place: Option<(SourceText, SourceSpan)>,
}

impl LaunchError {
    /// A problem without a text to point at.
    pub fn new(problem: Problem) -> Self {
        Self(Box::new(Inner { problem, place: None }))
    }

    /// A problem at `span` (bytes) of `text`, which is shown under `name`.
    pub fn at(problem: Problem, name: &str, text: &str, span: Range<usize>) -> Self {
        let end = span.end.min(text.len());
        let start = span.start.min(end);
        let source = SourceText::new(name, text);
        let span = source.mark((start..end).into());
        Self(Box::new(Inner { problem, place: Some((source, span)) }))
    }

    /// What is wrong.
    pub fn problem(&self) -> &Problem {
        &self.0.problem
    }

    /// Name of the text, line and column, both from 1; the column counts characters.
    pub fn location(&self) -> Option<(&str, usize, usize)> {
        let (source, span) = self.0.place.as_ref()?;
        let (line, column) = source.line_column(span.offset());
        Some((source.name(), line, column))
    }
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&clipped(&self.0.problem.to_string()))
    }
}

impl fmt::Debug for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LaunchError").field(&self.0.problem).field(&self.location()).finish()
    }
}

impl std::error::Error for LaunchError {}

impl Diagnostic for LaunchError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0.problem.advice().map(|text| Box::new(text) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.0.place.as_ref().map(|(source, _)| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let (_, span) = self.0.place.as_ref()?;
        Some(Box::new(std::iter::once(LabeledSpan::new_primary_with_span(Some("here".to_owned()), *span))))
    }
}
