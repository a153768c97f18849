//! A first launch for a kernel that has none.
//!
//! The code says which parameters are addresses ([`super::uses`]); everything else is tried: with large buffers the
//! kernel runs under several values of its numbers until it finishes, and then each buffer shrinks to the bytes that it
//! needs, by halving the distance between a size that suffices and one that does not.

use std::fmt::Write as _;

use oriole_interp::{Executable, Outcome, RunOptions};
use oriole_ir::ops::{FieldValue, Space};
use oriole_ir::{Function, Linkage, Module, Variable};
use oriole_launch::{Launch, LaunchError, ReadFailure, ScalarType};

use super::uses::{self, Use};

/// Bytes of a buffer before its size is known.
const LARGE: u64 = 1 << 20;
/// Blocks to try where the kernel does not say: along one axis, and along two. Shared memory is often made for one.
const LINES: [[u32; 3]; 5] = [[128, 1, 1], [256, 1, 1], [64, 1, 1], [32, 1, 1], [16, 1, 1]];
const TILES: [[u32; 3]; 5] = [[16, 16, 1], [32, 8, 1], [8, 8, 1], [32, 32, 1], [4, 4, 1]];
/// Blocks along each axis: with one, faults of numbering would not show.
const BLOCKS: u32 = 2;
/// Bytes of dynamic shared memory where a kernel has such a variable.
const SHARED: u32 = 16 << 10;
/// Warp instructions of a trial; a guess that needs more is none.
const STEPS: u64 = 4_000_000;

/// A launch file in the making.
#[derive(Clone, Debug)]
pub struct Guess {
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    args: Vec<Argument>,
}

#[derive(Clone, Debug)]
struct Argument {
    name: String,
    value: Value,
}

#[derive(Clone, Debug)]
enum Value {
    Buffer { element: ScalarType, bytes: u64, content: Content, has_type: bool },
    Number { ty: ScalarType, value: u32 },
    Structure { bytes: u64 },
}

/// What a buffer holds at first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Content {
    Zeros,
    /// Integers that may be indices, or small floats.
    Random {
        below: u32,
    },
}

/// How a kernel ends on what was guessed; `None` where it cannot be bound at all.
pub type Ended = Option<Outcome>;

/// A launch of an entry, and how it ends.
pub fn guess(module: &Module, entry: &Function) -> Result<(Guess, Ended), LaunchError> {
    let code = Code::of(module, entry);
    let first = code.with_block(code.blocks[0]);
    let Ok(executable) = Executable::new(module) else { return Ok((first, None)) };
    let mut fallback = None;
    for variant in variants() {
        for block in &code.blocks {
            let attempt = code.with_block(*block).varied(variant);
            let ended = attempt.run(&executable)?;
            if ended == Some(Outcome::Finished) {
                return Ok((attempt.shrunk(&executable)?, ended));
            }
            fallback.get_or_insert((attempt, ended));
        }
    }
    Ok(fallback.unwrap_or((first, None)))
}

/// What the code alone says.
struct Code<'m> {
    entry: &'m Function,
    /// What is known of each parameter.
    uses: Vec<Use>,
    grid: [u32; 3],
    /// The blocks that the kernel may be made for, the likeliest first.
    blocks: Vec<[u32; 3]>,
    shared: u32,
}

impl Code<'_> {
    fn of<'m>(module: &'m Module, entry: &'m Function) -> Code<'m> {
        let (thread_axes, block_axes) = uses::dimensions(module);
        let stated = entry.directives.iter().find(|directive| matches!(&*directive.name, "reqntid" | "maxntid"));
        let blocks = match stated {
            Some(stated) => {
                let size = |axis| stated.values.get(axis).map_or(1, |size: &u64| (*size).clamp(1, 1024) as u32);
                vec![[size(0), size(1), size(2)]]
            }
            None if thread_axes == 1 => LINES.to_vec(),
            None => TILES.to_vec(),
        };
        let grid = if block_axes == 1 { [BLOCKS, 1, 1] } else { [BLOCKS, BLOCKS, 1] };
        let is_dynamic = |var: &Variable| var.space == Space::Shared && var.linkage == Linkage::Extern;
        let shared = if module.globals.values().any(is_dynamic) { SHARED } else { 0 };
        Code { entry, uses: uses::of(entry), grid, blocks, shared }
    }

    fn with_block(&self, block: [u32; 3]) -> Guess {
        let Code { entry, grid, shared, .. } = *self;
        let threads = grid[0] * block[0];
        let params = entry.params.iter().map(|param| &entry.locals[*param]).zip(&self.uses);
        let args = params.map(|(param, used)| argument(param, *used, threads)).collect();
        Guess { kernel: entry.name.clone(), grid, block, shared, args }
    }
}

fn argument(param: &Variable, used: Use, threads: u32) -> Argument {
    let ty = ScalarType::from_name(param.ty.name());
    let value = match ty {
        Some(ty) if param.count.is_none() && ty.bytes() == 8 && used.is_address => Value::Buffer {
            element: used.element.unwrap_or(ScalarType::U32),
            bytes: LARGE,
            content: if used.is_read { Content::Random { below: threads } } else { Content::Zeros },
            has_type: used.element.is_some(),
        },
        Some(ty) if param.count.is_none() => Value::Number { ty, value: if ty.is_float() { 2 } else { threads } },
        _ => Value::Structure { bytes: param.size() },
    };
    Argument { name: param.name.clone(), value }
}

/// Another number in place of the count of threads, and whether buffers hold zeros.
type Variant = (Option<u32>, bool);

/// What is tried, likelier things first. Numbers are often lengths, and data often indices or what a loop waits for.
fn variants() -> impl Iterator<Item = Variant> {
    [None, Some(32), Some(8), Some(1), Some(0)].into_iter().flat_map(|number| [(number, false), (number, true)])
}

impl Guess {
    fn varied(mut self, (number, zeroed): Variant) -> Guess {
        for argument in &mut self.args {
            match (&mut argument.value, number) {
                (Value::Number { ty, value }, Some(number)) if !ty.is_float() => *value = number,
                (Value::Buffer { content, .. }, _) if zeroed => *content = Content::Zeros,
                _ => {}
            }
        }
        self
    }

    fn run(&self, executable: &Executable) -> Result<Ended, LaunchError> {
        let launch = self.launch()?;
        Ok(executable.run(&launch, &RunOptions::default()).ok().map(|result| result.outcome))
    }

    /// The launch that the text says, with a limit of steps.
    fn launch(&self) -> Result<Launch, LaunchError> {
        let none = |_: &std::path::Path, _| Err(ReadFailure::NotRegular("no file that a guess names"));
        let launch = Launch::parse(&self.text(&None), "the guessed launch", none)?;
        Ok(Launch { steps: Some(STEPS), ..launch })
    }

    /// The same with each buffer as small as it may be, one after the other.
    fn shrunk(mut self, executable: &Executable) -> Result<Guess, LaunchError> {
        for index in 0..self.args.len() {
            let Value::Buffer { element, .. } = self.args[index].value else { continue };
            let grain = element.bytes() as u64;
            // In elements: a size that does not suffice (none may), and one that does.
            let (mut small, mut enough) = (0, LARGE / grain);
            while small < enough {
                let middle = small.midpoint(enough);
                self.resize(index, middle * grain);
                match self.run(executable)? {
                    Some(Outcome::Finished) => enough = middle,
                    _ => small = middle + 1,
                }
            }
            self.resize(index, enough.max(1) * grain);
        }
        Ok(self)
    }

    fn resize(&mut self, index: usize, size: u64) {
        if let Value::Buffer { bytes, .. } = &mut self.args[index].value {
            *bytes = size;
        }
    }

    /// The launch file.
    pub fn text(&self, ended: &Ended) -> String {
        let Guess { kernel, grid, block, shared, args } = self;
        let mut text = String::from("# Guessed from the code; change what does not fit.\n");
        match ended {
            Some(Outcome::Finished) | None => {}
            Some(outcome) => _ = writeln!(text, "# With these arguments: {}", one_line(&outcome.to_string())),
        }
        let _ = writeln!(text, "kernel = {kernel:?}\ngrid = {grid:?}\nblock = {block:?}");
        if *shared > 0 {
            let _ = writeln!(text, "dynamic_shared = {shared}");
        }
        for Argument { name, value } in args {
            let _ = writeln!(text, "\n[[arg]]\nname = {name:?}");
            value.write(&mut text);
        }
        text
    }
}

impl Value {
    fn write(&self, text: &mut String) {
        let _ = match *self {
            Value::Buffer { element, bytes, content, has_type } => {
                let unknown = if has_type { "" } else { "    # no access says the type" };
                let _ = writeln!(text, "type = {:?}{unknown}", element.name());
                match content {
                    Content::Zeros => writeln!(text, "zeroed = {bytes}"),
                    Content::Random { below } => {
                        let (min, max) = if element.is_float() { (-4, 4) } else { (0, highest(element, below)) };
                        writeln!(text, "random = {{ seed = 1, bytes = {bytes}, min = {min}, max = {max} }}")
                    }
                }
            }
            Value::Number { ty, value } => {
                let value = if ty.is_float() { value } else { highest(ty, value + 1) as u32 };
                writeln!(text, "type = {:?}\nvalue = {value}", ty.name())
            }
            Value::Structure { bytes } => {
                writeln!(
                    text,
                    "bytes = \"{}\"    # a structure, whose fields are not guessed",
                    "00".repeat(bytes as usize)
                )
            }
        };
    }
}

/// The largest integer of a type below a bound.
fn highest(ty: ScalarType, below: u32) -> i64 {
    let bits = (8 * ty.bytes() as u32).min(32);
    // Signed or not, half of the type's values are not negative.
    let most = (1i64 << (bits - 1)) - 1;
    i64::from(below.saturating_sub(1)).min(most)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
