//! How a run ends.

use oriole_ir::diagnostics::counted;
use std::fmt::{self, Display};

/// A thread, by its CTA and its place in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ThreadId {
    /// The CTA's index in the grid.
    pub ctaid: [u32; 3],
    /// The thread's index in the CTA.
    pub tid: [u32; 3],
}

impl ThreadId {
    /// The thread with an index in a grid of so many CTAs of so many threads.
    pub fn at(index: u64, grid: [u32; 3], block: [u32; 3]) -> ThreadId {
        let ([bx, by, _], [gx, gy, _]) = (block.map(u64::from), grid.map(u64::from));
        let threads: u64 = block.map(u64::from).iter().product();
        let (cta, tid) = (index / threads, index % threads);
        ThreadId {
            ctaid: [cta % gx, cta / gx % gy, cta / gx / gy].map(|x| x as u32),
            tid: [tid % bx, tid / bx % by, tid / bx / by].map(|x| x as u32),
        }
    }
}

impl Display for ThreadId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([cx, cy, cz], [x, y, z]) = (self.ctaid, self.tid);
        write!(out, "thread ({x},{y},{z}) of CTA ({cx},{cy},{cz})")
    }
}

/// An instruction of the running program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// The function.
    pub function: String,
    /// The line of the source text; 0 where unknown.
    pub line: u32,
    /// The file and line of the source that this was compiled from, where the PTX says so.
    pub source: Option<String>,
    /// The instruction's text.
    pub text: String,
}

impl Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`{}` in `{}`", self.text, self.function)?;
        match &self.source {
            _ if self.line == 0 => Ok(()),
            None => write!(out, " (line {})", self.line),
            Some(source) => write!(out, " (line {}, {source})", self.line),
        }
    }
}

/// What stopped a thread.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Cause {
    /// A `trap` instruction.
    Trap,
    /// An instruction that is carried through without a meaning: its name with modifiers.
    Opaque(String),
    /// A failed assertion: what the kernel says of it.
    Assertion(String),
    /// An access outside of everything that is mapped.
    OutOfBounds {
        /// Its space.
        space: &'static str,
        /// The address.
        address: u64,
        /// How many bytes.
        bytes: u32,
        /// What is near.
        near: String,
    },
    /// An access at an address that is no multiple of its size.
    Misaligned {
        /// Its space.
        space: &'static str,
        /// The address.
        address: u64,
        /// How many bytes.
        bytes: u32,
    },
    /// A write to memory that is read-only.
    ReadOnly {
        /// Its space.
        space: &'static str,
        /// The address.
        address: u64,
    },
    /// A call of an address that is no function, or of a function without body.
    BadCall(String),
    /// A `brx.idx` index without a block.
    BadIndex(u64),
    /// The stack has outgrown local memory.
    StackOverflow,
    /// All stacks together have outgrown the memory that a run may take for them.
    StacksTooLarge {
        /// How many bytes that is.
        limit: usize,
    },
    /// A barrier number or thread count that the machine does not have.
    BadBarrier(String),
    /// An access to a texture or a surface that there is none of, or not of its kind.
    BadImage(String),
    /// A bulk copy of a size or to a place that there is none of.
    BadCopy(String),
    /// An asynchronous operation on the shared memory of a CTA that has ended.
    Unfinished,
    /// A collective whose executing thread is not a member, or whose members disagree.
    BadCollective(String),
}

impl Display for Cause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Trap => out.write_str("trap instruction"),
            Cause::Opaque(name) => write!(out, "`{name}` is carried through as it is, and cannot be executed here"),
            Cause::Assertion(what) => write!(out, "assertion failed: {what}"),
            Cause::OutOfBounds { space, address, bytes, near } => {
                write!(out, "{bytes}-byte access out of bounds at {space} address {address:#x}")?;
                if near.is_empty() { Ok(()) } else { write!(out, " ({near})") }
            }
            Cause::Misaligned { space, address, bytes } => {
                write!(out, "misaligned {bytes}-byte access at {space} address {address:#x}")
            }
            Cause::ReadOnly { space, address } => write!(out, "write to read-only {space} address {address:#x}"),
            Cause::BadCall(what) => write!(out, "bad call: {what}"),
            Cause::BadIndex(index) => write!(out, "branch index {index} is out of range"),
            Cause::StackOverflow => out.write_str("stack overflow"),
            Cause::StacksTooLarge { limit } => {
                write!(out, "stack overflow: the stacks of all threads take more than {} MiB", limit >> 20)
            }
            Cause::BadBarrier(what) => write!(out, "bad barrier: {what}"),
            Cause::BadImage(what) => write!(out, "bad access to an image: {what}"),
            Cause::BadCopy(what) => write!(out, "bad bulk copy: {what}"),
            Cause::Unfinished => out.write_str(
                "the CTA has ended before this asynchronous operation on its shared memory, which nothing waits for",
            ),
            Cause::BadCollective(what) => write!(out, "bad collective: {what}"),
        }
    }
}

/// A thread that waits, when nothing can continue.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Waiter {
    /// The first of the waiting threads.
    pub thread: ThreadId,
    /// How many lanes of its warp wait with it.
    pub lanes: u32,
    /// Where.
    pub place: Place,
    /// For what.
    pub waits_for: String,
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// Every thread has ended.
    Finished,
    /// A thread trapped.
    Trapped {
        /// Why.
        cause: Cause,
        /// Who.
        thread: ThreadId,
        /// Where.
        place: Place,
    },
    /// The program's meaning came to depend on a value that nothing has defined.
    Undefined {
        /// On what.
        what: &'static str,
        /// Who.
        thread: ThreadId,
        /// Where.
        place: Place,
    },
    /// The step budget ran out.
    OutOfSteps {
        /// The warp instructions that it executed until then.
        executed: u64,
    },
    /// Nothing can continue.
    Deadlock(Vec<Waiter>),
}

impl Display for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Finished => out.write_str("finished"),
            Outcome::Trapped { cause, thread, place } => write!(out, "trapped: {cause}, {thread}, at {place}"),
            Outcome::Undefined { what, thread, place } => {
                write!(out, "undefined: {what} depends on a value that nothing has defined, {thread}, at {place}")
            }
            Outcome::OutOfSteps { executed } => {
                write!(out, "out of steps after {executed}", executed = counted(executed, "warp instruction"))
            }
            Outcome::Deadlock(waiters) => {
                write!(out, "deadlock:")?;
                for waiter in waiters.iter().take(8) {
                    let Waiter { thread, lanes, place, waits_for } = waiter;
                    write!(
                        out,
                        "\n  {thread} and {} wait for {waits_for} at {place}",
                        counted(lanes - 1, "more lane")
                    )?;
                }
                Ok(())
            }
        }
    }
}
