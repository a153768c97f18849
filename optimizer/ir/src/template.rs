//! Templates: instructions of PTX that the opcode table does not have, as text with places for their operands.
//!
//! `tcgen05.ld.sync.aligned.32x32b.x2.b32 {=b32, =b32}, [%b32]` yields two words and reads one. A place is a sign and
//! the type that PTX declares the register with: `%` reads a register, `=` writes one, `&` does both, with a source
//! and a destination. `@` is the name of a variable or a function. Destinations and sources of the instruction are
//! those of the places, in order. Everything else is in the text as it is printed.

use super::function::Function;
use super::operand::Operand;
use crate::ops::{FieldValue, Type};

/// The types of places.
const TYPES: [Type; 6] = [Type::Pred, Type::B128, Type::B64, Type::B32, Type::B16, Type::B8];

/// What an operand is to the instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A register that is read.
    Read(Type),
    /// A register that is written.
    Written(Type),
    /// A register that is read and then written.
    Both(Type),
    /// A variable or a function.
    Symbol,
}

impl Place {
    const SIGNS: [char; 4] = ['%', '=', '&', '@'];

    /// How the place is written in a template.
    pub fn text(self) -> String {
        match self {
            Place::Read(ty) => format!("%{}", ty.name()),
            Place::Written(ty) => format!("={}", ty.name()),
            Place::Both(ty) => format!("&{}", ty.name()),
            Place::Symbol => "@".to_owned(),
        }
    }

    /// The type of the destination that belongs to the place.
    pub fn written(self) -> Option<Type> {
        match self {
            Place::Written(ty) | Place::Both(ty) => Some(ty),
            Place::Read(_) | Place::Symbol => None,
        }
    }

    /// Whether a source belongs to the place.
    pub fn is_source(self) -> bool {
        !matches!(self, Place::Written(_))
    }
}

/// A part of a template.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece<'t> {
    /// What is there.
    Text(&'t str),
    /// Where an operand stands.
    Place(Place),
}

/// A text that is a template.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Template<'t>(&'t str);

impl<'t> Template<'t> {
    /// The template that a text is; `None` where it has other characters or a sign without a type, or does not begin
    /// with the name of an instruction.
    pub fn of(text: &'t str) -> Option<Template<'t>> {
        let template = Template(text);
        let named = text.starts_with(|c: char| c.is_ascii_lowercase());
        let sound = |(_, piece): (usize, Option<Piece<'_>>)| match piece {
            Some(Piece::Text(text)) => text.bytes().all(is_plain),
            place => place.is_some(),
        };
        (named && template.split().all(sound)).then_some(template)
    }

    /// The name of the instruction with its modifiers.
    pub fn mnemonic(self) -> &'t str {
        self.0.split(' ').next().unwrap_or("")
    }

    /// The parts of the text, in order.
    pub fn pieces(self) -> impl Iterator<Item = Piece<'t>> {
        self.split().filter_map(|(_, piece)| piece)
    }

    /// The places of operands, in order.
    pub fn places(self) -> impl Iterator<Item = Place> {
        self.pieces().filter_map(|piece| if let Piece::Place(place) = piece { Some(place) } else { None })
    }

    /// The places of sources, in order.
    pub fn sources(self) -> impl Iterator<Item = Place> {
        self.places().filter(|place| place.is_source())
    }

    /// The types of the destinations, in order.
    pub fn results(self) -> impl Iterator<Item = Type> {
        self.places().filter_map(Place::written)
    }

    /// Each part with where it begins; `None` for a sign that no type stands behind.
    fn split(self) -> impl Iterator<Item = (usize, Option<Piece<'t>>)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (start, rest) = (at, self.0.get(at..).filter(|rest| !rest.is_empty())?);
            let (piece, length) = match rest.find(Place::SIGNS) {
                Some(0) => place(rest).map_or((None, 1), |(place, length)| (Some(Piece::Place(place)), length)),
                end => {
                    let end = end.unwrap_or(rest.len());
                    (Some(Piece::Text(&rest[..end])), end)
                }
            };
            at += length;
            Some((start, piece))
        })
    }
}

/// The place that a text begins with, and how long that is.
fn place(text: &str) -> Option<(Place, usize)> {
    let (sign, rest) = text.split_at(1);
    if sign == "@" {
        return Some((Place::Symbol, 1));
    }
    let ty = *TYPES.iter().find(|ty| rest.starts_with(ty.name()))?;
    let place = match sign {
        "%" => Place::Read(ty),
        "=" => Place::Written(ty),
        _ => Place::Both(ty),
    };
    Some((place, 1 + ty.name().len()))
}

/// Whether a character stands for itself in a template.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_.: ,[]{}()+-|!".contains(&byte)
}

impl Function {
    /// An operand that stands for a template.
    ///
    /// # Panics
    /// If the text is none.
    pub fn template(&mut self, text: &str) -> Operand {
        assert!(Template::of(text).is_some(), "`{text}` is no template");
        self.enter_name(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_say_what_their_operands_are() {
        let text = "tcgen05.ld.sync.x2.b32 {=b32, &b128}, [@+16, {%b64, -3}], !%pred";
        let template = Template::of(text).expect("it is a template");
        assert_eq!(template.mnemonic(), "tcgen05.ld.sync.x2.b32");
        let places = [
            Place::Written(Type::B32),
            Place::Both(Type::B128),
            Place::Symbol,
            Place::Read(Type::B64),
            Place::Read(Type::Pred),
        ];
        assert_eq!(template.places().collect::<Vec<_>>(), places);
        assert_eq!(template.results().collect::<Vec<_>>(), [Type::B32, Type::B128]);
        assert_eq!(template.sources().collect::<Vec<_>>(), places[1..]);
        let part = |piece| match piece {
            Piece::Text(text) => text.to_owned(),
            Piece::Place(place) => place.text(),
        };
        assert_eq!(template.pieces().map(part).collect::<String>(), text);
    }

    #[test]
    fn other_texts_are_none() {
        for text in ["", "%b32", "a %", "a %f32", "a ; b", "a 'b'", "A", "a\n", "a é", "a $x"] {
            assert_eq!(Template::of(text), None, "{text}");
        }
    }
}
