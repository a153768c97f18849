//! Special registers.

use oriole_ir::ops::SpecialReg;
use oriole_ir::sm::ClusterLayout;
use oriole_ir::{Inst, Modifiers, Operand, Reg, RegFile};

use super::emit::never;
use super::{Refusal, Select};

/// Where the machine has a special register of PTX.
enum Home {
    /// A special register of its own.
    Register(&'static str),
    /// A counter: each read takes the value of the moment.
    Counter(&'static str),
    /// Bits of a special register: the lowest, how many.
    Bits(&'static str, u64, u64),
    /// Bank 0, at an offset.
    Bank(u32),
    /// Bank 0, at an offset of the table that the driver has of launches.
    Table(u32),
    /// Which cluster the block is in, along an axis.
    Cluster(u32),
    /// Where the block is in its cluster, along an axis.
    InCluster(u32),
}

/// Bytes of an entry of the table that the driver has of launches. Entries are before the first one.
const ENTRY: u64 = 0xa0;

impl Select<'_> {
    /// The place in bank 0 of a special register that is there.
    pub(super) fn bank_of(&self, reg: SpecialReg) -> Option<u32> {
        match self.home(reg) {
            Some(Home::Bank(offset)) => Some(offset),
            _ => None,
        }
    }

    fn home(&self, reg: SpecialReg) -> Option<Home> {
        use SpecialReg as S;
        let layout = self.places.constants;
        let clusters = |of: fn(ClusterLayout) -> u32| Some(Home::Table(of(layout.clusters?)));
        Some(match reg {
            S::TidX => Home::Register("SR_TID.X"),
            S::TidY => Home::Register("SR_TID.Y"),
            S::TidZ => Home::Register("SR_TID.Z"),
            S::CtaidX => Home::Register("SR_CTAID.X"),
            S::CtaidY => Home::Register("SR_CTAID.Y"),
            S::CtaidZ => Home::Register("SR_CTAID.Z"),
            S::LaneId => Home::Register("SR_LANEID"),
            S::LanemaskEq => Home::Register("SR_EQMASK"),
            S::LanemaskLt => Home::Register("SR_LTMASK"),
            S::LanemaskLe => Home::Register("SR_LEMASK"),
            S::LanemaskGt => Home::Register("SR_GTMASK"),
            S::LanemaskGe => Home::Register("SR_GEMASK"),
            S::SmId => Home::Register("SR_VIRTUALSMID"),
            S::WarpId => Home::Bits("SR_VIRTID", 8, 7),
            S::NWarpId => Home::Bits("SR_VIRTCFG", 8, 8),
            S::Clock | S::Clock64 => Home::Counter("SR_CLOCKLO"),
            S::ClockHi => Home::Counter("SR_CLOCKHI"),
            S::GlobalTimer | S::GlobalTimerLo => Home::Counter("SR_GLOBALTIMERLO"),
            S::GlobalTimerHi => Home::Counter("SR_GLOBALTIMERHI"),
            S::NtidX => Home::Bank(layout.block_dim),
            S::NtidY => Home::Bank(layout.block_dim + 4),
            S::NtidZ => Home::Bank(layout.block_dim + 8),
            S::NctaidX => Home::Bank(layout.grid_dim),
            S::NctaidY => Home::Bank(layout.grid_dim + 4),
            S::NctaidZ => Home::Bank(layout.grid_dim + 8),
            S::GridId => Home::Bank(layout.grid_number),
            S::NSmId => Home::Bank(layout.multiprocessors),
            S::CurrentGraphExec => Home::Bank(layout.graph),
            S::DynamicSmemSize => Home::Table(layout.dynamic_shared),
            S::EnvReg0 => Home::Table(layout.environment),
            S::EnvReg1 => Home::Table(layout.environment + 4),
            S::EnvReg2 => Home::Table(layout.environment + 8),
            S::IsExplicitCluster => Home::Bank(layout.clusters?.is_explicit),
            S::ClusterCtaRank => Home::Register("SR_CgaCtaId"),
            S::ClusterNctaRank => return clusters(|layout| layout.ctas),
            S::ClusterNctaidX => return clusters(|layout| layout.extents),
            S::ClusterNctaidY => return clusters(|layout| layout.extents + 4),
            S::ClusterNctaidZ => return clusters(|layout| layout.extents + 8),
            S::NClusterIdX => return clusters(|layout| layout.numbers),
            S::NClusterIdY => return clusters(|layout| layout.numbers + 4),
            S::NClusterIdZ => return clusters(|layout| layout.numbers + 8),
            S::ClusterIdX => Home::Cluster(0),
            S::ClusterIdY => Home::Cluster(1),
            S::ClusterIdZ => Home::Cluster(2),
            S::ClusterCtaidX => Home::InCluster(0),
            S::ClusterCtaidY => Home::InCluster(1),
            S::ClusterCtaidZ => Home::InCluster(2),
            _ => return None,
        })
    }

    /// Reads a special register.
    pub(super) fn special(&mut self, inst: Inst) -> Result<(), Refusal> {
        let (dst, src) = (self.func.dsts(inst)[0], self.func.srcs(inst)[0]);
        let Operand::Special(reg) = src else { return Err(Refusal::Operand("this source")) };
        let info = self.func.operand_info(dst).ok_or(Refusal::Operand("this result"))?;
        let home = self.home(reg).ok_or_else(|| Refusal::Operation {
            operation: format!("{} of %{}", self.func.operation(inst), reg.name()),
            sm: None,
        })?;
        if info.is_predicate() {
            let Home::Bank(offset) = home else { return Err(self.refused(inst)) };
            let read = self.bank_word(offset);
            return self.is_not_zero(dst, read);
        }
        if let Home::Counter(name) = home {
            let (name, suffix) = (self.emit.func.name(name), if info.words == 2 { "" } else { ".32" });
            return self.emit.op(&format!("CS2R{suffix}"), &[dst], &[name]).map(|_| ());
        }
        let low = self.emit.word(dst, 0);
        match home {
            Home::Register(name) => {
                let name = self.emit.func.name(name);
                self.emit.op("S2R", &[low], &[name])?;
            }
            Home::Bits(name, first, count) => {
                let (name, all) = (self.emit.func.name(name), Operand::Reg(self.emit.temp(1)));
                let [first, count] = [first, count].map(|number| self.emit.func.imm(number));
                let (shifted, zero) = (Operand::Reg(self.emit.temp(1)), Operand::wired(RegFile::R, 1));
                self.emit.op("S2R", &[all], &[name])?;
                self.emit.op("SHF.R.U32.HI", &[shifted], &[zero, first, all])?;
                self.emit.op("SGXT.U32", &[low], &[shifted, count])?;
            }
            Home::Bank(offset) if info.words == 2 => {
                for word in 0..2 {
                    let to = self.emit.word(dst, word);
                    self.emit.copy_word(to, Operand::constant(0, offset + 4 * u32::from(word)));
                }
                return Ok(());
            }
            Home::Bank(offset) => self.emit.copy_word(low, Operand::constant(0, offset)),
            Home::Table(offset) => {
                let read = self.table_word(offset)?;
                self.emit.copy_word(low, read);
            }
            Home::Cluster(axis) => {
                let number = self.cluster(axis)?.0;
                self.emit.copy_word(low, number);
            }
            Home::InCluster(axis) => {
                let (number, block, layout) = self.cluster(axis)?;
                let extent = self.table_word(layout.extents + 4 * axis)?;
                let (negated, truth) = (Operand::Reg(self.emit.temp(1)), Operand::wired(RegFile::P, 1));
                let (zero, number) = (Operand::wired(RegFile::R, 1), super::emit::marked(number, Modifiers::NEGATE));
                let none = never();
                self.emit.op("IADD3", &[negated, truth, truth], &[number, zero, zero, none, none])?;
                self.emit.op("IMAD", &[low], &[extent, negated, block, none])?;
            }
            Home::Counter(_) => {}
        }
        if info.words == 2 {
            let high = self.emit.word(dst, 1);
            self.emit.copy_word(high, Operand::wired(RegFile::R, 1));
        }
        Ok(())
    }

    /// A word of bank 0, in a register.
    pub(super) fn bank_word(&mut self, offset: u32) -> Operand {
        let read = Operand::Reg(self.emit.temp(1));
        self.emit.copy_word(read, Operand::constant(0, offset));
        read
    }

    /// A word of the driver's area, in the entry of the launch where there are several.
    fn table_word(&mut self, offset: u32) -> Result<Operand, Refusal> {
        if !self.places.constants.is_table {
            return Ok(self.bank_word(offset));
        }
        let [which, at, read] = [(); 3].map(|()| Operand::Reg(self.emit.temp(1)));
        let (name, size) = (self.emit.func.name("SR_CgaSize"), self.emit.func.imm(ENTRY.wrapping_neg() & 0xffff_ffff));
        let none = never();
        self.emit.op("CS2R.32", &[which], &[name])?;
        self.emit.op("IMAD", &[at], &[which, size, Operand::wired(RegFile::R, 1), none])?;
        self.emit.op("LDC", &[read], &[at, Operand::constant(0, offset)])?;
        Ok(read)
    }

    /// The number of the cluster along an axis, that of the block, and where the bank says more. The quotient is the
    /// product with a reciprocal that is not too small, without its fraction; blocks are few enough for that.
    fn cluster(&mut self, axis: u32) -> Result<(Operand, Operand, ClusterLayout), Refusal> {
        let layout = self.places.constants.clusters.ok_or(Refusal::Operand("a cluster"))?;
        let names = ["SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z"];
        let [block, float, product, number]: [Reg; 4] = [(); 4].map(|()| self.emit.temp(1));
        let [block, float, product, number] = [block, float, product, number].map(Operand::Reg);
        let name = self.emit.func.name(names[axis as usize]);
        self.emit.op("S2R", &[block], &[name])?;
        self.emit.op("I2FP.F32.U32", &[float], &[block])?;
        let reciprocal = self.table_word(layout.reciprocals + 4 * axis)?;
        self.emit.op("FMUL", &[product], &[float, reciprocal])?;
        self.emit.op("F2I.U32.TRUNC.NTZ", &[number], &[product])?;
        Ok((number, block, layout))
    }

    /// Whether a word is not zero.
    pub(super) fn is_not_zero(&mut self, dst: Operand, word: Operand) -> Result<(), Refusal> {
        let (truth, zero) = (Operand::wired(RegFile::P, 1), Operand::wired(RegFile::R, 1));
        self.emit.op("ISETP.NE.U32.AND", &[dst, truth], &[word, zero, truth, truth]).map(|_| ())
    }
}
