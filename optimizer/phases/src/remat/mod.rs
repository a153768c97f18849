//! OriDoRemat (binary slot 80, `spec/instruction-movement.txt`, line 247) and `remat` of cicc
//! (`spec/pass-pipeline.txt`, lines 204 and 144: NVVMRematerialization): cheap values are computed again where they are
//! read, instead of being kept in registers up to there.
//!
//! The pages give names, places and knobs. The method is that of rematerialization under pressure alone (Briggs, Cooper
//! and Torczon, "Rematerialization", 1992, for what is cheap; nothing is done where registers suffice). Where more
//! words of general registers are live than there are,
//!
//! 1. values are found that are cheap and whose operands are there anyway wherever they are read (`candidates.rs`);
//! 2. for each point with too many words, cheapest values first, so many are chosen as are needed (`choice.rs`);
//! 3. each of them is computed again in front of every instruction that reads it, but for those that read it before the
//!    first such point of its block. A definition that nobody reads then goes.
//!
//! All this is tried on a copy. Where the most words that are live anywhere are not fewer there, the function stays as
//! it is: so no value is computed twice for nothing. Then it begins anew, since a value may have become the operand of
//! one that was chosen.
//!
//! OriDoRemat asks for the registers that the knob `SplitLiveRangesBudget` says, or a thread can name. `remat` takes
//! the least of these and of its parameters `remat-max-live-limit` and `remat-maxreg-ceiling`; `remat-use-limit` bounds
//! the readers of a value, `remat-single-cost-limit` its cost in the table of opcodes, and `remat-load-param=0` leaves
//! parameters where they are loaded. The others of the eleven parameters are about things that this method has no use
//! for.
//!
//! Cost: linear where there are registers enough; else [`ROUNDS`] times liveness, and the live candidates at each point
//! that has too many, up to a limit.

mod candidates;
mod choice;

use candidates::{Candidate, candidates};
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Inst, Operand, Reg, RegFile};
use oriole_pass::analysis::{AnalysisSet, Cfg, Liveness, Pressure};
use oriole_pass::engine::registers::{budget, pressure, words_in_all};
use oriole_pass::pass::{Changed, Knob, Objection, PassOption, PhaseContext};

const RULE: &str = "compute-again";

/// How often a function is looked at again.
const ROUNDS: usize = 8;

/// Bounds on the values that are computed again.
#[derive(Clone, Copy)]
struct Limits {
    /// The registers that there are.
    registers: u32,
    /// Readers of a value, at most.
    uses: usize,
    /// The cost of a value in the table of opcodes, at most: that of two simple operations.
    cost: u32,
    /// Whether parameters are loaded again.
    parameters: bool,
}

impl Limits {
    fn of(func: &Function, cx: &PhaseContext<'_>) -> Limits {
        let registers = budget(func, cx.knobs.limit(Knob::SplitLiveRangesBudget));
        Limits { registers, uses: 4, cost: 4, parameters: true }
    }
}

/// OriDoRemat.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let limits = Limits::of(func, cx);
    remat(func, cx, limits)
}

/// `remat` of cicc.
pub fn of_cicc(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let mut limits = Limits::of(func, cx);
    let given = ["remat-max-live-limit", "remat-maxreg-ceiling"].map(|name| parameter(cx, name));
    limits.registers = given.into_iter().flatten().fold(limits.registers, u32::min);
    limits.uses = parameter(cx, "remat-use-limit").map_or(limits.uses, |most| most as usize);
    limits.cost = parameter(cx, "remat-single-cost-limit").unwrap_or(limits.cost);
    limits.parameters = parameter(cx, "remat-load-param").is_none_or(|loads| loads != 0);
    remat(func, cx, limits)
}

/// The number that a parameter of cicc was set to. Another text is an objection.
fn parameter(cx: &PhaseContext<'_>, name: &str) -> Option<u32> {
    let text = PassOption::named(name).and_then(|option| cx.pass_options.text(option))?;
    let number = text.trim().parse().ok();
    if number.is_none() {
        cx.object(Objection::to_arguments(format!("`{name}={text}` is no number: write one, as in `{name}=64`")));
    }
    number
}

fn remat(func: &mut Function, cx: &mut PhaseContext<'_>, limits: Limits) -> Changed {
    let mut changed = Changed::No;
    if words_in_all(func, RegFile::R) <= u64::from(limits.registers) {
        return changed;
    }
    for _ in 0..ROUNDS {
        let now = pressure(func, cx);
        if now.max().of(RegFile::R) <= limits.registers {
            break;
        }
        let found = candidates(func, cx, limits);
        let chosen = choice::choose(func, cx, &now, found, limits.registers);
        let Some(least) = tried(func, &chosen).filter(|most| *most < now.max().of(RegFile::R)) else { break };
        cx.remark("dump-remat", || {
            let (name, most) = (&func.name, now.max().of(RegFile::R));
            format!(
                "`{name}`: {most} words are live at most, and {least} once {} values are computed again",
                chosen.len()
            )
        });
        for candidate in &chosen {
            if !cx.rewrite(RULE) {
                return changed;
            }
            let name = func.inst(candidate.inst).opcode.row().name;
            cx.remark("dump-remat-add", || {
                format!("{} ({name}) at {} readers", candidate.reg, candidate.readers.len())
            });
            apply(func, candidate);
            changed = Changed::Yes;
        }
        cx.analyses.retain(AnalysisSet::CONTROL_FLOW);
    }
    changed
}

/// The most words that are live once values are computed again; `None` where none was chosen.
fn tried(func: &Function, chosen: &[Candidate]) -> Option<u32> {
    if chosen.is_empty() {
        return None;
    }
    let mut trial = func.clone();
    chosen.iter().for_each(|candidate| apply(&mut trial, candidate));
    let cfg = Cfg::new(&trial);
    let pressure = Pressure::compute(&trial, &cfg, &Liveness::solve(&trial, &cfg));
    Some(pressure.max().of(RegFile::R))
}

/// A reader of a value: an instruction, and for a phi the block at whose end it reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Reader {
    inst: Inst,
    block: Block,
}

/// Computes a value again for each of its readers.
fn apply(func: &mut Function, candidate: &Candidate) {
    for reader in &candidate.readers {
        let is_phi = func.inst(reader.inst).opcode == Opcode::Phi;
        let before = if is_phi { func.terminator(reader.block) } else { Some(reader.inst) };
        let copy = again(func, candidate, before.expect("a block ends with a branch"));
        match is_phi {
            true => read_from(func, *reader, candidate.reg, copy),
            false => read(func, reader.inst, candidate.reg, copy),
        }
    }
    if candidate.stays.is_empty() {
        func.remove_inst(candidate.inst);
    }
}

/// A copy of the definition in front of an instruction.
fn again(func: &mut Function, candidate: &Candidate, before: Inst) -> Reg {
    let copy = func.new_reg(func.regs()[candidate.reg]);
    let (head, srcs) = (func.inst(candidate.inst).head(), func.srcs(candidate.inst).to_vec());
    let inst = func.new_inst(head, &[copy.into()], &srcs, &[]);
    func.insert_before(before, inst);
    copy
}

fn read(func: &mut Function, inst: Inst, old: Reg, new: Reg) {
    let name = |reg: Reg| if reg == old { new } else { reg };
    func.inputs_mut(inst).iter_mut().for_each(|input| *input = input.map_reg(name));
    if let Some(guard) = func.inst(inst).guard {
        func.set_guard(inst, Some(guard.with_reg(name(guard.reg()))));
    }
}

fn read_from(func: &mut Function, reader: Reader, old: Reg, new: Reg) {
    for pair in func.srcs_mut(reader.inst).chunks_exact_mut(2) {
        if pair[1] == Operand::Block(reader.block) {
            pair[0] = pair[0].map_reg(|reg| if reg == old { new } else { reg });
        }
    }
}
