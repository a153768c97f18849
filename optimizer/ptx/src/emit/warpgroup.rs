//! Products of warpgroups: the registers of the sum are written once, so what is added has to be in those of the
//! result before, and a fence is between what brings it there and the product. Where other registers than those of
//! the result have to do, the product is waited for at once: nothing may read them earlier, and one more group delays
//! none.

use super::EmitError;
use super::function::{FunctionWriter, Temp};
use crate::lower::warpgroup::constants;
use oriole_ir::ops::{Matrix, Shape, Type};
use oriole_ir::{Inst, InstData, Operand};

impl FunctionWriter<'_> {
    /// `wgmma.mma_async… d, a, b{, metadata, selector}, scale-d{, constants}`.
    pub(super) fn group_product(&mut self, inst: Inst, data: &InstData) -> Result<(), EmitError> {
        let Some(name) = self.mnemonic(data) else { return Err(self.refuse("PTX has no such instruction")) };
        let before = self.body.len();
        let (dsts, srcs) = (self.func.dsts(inst).to_vec(), self.func.srcs(inst).to_vec());
        let shapes = data.src_shapes(srcs.len());
        let Some((adds, operands)) = srcs.split_last() else { return Err(self.refuse("an operand is missing")) };
        let mut texts = self.sources(inst, data, &shapes[..operands.len()])?.split_off(1);
        texts.push(match self.func.imm_bits(*adds) {
            Some(bits) => (bits & 1).to_string(),
            None => self.source(*adds, Type::Pred)?,
        });
        for (field, [no, yes]) in constants(data.opcode.row(), &data.fields) {
            texts.push(if data.field_index(*field) == Some(1) { yes } else { no }.to_string());
        }
        let count = data.registers(Shape::Matrix(Matrix::Sum));
        let (added, others) = srcs.split_at(count.min(srcs.len()));
        let sums = self.sums(&dsts, added, others)?;
        // Registers that were written since the last fence are not the product's yet (PTX ISA 9.0, "wgmma.fence").
        if self.body.len() != before {
            self.line(format_args!("wgmma.fence.sync.aligned"));
        }
        self.guarded(format_args!("{name} {{{}}}, {}", sums.join(", "), texts.join(", ")));
        let named = dsts.iter().filter_map(|dst| Some(self.reg(dst.reg()?))).zip(&sums);
        let copies: Vec<(String, &String)> = named.filter(|(to, sum)| to != *sum).collect();
        // Nothing may read the registers of a product that is not waited for.
        if !copies.is_empty() {
            self.line(format_args!("wgmma.commit_group.sync.aligned"));
            self.line(format_args!("wgmma.wait_group.sync.aligned 0"));
        }
        for (to, sum) in copies {
            self.guarded(format_args!("mov.b32 {to}, {sum}"));
        }
        Ok(())
    }

    /// The registers of the sum, with what is added in them: the results themselves where no other operand is one of
    /// them.
    fn sums(&mut self, dsts: &[Operand], added: &[Operand], others: &[Operand]) -> Result<Vec<String>, EmitError> {
        let reads = |operands: &[Operand], dst: &Operand| operands.iter().any(|src| src.reg() == dst.reg());
        let mut pairs = dsts.iter().zip(added);
        let in_place = pairs.all(|(dst, src)| {
            !reads(others, dst) && added.iter().all(|other| other.reg() != dst.reg() || other == src)
        });
        let mut sums = Vec::with_capacity(dsts.len());
        for (dst, src) in dsts.iter().zip(added) {
            let to = match *dst {
                Operand::Reg(reg) if in_place => self.reg(reg),
                _ => self.temp(Temp::Word),
            };
            if !in_place || dst != src {
                let from = self.source(*src, Type::B32)?;
                self.guarded(format_args!("mov.b32 {to}, {from}"));
            }
            sums.push(to);
        }
        Ok(sums)
    }
}
