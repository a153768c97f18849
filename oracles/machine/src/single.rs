//! One word by itself, on registers that the caller sets and reads: for tests of what words mean.

use oriole_interp::{ClusterShape, GlobalMemory, Images, LaneOrder};
use oriole_launch::Launch;
use oriole_sass::Table;
use oriole_sass::class::{Flow, Memory, Order};

use super::decode::decode;
use super::lanes::LANES;
use super::launch::Banks;
use super::machine::{Cta, Machine};
use super::program::{Kind, LITERALS, Op, Pred, TRUE, UNIFORM, UNIFORM_PREDICATES, Used};
use super::state::{Group, Wait};

/// The registers of a warp of 32 lanes. The last register of each file, which is constant, is not among them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Registers {
    /// General registers: a word for each lane.
    pub general: Vec<[u32; LANES]>,
    /// Uniform registers.
    pub uniform: Vec<u32>,
    /// Predicates: a mask of lanes each.
    pub predicates: [u32; 7],
    /// Uniform predicates.
    pub uniform_predicates: [bool; 7],
}

/// Why a word was not executed by itself.
#[derive(Debug, thiserror::Error)]
pub enum SingleError {
    /// It has no meaning to the interpreter.
    #[error("{0}")]
    Unknown(String),
    /// It does more than compute registers from registers.
    #[error("the word does more than compute registers from registers")]
    Effects,
}

/// How many general and uniform registers there are, without the constant ones.
pub const GENERAL_REGISTERS: usize = 255;
/// See [`GENERAL_REGISTERS`].
pub const UNIFORM_REGISTERS: usize = 255;

impl Registers {
    /// Registers that are all zero.
    pub fn new() -> Registers {
        Registers {
            general: vec![[0; LANES]; GENERAL_REGISTERS],
            uniform: vec![0; UNIFORM_REGISTERS],
            predicates: [0; 7],
            uniform_predicates: [false; 7],
        }
    }

    /// Executes a word of an SM in all lanes; `constant` says what words of constant banks hold, by bank and offset in
    /// bytes.
    ///
    /// # Errors
    ///
    /// If the interpreter knows no meaning of the word, or the word does more than compute registers from registers.
    pub fn execute(&mut self, table: &Table, word: u128, constant: impl Fn(u8, u32) -> u32) -> Result<(), SingleError> {
        let class = table.decode(word).map_err(|error| SingleError::Unknown(error.to_string()))?.encoding.class;
        if (class.memory, class.order, class.flow) != (Memory::None, Order::Free, Flow::Next) || class.convergent {
            return Err(SingleError::Effects);
        }
        let mut program = decode(table, &[word], vec![(0, "word".to_owned())], None);
        if let [Op { kind: Kind::Unknown(why), .. }] = &program.ops[..] {
            return Err(SingleError::Unknown(why.clone()));
        }
        program.used = Used::ALL;
        let mut literals = program.literals.clone();
        for known in &program.constants {
            literals[known.at] = [constant(known.bank, known.offset as u32); LANES];
        }
        let launch = Launch::parse(LAUNCH, "word", |_, _| Ok(Vec::new()));
        let launch = launch.map_err(|error| SingleError::Unknown(error.to_string()))?;
        let mut machine = Machine {
            program: &program,
            externals: &[],
            literals: &literals,
            banks: &Banks::new(),
            launch: &launch,
            cluster: ClusterShape { extents: [1; 3], is_explicit: false },
            peers: Vec::new(),
            entry: 0,
            global: GlobalMemory::default(),
            images: &Images::default(),
            shared: 0,
            local: 0,
            slice: 1,
            order: LaneOrder::default(),
            has_orders: false,
            executed: 0,
            counts: None,
            budget: u64::MAX,
            hint: 0,
            watch: Vec::new(),
            writes: Vec::new(),
            trace: None,
        };
        let mut cta = machine.cta([0; 3], 0);
        self.enter(&mut cta);
        let Op { guard, kind } = &program.ops[0];
        let active = self.holds(*guard);
        let group = Group { pc: 0, mask: u32::MAX, wait: Wait::Ready, turns: 0 };
        if active != 0 {
            let done = machine.execute(&mut cta, 0, 0, group, active, kind);
            done.map_err(|_| SingleError::Effects)?;
        }
        self.leave(&cta);
        Ok(())
    }

    /// The lanes in which a guard holds.
    fn holds(&self, guard: Pred) -> u32 {
        let number = usize::from(guard.at % UNIFORM_PREDICATES);
        let held = match () {
            () if guard.at % UNIFORM_PREDICATES == TRUE => u32::MAX,
            () if guard.at < UNIFORM_PREDICATES => self.predicates[number],
            () if self.uniform_predicates[number] => u32::MAX,
            () => 0,
        };
        if guard.not { !held } else { held }
    }

    /// Puts them into the warp of a CTA.
    fn enter(&self, cta: &mut Cta) {
        let warp = &mut cta.warps[0];
        assert!(warp.rows.len() == usize::from(LITERALS), "a warp has every register");
        warp.rows[..GENERAL_REGISTERS].copy_from_slice(&self.general);
        for (row, word) in warp.rows[usize::from(UNIFORM)..].iter_mut().zip(&self.uniform) {
            *row = [*word; LANES];
        }
        warp.preds[..7].copy_from_slice(&self.predicates);
        for (held, holds) in warp.preds[usize::from(UNIFORM_PREDICATES)..].iter_mut().zip(self.uniform_predicates) {
            *held = if holds { u32::MAX } else { 0 };
        }
    }

    /// Takes them from the warp of a CTA.
    fn leave(&mut self, cta: &Cta) {
        let warp = &cta.warps[0];
        self.general.copy_from_slice(&warp.rows[..GENERAL_REGISTERS]);
        for (word, row) in self.uniform.iter_mut().zip(&warp.rows[usize::from(UNIFORM)..]) {
            *word = row[0];
        }
        self.predicates.copy_from_slice(&warp.preds[..7]);
        for (holds, held) in self.uniform_predicates.iter_mut().zip(&warp.preds[usize::from(UNIFORM_PREDICATES)..]) {
            *holds = *held != 0;
        }
    }
}

impl Default for Registers {
    fn default() -> Registers {
        Registers::new()
    }
}

/// A launch of one warp.
const LAUNCH: &str = "kernel = \"word\"\ngrid = [1, 1, 1]\nblock = [32, 1, 1]\n";
