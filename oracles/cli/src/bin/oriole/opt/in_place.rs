//! `oriole opt --machine`: phases over the functions of a cubin, whose words stay in place.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use miette::miette;
use oriole_ir::Module;
use oriole_ir::diagnostics::escape::escaped;
use oriole_sass::cubin::Cubin;
use oriole_sass::ori::compact::{self, Compacted};
use oriole_sass::ori::in_place::{self, Counts};
use tempfile::Builder;

use super::report::{self, Document, Words};
use super::{Args, say_wrong};
use crate::document::{self, Format};
use crate::failure::{Failure, Status};
use crate::judge::read_cubin;
use crate::numbers::counted;

/// The cubin, and its name in messages.
pub struct Code {
    cubin: Cubin,
    name: String,
}

impl Code {
    /// Reads a cubin.
    pub fn read(path: &Path) -> Result<Code, Failure> {
        Ok(Code { cubin: read_cubin(path)?, name: path.display().to_string() })
    }

    /// Its functions.
    pub fn lifted(&self) -> Result<Module, Failure> {
        let name = &self.name;
        in_place::lift(&self.cubin).map_err(|error| Failure::Input(miette!("{name}: {error}")))
    }

    /// Writes the cubin with the functions of a module, and says what became of them.
    pub fn finish(
        &self,
        args: &Args,
        module: &Module,
        document: Document,
        out: &mut dyn Write,
    ) -> Result<Status, Failure> {
        let (bytes, counts) = match in_place::write(&self.cubin, module) {
            Ok(written) => written,
            Err(error) => return say_wrong(args, format!("the phases leave what is no code: {error}"), out),
        };
        let (bytes, compacted) = match args.compact {
            true => self.compact(&bytes)?,
            false => (bytes, Vec::new()),
        };
        let file = args.output.clone().unwrap_or_default();
        store_whole(&file, &bytes).map_err(|error| {
            let help = "name another file with -o";
            Failure::Input(miette!(help = help, "cannot write `{}`: {error}", file.display()))
        })?;
        match args.format {
            Format::Text => {
                report::say(&document, args);
                text(&counts, out)?;
                moved(&compacted, out)?;
            }
            Format::Json => {
                let words = counts.into_iter().map(|counts| {
                    let Counts { function, words, removed, changed, is_left_alone: left_alone } = counts;
                    Words { function, words, removed, changed, left_alone }
                });
                document::print(out, &document.with_words(file, words.collect()))?;
            }
        }
        Ok(Status::Clean)
    }

    /// The file without the words that phases have left out.
    fn compact(&self, bytes: &[u8]) -> Result<(Vec<u8>, Vec<Compacted>), Failure> {
        let name = &self.name;
        let now = Cubin::read(bytes).map_err(|error| Failure::Input(miette!("{name}: {error}")))?;
        compact::compact(&self.cubin, &now).map_err(|error| Failure::Input(miette!("{name}: {error}")))
    }
}

/// Says which words are out of the way, and why others are not.
fn moved(all: &[Compacted], out: &mut dyn Write) -> io::Result<()> {
    for Compacted { function, gone, kept } in all.iter().filter(|it| it.gone > 0) {
        let (function, gone) = (escaped(function), counted(*gone, "word"));
        match kept {
            Some(reason) => writeln!(out, "{function}: {gone} stay as NOP: {reason}")?,
            None => writeln!(out, "{function}: {gone} less to go through")?,
        }
    }
    Ok(())
}

fn text(counts: &[Counts], out: &mut dyn Write) -> io::Result<()> {
    for Counts { function, words, removed, changed, is_left_alone } in counts {
        let (function, words) = (escaped(function), counted(*words, "word"));
        match is_left_alone {
            true => writeln!(
                out,
                "{function}: {words}, left as they are: the loader changes them, or they call each other"
            )?,
            false => writeln!(out, "{function}: {words}, {removed} removed, {changed} changed")?,
        }
    }
    if counts.len() > 1 {
        let sum = |of: fn(&Counts) -> usize| counts.iter().map(of).sum::<usize>();
        let (words, removed, changed) = (sum(|it| it.words), sum(|it| it.removed), sum(|it| it.changed));
        writeln!(out, "all: {}, {removed} removed, {changed} changed", counted(words, "word"))?;
    }
    Ok(())
}

/// Writes a file so that whoever looks sees the whole of it or what was there before.
fn store_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // What is no file, such as `/dev/null`, is not replaced.
    if path.metadata().is_ok_and(|it| !it.is_file()) {
        return fs::write(path, bytes);
    }
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(&path)?;
    Ok(())
}
