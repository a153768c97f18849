//! The instruction that another one becomes, and whether the machine has a word for it that fits in its place.

use oriole_ir::{Function, Inst, InstHead, MachineId, Modifiers, Operand, RegFile};
use oriole_rules::machine::{self as rules, Instance, Kind};
use oriole_sass::class::{Class, Latency};
use oriole_sass::ori;
use oriole_sass::{Encoding, Table};
use smallvec::SmallVec;

use super::matcher::{Binding, marks};
use super::values::{Several, Values};

/// An instruction that another one may become.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Candidate {
    pub id: MachineId,
    pub dsts: SmallVec<[Operand; 4]>,
    pub srcs: SmallVec<[Operand; 8]>,
}

/// A function whose instructions are rewritten.
pub(super) struct Builder<'a> {
    pub func: &'a mut Function,
    pub table: &'static Table,
    /// Whether nothing overlaps in its code ([`Function::is_serial`]).
    pub is_serial: bool,
}

impl Candidate {
    /// The instruction as it is, as an instruction of the machine.
    pub fn of(func: &Function, inst: Inst) -> Option<Candidate> {
        let id = func.inst(inst).machine()?;
        let (dsts, srcs) = (func.dsts(inst), func.srcs(inst));
        Some(Candidate { id, dsts: dsts.into(), srcs: srcs.into() })
    }
}

impl Builder<'_> {
    /// The result of a rule, if registers hold what it reads.
    pub fn result(&mut self, values: &Values, instance: &Instance, binding: &Binding) -> Option<Candidate> {
        let rules::Inst { id, results, operands } = &instance.result;
        let dsts = results.iter().map(|result| self.dst(result, binding)).collect::<Option<_>>()?;
        let srcs = operands.iter().map(|operand| self.src(values, operand, binding)).collect::<Option<_>>()?;
        Some(Candidate { id: *id, dsts, srcs })
    }

    fn dst(&self, result: &rules::Operand, binding: &Binding) -> Option<Operand> {
        match result.kind {
            Kind::Wired(file, words) => Some(Operand::wired(file, words)),
            Kind::Value(value, _) => Some(binding.values[value].as_ref()?.operand),
            _ => None,
        }
    }

    fn src(&mut self, values: &Values, operand: &rules::Operand, binding: &Binding) -> Option<Operand> {
        let bits = |constant: &rules::Const| constant.value(&binding.constants);
        let (plain, own) = match &operand.kind {
            Kind::Wired(file, words) => (Operand::wired(*file, *words), Modifiers::NONE),
            Kind::Constant(constant) => (self.func.imm(bits(constant)?), Modifiers::NONE),
            Kind::Bank(bank, offset) => {
                let bank = u8::try_from(bits(bank)?).ok()?;
                (Operand::constant(bank, u32::try_from(bits(offset)?).ok()?), Modifiers::NONE)
            }
            Kind::Value(value, _) => {
                let bound = binding.values[*value].as_ref()?;
                (self.held(values, &bound.values, bound.operand)?, marks(bound.operand))
            }
            Kind::Any | Kind::Register(_) => return None,
        };
        plain.with_modifiers(if operand.any_marks { own } else { operand.marks })
    }

    /// An operand, without marks, that has these values here: the one that had them, unless it is another's register
    /// now. Where code overlaps, no other register is taken: what it holds may not be there yet.
    pub fn held(&self, values: &Values, wanted: &Several, operand: Operand) -> Option<Operand> {
        let operand = operand.with_modifiers(Modifiers::NONE)?;
        let Some(reg) = operand.whole_reg() else { return Some(operand) };
        if values.of_reg(self.func, reg) == *wanted {
            return Some(operand);
        }
        let file = self.func.regs()[reg].file;
        let is_general = matches!(file, RegFile::R | RegFile::P) && self.is_serial;
        is_general.then(|| values.holder(self.func, file, wanted)).flatten().map(Operand::Reg)
    }

    /// Whether the SM has a word for an instruction in the place of another one.
    pub fn has_word(&self, inst: Inst, candidate: &Candidate) -> bool {
        self.class(inst, candidate).is_some()
    }

    /// The encoding of the word of an instruction in the place of another one, if the SM has one.
    pub fn encoding(&self, inst: Inst, candidate: &Candidate) -> Option<&'static Encoding> {
        let mnemonic = oriole_ir::machine::table()?.mnemonic(candidate.id)?;
        let (guard, Candidate { dsts, srcs, .. }) = (self.func.inst(inst).guard, candidate);
        self.table.find(ori::encode(self.table, self.func, &mnemonic, guard, dsts, srcs)?)
    }

    /// The class of that word.
    fn class(&self, inst: Inst, candidate: &Candidate) -> Option<Class> {
        self.encoding(inst, candidate).map(|encoding| encoding.class)
    }

    /// Whether an instruction can be another one: the SM has a word for it, and results are there no later, by the same
    /// means.
    pub fn fits(&self, inst: Inst, candidate: &Candidate) -> bool {
        let func = &*self.func;
        let opcode = func.machine_opcode(candidate.id, &candidate.srcs);
        let is_like = opcode == Some(func.inst(inst).opcode);
        let Some(new) = self.class(inst, candidate).filter(|_| is_like) else { return false };
        let Some(old) = Candidate::of(func, inst).and_then(|old| self.class(inst, &old)) else { return false };
        self.is_in_time(inst, &old, &new, candidate)
    }

    /// Whether results are there in time. Where code overlaps, units take longer for what another one made, and some
    /// operands are read later than others: there an instruction stays what it is, and its registers where they are.
    fn is_in_time(&self, inst: Inst, old: &Class, new: &Class, candidate: &Candidate) -> bool {
        let Some(schedule) = self.func.schedule(inst) else { return true };
        if !self.is_serial {
            let srcs = self.func.srcs(inst);
            let stays = |(new, old): (&Operand, &Operand)| new == old || new.reg().is_none();
            let is_same = self.func.inst(inst).machine() == Some(candidate.id) && candidate.srcs.len() == srcs.len();
            return is_same
                && candidate.srcs.iter().zip(srcs).all(stays)
                && candidate.dsts[..] == *self.func.dsts(inst);
        }
        match (old.latency, new.latency) {
            (Latency::Fixed(before), Latency::Fixed(after)) => after <= before.max(schedule.stall),
            (Latency::Variable, Latency::Fixed(after)) => after <= schedule.stall,
            (Latency::Variable, Latency::Variable) => (old.pipe, old.sources) == (new.pipe, new.sources),
            (Latency::Fixed(_), Latency::Variable) => false,
        }
    }

    /// Makes an instruction another one. What sets no barrier any longer says so.
    pub fn replace(&mut self, inst: Inst, candidate: &Candidate) {
        let Candidate { id, dsts, srcs } = candidate;
        let opcode = self.func.machine_opcode(*id, srcs).expect("it fits");
        let head = InstHead { opcode, fields: id.fields(), ..self.func.inst(inst).head() };
        let schedule = self.func.schedule(inst);
        let is_timed =
            oriole_ir::machine::table().and_then(|table| table.row(id.row)).is_some_and(|row| row.latency.is_some());
        self.func.set_inst(inst, head, dsts, srcs, &[]);
        let schedule = schedule.map(|mut schedule| {
            if is_timed {
                (schedule.write_barrier, schedule.read_barrier) = (None, None);
            }
            schedule
        });
        self.func.set_schedule(inst, schedule);
        self.func.set_unsaid_bits(inst, 0);
    }
}
