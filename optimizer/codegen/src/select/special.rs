//! Special registers.

use oriole_ir::ops::SpecialReg;
use oriole_ir::{Inst, Modifiers, Operand};

use super::table::Part;
use super::{Refusal, Select, Value};

/// Where the machine has a special register of PTX.
enum Home {
    /// A special register of its own.
    Register(&'static str),
    /// Bank 0, so many words behind the extents of blocks.
    Block(u32),
    /// Bank 0, so many words behind the extents of the grid.
    Grid(u32),
}

fn home(reg: SpecialReg) -> Option<Home> {
    use SpecialReg as S;
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
        S::NtidX => Home::Block(0),
        S::NtidY => Home::Block(1),
        S::NtidZ => Home::Block(2),
        S::NctaidX => Home::Grid(0),
        S::NctaidY => Home::Grid(1),
        S::NctaidZ => Home::Grid(2),
        _ => return None,
    })
}

impl Select<'_> {
    /// Reads a special register.
    pub(super) fn special(&mut self, inst: Inst) -> Result<(), Refusal> {
        let (dst, src) = (self.func.dsts(inst)[0], self.func.srcs(inst)[0]);
        let Operand::Special(reg) = src else { return Err(Refusal::Operand("this source")) };
        let layout = self.places.constants;
        let offset = match home(reg) {
            Some(Home::Register(name)) => {
                let name = self.emit.func.name(name);
                return self.emit.op("S2R", &[dst], &[name]).map(|_| ());
            }
            Some(Home::Block(word)) => layout.block_dim + 4 * word,
            Some(Home::Grid(word)) => layout.grid_dim + 4 * word,
            None => return Err(Refusal::Operation { operation: self.func.operation(inst), sm: None }),
        };
        let from = self.emit.value(Value::Const(0, offset, 1), Part::Whole, Modifiers::NONE, "MOV");
        self.emit.copy_word(dst, from);
        Ok(())
    }
}
