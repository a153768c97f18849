//! Values of the uniform datapath: what is the same in all lanes of a warp, in a register that the warp has once.
//!
//! A value moves there where it follows from parameters, constants and the number of the block alone, so that it is the
//! same whenever and for whichever lanes it is computed. `rows/uniform.txt` has the instructions that compute it there.
//! Each instruction has one twin and each reader takes the uniform register in its place, both asked of the encodings:
//! so nothing is executed beside what was. A value that only its own block reads remains in a general register, since a
//! uniform one is there later; what uniform values alone read goes with them.
//!
//! **Invariant:** lanes that have parted write the same value again, and the allocator gives a uniform register that
//! several blocks name a place of its own; so none finds another value there.

use std::sync::LazyLock;

use cranelift_entity::SecondaryMap;
use oriole_ir::ops::Opcode;
use oriole_ir::{FunctionKind, Inst, Operand, Reg, RegFile, RegInfo};
use smallvec::SmallVec;

use super::emit::{Emit, marked};

/// The most words that move: what is left is for addresses of images, barriers and copies.
const MOST: usize = 32;
/// Special registers that all lanes of a warp have alike.
const SPECIAL: [&str; 3] = ["SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z"];

/// The rows: an instruction and its twin.
static ROWS: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let lines = include_str!("rows/uniform.txt").lines().map(str::trim);
    let rows = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|row| {
        let mut words = row.split_whitespace();
        (words.next().expect("a row has two mnemonics"), words.next().expect("a row has two mnemonics"))
    })
    .collect()
});

/// An instruction's form on the uniform datapath.
struct Twin {
    mnemonic: String,
    dsts: SmallVec<[Operand; 4]>,
    srcs: SmallVec<[Operand; 8]>,
}

/// A value that may move.
#[derive(Clone)]
struct Candidate {
    definition: Inst,
    uses: SmallVec<[(Inst, usize); 4]>,
    /// The uniform register.
    to: Reg,
}

type Candidates = SecondaryMap<Reg, Option<Candidate>>;

impl Emit {
    /// Moves values to the uniform datapath.
    pub fn make_uniform(&mut self) {
        let calls = |inst: Inst| self.func.is_machine_call(inst);
        if self.func.kind != FunctionKind::Entry || self.func.layout_insts().any(calls) {
            return;
        }
        let mut candidates = self.candidates();
        let order: Vec<Reg> = candidates.keys().filter(|reg| candidates[*reg].is_some()).collect();
        // What cannot move keeps others from moving: this ends when all that is left can, since each round takes one
        // out. Two values that one reader would take are told apart last, when it is known which of them there are.
        for alone in [false, true] {
            let mut work = order.clone();
            while let Some(reg) = work.pop() {
                let Some(candidate) = candidates[reg].clone() else { continue };
                if !self.can_move(&candidate, &candidates, alone) {
                    candidates[reg] = None;
                    // The values that it follows from, and those that follow from it, may not move either.
                    let before = self.func.srcs(candidate.definition).iter();
                    let behind = candidate.uses.iter().flat_map(|(inst, _)| self.func.dsts(*inst));
                    work.extend(before.chain(behind).filter_map(|operand| operand.reg()));
                }
            }
        }
        let moved: Vec<Reg> = order.into_iter().filter(|reg| candidates[*reg].is_some()).collect();
        if moved.iter().map(|reg| usize::from(self.func.regs()[*reg].words)).sum::<usize>() > MOST {
            return;
        }
        for reg in &moved {
            let Some(candidate) = candidates[*reg].clone() else { continue };
            let twin = self.twin(candidate.definition, &candidates).expect("it can move");
            self.replace(candidate.definition, &twin.mnemonic, &twin.dsts, &twin.srcs);
        }
        let renamed = |operand: Operand| match operand.reg().and_then(|reg| candidates[reg].as_ref()) {
            Some(candidate) => operand.map_reg(|_| candidate.to),
            None => operand,
        };
        for inst in self.func.layout_insts().collect::<Vec<_>>() {
            self.func.srcs_mut(inst).iter_mut().for_each(|operand| *operand = renamed(*operand));
        }
    }

    /// General registers with one definition, all of whose words it writes, and their readers.
    fn candidates(&mut self) -> Candidates {
        let mut found: Candidates = SecondaryMap::new();
        let mut definitions: SecondaryMap<Reg, u32> = SecondaryMap::new();
        let insts: Vec<Inst> = self.func.layout_insts().collect();
        for inst in &insts {
            for reg in self.func.dsts(*inst).iter().filter_map(|dst| dst.reg()) {
                definitions[reg] += 1;
            }
        }
        for inst in &insts {
            for dst in self.func.dsts(*inst).to_vec() {
                let Operand::Reg(reg) = dst else { continue };
                let info = self.func.regs()[reg];
                if info.file == RegFile::R && info.words <= 2 && definitions[reg] == 1 {
                    let to = self.new_reg(RegInfo { file: RegFile::UR, ..info });
                    found[reg] = Some(Candidate { definition: *inst, uses: SmallVec::new(), to });
                }
            }
        }
        for inst in insts {
            for (at, src) in self.func.srcs(inst).iter().enumerate() {
                if let Some(candidate) = src.reg().and_then(|reg| found[reg].as_mut()) {
                    candidate.uses.push((inst, at));
                }
            }
        }
        found
    }

    /// Whether a value can move and is worth it, if all other candidates move; if it is to be `alone`, as the only one
    /// of a reader that does not.
    fn can_move(&self, candidate: &Candidate, candidates: &Candidates, alone: bool) -> bool {
        if self.twin(candidate.definition, candidates).is_none() {
            return false;
        }
        let home = self.func.block_of(candidate.definition);
        let moves = |inst: Inst| self.moves(inst, candidates);
        let stays = candidate.uses.iter().filter(|(inst, _)| !moves(*inst));
        let takes =
            |inst: Inst, at: usize| self.takes(inst, at, candidate) && !(alone && self.has_other(inst, at, candidates));
        let takes = stays.clone().all(|(inst, at)| takes(*inst, *at));
        let is_far = stays.clone().any(|(inst, _)| self.func.block_of(*inst) != home);
        let feeds = candidate.uses.iter().any(|(inst, _)| moves(*inst));
        takes && (is_far || feeds && stays.count() == 0 || self.reads_constant(candidate.definition))
    }

    /// Whether an instruction makes a value that moves.
    fn moves(&self, inst: Inst, candidates: &Candidates) -> bool {
        let reg = self.func.dsts(inst).iter().find_map(|dst| dst.reg());
        reg.and_then(|reg| candidates[reg].as_ref()).is_some_and(|candidate| candidate.definition == inst)
    }

    /// Whether a value is a load of a constant where no operand can be one.
    fn reads_constant(&self, inst: Inst) -> bool {
        !self.table.has_banks() && self.func.srcs(inst).iter().any(|src| matches!(src, Operand::Const { .. }))
    }

    /// Whether a reader takes a uniform register in this place.
    fn takes(&self, inst: Inst, at: usize, candidate: &Candidate) -> bool {
        let Some(mnemonic) = self.func.mnemonic(inst) else { return false };
        // A copy may cost nothing as it is: both registers may get one place.
        if crate::allocate::copied(&self.func, inst).is_some() {
            return false;
        }
        let mut srcs: SmallVec<[Operand; 8]> = self.func.srcs(inst).into();
        srcs[at] = srcs[at].map_reg(|_| candidate.to);
        self.has(&mnemonic, self.func.dsts(inst), &srcs)
    }

    /// Whether a reader has a value that moves in another place than this one.
    fn has_other(&self, inst: Inst, at: usize, candidates: &Candidates) -> bool {
        let moves = |src: &Operand| src.reg().is_some_and(|reg| candidates[reg].is_some());
        self.func.srcs(inst).iter().enumerate().any(|(other, src)| other != at && moves(src))
    }

    /// The form of an instruction on the uniform datapath, if the SM has one and it needs nothing that varies.
    fn twin(&self, inst: Inst, candidates: &Candidates) -> Option<Twin> {
        let data = self.func.inst(inst);
        let mnemonic = self.func.mnemonic(inst)?;
        let family = mnemonic.split('.').next()?;
        let is_special = family == "S2R";
        let is_load = family == "LDC";
        if data.guard.is_some() || !(data.opcode == Opcode::MachinePure || is_special || is_load) {
            return None;
        }
        let uniform = |operand: &Operand| match *operand {
            Operand::Wired { file: RegFile::R, words, modifiers } => {
                Some(marked(Operand::wired(RegFile::UR, words), modifiers))
            }
            Operand::Wired { file: RegFile::P, words, modifiers } => {
                Some(marked(Operand::wired(RegFile::UP, words), modifiers))
            }
            Operand::Name(_) => Some(*operand).filter(|_| !is_special || self.is_alike(*operand)),
            Operand::Imm(_) | Operand::Const { .. } => Some(*operand),
            operand => {
                let other = candidates[operand.reg()?].as_ref()?;
                Some(operand.map_reg(|_| other.to))
            }
        };
        let dsts: SmallVec<[Operand; 4]> = self.func.dsts(inst).iter().map(uniform).collect::<Option<_>>()?;
        let srcs: SmallVec<[Operand; 8]> = self.func.srcs(inst).iter().map(uniform).collect::<Option<_>>()?;
        let named = ROWS.iter().filter(|(general, _)| *general == family);
        named.into_iter().find_map(|(general, twin)| {
            let mnemonic = format!("{twin}{}", &mnemonic[general.len()..]);
            oriole_sass::ori::register().identify(&mnemonic)?;
            let less = match family {
                "MOV" => srcs.get(..1),
                "LDC" => srcs.get(1..),
                _ => None,
            };
            let form = [Some(&srcs[..]), less].into_iter().flatten().find(|srcs| self.has(&mnemonic, &dsts, srcs))?;
            Some(Twin { mnemonic, dsts: dsts.clone(), srcs: form.into() })
        })
    }

    /// Whether all lanes of a warp have a special register alike.
    fn is_alike(&self, name: Operand) -> bool {
        self.func.text(name).is_some_and(|name| SPECIAL.contains(&name))
    }
}
