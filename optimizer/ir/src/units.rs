//! Register units: what overlapping registers have in common.
//!
//! In physical form `%R4x2` is `%R4` and `%R5`: a write to one changes the other. So whatever follows values of
//! registers works on units there, the registers of one word; a constant register has none, since nothing is kept in
//! it. In other forms each register is its own unit.
//!
//! **Invariant:** the registers that [`Function::defs`] and [`Function::uses`] name do not overlap.

use super::entity::Reg;
use super::form::Form;
use super::function::Function;
use super::operand::{Guard, Operand};
use super::physical::PhysicalReg;
use super::register::RegFile;

/// The files whose registers hold values.
const FILES: [RegFile; 4] = [RegFile::R, RegFile::UR, RegFile::P, RegFile::UP];

/// The units of a register, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Units {
    next: u32,
    step: u32,
    left: u16,
}

impl Units {
    /// No unit.
    pub(super) const NONE: Units = Units { next: 0, step: 0, left: 0 };

    /// A register by itself.
    fn one(reg: Reg) -> Units {
        Units::every(reg, 0, 1)
    }

    /// So many registers whose numbers are a step apart.
    pub(super) fn every(first: Reg, step: u32, count: u16) -> Units {
        Units { next: first.as_u32(), step, left: count }
    }
}

impl Iterator for Units {
    type Item = Reg;

    #[inline]
    fn next(&mut self) -> Option<Reg> {
        self.left = self.left.checked_sub(1)?;
        let reg = Reg::from_u32(self.next);
        self.next += self.step;
        Some(reg)
    }
}

/// The registers that operands and a guard name, by units in physical form.
#[derive(Clone, Debug)]
pub struct Named<'a> {
    operands: std::slice::Iter<'a, Operand>,
    guard: Option<Guard>,
    is_physical: bool,
    /// What is left of the register at hand, in physical form.
    units: Units,
    /// The file whose units come next, where all do.
    file: usize,
}

impl<'a> Named<'a> {
    #[inline]
    pub(super) fn new(operands: &'a [Operand], guard: Option<Guard>, form: Form, all: bool) -> Named<'a> {
        let file = if all { 0 } else { FILES.len() };
        Named { operands: operands.iter(), guard, is_physical: form == Form::Physical, units: Units::NONE, file }
    }

    /// The next register that is named, whatever its width.
    #[inline]
    fn register(&mut self) -> Option<Reg> {
        let of_operand = self.operands.find_map(|operand| operand.reg());
        of_operand.or_else(|| self.guard.take().map(Guard::reg))
    }

    #[cold]
    fn unit(&mut self) -> Option<Reg> {
        loop {
            if let Some(unit) = self.units.next() {
                return Some(unit);
            }
            self.units = match self.register() {
                Some(reg) => PhysicalReg::of(reg).map_or(Units::NONE, PhysicalReg::units),
                None => {
                    let file = *FILES.get(self.file)?;
                    self.file += 1;
                    PhysicalReg::file_units(file)
                }
            };
        }
    }
}

impl Iterator for Named<'_> {
    type Item = Reg;

    #[inline]
    fn next(&mut self) -> Option<Reg> {
        if self.is_physical { self.unit() } else { self.register() }
    }
}

impl Function {
    /// The units that a register consists of: itself, unless the registers are the machine's.
    pub fn units(&self, reg: Reg) -> Units {
        match self.form {
            Form::Physical => PhysicalReg::of(reg).map_or(Units::NONE, PhysicalReg::units),
            _ => Units::one(reg),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_function;

    fn names(regs: impl Iterator<Item = Reg>) -> Vec<String> {
        regs.map(|reg| PhysicalReg::of(reg).expect("a register of the machine").name()).collect()
    }

    #[test]
    fn registers_are_named_by_units_in_physical_form() {
        let text =
            "device @f machine physical {\nbb0:\n  @!%P1 %R4x2 = imad.wide.u32 -%R1, %R8x2.1, %UR6x4\n  ret\n}\n";
        let func = parse_function(text).expect("the text is a function");
        let inst = func.first_inst(func.entry()).expect("an instruction");
        assert_eq!(names(func.defs(inst)), ["R4", "R5"]);
        assert_eq!(names(func.uses(inst)), ["R1", "R8", "R9", "UR6", "UR7", "UR8", "UR9", "P1"]);
        let call = "device @f machine physical {\nbb0:\n  CALL.REL.NOINC %R4\n  end\n}\n";
        let func = parse_function(call).expect("the text is a function");
        let inst = func.first_inst(func.entry()).expect("an instruction");
        assert_eq!(func.uses(inst).count(), 1 + 255 + 255 + 7 + 7, "a callee may read any register");
        let virt = parse_function("device @f {\nbb0:\n  @%p3 %d1 = mov.b64 %d2\n  ret\n}\n").expect("a function");
        let inst = virt.first_inst(virt.entry()).expect("an instruction");
        assert_eq!(virt.uses(inst).map(Reg::as_u32).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(virt.units(Reg::from_u32(1)).collect::<Vec<_>>(), [Reg::from_u32(1)]);
    }

    /// Two registers overlap exactly if they have a unit in common.
    #[test]
    fn overlapping_registers_share_units() {
        let regs: Vec<PhysicalReg> = (0..PhysicalReg::infos().count() as u32)
            .filter_map(|place| PhysicalReg::of(Reg::from_u32(place)))
            .filter(|reg| reg.is_aligned() && (reg.number < 20 || reg.is_constant()))
            .collect();
        for a in &regs {
            assert_eq!(a.units().count(), if a.is_constant() { 0 } else { a.words.into() }, "{}", a.name());
            for b in &regs {
                let shared = a.units().any(|unit| b.units().any(|other| unit == other));
                assert_eq!(shared, a.overlaps(*b), "{} and {}", a.name(), b.name());
            }
        }
    }
}
