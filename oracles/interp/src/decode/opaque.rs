//! Decoding of what is carried through: copies by tensor maps have a meaning here, other instructions none.

use oriole_ir::ops::{AtomOp, FieldValue, Shape, Space};
use oriole_ir::template::{Piece, Place as TemplatePlace, Template};
use oriole_ir::{Inst, InstData, Operand};

use super::{DecodeFault, Decoded, Decoder, Slots, op};
use crate::program::{Address, Elements, Kind, Op, Place};
use crate::tensor_map::TensorOp;

/// What the name of a copy by a tensor map says.
struct Named {
    rank: usize,
    kind: NamedKind,
}

/// Where it goes, and what tells that it is done.
enum NamedKind {
    /// To the shared memory of this CTA or of the cluster.
    Load { cluster: bool, multicast: bool },
    /// To global memory, which it may be combined with.
    Store { combine: Option<AtomOp> },
    /// To a cache.
    Prefetch,
}

impl Named {
    /// What a name says; `None` for any other instruction, and for other ways to copy than whole boxes.
    fn of(mnemonic: &str) -> Option<Named> {
        let (name, rest) = [
            ("cp.async.bulk.tensor.", mnemonic.strip_prefix("cp.async.bulk.tensor.")),
            ("cp.reduce.async.bulk.tensor.", mnemonic.strip_prefix("cp.reduce.async.bulk.tensor.")),
            ("cp.async.bulk.prefetch.tensor.", mnemonic.strip_prefix("cp.async.bulk.prefetch.tensor.")),
        ]
        .into_iter()
        .find_map(|(name, rest)| Some((name, rest?)))?;
        let plain = |part: &&str| !matches!(*part, "tile" | "L2::cache_hint");
        let parts: Vec<&str> = rest.split('.').filter(plain).collect();
        let (rank, parts) = parts.split_first()?;
        let rank = ["1d", "2d", "3d", "4d", "5d"].iter().position(|name| name == rank)? + 1;
        let kind = match (name, parts) {
            ("cp.async.bulk.prefetch.tensor.", ["L2", "global"]) => NamedKind::Prefetch,
            ("cp.async.bulk.tensor.", [to, "global", "mbarrier::complete_tx::bytes", rest @ ..]) => NamedKind::Load {
                cluster: match *to {
                    "shared::cluster" => true,
                    "shared::cta" => false,
                    _ => return None,
                },
                multicast: match rest {
                    [] => false,
                    ["multicast::cluster"] => true,
                    _ => return None,
                },
            },
            ("cp.async.bulk.tensor.", ["global", "shared::cta", "bulk_group"]) => NamedKind::Store { combine: None },
            ("cp.reduce.async.bulk.tensor.", ["global", "shared::cta", combine, "bulk_group"]) => {
                let known = [
                    AtomOp::Add,
                    AtomOp::Min,
                    AtomOp::Max,
                    AtomOp::Inc,
                    AtomOp::Dec,
                    AtomOp::And,
                    AtomOp::Or,
                    AtomOp::Xor,
                ];
                NamedKind::Store { combine: Some(known.into_iter().find(|op| op.name() == *combine)?) }
            }
            _ => return None,
        };
        Some(Named { rank, kind })
    }
}

/// A part of the operands of a template.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Token {
    Sign(char),
    Number(i64),
    Operand(TemplatePlace, Operand),
}

/// The operands of an instruction, to be taken one after another.
struct Tokens(std::vec::IntoIter<Token>);

impl Tokens {
    /// `None` where something is there that no such copy has.
    fn of(template: Template<'_>, sources: &[Operand]) -> Option<Tokens> {
        let mut sources = sources.iter().copied();
        let mut tokens = Vec::new();
        let mut first = true;
        for piece in template.pieces() {
            match piece {
                Piece::Text(text) => {
                    let text = if first { text.get(template.mnemonic().len()..)? } else { text };
                    numbers_and_signs(text, &mut tokens)?;
                }
                Piece::Place(place) => tokens.push(Token::Operand(place, sources.next()?)),
            }
            first = false;
        }
        Some(Tokens(tokens.into_iter()))
    }

    fn eat(&mut self, sign: char) -> bool {
        let found = self.0.as_slice().first() == Some(&Token::Sign(sign));
        if found {
            self.0.next();
        }
        found
    }

    fn number(&mut self) -> Option<i64> {
        let Some(Token::Number(number)) = self.0.as_slice().first().copied() else { return None };
        self.0.next();
        Some(number)
    }
}

/// Adds what a piece of text is made of.
fn numbers_and_signs(text: &str, tokens: &mut Vec<Token>) -> Option<()> {
    let mut rest = text.trim_start();
    while let Some(sign) = rest.chars().next() {
        let digits = rest.strip_prefix('-').unwrap_or(rest);
        let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let used = match sign {
            '[' | ']' | '{' | '}' | ',' | '+' => {
                tokens.push(Token::Sign(sign));
                1
            }
            _ if length > 0 => {
                let used = rest.len() - digits.len() + length;
                tokens.push(Token::Number(rest[..used].parse().ok()?));
                used
            }
            _ => return None,
        };
        rest = rest[used..].trim_start();
    }
    Some(())
}

impl Decoder<'_> {
    /// An instruction that is carried through.
    pub(super) fn opaque(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let func = self.func;
        let [first, sources @ ..] = func.srcs(inst) else { return Err(DecodeFault::OperandCount) };
        let template = func.text(*first).and_then(Template::of);
        let known =
            template.and_then(|template| Some((Named::of(template.mnemonic())?, Tokens::of(template, sources)?)));
        let Some((named, mut tokens)) = known else { return Ok(op(Kind::Opaque)) };
        if matches!(named.kind, NamedKind::Prefetch) {
            return Ok(op(Kind::Nop));
        }
        match self.tensor_copy(data, &named, &mut tokens)? {
            Some(copy) => {
                self.program.tensors.push(copy);
                Ok(op(Kind::Tensor).x(self.program.tensors.len() as u32 - 1))
            }
            None => Ok(op(Kind::Opaque)),
        }
    }

    /// A copy with its operands; `None` where these are not what such a copy has.
    fn tensor_copy(&mut self, data: &InstData, named: &Named, tokens: &mut Tokens) -> Decoded<Option<TensorOp>> {
        let space = match named.kind {
            NamedKind::Load { cluster: true, .. } => Space::Cluster,
            _ => Space::Shared,
        };
        let is_load = matches!(named.kind, NamedKind::Load { .. });
        let before = if is_load { self.place_of(data, tokens, space, 0)? } else { None };
        if is_load && (before.is_none() || !tokens.eat(',')) {
            return Ok(None);
        }
        let Some((map, coordinates)) = self.place_of(data, tokens, Space::Generic, named.rank)? else {
            return Ok(None);
        };
        if !tokens.eat(',') {
            return Ok(None);
        }
        let behind = if is_load { Space::Cluster } else { space };
        let Some((other, _)) = self.place_of(data, tokens, behind, 0)? else { return Ok(None) };
        let ctas = match named.kind {
            NamedKind::Load { multicast: true, .. } => match (tokens.eat(','), tokens.0.next()) {
                (true, Some(Token::Operand(_, mask))) => Some(self.typed(data, mask, Shape::R)?),
                _ => return Ok(None),
            },
            _ => None,
        };
        let combine = if let NamedKind::Store { combine } = named.kind { combine } else { None };
        let (shared, barrier) = match before {
            Some((shared, _)) => (shared, Some(other)),
            None => (other, None),
        };
        Ok(Some(TensorOp { map, coordinates, shared, barrier, ctas, combine }))
    }

    /// `[base+offset]`, or `[base, {x, y}]` with so many coordinates.
    fn place_of(
        &mut self,
        data: &InstData,
        tokens: &mut Tokens,
        space: Space,
        coordinates: usize,
    ) -> Decoded<Option<(Address, Elements)>> {
        if !tokens.eat('[') {
            return Ok(None);
        }
        let Some(Token::Operand(_, base)) = tokens.0.next() else { return Ok(None) };
        let offset = if tokens.eat('+') { tokens.number() } else { Some(0) };
        let Some(offset) = offset else { return Ok(None) };
        let space = if matches!(base, Operand::Local(_)) { Space::Param } else { space };
        let address = self.address_at(data, base, offset as u64, space)?;
        let mut elements = Elements::default();
        if coordinates > 0 {
            if !tokens.eat(',') || !tokens.eat('{') {
                return Ok(None);
            }
            for at in 0..coordinates {
                if at > 0 && !tokens.eat(',') {
                    return Ok(None);
                }
                let slot = match tokens.0.next() {
                    Some(Token::Operand(_, operand)) => self.typed(data, operand, Shape::R)?,
                    Some(Token::Number(number)) => match self.constant(number as u32 as u64, 1) {
                        Slots::Words(slot, _) => Place::Word(slot),
                        Slots::Pred(_) => return Ok(None),
                    },
                    _ => return Ok(None),
                };
                let Place::Word(slot) = slot else { return Ok(None) };
                elements.push(slot);
            }
            if !tokens.eat('}') {
                return Ok(None);
            }
        }
        Ok(tokens.eat(']').then_some((address, elements)))
    }
}
