//! Constant expressions and guards.
//!
//! From the loosest: `|`, `^`, `&`, shifts, sums, products, signs. An `s` right behind an operator makes it signed:
//! `/s`, `%s`, `>>s`, `<s`.

use super::super::ast::{BinaryOp, Expr, Guard, Name, Relation, UnaryOp};
use super::super::lexer::Token;
use super::super::{Fault, Span};
use super::{Parsed, Parser};

/// Operators by how tightly they bind, the loosest first.
const LEVELS: &[&[(Token, BinaryOp, Option<BinaryOp>)]] = &[
    &[(Token::Bar, BinaryOp::Or, None)],
    &[(Token::Caret, BinaryOp::Xor, None)],
    &[(Token::Ampersand, BinaryOp::And, None)],
    &[(Token::ShiftLeft, BinaryOp::Shl, None), (Token::ShiftRight, BinaryOp::Shr, Some(BinaryOp::ShrSigned))],
    &[(Token::Plus, BinaryOp::Add, None), (Token::Minus, BinaryOp::Sub, None)],
    &[
        (Token::Star, BinaryOp::Mul, None),
        (Token::Slash, BinaryOp::Div, Some(BinaryOp::DivSigned)),
        (Token::Percent, BinaryOp::Rem, Some(BinaryOp::RemSigned)),
    ],
];

const RELATIONS: &[(Token, Relation)] = &[
    (Token::Equal, Relation::Eq),
    (Token::NotEqual, Relation::Ne),
    (Token::Less, Relation::Lt),
    (Token::LessEqual, Relation::Le),
    (Token::Greater, Relation::Gt),
    (Token::GreaterEqual, Relation::Ge),
];

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.binary(0)
    }

    fn binary(&mut self, level: usize) -> Parsed<Expr> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        let depth = self.depth;
        while let Some((_, plain, signed)) = operators.iter().find(|(token, ..)| self.peek() == Some(*token)) {
            self.refuse_doubled()?;
            self.at += 1;
            // A chain leans to the left: each link is one level of the tree.
            self.enter()?;
            let op = signed.filter(|_| self.eat_signed()).unwrap_or(*plain);
            let right = self.binary(level + 1)?;
            left = Expr::Binary { op, left: Box::new(left), right: Box::new(right) };
        }
        self.depth = depth;
        Ok(left)
    }

    /// `&&` joins no conditions.
    fn refuse_doubled(&self) -> Parsed<()> {
        let first = self.next_span();
        let doubled = self.tokens.get(self.at + 1).filter(|next| next.span.start == first.end);
        match doubled {
            Some(next) if self.peek() == Some(Token::Ampersand) && next.token == Token::Ampersand => {
                Err(joined(first.to(next.span), "&&"))
            }
            _ => Ok(()),
        }
    }

    /// An `s` without a blank before it.
    fn eat_signed(&mut self) -> bool {
        let end = self.last_span().end;
        let found = self.at_word("s") && self.next_span().start == end;
        self.at += usize::from(found);
        found
    }

    fn unary(&mut self) -> Parsed<Expr> {
        self.enter()?;
        let start = self.next_span();
        let op = match self.peek() {
            Some(Token::Minus) => Some(UnaryOp::Neg),
            Some(Token::Tilde) => Some(UnaryOp::Not),
            _ => None,
        };
        let expr = match op {
            Some(op) => {
                self.at += 1;
                let of = self.unary()?;
                let span = start.to(self.last_span());
                match (op, of) {
                    // The sign of a float is a bit of it, and no complement.
                    (UnaryOp::Neg, Expr::Float { value, .. }) => Expr::Float { value: -value, span },
                    (_, of) => Expr::Unary { op, of: Box::new(of), span },
                }
            }
            None => self.atom()?,
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn atom(&mut self) -> Parsed<Expr> {
        let start = self.next_span();
        match self.peek() {
            Some(Token::ParenOpen) => {
                self.at += 1;
                if self.peek() == Some(Token::Bang) {
                    return Err(grouped(start));
                }
                let inner = self.expr()?;
                if self.peek() == Some(Token::Or) || self.relation().is_some() {
                    return Err(grouped(start));
                }
                self.close(start, "`)`")?;
                Ok(inner)
            }
            Some(Token::Number) => self.number().map(|(value, span)| Expr::Number { value, span }),
            Some(Token::Float) => self.float(),
            Some(Token::Word) if self.at_word("inf") || self.at_word("nan") => {
                let value = if self.at_word("inf") { f64::INFINITY } else { f64::NAN.copysign(1.0) };
                self.at += 1;
                Ok(Expr::Float { value, span: start })
            }
            Some(Token::Word) if self.at_word("fold") && self.peek_at(1) == Some(Token::ParenOpen) => {
                self.at += 1;
                let open = self.next_span();
                self.at += 1;
                let inst = Box::new(self.inst()?);
                self.close(open, "`)`")?;
                Ok(Expr::Fold { inst, span: start.to(self.last_span()) })
            }
            _ => {
                let name = self.name("an operand")?;
                if self.peek() == Some(Token::ParenOpen) { self.call(name) } else { Ok(Expr::Name(name)) }
            }
        }
    }

    fn float(&mut self) -> Parsed<Expr> {
        let span = self.next_span();
        self.at += 1;
        let finite = self.text(span).parse().ok().filter(|value: &f64| value.is_finite());
        let Some(value) = finite else {
            return Err(Fault::new(span, "the number is beyond every float", "here", "write `inf` if you mean it"));
        };
        if self.peek() == Some(Token::Word) && self.next_span().start == span.end {
            let suffix = self.next_span();
            let message = format!("`{}` is no number", self.text(span.to(suffix)));
            let help = "floats have no suffix: they are as wide as their place";
            return Err(Fault::new(suffix, message, "this suffix", help));
        }
        Ok(Expr::Float { value, span })
    }

    fn call(&mut self, function: Name) -> Parsed<Expr> {
        let open = self.expect(Token::ParenOpen, "`(`")?;
        let mut arguments = Vec::new();
        while self.peek() != Some(Token::ParenClose) {
            arguments.push(self.expr()?);
            if !self.eat(Token::Comma) {
                break;
            }
        }
        self.close(open, "`,` or `)`")?;
        let span = function.span.to(self.last_span());
        Ok(Expr::Call { function, arguments, span })
    }

    pub(super) fn guards(&mut self) -> Parsed<Vec<Guard>> {
        let mut guards = vec![self.alternatives()?];
        while self.eat(Token::Comma) {
            guards.push(self.alternatives()?);
        }
        match ["and", "or"].into_iter().find(|word| self.at_word(word)) {
            Some(word) => Err(joined(self.next_span(), word)),
            None => Ok(guards),
        }
    }

    fn alternatives(&mut self) -> Parsed<Guard> {
        let first = self.guard()?;
        let mut all = vec![first];
        while self.eat(Token::Or) {
            all.push(self.guard()?);
        }
        Ok(match all.len() {
            1 => all.remove(0),
            _ => Guard::Any(all),
        })
    }

    fn guard(&mut self) -> Parsed<Guard> {
        self.enter()?;
        let guard = self.guard_here();
        self.depth = self.depth.saturating_sub(1);
        guard
    }

    fn guard_here(&mut self) -> Parsed<Guard> {
        let start = self.next_span();
        if self.eat(Token::Bang) {
            let guard = Box::new(self.guard()?);
            return Ok(Guard::Not { guard, span: start.to(self.last_span()) });
        }
        if self.peek() == Some(Token::Word) && self.peek_at(1) == Some(Token::Dot) {
            return self.field_guard();
        }
        let left = self.expr()?;
        if let Some(relation) = self.relation() {
            self.at += 1;
            let signed = self.eat_signed();
            if signed && matches!(relation, Relation::Eq | Relation::Ne) {
                let help = format!("write `{}`: equality has no sign", relation.symbol());
                let message = format!("there is no `{}s`", relation.symbol());
                return Err(Fault::new(self.last_span(), message, "this `s`", help));
            }
            // Values of variables have dots: `OP == imul.lo`.
            let dotted = self.peek() == Some(Token::Word) && self.peek_at(1) == Some(Token::Dot);
            let right = if dotted { Expr::Name(self.dotted()?) } else { self.expr()? };
            return Ok(Guard::Compare { relation, signed, left, right });
        }
        match left {
            Expr::Name(variable) if self.eat_word("in") => Ok(Guard::Member { variable, set: self.set()? }),
            Expr::Call { function, arguments, span } => Ok(Guard::Call { function, arguments, span }),
            _ => Err(Fault::new(
                left.span(),
                "this is no condition",
                "a value, not a condition",
                "compare it (`C > 1`, `C <s 0`), or use a predicate such as `is_power_of_two(C)`",
            )),
        }
    }

    /// The comparison that is here.
    fn relation(&self) -> Option<Relation> {
        let next = self.peek()?;
        RELATIONS.iter().find(|(token, _)| *token == next).map(|(_, relation)| *relation)
    }

    fn field_guard(&mut self) -> Parsed<Guard> {
        let rest = self.name("a name")?;
        self.expect(Token::Dot, "`.`")?;
        let field = self.name("a field such as `Rounding`")?;
        let equal = self.eat(Token::Equal);
        if !equal {
            self.expect(Token::NotEqual, "`==` or `!=`")?;
        }
        let value = self.dotted()?;
        Ok(Guard::Field { rest, field, equal, value })
    }
}

/// The fault of conditions that are joined as in other languages.
fn joined(span: Span, word: &str) -> Fault {
    let help = "write `,` between conditions that must all hold, and `||` between those of which one must";
    Fault::new(span, format!("`{word}` joins no conditions"), "here", help)
}

/// The fault of conditions in parentheses.
fn grouped(open: Span) -> Fault {
    let help =
        "`!` takes one condition, `||` joins conditions and `,` joins those: write `a || b, c`, or several rules";
    Fault::new(open, "parentheses are for constants, not for conditions", "opened here", help)
}
