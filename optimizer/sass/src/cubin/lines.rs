//! Line tables: which line of source code a word comes from, for nvdisasm, debuggers and profilers.
//!
//! `.debug_line` is in the form of DWARF 2 (section 6.2), as ptxas 13.0.88 writes it with `-lineinfo`: one table for
//! the file, and in it a sequence for each kernel, whose address a relocation gives. `.nv_debug_line_sass` has the same
//! form and no files: its lines are those of the PTX in `.nv_debug_ptx_txt`, for `nvdisasm -gp`.

use super::build::Kernel;

/// A line of source code.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Line {
    /// The file, with its folder.
    pub file: String,
    /// The line, from 1.
    pub number: u32,
}

/// The version of the form.
const VERSION: u16 = 2;
/// Smallest instruction, rows are statements, smallest step of a line (-5), how many there are, first special opcode.
const PREFIX: [u8; 5] = [1, 1, 0xfb, 14, 10];
/// How many operands the standard opcodes have.
const OPERANDS: [u8; 9] = [0, 1, 1, 1, 1, 0, 0, 0, 1];

const COPY: u8 = 1;
const ADVANCE_PC: u8 = 2;
const ADVANCE_LINE: u8 = 3;
const SET_FILE: u8 = 4;
const END_SEQUENCE: [u8; 3] = [0, 1, 1];
const SET_ADDRESS: [u8; 3] = [0, 9, 2];
/// Bytes of a word.
const WORD: u64 = 16;

/// A table, and by kernel the place in it of the kernel's address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// The section's bytes.
    pub bytes: Vec<u8>,
    /// The places of the addresses.
    pub addresses: Vec<u64>,
}

/// The table of some kernels; `None` where no word has a line.
pub fn table(kernels: &[Kernel]) -> Option<Table> {
    let lines = || kernels.iter().flat_map(|kernel| kernel.lines.iter().flatten());
    lines().next()?;
    let mut files: Vec<&str> = Vec::new();
    for line in lines() {
        if !files.contains(&line.file.as_str()) {
            files.push(&line.file);
        }
    }
    let (mut folders, mut names): (Vec<&str>, Vec<u8>) = (Vec::new(), Vec::new());
    for file in &files {
        let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
        // Folder 0 is the one where the compiler ran.
        let number = match (folder, folders.iter().position(|known| *known == folder)) {
            ("", _) => 0,
            (_, Some(known)) => known + 1,
            (_, None) => {
                folders.push(folder);
                folders.len()
            }
        };
        names.extend(name.bytes().filter(|byte| *byte != 0).chain([0]));
        unsigned(&mut names, number as u64);
        // Neither time nor size is known.
        names.extend([0, 0]);
    }
    let mut header = PREFIX.to_vec();
    header.extend(OPERANDS);
    folders.iter().for_each(|folder| header.extend(folder.bytes().filter(|byte| *byte != 0).chain([0])));
    header.push(0);
    header.extend(names);
    header.push(0);
    let number = |line: &Line| {
        let file = files.iter().position(|known| *known == line.file).unwrap_or(0) as u64 + 1;
        (file, line.number)
    };
    Some(written(&header, kernels, |kernel| kernel.lines.iter().map(|line| line.as_ref().map(number)).collect()))
}

/// The table of the lines of PTX; `None` where no word has one.
pub fn ptx_table(kernels: &[Kernel]) -> Option<Table> {
    kernels.iter().flat_map(|kernel| kernel.ptx_lines.iter().flatten()).next()?;
    let mut header = PREFIX.to_vec();
    header.extend(OPERANDS);
    // Neither folders nor files: the text is in the cubin, and has the number 0.
    header.extend([0, 0]);
    Some(written(&header, kernels, |kernel| kernel.ptx_lines.iter().map(|line| line.map(|line| (0, line))).collect()))
}

/// A text of PTX as the section has it: lines that end with a zero, without the spaces that they begin with. Lines that
/// hold a comment, `.loc` or `.file` alone are empty.
pub fn text(ptx: &str) -> Vec<u8> {
    let kept = |line: &&str| !["//", ".loc", ".file"].iter().any(|start| line.starts_with(start));
    let bytes = ptx.lines().flat_map(|line| {
        let line = Some(line.trim()).filter(kept).unwrap_or_default();
        line.bytes().filter(|byte| *byte != 0).chain([0])
    });
    bytes.collect()
}

/// By word: the number of its file, and its line.
type Rows = Vec<Option<(u64, u32)>>;

/// A table with this header.
fn written(header: &[u8], kernels: &[Kernel], rows: impl Fn(&Kernel) -> Rows) -> Table {
    let mut bytes = vec![0; 4];
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend(header);
    let addresses =
        kernels.iter().map(|kernel| sequence(&mut bytes, &rows(kernel), kernel.words.len() as u64)).collect();
    let length = (bytes.len() - 4) as u32;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    Table { bytes, addresses }
}

/// Appends the rows of a kernel with so many words, and gives the place of its address.
fn sequence(bytes: &mut Vec<u8>, rows: &Rows, words: u64) -> u64 {
    bytes.extend(SET_ADDRESS);
    let place = bytes.len() as u64;
    bytes.extend([0; 8]);
    let (mut at, mut file, mut number) = (0, 1, 1i64);
    let mut last = None;
    for (offset, row) in (0..).step_by(WORD as usize).zip(rows) {
        let Some((own, line)) = row.filter(|row| last != Some(*row)) else { continue };
        if own != file {
            bytes.push(SET_FILE);
            unsigned(bytes, own);
        }
        if offset != at {
            bytes.push(ADVANCE_PC);
            unsigned(bytes, offset - at);
        }
        let next = i64::from(line);
        if next != number {
            bytes.push(ADVANCE_LINE);
            signed(bytes, next - number);
        }
        bytes.push(COPY);
        (at, file, number, last) = (offset, own, next, *row);
    }
    bytes.push(ADVANCE_PC);
    unsigned(bytes, WORD * words - at);
    bytes.extend(END_SEQUENCE);
    place
}

/// Appends a number in groups of seven bits, the lowest first.
fn unsigned(bytes: &mut Vec<u8>, mut number: u64) {
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        bytes.push(if number == 0 { low } else { low | 0x80 });
        if number == 0 {
            return;
        }
    }
}

/// The same of a number with a sign, which the last group's highest bit repeats.
fn signed(bytes: &mut Vec<u8>, mut number: i64) {
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        let is_last = number == 0 && low & 0x40 == 0 || number == -1 && low & 0x40 != 0;
        bytes.push(if is_last { low } else { low | 0x80 });
        if is_last {
            return;
        }
    }
}
