//! The source lines that a module was compiled from, as the directives `.file` and `.loc` of PTX say them (PTX ISA
//! 11.5.2 and 11.5.3).
//!
//! An instruction carries its line of PTX ([`crate::InstData::line`]), whatever phases make of it; the table leads from
//! that line to the source. It says nothing about what a program does, so all tables are equal, and the text form
//! leaves them out.

use std::fmt::{self, Display};
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

/// From lines of PTX to lines of source code.
#[derive(Clone, Default, Debug)]
pub struct Sources(Option<Arc<Table>>);

#[derive(Debug)]
struct Table {
    /// Names of files by their index.
    files: Vec<(u64, String)>,
    marks: Vec<Mark>,
}

/// From a line of PTX on, code comes from a place in the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// The line of PTX, counted from 1.
    pub from: u32,
    /// The index of the file, and its line; `None` where nothing is known, as behind a function.
    pub place: Option<(u64, u64)>,
}

/// A line of source code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceLine<'a> {
    /// The file, as the compiler was told.
    pub file: &'a str,
    /// The line, counted from 1.
    pub line: u64,
}

impl Sources {
    /// The table of these files and marks, which are in the order of their lines.
    pub fn new(files: Vec<(u64, String)>, marks: Vec<Mark>) -> Sources {
        debug_assert!(marks.is_sorted_by_key(|mark| mark.from), "marks stand in the order of their lines");
        let is_empty = files.is_empty() || marks.iter().all(|mark| mark.place.is_none());
        Sources((!is_empty).then(|| Arc::new(Table { files, marks })))
    }

    /// The source of a line of PTX.
    pub fn of(&self, line: u32) -> Option<SourceLine<'_>> {
        let table = self.0.as_ref()?;
        let last = table.marks.partition_point(|mark| mark.from <= line).checked_sub(1)?;
        // Line 0 is what compilers say of code that comes from no line.
        let (file, line) = table.marks[last].place.filter(|(_, line)| *line != 0)?;
        let (_, name) = table.files.iter().find(|(index, _)| *index == file)?;
        Some(SourceLine { file: name, line })
    }
}

/// `saxpy.cu:7`: without folders, which are long and somebody else's.
impl Display for SourceLine<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Path::new(self.file).file_name().map_or(self.file.into(), |name| name.to_string_lossy());
        write!(out, "{name}:{}", self.line)
    }
}

impl PartialEq for Sources {
    fn eq(&self, _: &Sources) -> bool {
        true
    }
}

impl Eq for Sources {}

impl Hash for Sources {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_belongs_to_the_last_mark_before_it() {
        let mark = |from, place| Mark { from, place };
        let marks = vec![mark(3, Some((1, 7))), mark(5, Some((2, 9))), mark(6, Some((1, 0))), mark(8, None)];
        let sources = Sources::new(vec![(1, "/home/a.cu".to_owned()), (2, "b.h".to_owned())], marks);
        let shown = |line| sources.of(line).map(|source| source.to_string());
        assert_eq!([shown(2), shown(6), shown(9)], [None, None, None]);
        assert_eq!([shown(3), shown(4)].map(Option::unwrap_or_default), ["a.cu:7", "a.cu:7"]);
        assert_eq!(shown(5).as_deref(), Some("b.h:9"));
        assert!(Sources::default().of(3).is_none());
    }
}
