//! Multicast memory: one address for the same place in each replica of a buffer.
//!
//! Ordinary words store and combine in every replica where an address is such a one; to load, and combine what was
//! loaded, there is a word of its own, which takes no descriptor and is always ordered over the whole system.

use oriole_ir::ops::{Accumulation, AtomOp, Opcode, Order, Scope, Type};
use oriole_ir::{Inst, InstData, Operand, RegFile};

use super::memory::Address;
use super::{Refusal, Select};

/// The first SM whose loads say that a sum is more precise, not that it is one of single precision.
const HIGHER_PRECISION: u16 = 100;

impl Select<'_> {
    /// An operation of this file.
    pub(super) fn multicast(&mut self, inst: Inst) -> Result<(), Refusal> {
        let data = *self.func.inst(inst);
        let order = data.field::<Order>().unwrap_or(Order::Weak);
        if matches!(order, Order::Release | Order::AcqRel) {
            self.fence(data.field::<Scope>().unwrap_or(Scope::Gpu))?;
        }
        let (dsts, srcs) = (self.func.dsts(inst).to_vec(), self.func.srcs(inst).to_vec());
        let count = dsts.len().max(srcs.len() - 2);
        let bits = data.ty().bits() * count as u32;
        let words = bits.div_ceil(32) as u8;
        let ordered = Select::order(&data);
        let Address { base, offset } = self.address_of(srcs[0], srcs[1], true)?;
        match data.opcode {
            Opcode::MultimemLoad => {
                let made = Operand::Reg(self.emit.temp(words));
                let mnemonic = format!("LDGMC.E{}{}.STRONG.SYS", self.combination(&data), element(&data, count));
                let none = Operand::wired(RegFile::UR, 2);
                self.emit.first_of(&mnemonic, &[(&[made], &[base, none, offset])])?;
                self.taken_apart(made, &dsts, data.ty())?;
            }
            Opcode::MultimemStore => {
                let size = match bits {
                    32 => "",
                    64 => ".64",
                    128 => ".128",
                    _ => return Err(self.refused(inst)),
                };
                let value = self.gathered(&srcs[2..], data.ty())?;
                self.write_replicas(&format!("STG.E{size}{ordered}"), base, offset, value)?;
            }
            _ => {
                let value = self.gathered(&srcs[2..], data.ty())?;
                let ordered = if ordered.is_empty() { ".STRONG.GPU" } else { ordered };
                let flush = if data.ty() == Type::F32 { ".FTZ" } else { "" };
                let element = element(&data, count).replace(".RN", &format!("{flush}.RN"));
                // A sum of words has no type.
                let element = if element == ".32" { String::new() } else { element };
                let mnemonic = format!("REDG.E{}{element}{ordered}", self.combination(&data));
                self.write_replicas(&mnemonic, base, offset, value)?;
            }
        }
        if matches!(order, Order::Acquire | Order::AcqRel) {
            self.emit.op("CCTL.IVALL", &[], &[])?;
        }
        Ok(())
    }

    fn write_replicas(
        &mut self,
        mnemonic: &str,
        base: Operand,
        offset: Operand,
        value: Operand,
    ) -> Result<(), Refusal> {
        let desc = self.descriptor.unwrap_or(value);
        let forms: [(&[Operand], &[Operand]); 2] = [(&[], &[desc, base, offset, value]), (&[], &[base, offset, value])];
        self.emit.first_of(mnemonic, &forms).map(|_| ())
    }

    /// How the values of replicas are combined.
    fn combination(&self, data: &InstData) -> &'static str {
        let is_single = data.field::<Accumulation>() == Some(Accumulation::F32);
        match data.field::<AtomOp>() {
            Some(AtomOp::Add) if is_single && self.emit.table.sm >= HIGHER_PRECISION => ".HPADD",
            Some(AtomOp::Add) if is_single => ".F32ADD",
            Some(AtomOp::Min) => ".MIN",
            Some(AtomOp::Max) => ".MAX",
            Some(AtomOp::And) => ".AND",
            Some(AtomOp::Or) => ".OR",
            Some(AtomOp::Xor) => ".XOR",
            _ => ".ADD",
        }
    }
}

/// The type of so many values, in mnemonics.
fn element(data: &InstData, count: usize) -> String {
    let is_order = matches!(data.field::<AtomOp>(), Some(AtomOp::Min | AtomOp::Max));
    let several =
        |name: &str, count: usize| if count == 1 { format!(".{name}.RN") } else { format!(".{name}x{count}.RN") };
    match data.ty() {
        Type::F16 => several("F16", count),
        Type::F16x2 => several("F16", 2 * count),
        Type::Bf16 => several("BF16", count),
        Type::Bf16x2 => several("BF16", 2 * count),
        Type::F32 => several("F32", count),
        Type::F64 => ".F64.RN".to_owned(),
        Type::S32 if is_order || data.opcode == Opcode::MultimemLoad => ".S32".to_owned(),
        Type::S64 if is_order => ".S64".to_owned(),
        ty if ty.bits() == 64 => ".64".to_owned(),
        _ => ".32".to_owned(),
    }
}
