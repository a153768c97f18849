//! Variables and their initial values: sizes, alignments, bytes and addresses.

use super::Context;
use super::scope::Registers;
use crate::ast::{self, Constant, Initializer, InitializerKind, ScalarType, Span, SymbolAddress};
use oriole_ir::diagnostics::counted;
use oriole_ir::ops::{Field, FieldValue, Space, Type};
use oriole_ir::{self as ir, Global, Linkage, Relocation, SymbolRef};

/// The largest variable, in bytes: 4 GiB, beyond what any device space holds in one array.
const MAX_BYTES: u64 = 1 << 32;

/// The most initial bytes that are kept; the text that gives them is larger anyhow.
const MAX_INITIAL: u64 = 1 << 28;

pub(super) fn linkage(linkage: ast::Linkage) -> Linkage {
    match linkage {
        ast::Linkage::Internal => Linkage::Internal,
        ast::Linkage::Extern => Linkage::Extern,
        ast::Linkage::Visible => Linkage::Visible,
        ast::Linkage::Weak => Linkage::Weak,
        ast::Linkage::Common => Linkage::Common,
    }
}

/// The IR type of this name; `None` for opaque handles.
pub(super) fn scalar(ty: ScalarType) -> Option<Type> {
    Field::Type.value_index(ty.name()).map(|index| Type::ALL[index as usize])
}

fn space(space: ast::Space) -> Option<Space> {
    Some(match space {
        ast::Space::Global => Space::Global,
        ast::Space::Const => Space::Const,
        ast::Space::Shared => Space::Shared,
        ast::Space::Local => Space::Local,
        ast::Space::Param => Space::Param,
        ast::Space::Tex => Space::Global,
        ast::Space::Reg => return None,
    })
}

impl<'s> Context<'_, 's> {
    /// A declared variable in `space`, without its initial value.
    pub(super) fn variable(&mut self, declared: &ast::Variable<'s>, space: Space) -> Option<ir::Variable> {
        let ty = if declared.space == ast::Space::Tex { Some(Type::TexRef) } else { scalar(declared.ty) };
        let Some(ty) = ty else {
            let message = format!("a variable has no type `.{}`", declared.ty.name());
            self.report(declared.span, message, "wrong type", "use an integer or float type");
            return None;
        };
        if declared.bytes() > MAX_BYTES {
            let message = format!("`{}` is larger than 4 GiB", declared.name.text);
            self.report(declared.span, message, "too large", "no state space holds a variable of this size");
            return None;
        }
        let single = declared.dimensions.is_empty() && declared.lanes == 1;
        let element = u64::from(ty.bits() / 8).max(1);
        let mut variable = ir::Variable::new(declared.name.text, space, ty, None);
        variable.count = (!single).then(|| declared.bytes() / element);
        let natural = if ty.is_reference() { variable.align } else { 1 };
        variable.align = natural.max(declared.alignment().min(1 << 30) as u32);
        variable.linkage = linkage(declared.linkage);
        Some(variable)
    }

    /// Declares registers for all functions. Each kernel begins with its own, which nobody has written; a function that
    /// is called shares them with its caller, which the IR has no way to say.
    pub(super) fn declare_shared_register(&mut self, declared: &ast::Variable<'s>, tree: &ast::Module<'s>) {
        let is_called = |item: &ast::Item<'_>| match item {
            ast::Item::Function(function) => !function.is_entry && function.body.is_some(),
            _ => false,
        };
        if self.registers.is_empty() && tree.items.iter().any(is_called) {
            let message = format!("`{}` is a register of the whole module", declared.name.text);
            let help = "declare it in each function that has it, and pass its value as a parameter";
            self.report(declared.span, message, "shared by functions", help);
        }
        self.registers.push(Registers::of(declared));
    }

    /// Declares a variable of the module under `name`, which a hoisted one must make unique.
    pub(super) fn declare_global(&mut self, declared: &ast::Variable<'s>, name: &str) -> Option<Global> {
        let of_threads = |space: &Space| matches!(space, Space::Param | Space::Local);
        let Some(space) = space(declared.space).filter(|space| !of_threads(space)) else {
            let message = format!("`{name}` is declared in a space that a module does not have");
            let help = "declare it in `.global`, `.const` or `.shared`, or `.local` in a function";
            self.report(declared.span, message, "wrong state space", help);
            self.refused.insert(declared.name.text);
            return None;
        };
        let variable = self
            .variable(declared, space)
            .filter(|_| self.check_reference(declared, name == declared.name.text).is_some());
        let Some(mut variable) = variable else {
            self.refused.insert(declared.name.text);
            return None;
        };
        variable.name = name.to_owned();
        match self.symbols.get(declared.name.text) {
            Some(SymbolRef::Global(id)) if name == declared.name.text => {
                let id = *id;
                return self.merge_global(declared, id, variable);
            }
            Some(SymbolRef::Func(_)) if name == declared.name.text => {
                let message = format!("`{name}` is a function already");
                self.report(declared.name.span, message, "second meaning", "rename one of the two");
                return None;
            }
            _ => {}
        }
        self.global_names.insert(variable.name.clone());
        let id = self.module.globals.push(variable);
        if name == declared.name.text {
            self.symbols.insert(declared.name.text, SymbolRef::Global(id));
        }
        Some(id)
    }

    /// An `.extern` declaration and a definition of one name are one variable; two definitions are a fault.
    fn merge_global(&mut self, declared: &ast::Variable<'s>, id: Global, new: ir::Variable) -> Option<Global> {
        let old = self.module.globals[id].linkage;
        if old != Linkage::Extern && new.linkage != Linkage::Extern {
            let message = format!("variable `{}` is defined twice", declared.name.text);
            self.report(declared.name.span, message, "second definition", "rename or remove one of the two");
            return None;
        }
        if old == Linkage::Extern {
            self.module.globals[id] = new;
        }
        Some(id)
    }

    /// Computes a variable's initial bytes.
    pub(super) fn initialise(&mut self, declared: &ast::Variable<'s>, id: Global) {
        let Some(initializer) = &declared.initializer else { return };
        if self.module.globals[id].ty.is_reference() {
            return self.initialise_reference(initializer, id);
        }
        let bytes = declared.bytes();
        if bytes > MAX_INITIAL {
            let message = format!("`{}` is too large for an initial value", declared.name.text);
            self.report(initializer.span, message, "too large", "initialise it in a kernel");
            return;
        }
        let mut image = Image { bytes: Vec::new(), relocations: Vec::new(), ty: declared.ty };
        let mut dimensions: Vec<u64> = declared.dimensions.iter().map(|d| d.unwrap_or(0)).collect();
        if let (Some(first), InitializerKind::List(list)) = (dimensions.first_mut(), &initializer.kind) {
            *first = (*first).max(if *first == 0 { list.len() as u64 } else { 0 });
        }
        if declared.lanes > 1 {
            dimensions.push(u64::from(declared.lanes));
        }
        self.fill(&mut image, initializer, &dimensions, 0);
        let last = image.bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let end = image.relocations.iter().map(|r| r.offset as usize + r.width as usize).max().unwrap_or(0);
        // Trailing zeros are left out; one byte stays, to say that the variable has an initial value.
        image.bytes.truncate(last.max(end).max(1));
        let variable = &mut self.module.globals[id];
        variable.init = image.bytes;
        variable.relocations = image.relocations;
    }

    /// Writes one value, or a list whose elements have the size that the inner dimensions give.
    fn fill(&mut self, image: &mut Image, value: &Initializer<'s>, dimensions: &[u64], at: u64) {
        match (&value.kind, dimensions) {
            (InitializerKind::List(list), [length, inner @ ..]) => {
                if list.len() as u64 > *length {
                    let message =
                        format!("{} initial values for {length}", list.len(), length = counted(length, "element"));
                    self.report(value.span, message, "too many values", "leave out what does not fit");
                    return;
                }
                let size = inner.iter().fold(u64::from(image.ty.bits() / 8), |size, d| size.saturating_mul(*d));
                for (i, element) in list.iter().enumerate() {
                    self.fill(image, element, inner, at + i as u64 * size);
                }
            }
            (InitializerKind::List(list), []) => match list.as_slice() {
                [single] => self.fill(image, single, &[], at),
                _ => self.report(
                    value.span,
                    "a list of values for a single element".into(),
                    "list",
                    "give one value, or declare an array",
                ),
            },
            (InitializerKind::Constant(constant), _) => self.fill_constant(image, *constant, value.span, at),
            (InitializerKind::Address(address), _) => self.fill_address(image, address, value.span, at),
            (InitializerKind::Field(_), _) => self.report(
                value.span,
                format!("a variable of type `.{}` has no fields", image.ty.name()),
                "field",
                "textures, samplers and surfaces have fields",
            ),
        }
    }

    fn fill_constant(&mut self, image: &mut Image, constant: Constant, span: Span, at: u64) {
        let Some(bits) = scalar(image.ty).and_then(|ty| immediate_bits(constant, ty)) else {
            let message = format!("this constant does not fit the type `.{}`", image.ty.name());
            self.report(span, message, "wrong kind of constant", "write an integer for integers, a float for floats");
            return;
        };
        let width = (image.ty.bits() / 8).clamp(1, 8) as usize;
        image.write(at, &bits.to_le_bytes()[..width]);
    }

    fn fill_address(&mut self, image: &mut Image, address: &SymbolAddress<'s>, span: Span, at: u64) {
        let Some(symbol) = self.symbols.get(address.symbol.text).copied() else {
            let message = format!("`{}` is not declared", address.symbol.text);
            self.report(address.symbol.span, message, "unknown symbol", "declare the variable or function first");
            return;
        };
        let width = image.ty.bits() / 8;
        if let Some(mask) = address.mask {
            return self.fill_byte(image, (address, symbol, mask), span, at);
        }
        if !matches!(width, 4 | 8) {
            let message = format!("an address cannot be stored in elements of type `.{}`", image.ty.name());
            self.report(span, message, "address", "use an element of 32 or 64 bits, or a mask for each byte");
            return;
        }
        image.write(at, &[0; 8][..width as usize]);
        image.relocations.push(Relocation {
            offset: at as u32,
            width: width as u8,
            symbol,
            addend: address.offset,
            generic: address.generic,
        });
    }

    /// A byte of an address (PTX ISA, "Initializers"): the first begins one, and each further one makes it longer.
    fn fill_byte(
        &mut self,
        image: &mut Image,
        (address, symbol, mask): (&SymbolAddress<'s>, SymbolRef, u64),
        span: Span,
        at: u64,
    ) {
        let (offset, addend, generic) = (at as u32, address.offset, address.generic);
        let begun = image.relocations.last_mut().filter(|begun| {
            (begun.symbol, begun.addend, begun.generic) == (symbol, addend, generic)
                && begun.offset + u32::from(begun.width) == offset
        });
        match (image.ty.bits(), masked_byte(mask), begun) {
            (8, Some(0), _) => image.relocations.push(Relocation { offset, width: 1, symbol, addend, generic }),
            (8, Some(byte), Some(begun)) if begun.width == byte => begun.width += 1,
            _ => {
                let help = "write `0xFF(x), 0xFF00(x)` and so on in elements of 8 bits, the lowest byte first";
                return self.report(span, "this is no byte of an address in its place".into(), "mask", help);
            }
        }
        image.write(at, &[0]);
    }
}

/// The byte that a mask takes out of an address, the lowest first; `None` where it takes no whole byte.
fn masked_byte(mask: u64) -> Option<u8> {
    (0..8).find(|byte| 0xFF << (8 * byte) == mask)
}

/// Initial bytes while they are collected.
struct Image {
    bytes: Vec<u8>,
    relocations: Vec<Relocation>,
    ty: ScalarType,
}

impl Image {
    fn write(&mut self, at: u64, bytes: &[u8]) {
        let at = at as usize;
        if self.bytes.len() < at + bytes.len() {
            self.bytes.resize(at + bytes.len(), 0);
        }
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

/// The bits of a constant as a value of a type: integers are truncated, floats rounded to nearest even; an exact
/// float gives its bits to an untyped operand of its size. `None` where the kind does not fit (PTX ISA 4.5.2).
pub(super) fn immediate_bits(constant: Constant, ty: Type) -> Option<u64> {
    let mask = if ty.bits() >= 64 { u64::MAX } else { (1 << ty.bits()) - 1 };
    match (constant, ty) {
        (Constant::Signed(_) | Constant::Unsigned(_), Type::Pred) => constant.integer_bits().map(|b| u64::from(b != 0)),
        (Constant::Single(bits), Type::F32) => Some(u64::from(bits)),
        // The bits themselves, as ptxas 13.0 has them: 0f3F800000 is no 1.0 there.
        (Constant::Single(bits), Type::F64) => Some(u64::from(bits)),
        (Constant::Double(bits), Type::F32) => Some(u64::from((f64::from_bits(bits) as f32).to_bits())),
        (Constant::Double(bits), Type::F64) => Some(bits),
        (Constant::Single(bits), _) if ty.bits() >= 32 && !ty.is_float() => Some(u64::from(bits)),
        (Constant::Double(bits), Type::B32) => Some(u64::from((f64::from_bits(bits) as f32).to_bits())),
        (Constant::Double(bits), _) if ty.bits() >= 64 && !ty.is_float() => Some(bits),
        (Constant::Single(_) | Constant::Double(_), _) => None,
        (Constant::Signed(_) | Constant::Unsigned(_), Type::F32 | Type::F64) => None,
        (Constant::Signed(_) | Constant::Unsigned(_), _) => constant.integer_bits().map(|bits| bits & mask),
    }
}
