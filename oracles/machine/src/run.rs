//! From a kernel and a launch to a run, and from a run to its results.

use oriole_interp::launch::Launch;
use oriole_interp::{
    Bound, Bytes, GlobalState, HEAP, LOCAL_WINDOW, Outcome, Place, RunOptions, RunResult, SHARED_WINDOW, StoreRecord,
    ThreadId, Waiter,
};
use oriole_sass::{Table, text};

use super::decode::decode;
use super::launch::{Banks, DriverArea};
use super::machine::{End, Machine, SLICE, Stop, Stopped};
use super::program::Program;
use super::state::Wait;

/// Operations that a run may execute if nothing else is said.
const DEFAULT_STEPS: u64 = 1 << 28;
/// The stack that a thread has beyond what the kernel says, for functions that call themselves.
const STACK: usize = 1 << 15;
/// The most local memory that a thread has.
const MOST_LOCAL: usize = 512 << 10;
/// Shared memory that a CTA has below its own variables.
const RESERVED_SHARED: usize = 1 << 10;

/// Why a kernel does not run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RunError {
    /// The SM's words are not known.
    #[error("the words of sm_{0} are not known (known: {known})", known = known())]
    Sm(u16),
    /// An operation that the interpreter does not have.
    #[error("`{place}` is not executed: {why}")]
    Unknown {
        /// The operation.
        place: String,
        /// Why not.
        why: String,
    },
}

fn known() -> String {
    oriole_sass::SMS.map(|sm| format!("sm_{sm}")).join(", ")
}

/// A kernel with all that it needs, placed in memory.
#[derive(Clone, Debug)]
pub struct Image {
    /// The SM's number.
    pub sm: u16,
    /// The words of all functions.
    pub words: Vec<u128>,
    /// The first words of functions, with their names, in order.
    pub functions: Vec<(u32, String)>,
    /// The kernel's first word.
    pub entry: u32,
    /// The constant banks, as the module fills them.
    pub banks: Banks,
    /// Bytes of static shared memory.
    pub shared: usize,
    /// Bytes of local memory that the kernel says it needs.
    pub stack: usize,
}

impl Image {
    /// Runs the kernel on a launch, which has been bound to the program that it was made of.
    ///
    /// # Errors
    ///
    /// If an operation is executed that the interpreter does not have.
    pub fn run(&self, launch: &Launch, bound: &Bound, options: &RunOptions) -> Result<RunResult, RunError> {
        let table = Table::of(self.sm).ok_or(RunError::Sm(self.sm))?;
        let mut banks = self.banks.clone();
        let local = (self.stack + STACK).next_multiple_of(512).min(MOST_LOCAL);
        let windows = [SHARED_WINDOW, LOCAL_WINDOW];
        banks.fill(&DriverArea::of(self.sm), launch, local as u32, windows, &bound.params);
        let program = decode(table, &self.words, self.functions.clone(), &banks);
        let watched = |(argument, offset): &(usize, usize)| {
            let region = bound.owners.iter().position(|owner| owner == argument)?;
            Some(bound.global.regions()[region].base + *offset as u64)
        };
        let mut machine = Machine {
            program: &program,
            banks: &banks,
            launch,
            entry: self.entry,
            global: bound.global.clone(),
            shared: (self.shared.max(RESERVED_SHARED) + launch.dynamic_shared as usize).next_multiple_of(16),
            local,
            slice: options.slice.map_or(SLICE, |slice| slice.clamp(1, SLICE.into()) as u32),
            executed: 0,
            budget: options.steps.or(launch.steps).unwrap_or(DEFAULT_STEPS),
            hint: 0,
            watch: options.watch.iter().filter_map(watched).collect(),
            writes: Vec::new(),
        };
        let end = machine.run();
        let names = Names { program: &program, table, launch };
        let outcome = names.outcome(end, machine.executed)?;
        let stores = machine.writes.iter().filter_map(|write| {
            let region = machine.global.find(0, write.address, 1)?;
            Some(StoreRecord {
                argument: *bound.owners.get(region)?,
                offset: (write.address - machine.global.region(region).base) as usize,
                bytes: write.bytes,
                thread: names.thread(write.ctaid, write.thread),
                place: names.place(write.pc),
            })
        });
        let stores = stores.collect();
        let executed = machine.executed;
        let regions = machine.global.into_regions().into_iter().filter(|region| region.base < HEAP).enumerate();
        let memory = regions.map(|(i, region)| GlobalState {
            argument: bound.owners.get(i).copied(),
            name: region.name,
            bytes: Bytes::defined(region.bytes.data().to_vec()),
        });
        Ok(RunResult {
            outcome,
            memory: memory.collect(),
            executed,
            steps: executed,
            stats: Default::default(),
            reached: Vec::new(),
            trace: Vec::new(),
            stores,
            races: Vec::new(),
            strong: Default::default(),
        })
    }
}

/// Names of places and threads.
struct Names<'a> {
    program: &'a Program,
    table: &'a Table,
    launch: &'a Launch,
}

impl Names<'_> {
    fn thread(&self, ctaid: [u32; 3], thread: u32) -> ThreadId {
        let [width, height, _] = self.launch.block;
        ThreadId { ctaid, tid: [thread % width, thread / width % height, thread / width / height] }
    }

    /// An operation: its function, its address there, its text.
    fn place(&self, pc: u32) -> Place {
        let at = self.program.functions.partition_point(|(first, _)| *first <= pc);
        let (first, function) = match at.checked_sub(1) {
            Some(at) => self.program.functions[at].clone(),
            None => (0, String::new()),
        };
        let address = u64::from(pc - first) * text::WORD_BYTES;
        let mut line = format!("/*{address:04x}*/ ");
        match self.program.words.get(pc as usize).map(|word| self.table.decode(*word)) {
            Some(Ok(instruction)) => text::print(&mut line, &instruction, address),
            Some(Err(error)) => line.push_str(&error.to_string()),
            None => line.push_str("behind the end"),
        }
        Place { function, line: 0, text: line }
    }

    fn outcome(&self, end: End, executed: u64) -> Result<Outcome, RunError> {
        Ok(match end {
            End::Finished => Outcome::Finished,
            End::Stopped(Stopped { stop: Stop::Trap { pc, lane, cause }, ctaid, first }) => {
                Outcome::Trapped { cause, thread: self.thread(ctaid, first + lane), place: self.place(pc) }
            }
            End::Stopped(Stopped { stop: Stop::Unknown { pc, why }, .. }) => {
                return Err(RunError::Unknown { place: self.place(pc).to_string(), why });
            }
            End::Stopped(Stopped { stop: Stop::Steps, .. }) => Outcome::OutOfSteps { executed },
            End::Deadlock(stuck) => Outcome::Deadlock(
                stuck
                    .into_iter()
                    .map(|stuck| Waiter {
                        thread: self.thread(stuck.ctaid, stuck.first + stuck.group.mask.trailing_zeros()),
                        lanes: stuck.group.mask.count_ones(),
                        place: self.place(stuck.group.pc.saturating_sub(1)),
                        waits_for: match stuck.group.wait {
                            Wait::Ready => "its turn".to_owned(),
                            Wait::Bsync(barrier) => format!("the lanes of B{barrier}"),
                            Wait::Warp(mask) | Wait::Collective(mask) => format!("the lanes of {mask:#010x}"),
                            Wait::Barrier(number) => format!("barrier {number}"),
                        },
                    })
                    .collect(),
            ),
        })
    }
}
