//! Constant expressions, folded while they are read (PTX ISA 4.5.5 to 4.5.7).
//!
//! Integers are 64 bits wide, signed or unsigned, and wrap; mixed operands become unsigned. Exact single-precision bits
//! (`0f...`) take part in no operation. Where the manual is silent or ptxas differs from it, this does as ptxas 13.0.88
//! does: `%` divides as unsigned and gives an unsigned result, shift amounts count modulo 64, `&`, `|` and `^` of
//! signed operands are signed, and `?:` gives the chosen operand as it is.

use super::super::ast::{Constant, Expression, Span};
use super::super::lexer::TokenKind;
use super::{Parsed, Parser};

/// Left-associative operators by how tightly they bind, as in C.
fn precedence(kind: TokenKind) -> Option<u32> {
    use TokenKind::*;
    Some(match kind {
        OrOr => 1,
        AndAnd => 2,
        Or => 3,
        Caret => 4,
        And => 5,
        EqualEqual | NotEqual => 6,
        Less | Greater | LessEqual | GreaterEqual => 7,
        ShiftLeft | ShiftRight => 8,
        Plus | Minus => 9,
        Star | Slash | Percent => 10,
        _ => return None,
    })
}

impl Parser<'_> {
    /// Whether a constant expression begins at the cursor.
    pub(super) fn at_constant(&self) -> bool {
        use TokenKind::*;
        match self.peek() {
            Integer | SingleBits | DoubleBits | Decimal | BadNumber | Minus | Plus | Tilde | Bang | LeftParen => true,
            Word => self.peek_text() == "WARP_SZ",
            _ => false,
        }
    }

    /// A whole constant expression, noted where it is more than a literal.
    pub(super) fn constant(&mut self) -> Parsed<Constant> {
        let (start, position) = (self.span(), self.position);
        let value = self.conditional()?;
        if self.position > position + 1 {
            self.expressions.push(Expression { span: start.to(self.previous_span()), value });
        }
        Ok(value)
    }

    /// An expression, with `?:`.
    fn conditional(&mut self) -> Parsed<Constant> {
        let start = self.span();
        let condition = self.binary(1)?;
        if !self.eat(TokenKind::Question) {
            return Ok(condition);
        }
        let Some(bits) = condition.integer_bits() else {
            let help = "compare it with a number";
            return Err(self.fault(start, "the condition of `?:` must be an integer", "not an integer", help));
        };
        let yes = self.nested(Self::conditional)?;
        self.expect(TokenKind::Colon, "`:`", "a conditional expression is `condition ? a : b`")?;
        let no = self.nested(Self::conditional)?;
        Ok(if bits != 0 { yes } else { no })
    }

    /// A constant that must be an integer, as its 64 bits.
    pub(super) fn integer_constant(&mut self, what: &str) -> Parsed<u64> {
        if !self.at_constant() {
            return Err(self.unexpected(what, "write an integer"));
        }
        let start = self.span();
        let value = self.constant()?;
        let span = start.to(self.previous_span());
        match value.integer_bits() {
            Some(bits) => Ok(bits),
            None => Err(self.fault(span, format!("{what} must be an integer"), "not an integer", "write an integer")),
        }
    }

    /// One integer literal without a sign.
    pub(super) fn integer(&mut self, what: &str) -> Parsed<u64> {
        let span = self.expect(TokenKind::Integer, what, "write an integer")?;
        self.integer_literal(span)
    }

    fn binary(&mut self, lowest: u32) -> Parsed<Constant> {
        let start = self.span();
        let mut left = self.unary()?;
        while let Some(level) = precedence(self.peek()).filter(|&level| level >= lowest) {
            let operator = self.peek();
            self.bump();
            let right = self.nested(|parser| parser.binary(level + 1))?;
            let span = start.to(self.previous_span());
            left = self.apply(operator, left, right, span)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Constant> {
        use TokenKind::*;
        let span = self.span();
        match self.peek() {
            Plus | Minus | Bang | Tilde => {
                let operator = self.peek();
                self.bump();
                let value = self.nested(Self::unary)?;
                self.apply_unary(operator, value, span.to(self.previous_span()))
            }
            LeftParen => self.nested(Self::parenthesized),
            _ => self.literal(),
        }
    }

    /// `(expression)`, or a cast `(.s64)` or `(.u64)` with what it applies to.
    fn parenthesized(&mut self) -> Parsed<Constant> {
        self.bump();
        let close = "close the parenthesis with `)`";
        if self.peek() != TokenKind::Dotted {
            let value = self.conditional()?;
            self.expect(TokenKind::RightParen, "`)`", close)?;
            return Ok(value);
        }
        let signed = match self.peek_text() {
            ".s64" => true,
            ".u64" => false,
            _ => {
                return Err(self.unexpected("`.s64` or `.u64`", "constants can be cast to these two types only"));
            }
        };
        self.bump();
        self.expect(TokenKind::RightParen, "`)`", close)?;
        let span = self.span();
        let value = self.unary()?;
        match value.integer_bits() {
            Some(bits) if signed => Ok(Constant::Signed(bits as i64)),
            Some(bits) => Ok(Constant::Unsigned(bits)),
            None => Err(self.fault(span, "only integers can be cast", "not an integer", "remove the cast")),
        }
    }

    fn literal(&mut self) -> Parsed<Constant> {
        let span = self.span();
        let text = self.text(span);
        let constant = match self.peek() {
            TokenKind::Integer => {
                let value = self.integer_literal(span)?;
                let unsigned = text.ends_with('U');
                i64::try_from(value).ok().filter(|_| !unsigned).map_or(Constant::Unsigned(value), Constant::Signed)
            }
            // The lexer has counted the digits, so these three always hold a value.
            TokenKind::SingleBits => Constant::Single(u32::from_str_radix(&text[2..], 16).unwrap_or_default()),
            TokenKind::DoubleBits => Constant::Double(u64::from_str_radix(&text[2..], 16).unwrap_or_default()),
            TokenKind::Decimal => Constant::Double(text.parse::<f64>().unwrap_or_default().to_bits()),
            TokenKind::Word if text == "WARP_SZ" => Constant::Signed(32),
            TokenKind::BadNumber => return Err(self.bad_number(span)),
            _ => {
                return Err(self.unexpected("a constant", "write a number or a constant expression"));
            }
        };
        self.bump();
        Ok(constant)
    }

    fn bad_number(&mut self, span: Span) -> super::Reported {
        let text = self.excerpt();
        let help = match text.as_bytes().get(1) {
            Some(b'f' | b'F') => "`0f` takes exactly eight hexadecimal digits",
            Some(b'd' | b'D') => "`0d` takes exactly sixteen hexadecimal digits",
            _ => "write decimal, `0x` hexadecimal, `0b` binary or `0` octal digits, perhaps with `U` behind them",
        };
        self.fault(span, format!("`{text}` is not a number"), "malformed number", help)
    }

    fn integer_literal(&mut self, span: Span) -> Parsed<u64> {
        let digits = self.text(span).trim_end_matches('U');
        let (digits, radix) = match digits.as_bytes() {
            [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
            [b'0', b'b' | b'B', ..] => (&digits[2..], 2),
            [b'0', _, ..] => (&digits[1..], 8),
            _ => (digits, 10),
        };
        u64::from_str_radix(digits, radix).map_err(|_| {
            let help = "constants have 64 bits; the largest is 18446744073709551615";
            self.fault(span, "this integer does not fit 64 bits", "too large", help)
        })
    }

    fn apply_unary(&mut self, operator: TokenKind, value: Constant, span: Span) -> Parsed<Constant> {
        use Constant::*;
        Ok(match (operator, value) {
            (TokenKind::Plus, Signed(_) | Unsigned(_) | Double(_)) => value,
            (TokenKind::Minus, Signed(value)) => Signed(value.wrapping_neg()),
            (TokenKind::Minus, Unsigned(value)) => Unsigned(value.wrapping_neg()),
            (TokenKind::Minus, Double(bits)) => Double((-f64::from_bits(bits)).to_bits()),
            (TokenKind::Bang, Signed(_) | Unsigned(_)) => Signed(i64::from(value.integer_bits() == Some(0))),
            (TokenKind::Tilde, Signed(value)) => Unsigned(!value as u64),
            (TokenKind::Tilde, Unsigned(value)) => Unsigned(!value),
            _ => return Err(self.wrong_operands(span)),
        })
    }

    fn apply(&mut self, operator: TokenKind, left: Constant, right: Constant, span: Span) -> Parsed<Constant> {
        use Constant::*;
        if let (TokenKind::Slash | TokenKind::Percent, Signed(0) | Unsigned(0)) = (operator, right) {
            return Err(self.fault(span, "this constant divides by zero", "division by zero", "change the divisor"));
        }
        let folded = match unify(left, right) {
            (Double(a), Double(b)) => fold_double(operator, f64::from_bits(a), f64::from_bits(b)),
            (Signed(_), Signed(_)) | (Unsigned(_), Unsigned(_)) => Some(fold_integer(operator, left, right)),
            _ => None,
        };
        folded.ok_or_else(|| self.wrong_operands(span))
    }

    fn wrong_operands(&mut self, span: Span) -> super::Reported {
        let help = "integer operators take integers; `0f...` constants stand alone";
        self.fault(span, "this operator does not apply to these constants", "cannot be folded", help)
    }
}

/// The usual conversions: unsigned as soon as one side is.
fn unify(left: Constant, right: Constant) -> (Constant, Constant) {
    use Constant::*;
    match (left, right) {
        (Signed(a), Unsigned(_)) => (Unsigned(a as u64), right),
        (Unsigned(_), Signed(b)) => (left, Unsigned(b as u64)),
        _ => (left, right),
    }
}

fn fold_double(operator: TokenKind, a: f64, b: f64) -> Option<Constant> {
    use TokenKind::*;
    let truth = |value: bool| Some(Constant::Signed(i64::from(value)));
    let number = |value: f64| Some(Constant::Double(value.to_bits()));
    match operator {
        Plus => number(a + b),
        Minus => number(a - b),
        Star => number(a * b),
        Slash => number(a / b),
        Less => truth(a < b),
        Greater => truth(a > b),
        LessEqual => truth(a <= b),
        GreaterEqual => truth(a >= b),
        EqualEqual => truth(a == b),
        NotEqual => truth(a != b),
        _ => None,
    }
}

/// Folds an operator over two integers, whose signs may differ; the divisor is not zero.
fn fold_integer(operator: TokenKind, left: Constant, right: Constant) -> Constant {
    use TokenKind::*;
    let (a, b) = (left.integer_bits().unwrap_or_default(), right.integer_bits().unwrap_or_default());
    let signed = matches!((left, right), (Constant::Signed(_), Constant::Signed(_)));
    let number = |bits: u64| {
        if signed { Constant::Signed(bits as i64) } else { Constant::Unsigned(bits) }
    };
    let truth = |value: bool| Constant::Signed(i64::from(value));
    let less = |a: u64, b: u64| {
        if signed { (a as i64) < (b as i64) } else { a < b }
    };
    match operator {
        Plus => number(a.wrapping_add(b)),
        Minus => number(a.wrapping_sub(b)),
        Star => number(a.wrapping_mul(b)),
        Slash if signed => Constant::Signed((a as i64).wrapping_div(b as i64)),
        Slash => Constant::Unsigned(a / b),
        Percent => Constant::Unsigned(a % b),
        ShiftLeft | ShiftRight => shift(operator, left, b),
        Less => truth(less(a, b)),
        Greater => truth(less(b, a)),
        LessEqual => truth(!less(b, a)),
        GreaterEqual => truth(!less(a, b)),
        EqualEqual => truth(a == b),
        NotEqual => truth(a != b),
        And => number(a & b),
        Or => number(a | b),
        Caret => number(a ^ b),
        AndAnd => truth(a != 0 && b != 0),
        _ => truth(a != 0 || b != 0),
    }
}

/// Shifts keep the type of their first operand; right shifts of signed values copy the sign.
fn shift(operator: TokenKind, value: Constant, amount: u64) -> Constant {
    let amount = (amount % 64) as u32;
    match (value, operator) {
        (Constant::Signed(value), TokenKind::ShiftLeft) => Constant::Signed(value << amount),
        (Constant::Signed(value), _) => Constant::Signed(value >> amount),
        (Constant::Unsigned(value), TokenKind::ShiftLeft) => Constant::Unsigned(value << amount),
        (Constant::Unsigned(value), _) => Constant::Unsigned(value >> amount),
        (floating, _) => floating,
    }
}
