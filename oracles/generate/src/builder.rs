//! A function under construction: where code goes, and the values that it can use.
//!
//! Functions are made in virtual form. *Variables* are registers that the prologue defines and any block may read and
//! write, so every path through every graph finds them defined; SSA construction turns them into phis, and guarded
//! writes to them into instructions with `else`. *Temporaries* live in one block. A temporary that nothing has used
//! when its block ends is folded into the checksum, so that a wrong bit reaches the outputs.

use std::collections::VecDeque;

use oriole_ir::ops::{Field, FieldValue, FieldValues, Opcode, Type};
use oriole_ir::sm::Target;
use oriole_ir::{Block, FuncId, Function, Guard, InstBuilder, Local, Operand, Reg, RegInfo};

use super::config::Config;
use super::entropy::Entropy;
use super::fields::fields;
use super::image::Pool;
use super::kinds::Kinds;
use super::memory::Region;
use super::multimem::Multicast;
use super::recompute::Made;

/// A value that a block has made.
#[derive(Clone, Copy, Debug)]
struct Temporary {
    reg: Reg,
    used: bool,
}

/// What holds where code goes now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// All threads of the cluster come here equally often, so they may wait for each other.
    pub uniform: bool,
    /// How deep branches and loops are nested.
    pub depth: u32,
    /// How often enclosing loops run this together.
    pub trips: u32,
}

/// The function and all that generating it needs.
pub(super) struct Builder<'a, 'b> {
    pub entropy: &'a mut Entropy<'b>,
    pub config: &'a Config,
    pub kinds: Kinds,
    pub func: Function,
    pub block: Block,
    pub flow: Flow,
    /// Instructions that may still be made.
    pub budget: u32,
    pub regions: Vec<Region>,
    /// Variables in global memory that nothing writes, by name.
    pub tables: Vec<Operand>,
    /// One that the first thread of the grid may write and nobody else accesses.
    pub sole: Option<Operand>,
    /// Where the regions of all threads in shared memory begin.
    pub shared: Option<Reg>,
    /// Cells that all threads change with one operation each; their address.
    pub cells: Option<Reg>,
    /// The thread's slot of the results.
    pub results: Option<Reg>,
    /// Functions that can be called.
    pub callees: Vec<FuncId>,
    /// The function that accesses a region of which it gets the address.
    pub touching: Option<FuncId>,
    /// The parameter variables of the calls so far: of the result, and of the arguments.
    pub parameters: Vec<[Local; 3]>,
    /// The module's textures and surfaces, in a function that may have them.
    pub images: Option<Pool>,
    /// The thread's multicast memory, in a kernel that has some.
    pub multicast: Option<Multicast>,
    /// Threads of a block; a multiple of 32.
    pub threads: u32,
    /// Blocks of a cluster.
    pub cluster: u32,
    /// Registers that hold the same value in all threads of the cluster, and the bits of each that may be set.
    pub uniforms: Vec<(Reg, u32)>,
    /// Predicates that half of a warp's threads have each.
    pub splits: Vec<Reg>,
    /// The thread's number in its warp.
    pub lane: Option<Reg>,
    /// Whether operands may be words of the constant bank.
    pub bank: bool,
    /// A field's value that instructions of an opcode get wherever it is legal.
    pub pin: Option<(Opcode, Field, u8)>,
    /// The one target that the kernel is for, and whether it has something that came later than Hopper already.
    pub only: Option<Target>,
    pub is_late: bool,
    /// The checksum, 32 bits and 64.
    pub sums: [Reg; 2],
    pub variables: Vec<Reg>,
    /// A word that some block has made and nothing uses.
    pub forgotten: Option<Reg>,
    /// A word that a block has read and nothing has made yet; the next word that another block makes.
    pub awaited: Option<(Reg, Block)>,
    /// The last operations that were made.
    pub made: VecDeque<Made>,
    temporaries: Vec<Temporary>,
}

impl<'a, 'b> Builder<'a, 'b> {
    /// An empty function with an entry block and no values but the checksum.
    pub(super) fn new(mut func: Function, entropy: &'a mut Entropy<'b>, config: &'a Config) -> Builder<'a, 'b> {
        let block = func.new_block();
        let swarm = entropy.percent(config.swarm);
        let kinds = Kinds::draw(swarm, entropy);
        let sums = [1, 2].map(|words| func.new_reg(RegInfo::words(words)));
        Builder {
            entropy,
            config,
            kinds,
            func,
            block,
            flow: Flow { uniform: true, depth: 0, trips: 1 },
            budget: 0,
            shared: None,
            regions: Vec::new(),
            tables: Vec::new(),
            sole: None,
            cells: None,
            results: None,
            callees: Vec::new(),
            touching: None,
            parameters: Vec::new(),
            images: None,
            multicast: None,
            threads: 32,
            cluster: 1,
            uniforms: Vec::new(),
            splits: Vec::new(),
            lane: None,
            bank: false,
            pin: None,
            only: None,
            is_late: false,
            sums,
            variables: Vec::new(),
            forgotten: None,
            awaited: None,
            made: VecDeque::new(),
            temporaries: Vec::new(),
        }
    }

    pub(super) fn info(&self, reg: Reg) -> RegInfo {
        self.func.regs()[reg]
    }

    /// Whether nothing more should be made.
    pub(super) fn is_done(&self) -> bool {
        self.budget == 0 || self.entropy.is_exhausted()
    }

    /// Appends an instruction to the current block.
    pub(super) fn push(&mut self, inst: &InstBuilder) {
        inst.append(&mut self.func, self.block);
        self.budget = self.budget.saturating_sub(1);
    }

    /// Appends an instruction with one new result that is not offered to others.
    pub(super) fn hidden(&mut self, inst: InstBuilder, info: RegInfo) -> Reg {
        let reg = self.func.new_reg(info);
        self.push(&inst.dst(reg));
        reg
    }

    /// An instruction of an opcode in a type, other fields at their defaults.
    pub(super) fn typed(opcode: Opcode, ty: Type) -> InstBuilder {
        InstBuilder::new(opcode).field(ty)
    }

    /// Fields of an opcode of which some are fixed; see [`fields`].
    pub(super) fn fields(&mut self, opcode: Opcode, fixed: &[(Field, u8)]) -> Option<FieldValues> {
        let percent = &self.config.operand;
        let found = match self.pin {
            Some((pinned, field, value)) if pinned == opcode && fixed.iter().all(|(other, _)| *other != field) => {
                let fixed: Vec<(Field, u8)> = fixed.iter().copied().chain([(field, value)]).collect();
                fields(opcode.row(), self.entropy, percent, &fixed)
            }
            _ => fields(opcode.row(), self.entropy, percent, fixed),
        };
        let has =
            |fields: &FieldValues| self.only.is_none_or(|target| opcode.row().missing_on(target, fields).is_none());
        found.filter(has)
    }

    /// Offers a register of this block to later instructions.
    pub(super) fn offer(&mut self, reg: Reg) {
        self.temporaries.push(Temporary { reg, used: false });
    }

    /// A destination: new, or a variable. A guarded instruction writes variables, which have an old value; there is one
    /// of each file and width.
    pub(super) fn destination(&mut self, info: RegInfo, guarded: bool) -> Reg {
        let kind = |reg: &Reg| self.func.regs()[*reg] == info;
        let fitting: Vec<Reg> = self.variables.iter().copied().filter(kind).collect();
        let variable = guarded || self.entropy.percent(self.config.operand.variable);
        if variable && !fitting.is_empty() {
            return self.entropy.choose(&fitting);
        }
        let awaited = |(_, block): &mut (Reg, Block)| *block != self.block && info == RegInfo::words(1);
        let reg = match self.awaited.take_if(awaited) {
            Some((reg, _)) => reg,
            None => self.func.new_reg(info),
        };
        self.offer(reg);
        reg
    }

    /// A register of this file and width that is defined here.
    pub(super) fn register(&mut self, info: RegInfo) -> Reg {
        let fits = |builder: &Self, at: usize| builder.info(builder.temporaries[at].reg) == info;
        let fresh: Vec<usize> = (0..self.temporaries.len()).filter(|at| fits(self, *at)).collect();
        let variables: Vec<Reg> = self.variables.iter().copied().filter(|reg| self.info(*reg) == info).collect();
        let recent = fresh.last().copied().filter(|_| self.entropy.percent(self.config.operand.recent));
        let pick = recent.unwrap_or_else(|| self.entropy.below(fresh.len() + variables.len()));
        let at = match recent {
            Some(at) => Some(at),
            None => fresh.get(pick).copied(),
        };
        if let Some(at) = at {
            self.temporaries[at].used = true;
            return self.temporaries[at].reg;
        }
        variables[pick - fresh.len()]
    }

    /// A predicate, possibly negated, to guard with.
    pub(super) fn guard(&mut self) -> Option<Guard> {
        let percent = self.config.operand.guard;
        self.entropy.percent(percent).then(|| {
            let reg = self.register(RegInfo::PRED);
            Guard::new(reg, self.entropy.percent(30))
        })
    }

    /// Folds what nothing has used into the checksum. What is hidden from it cannot be checked.
    pub(super) fn settle(&mut self) {
        for Temporary { reg, used } in std::mem::take(&mut self.temporaries) {
            if !used {
                self.fold(reg);
            }
        }
    }

    /// Does something that may end blocks without folding what this block has made so far into the checksum; that is
    /// offered again behind, where control always comes.
    pub(super) fn unsettled(&mut self, inside: impl FnOnce(&mut Self)) {
        let before = std::mem::take(&mut self.temporaries);
        inside(self);
        self.settle();
        self.temporaries = before;
    }

    pub(super) fn fold(&mut self, reg: Reg) {
        let [word, double] = self.sums;
        match (self.info(reg).is_predicate(), self.info(reg).words) {
            (true, _) => {
                let bit = Self::typed(Opcode::SelP, Type::U32).src(Operand::imm(0x9E37)).src(Operand::imm(1)).src(reg);
                let bit = self.hidden(bit, RegInfo::words(1));
                self.mix(word, Type::U32, Operand::Reg(bit));
            }
            (_, 1) => self.mix(word, Type::U32, Operand::Reg(reg)),
            (_, 2) => self.mix(double, Type::U64, Operand::Reg(reg)),
            (_, words) => (0..words).for_each(|at| self.mix(word, Type::U32, Operand::Word(reg, at))),
        }
    }

    /// Multiplying by an odd number keeps every difference, and makes the order count.
    pub(super) fn mix(&mut self, sum: Reg, ty: Type, value: Operand) {
        let inst = Self::typed(Opcode::IMadLo, ty).src(sum).src(Operand::imm(0x0100_0193)).src(value);
        self.push(&inst.dst(sum));
    }

    /// Ends the block with a terminator, and continues in another one.
    pub(super) fn end(&mut self, terminator: &InstBuilder, next: Block) {
        self.settle();
        terminator.append(&mut self.func, self.block);
        self.block = next;
    }

    /// Ends the block by going to another one, and continues in `next`.
    pub(super) fn jump(&mut self, to: Block, next: Block) {
        self.end(&InstBuilder::new(Opcode::Bra).src(to), next);
    }

    /// Ends the block with a branch on a predicate, and continues in `next`.
    pub(super) fn branch(&mut self, on: Operand, [yes, no]: [Block; 2], next: Block) {
        self.end(&InstBuilder::new(Opcode::CBra).src(on).src(yes).src(no), next);
    }

    /// A predicate that differs from thread to thread, or not where `uniform`.
    pub(super) fn condition(&mut self, uniform: bool) -> Operand {
        if uniform && !self.uniforms.is_empty() {
            let uniforms = self.uniforms.clone();
            let (value, bits) = self.entropy.choose(&uniforms);
            let bit = self.entropy.between(0, bits - 1);
            return Operand::Reg(self.bit_of(value, bit));
        }
        let on = self.register(RegInfo::PRED);
        if self.splits.is_empty() || !self.entropy.percent(self.config.operand.split) {
            return Operand::Reg(on);
        }
        let splits = self.splits.clone();
        let split = self.entropy.choose(&splits);
        let both = Self::typed(Opcode::Xor, Type::Pred).src(on).src(split);
        Operand::Reg(self.hidden(both, RegInfo::PRED))
    }

    /// A hidden predicate: whether a bit of a word is set.
    pub(super) fn bit_of(&mut self, word: Reg, bit: u32) -> Reg {
        let masked = Self::typed(Opcode::And, Type::B32).src(word).src(1 << bit);
        let masked = self.hidden(masked, RegInfo::words(1));
        self.compare(oriole_ir::ops::Compare::Ne, masked.into(), 0)
    }

    /// A hidden predicate: an unsigned comparison with a constant.
    pub(super) fn compare(&mut self, how: oriole_ir::ops::Compare, value: Operand, with: u64) -> Reg {
        let inst = Self::typed(Opcode::SetP, Type::U32).field(how).src(value).src(with);
        self.hidden(inst, RegInfo::PRED)
    }
}

/// The index of a field's value, for fixed fields.
pub(super) fn fixed<F: FieldValue>(value: F) -> (Field, u8) {
    (F::FIELD, value.index())
}
