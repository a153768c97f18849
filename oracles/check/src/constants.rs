//! Whether the front end folds constant expressions rightly.
//!
//! Both sides of a check read a file alike, so a constant that is misread would make no difference. Each expression is
//! therefore evaluated a second time, by the definition of [`oriole_generate::spell::constant`].

use std::fmt;

use oriole_generate::spell::constant::{self, Value};
use oriole_ir::diagnostics::excerpt::clipped;
use oriole_ptx::ast::{Constant, Module};
use oriole_ptx::line_column;

/// A constant expression that is not read as what it denotes.
#[derive(Clone, PartialEq, Debug)]
pub struct Misread {
    /// Where it begins, line and column from one.
    pub place: (usize, usize),
    /// As it is written, cut where it is long.
    pub excerpt: String,
    /// As what it is read.
    pub read: Value,
    /// What it denotes; `None` where it should be refused.
    pub wanted: Option<Value>,
}

impl fmt::Display for Misread {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Misread { place: (line, column), excerpt, read, wanted } = self;
        write!(out, "the constant `{excerpt}` in line {line}, column {column} is read as {read}, ")?;
        match wanted {
            Some(wanted) => write!(out, "and denotes {wanted}"),
            None => out.write_str("and denotes nothing"),
        }
    }
}

/// The first constant expression of a text that is misread.
pub fn misread(text: &str, tree: &Module<'_>) -> Option<Misread> {
    tree.expressions.iter().find_map(|expression| {
        let written = text.get(expression.span.range())?;
        let (read, wanted) = (value_of(expression.value), constant::value(written));
        let place = || line_column(text, expression.span.start as usize);
        let excerpt = || clipped(written).into_owned();
        (!wanted.is_some_and(|wanted| is_same(read, wanted))).then(|| Misread {
            place: place(),
            excerpt: excerpt(),
            read,
            wanted,
        })
    })
}

fn value_of(constant: Constant) -> Value {
    match constant {
        Constant::Signed(value) => Value::Signed(value),
        Constant::Unsigned(value) => Value::Unsigned(value),
        Constant::Single(bits) => Value::Single(bits),
        Constant::Double(bits) => Value::Double(f64::from_bits(bits)),
    }
}

/// Whether two values are the same, NaN and the sign of zero included.
fn is_same(one: Value, other: Value) -> bool {
    match (one, other) {
        (Value::Double(a), Value::Double(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_that_is_folded_otherwise_is_found() {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.global .u64 t[2] = {-1 >> 3, 7};\n";
        let mut tree = oriole_ptx::parse(text).expect("it parses");
        assert_eq!(misread(text, &tree), None);
        tree.expressions[0].value = Constant::Signed(8_388_607);
        let found = misread(text, &tree).expect("it is another value").to_string();
        assert_eq!(found, "the constant `-1 >> 3` in line 4, column 22 is read as 8388607, and denotes -1");
    }
}
