//! The target line and variables.

use super::{Parsed, Parser, Symbols, Token};
use crate::ops::{Field, FieldValue, Space, Type};
use crate::{Linkage, Module, Relocation, Variable};

impl Parser<'_> {
    pub(super) fn target(&mut self, module: &mut Module) -> Parsed<()> {
        module.target = self.expect(Token::Word, "the target, such as `sm_90`")?.to_string();
        if self.eat_word("ptx")? {
            let text = self.expect(Token::Version, "a PTX version such as `9.0`")?;
            let version = text.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
            let Some(version) = version else {
                return self.fail(format!("`{text}` is not a PTX version such as `9.0`"));
            };
            module.ptx_version = version;
        }
        self.end_line()
    }

    pub(super) fn variable(&mut self, name: &str, symbols: &Symbols) -> Parsed<Variable> {
        self.expect(Token::Colon, "`:` and the variable's type")?;
        let word = self.expect(Token::Word, "a type")?;
        let Some(ty) = Field::Type.value_index(word).map(|i| Type::ALL[i as usize]) else {
            return self.fail(format!("`{word}` is not a type"));
        };
        let mut count = None;
        if self.eat(Token::BracketOpen)? {
            count = Some(self.number("the number of elements")?);
            self.expect(Token::BracketClose, "`]`")?;
        }
        let mut var = Variable::new(name, Space::Generic, ty, count);
        let word = self.expect(Token::Word, "a state space")?;
        var.space = match Field::Space.value_index(word) {
            Some(index) if index != 0 => Space::ALL[index as usize],
            _ => return self.fail(format!("`{word}` is not a state space")),
        };
        if self.eat_word("align")? {
            var.align = self.small("the alignment")?;
            if !var.align.is_power_of_two() {
                return self.fail("an alignment is a power of two");
            }
        }
        for (linkage, word) in Linkage::NAMES {
            if !word.is_empty() && self.eat_word(word)? {
                var.linkage = *linkage;
            }
        }
        if self.eat(Token::Equals)? {
            var.init = self.bytes()?;
        }
        while let Some(generic) = self.relocation_kind()? {
            let relocation = self.relocation(generic, symbols)?;
            var.relocations.push(relocation);
        }
        self.end_line()?;
        Ok(var)
    }

    pub(super) fn bytes(&mut self) -> Parsed<Vec<u8>> {
        let text = self.expect(Token::Number, "initial bytes such as `0x00ff`")?;
        let digits = text.strip_prefix("0x").filter(|hex| hex.len() % 2 == 0);
        let Some(hex) = digits else {
            return self.fail("initial bytes are `0x` and two digits a byte");
        };
        let byte = |i: usize| u8::from_str_radix(&hex[i..i + 2], 16).expect("the lexer passes hex digits alone");
        Ok((0..hex.len()).step_by(2).map(byte).collect())
    }

    pub(super) fn relocation_kind(&mut self) -> Parsed<Option<bool>> {
        if self.eat_word("generic")? {
            return Ok(Some(true));
        }
        Ok(self.eat_word("address")?.then_some(false))
    }

    pub(super) fn relocation(&mut self, generic: bool, symbols: &Symbols) -> Parsed<Relocation> {
        let offset = self.small("the offset")?;
        let width = self.small("the width")?;
        let symbol = self.symbol(symbols)?;
        let addend = self.signed("an addend such as `+0`")?;
        Ok(Relocation { offset, width, symbol, addend, generic })
    }
}
