//! Video instructions: the selectors that PTX writes on operands (`%r1.b2`, `%r2.h10`) move into one immediate.

use super::body::BodyLowering;
use super::select::Selected;
use crate::ast::{self, OperandKind};
use oriole_ir::Operand;
use oriole_ir::ops::video::{SimdSelectors, VideoPart, VideoSelectors};
use oriole_ir::ops::{Flags, Opcode, Type};

/// An operand without its selector and sign.
struct Plain<'s> {
    operand: ast::Operand<'s>,
    selector: &'s str,
    negated: bool,
}

/// Whether the last source packs the selectors of a video instruction.
pub(crate) fn is_video(opcode: Opcode) -> bool {
    opcode.is(Flags::VIDEO)
}

/// Lanes of a SIMD video instruction; one for the scalar ones.
pub(crate) fn lanes(opcode: Opcode) -> usize {
    match opcode.row().name.as_bytes().last() {
        Some(b'2') => 2,
        Some(b'4') => 4,
        _ => 1,
    }
}

impl<'s> BodyLowering<'_, '_, 's> {
    pub(super) fn lower_video(&mut self, inst: &ast::Instruction<'s>, selected: Selected) -> Option<()> {
        let operands: Vec<_> = self.body[inst.operands].iter().map(|operand| self.plain(*operand)).collect();
        let (target, a, b, c) = match operands.as_slice() {
            [target, a, b] if lanes(selected.opcode) == 1 => (target, a, b, None),
            [target, a, b, c] => (target, a, b, Some(c)),
            _ => {
                self.report(
                    inst.span,
                    format!("`{}` takes 4 operands", inst.opcode.text),
                    "wrong number",
                    "write the result and three sources",
                );
                return None;
            }
        };
        let selectors = match lanes(selected.opcode) {
            1 => self.scalar_selectors([target, a, b], c)?,
            lanes => self.simd_selectors([target, a, b], lanes)?,
        };
        let mut srcs = Vec::with_capacity(4);
        for source in [Some(a), Some(b), c] {
            srcs.push(match source {
                Some(plain) => self.value(&plain.operand, Type::B32, false)?,
                None => Operand::imm(0),
            });
        }
        srcs.push(Operand::imm(selectors));
        let target = self.destination(&target.operand, Type::B32, false)?;
        self.push_full(selected.opcode, selected.fields, self.guard, &[target.reg.into()], &srcs);
        Some(())
    }

    fn plain(&self, operand: ast::Operand<'s>) -> Plain<'s> {
        match operand.kind {
            OperandKind::Component { name, component } => Plain {
                operand: ast::Operand { kind: OperandKind::Name(name), ..operand },
                selector: component,
                negated: false,
            },
            OperandKind::Negate(list) => match &self.body[list] {
                [inner @ ast::Operand { kind: OperandKind::Name(_) | OperandKind::Component { .. }, .. }] => {
                    Plain { negated: true, ..self.plain(*inner) }
                }
                _ => Plain { operand, selector: "", negated: false },
            },
            _ => Plain { operand, selector: "", negated: false },
        }
    }

    fn bad_selector(&mut self, plain: &Plain<'s>, help: &str) {
        let message = format!("`.{}` does not select a part here", plain.selector);
        self.report(plain.operand.span, message, "unknown selector", help);
    }

    fn scalar_selectors(&mut self, plains: [&Plain<'s>; 3], c: Option<&Plain<'s>>) -> Option<u32> {
        let mut parts = [VideoPart::Word; 3];
        for (part, plain) in parts.iter_mut().zip(plains) {
            let Some(found) = VideoPart::from_name(plain.selector) else {
                self.bad_selector(plain, "write `.b0` to `.b3`, `.h0` or `.h1`");
                return None;
            };
            *part = found;
        }
        let [dst, a, b] = parts;
        let negate = [plains[1].negated, plains[2].negated, c.is_some_and(|c| c.negated)];
        Some(VideoSelectors { dst, a, b, negate }.pack())
    }

    fn simd_selectors(&mut self, [target, a, b]: [&Plain<'s>; 3], lanes: usize) -> Option<u32> {
        let mut selectors = if lanes == 2 { SimdSelectors::HALVES } else { SimdSelectors::BYTES };
        let help = "write the lanes from the highest to the lowest, as in `.h10` or `.b3210`";
        for (plain, sources) in [(a, &mut selectors.a), (b, &mut selectors.b)] {
            let Some(digits) = selector_digits(plain.selector, lanes, 2 * lanes) else {
                self.bad_selector(plain, help);
                return None;
            };
            if !digits.is_empty() && digits.len() != lanes {
                self.bad_selector(plain, help);
                return None;
            }
            for (lane, digit) in digits.iter().rev().enumerate() {
                sources[lane] = *digit;
            }
        }
        match selector_digits(target.selector, lanes, lanes) {
            Some(digits) if digits.is_empty() => {}
            Some(digits) => selectors.mask = digits.iter().fold(0, |mask, digit| mask | 1 << digit),
            None => {
                self.bad_selector(target, help);
                return None;
            }
        }
        Some(selectors.pack())
    }
}

/// The digits of `h10` or `b3210`, each below `limit`; none for an empty selector.
fn selector_digits(selector: &str, lanes: usize, limit: usize) -> Option<Vec<u8>> {
    if selector.is_empty() {
        return Some(Vec::new());
    }
    let digits = selector.strip_prefix(if lanes == 2 { 'h' } else { 'b' })?;
    let values: Option<Vec<u8>> = digits.chars().map(|ch| ch.to_digit(10).map(|digit| digit as u8)).collect();
    values
        .filter(|values| !values.is_empty() && values.len() <= lanes && values.iter().all(|v| usize::from(*v) < limit))
}
