//! Operands: names, constants and addresses to IR operands of the width that an instruction wants.
//!
//! PTX asks that a register has the size of the instruction's type. Loads, stores and conversions are loose: their
//! registers may be wider, the rest being ignored when read, and zero- or sign-extended when written (PTX ISA 9.4.1).

use super::body::BodyLowering;
use super::scope::Entry;
use super::variable::{immediate_bits, scalar};
use crate::ast::{self, OperandKind, ScalarType, Span};
use oriole_ir::diagnostics::counted;
use oriole_ir::ops::{FieldValue, Opcode, SpecialReg, SrcType, Type};
use oriole_ir::{Operand, Reg, RegInfo, SymbolRef};

/// Where a value is wanted, and of what type.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub span: Span,
    pub ty: Type,
    /// Whether a wider register will do.
    pub loose: bool,
}

/// A register that an instruction writes, and the wider register that it is extended into afterwards.
#[derive(Clone, Copy)]
pub(super) struct Destination {
    pub reg: Reg,
    pub extended: Option<(Reg, Type)>,
}

impl<'s> BodyLowering<'_, '_, 's> {
    /// A value that an instruction reads.
    pub(super) fn value(&mut self, operand: &ast::Operand<'s>, ty: Type, loose: bool) -> Option<Operand> {
        let place = Place { span: operand.span, ty, loose };
        match operand.kind {
            OperandKind::Name(name) => self.named_value(name, place),
            OperandKind::Constant(constant) => match immediate_bits(constant, ty) {
                Some(bits) => Some(self.func.imm(bits)),
                None => {
                    let message = format!("this constant does not fit an operand of type `.{}`", ty.name());
                    let help = "write an integer for integers, a float for `.f32` and `.f64`, and move other floats in from a register";
                    self.report(operand.span, message, "wrong kind of constant", help);
                    None
                }
            },
            OperandKind::Component { name, component } => self.component(name, component, place),
            OperandKind::Not(name) => {
                let source = self.named_value(name, Place { ty: Type::Pred, ..place })?;
                if ty != Type::Pred {
                    self.report(
                        operand.span,
                        format!("`!{name}` is a predicate"),
                        "predicate",
                        "only predicate operands can be negated",
                    );
                    return None;
                }
                let temp = self.temp(Type::Pred);
                self.push_typed(Opcode::Not, Type::Pred, &[temp.into()], &[source]);
                Some(temp.into())
            }
            OperandKind::Sum { .. } | OperandKind::Element { .. } | OperandKind::Indexed { .. } => {
                self.address_value(operand, ty)
            }
            _ => {
                let help = "this operand is a single value: a register or a constant";
                self.report(operand.span, "this operand does not fit here".into(), describe(operand.kind), help);
                None
            }
        }
    }

    /// The value of a register, special register or symbol.
    pub(super) fn named_value(&mut self, name: &'s str, place: Place) -> Option<Operand> {
        let entry = self.lookup(name, place.span)?;
        match entry {
            Named::Reg(reg, declared) => self.fit_source(reg, declared, name, place),
            Named::Special(special) => self.special_value(special, place),
            Named::Address(address) => {
                if !matches!(place.ty, Type::B32 | Type::U32 | Type::S32 | Type::B64 | Type::U64 | Type::S64) {
                    let message = format!("`{name}` is an address, which a `.{}` operand cannot hold", place.ty.name());
                    self.report(place.span, message, "address", "use an integer register of 32 or 64 bits");
                    return None;
                }
                let ty = if place.ty.bits() == 64 { Type::B64 } else { Type::B32 };
                let temp = self.temp(ty);
                self.push_typed(Opcode::Mov, ty, &[temp.into()], &[address]);
                Some(temp.into())
            }
        }
    }

    /// What a name stands for; unknown names are reported.
    pub(super) fn lookup(&mut self, name: &'s str, span: Span) -> Option<Named> {
        let found = self.scopes.find(name);
        let entry = found.as_ref().map(|found| found.entry);
        match (entry, found) {
            (Some(Entry::Reg(reg, ty)), _) => Some(Named::Reg(reg, ty)),
            (Some(Entry::Unused(ty)), Some(found)) => {
                let Some(info) = scalar(ty).map(RegInfo::of) else {
                    self.report(
                        span,
                        format!("`{name}` has a type that registers do not have"),
                        "wrong type",
                        "use an integer or float type",
                    );
                    return None;
                };
                let reg = self.func.new_reg(info);
                self.scopes.bind(name, &found, reg, ty);
                Some(Named::Reg(reg, ty))
            }
            (Some(Entry::Local(local)), _) => Some(Named::Address(Operand::Local(local))),
            (Some(Entry::Symbol(symbol)), _) => Some(Named::Address(symbol_operand(symbol))),
            (Some(Entry::Lanes(..)), _) => {
                self.report(
                    span,
                    format!("`{name}` is a vector of registers"),
                    "vector",
                    "name a component, as in `%v.x`",
                );
                None
            }
            (None, _) => self.lookup_outside(name, span),
            (Some(Entry::Unused(_)), None) => None,
        }
    }

    fn lookup_outside(&mut self, name: &'s str, span: Span) -> Option<Named> {
        if let Some(symbol) = self.cx.symbols.get(name) {
            return Some(Named::Address(symbol_operand(*symbol)));
        }
        if let Some(special) = name.strip_prefix('%').and_then(SpecialReg::from_name) {
            return Some(Named::Special(special));
        }
        if self.cx.refused.contains(name) {
            self.reported_before = true;
            return None;
        }
        let help = match self.scopes.range_end(name) {
            Some(count) => format!("the declared range ends before it: there are {count}"),
            None => "declare it first, or check the spelling".to_owned(),
        };
        self.report(span, format!("`{name}` is not declared"), "unknown name", help);
        None
    }

    /// `%tid.x`, or a component of a vector register.
    fn component(&mut self, name: &'s str, component: &str, place: Place) -> Option<Operand> {
        if let Some(special) = special_component(name, component) {
            return self.special_value(special, place);
        }
        if component == "w" && is_special_vector(name) {
            return Some(Operand::imm(0));
        }
        let (reg, ty) = self.lane_register(name, component, place.span)?;
        self.fit_source(reg, ty, name, place)
    }

    /// How many components the vector register has that a name stands for; `None` where it is none.
    pub(super) fn vector_lanes(&self, name: &str) -> Option<usize> {
        match self.scopes.find(name)?.entry {
            Entry::Lanes(_, lanes) if lanes <= 4 => Some(lanes.into()),
            _ => None,
        }
    }

    /// The elements of `{a, b}` or of a vector register; `None` for what is one value.
    pub(super) fn listed(&self, operand: &ast::Operand<'s>) -> Option<Vec<ast::Operand<'s>>> {
        match operand.kind {
            OperandKind::Vector(parts) => Some(self.body[parts].to_vec()),
            OperandKind::Name(name) => Some(Self::components(operand, name, self.vector_lanes(name)?)),
            _ => None,
        }
    }

    /// The first so many components of what a name stands for.
    pub(super) fn components(operand: &ast::Operand<'s>, name: &'s str, lanes: usize) -> Vec<ast::Operand<'s>> {
        let part = |component| ast::Operand { kind: OperandKind::Component { name, component }, ..*operand };
        ["x", "y", "z", "w"].into_iter().take(lanes).map(part).collect()
    }

    /// The register of a component, and its declared type.
    pub(super) fn lane_register(&mut self, name: &'s str, component: &str, span: Span) -> Option<(Reg, ScalarType)> {
        let lane = match component {
            "x" | "r" => 0,
            "y" | "g" => 1,
            "z" | "b" => 2,
            "w" | "a" => 3,
            _ => u8::MAX,
        };
        let found = self.scopes.find(name);
        if let Some(found) = &found
            && let Entry::Lanes(ty, lanes) = found.entry
            && lane < lanes
        {
            let info = scalar(ty).map_or(RegInfo::words(1), RegInfo::of);
            let func = &mut self.func;
            return Some((self.scopes.lane(name, found, lane, || func.new_reg(info)), ty));
        }
        let message = format!("`{name}.{component}` is not a register");
        self.report(span, message, "unknown name", "only special registers and vector registers have components");
        None
    }

    fn special_value(&mut self, special: SpecialReg, place: Place) -> Option<Operand> {
        let ty = match special.bits() {
            1 => Type::Pred,
            64 => Type::B64,
            _ => Type::B32,
        };
        if (ty == Type::Pred) != (place.ty == Type::Pred) || place.ty.is_float() && place.ty.bits() < 32 {
            let message = format!("`%{}` does not fit an operand of type `.{}`", special.name(), place.ty.name());
            self.report(place.span, message, "wrong type", format!("it has {}", counted(special.bits(), "bit")));
            return None;
        }
        let reg = self.temp(ty);
        let opcode = if special.is_volatile() { Opcode::Cs2r } else { Opcode::S2r };
        self.push_typed(opcode, ty, &[reg.into()], &[Operand::Special(special)]);
        match (ty.bits(), place.ty.bits()) {
            (64, ..=32) => Some(Operand::Word(reg, 0)),
            (32, 64) => {
                let wide = self.temp(Type::B64);
                self.extend(wide, Type::U64, reg, Type::U32);
                Some(wide.into())
            }
            _ => Some(reg.into()),
        }
    }

    /// A conversion between integer types, under the instruction's guard.
    pub(super) fn extend(&mut self, to: Reg, to_ty: Type, from: Reg, from_ty: Type) {
        let row = Opcode::Cvt.row();
        let mut fields = super::body::typed(Opcode::Cvt, to_ty);
        if let Some(slot) = row.slot(SrcType::FIELD) {
            fields.0[slot] = from_ty.index();
        }
        self.push_full(Opcode::Cvt, fields, self.guard, &[to.into()], &[from.into()]);
    }

    fn fit_source(&mut self, reg: Reg, declared: ScalarType, name: &str, place: Place) -> Option<Operand> {
        if !self.fits(declared, place, name) {
            return None;
        }
        let (have, want) = (self.func.regs()[reg], RegInfo::of(place.ty));
        if have == want {
            return Some(reg.into());
        }
        if want.words == 1 {
            return Some(Operand::Word(reg, 0));
        }
        let low = self.temp(Type::B64);
        self.push_typed(Opcode::Pack, Type::B32, &[low.into()], &[Operand::Word(reg, 0), Operand::Word(reg, 1)]);
        Some(low.into())
    }

    /// Whether a register of a declared type can be in a place; reported where not.
    fn fits(&mut self, declared: ScalarType, place: Place, name: &str) -> bool {
        let (have, want) = (declared.bits(), place.ty.bits());
        let predicate = declared == ScalarType::Pred;
        if predicate == (place.ty == Type::Pred) && (have == want || place.loose && have > want) {
            return true;
        }
        let message =
            format!("`{name}` is a `.{}` register, but the operand is `.{}`", declared.name(), place.ty.name());
        let help = match (predicate, place.ty) {
            (_, Type::Pred) => "use a predicate register".to_owned(),
            _ => format!("use a register of {want} bits, or convert it with `cvt`"),
        };
        self.report(place.span, message, format!("{have} bits"), help);
        false
    }

    /// A register that an instruction writes.
    pub(super) fn destination(&mut self, operand: &ast::Operand<'s>, ty: Type, loose: bool) -> Option<Destination> {
        let (reg, declared, name) = match operand.kind {
            OperandKind::Sink => return Some(Destination { reg: self.temp(ty), extended: None }),
            OperandKind::Name(name) => match self.lookup(name, operand.span)? {
                Named::Reg(reg, declared) => (reg, declared, name),
                _ => {
                    self.report(
                        operand.span,
                        format!("`{name}` cannot be written"),
                        "not a register",
                        "results go to registers",
                    );
                    return None;
                }
            },
            OperandKind::Component { name, component } => {
                let (reg, declared) = self.lane_register(name, component, operand.span)?;
                (reg, declared, name)
            }
            kind => {
                self.report(
                    operand.span,
                    "this operand cannot be written".into(),
                    describe(kind),
                    "results go to registers",
                );
                return None;
            }
        };
        if !self.fits(declared, Place { span: operand.span, ty, loose }, name) {
            return None;
        }
        if self.func.regs()[reg] == RegInfo::of(ty) {
            return Some(Destination { reg, extended: None });
        }
        Some(Destination { reg: self.temp(ty), extended: Some((reg, ty)) })
    }

    /// Extends what an instruction wrote into wider registers.
    pub(super) fn finish(&mut self, destination: Destination) {
        let Some((wide, ty)) = destination.extended else { return };
        let signed = ty.is_signed();
        if self.func.regs()[wide].words > 2 {
            let zero = Operand::imm(0);
            let words = RegInfo::of(ty).words;
            let parts: Vec<_> =
                (0..4).map(|w| if w >= words { zero } else { word(destination.reg, w, words) }).collect();
            self.push_full(
                Opcode::Pack,
                super::body::typed(Opcode::Pack, Type::B32),
                self.guard,
                &[wide.into()],
                &parts,
            );
            return;
        }
        let from = match (ty.bits(), signed) {
            (8, false) => Type::U8,
            (8, true) => Type::S8,
            (16, false) => Type::U16,
            (16, true) => Type::S16,
            (_, false) => Type::U32,
            (_, true) => Type::S32,
        };
        self.extend(wide, if signed { Type::S64 } else { Type::U64 }, destination.reg, from);
    }
}

/// A word of a register of so many words.
pub(super) fn word(reg: Reg, index: u8, words: u8) -> Operand {
    if words == 1 { reg.into() } else { Operand::Word(reg, index) }
}

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Named {
    /// A register and its declared type.
    Reg(Reg, ScalarType),
    /// A special register.
    Special(SpecialReg),
    /// A variable or function.
    Address(Operand),
}

fn symbol_operand(symbol: SymbolRef) -> Operand {
    match symbol {
        SymbolRef::Global(id) => Operand::Global(id),
        SymbolRef::Func(id) => Operand::Func(id),
    }
}

/// `%tid` and `x`: the special register `tid.x`.
pub(super) fn special_component(name: &str, component: &str) -> Option<SpecialReg> {
    let name = name.strip_prefix('%')?;
    SpecialReg::ALL
        .iter()
        .copied()
        .find(|special| special.name().strip_prefix(name).and_then(|rest| rest.strip_prefix('.')) == Some(component))
}

/// Whether a name stands for special registers with components. The fourth, `w`, is always zero (PTX ISA, "Special
/// Registers").
pub(super) fn is_special_vector(name: &str) -> bool {
    special_component(name, "x").is_some()
}

/// A few words for what was written.
pub(super) fn describe(kind: OperandKind<'_>) -> &'static str {
    match kind {
        OperandKind::Name(_) => "a name",
        OperandKind::Component { .. } => "a component",
        OperandKind::Sum { .. } | OperandKind::Element { .. } | OperandKind::Indexed { .. } => "an address",
        OperandKind::Constant(_) => "a constant",
        OperandKind::Vector(_) => "a vector",
        OperandKind::Address(_) => "a memory operand",
        OperandKind::Pair(_) => "two results",
        OperandKind::Sink => "`_`",
        OperandKind::Not(_) => "a negated predicate",
        OperandKind::Negate(_) => "a negated register",
        OperandKind::Group(_) => "a list in parentheses",
    }
}
