//! Variables, registers and parameters, with their initial values (PTX ISA 5.4, 11.4).

use super::super::ast::{
    Attribute, Initializer, InitializerKind, Linkage, Name, Pointer, ScalarType, Space, Span, SymbolAddress, Variable,
};
use super::super::lexer::TokenKind;
use super::{Parsed, Parser, Reported};

/// Everything before the name, shared by all names of a declaration.
struct Specifiers<'s> {
    start: Span,
    linkage: Linkage,
    space: Option<Space>,
    align: Option<u32>,
    attributes: Vec<Attribute<'s>>,
    lanes: u8,
    ty: Option<ScalarType>,
    pointer: Option<Pointer>,
}

/// The state space that a directive names.
pub(super) fn space(directive: &str) -> Option<Space> {
    Some(match directive {
        ".reg" => Space::Reg,
        ".global" => Space::Global,
        ".const" => Space::Const,
        ".shared" => Space::Shared,
        ".local" => Space::Local,
        ".param" => Space::Param,
        ".tex" => Space::Tex,
        _ => return None,
    })
}

impl<'s> Parser<'s> {
    /// A declaration of one or more variables, without its `;`.
    pub(super) fn variables(&mut self, start: Span, linkage: Linkage) -> Parsed<Vec<Variable<'s>>> {
        let specifiers = self.specifiers(start, linkage)?;
        let mut variables = Vec::with_capacity(1);
        loop {
            variables.push(self.declarator(&specifiers)?);
            if !self.eat(TokenKind::Comma) {
                return Ok(variables);
            }
        }
    }

    /// `(a, b, ...)`: the parameters or results of a function.
    pub(super) fn parameters(&mut self) -> Parsed<Vec<Variable<'s>>> {
        self.expect(TokenKind::LeftParen, "`(`", "parameters stand in parentheses")?;
        let mut parameters = Vec::new();
        if self.eat(TokenKind::RightParen) {
            return Ok(parameters);
        }
        loop {
            let specifiers = self.specifiers(self.span(), Linkage::Internal)?;
            parameters.push(self.declarator(&specifiers)?);
            if !self.eat(TokenKind::Comma) {
                self.expect(TokenKind::RightParen, "`,` or `)`", "separate parameters with `,` and end them with `)`")?;
                return Ok(parameters);
            }
        }
    }

    fn specifiers(&mut self, start: Span, linkage: Linkage) -> Parsed<Specifiers<'s>> {
        let mut specifiers = Specifiers {
            start,
            linkage,
            space: None,
            align: None,
            attributes: Vec::new(),
            lanes: 1,
            ty: None,
            pointer: None,
        };
        while self.peek() == TokenKind::Dotted {
            self.specifier(&mut specifiers)?;
        }
        Ok(specifiers)
    }

    fn specifier(&mut self, specifiers: &mut Specifiers<'s>) -> Parsed<()> {
        let text = self.peek_text();
        match text {
            ".align" => return self.alignment(specifiers),
            ".attribute" => {
                let attributes = self.attributes()?;
                specifiers.attributes.extend(attributes);
                return Ok(());
            }
            ".ptr" => specifiers.pointer = Some(Pointer { space: None, align: None }),
            ".v2" => specifiers.lanes = 2,
            ".v4" => specifiers.lanes = 4,
            ".v8" => specifiers.lanes = 8,
            _ => match (space(text), ScalarType::from_name(&text[1..])) {
                (Some(space), _) => self.set_space(specifiers, space)?,
                // `.ptr .texref`: what the address leads to, where a space may stand.
                (None, Some(ScalarType::TexRef | ScalarType::SamplerRef | ScalarType::SurfRef))
                    if specifiers.pointer.is_some() => {}
                (None, Some(ty)) => specifiers.ty = Some(ty),
                (None, None) => {
                    let help = "a declaration is a state space, an alignment, a type and a name";
                    return Err(self.unknown_directive(help));
                }
            },
        }
        self.bump();
        Ok(())
    }

    fn set_space(&mut self, specifiers: &mut Specifiers<'s>, space: Space) -> Parsed<()> {
        let slot = match &mut specifiers.pointer {
            Some(pointer) => &mut pointer.space,
            None => &mut specifiers.space,
        };
        if slot.replace(space).is_some() {
            let message = "this declaration names two state spaces";
            return Err(self.fault(self.span(), message, "second space", "remove one of them"));
        }
        Ok(())
    }

    fn alignment(&mut self, specifiers: &mut Specifiers<'s>) -> Parsed<()> {
        self.bump();
        let span = self.span();
        let value = self.integer("an alignment in bytes")?;
        let Some(align) = u32::try_from(value).ok().filter(|align| align.is_power_of_two()) else {
            let message = format!("{value} is not an alignment");
            return Err(self.fault(span, message, "not a power of two", "write a power of two, in bytes"));
        };
        match &mut specifiers.pointer {
            Some(pointer) => pointer.align = Some(align),
            None => specifiers.align = Some(align),
        }
        Ok(())
    }

    /// `.attribute(.managed, .unified(1, 2))`
    pub(super) fn attributes(&mut self) -> Parsed<Vec<Attribute<'s>>> {
        self.bump();
        self.expect(TokenKind::LeftParen, "`(`", "attributes stand in parentheses")?;
        let mut attributes = Vec::new();
        loop {
            if self.peek() != TokenKind::Dotted {
                return Err(self.unexpected("an attribute", "write an attribute such as `.managed`"));
            }
            let name = self.dotted();
            let arguments = if self.eat(TokenKind::LeftParen) { self.attribute_arguments()? } else { Vec::new() };
            attributes.push(Attribute { name, arguments });
            if !self.eat(TokenKind::Comma) {
                self.expect(TokenKind::RightParen, "`)`", "end the attributes with `)`")?;
                return Ok(attributes);
            }
        }
    }

    fn attribute_arguments(&mut self) -> Parsed<Vec<u64>> {
        let mut arguments = vec![self.integer_constant("an attribute's argument")?];
        while self.eat(TokenKind::Comma) {
            arguments.push(self.integer_constant("an attribute's argument")?);
        }
        self.expect(TokenKind::RightParen, "`)`", "end the attribute's arguments with `)`")?;
        Ok(arguments)
    }

    fn declarator(&mut self, specifiers: &Specifiers<'s>) -> Parsed<Variable<'s>> {
        let name = self.variable_name()?;
        let space = specifiers.space.ok_or_else(|| self.incomplete(name, "state space", "`.reg` or `.global`"))?;
        let ty = specifiers.ty.ok_or_else(|| self.incomplete(name, "type", "`.b32` or `.f32`"))?;
        let mut variable = Variable {
            span: specifiers.start,
            linkage: specifiers.linkage,
            space,
            align: specifiers.align,
            attributes: specifiers.attributes.clone(),
            lanes: specifiers.lanes,
            ty,
            pointer: specifiers.pointer,
            name,
            count: self.register_count(space)?,
            dimensions: self.dimensions()?,
            initializer: None,
        };
        self.check_size(&variable)?;
        if self.eat(TokenKind::Equals) {
            variable.initializer = Some(self.initializer()?);
        }
        variable.span = specifiers.start.to(self.previous_span());
        Ok(variable)
    }

    fn variable_name(&mut self) -> Parsed<Name<'s>> {
        match self.peek() {
            TokenKind::Sink => {
                let span = self.bump();
                Ok(Name { text: "_", span })
            }
            _ => self.name("a name"),
        }
    }

    fn incomplete(&mut self, name: Name<'s>, what: &str, example: &str) -> Reported {
        let message = format!("the declaration of `{}` has no {what}", name.text);
        self.fault(name.span, message, format!("no {what}"), format!("add one, such as {example}"))
    }

    /// `<n>` behind a register's name. Only the number is kept, so that a huge range costs nothing here.
    fn register_count(&mut self, space: Space) -> Parsed<Option<u64>> {
        let start = self.span();
        if !self.eat(TokenKind::Less) {
            return Ok(None);
        }
        let count = self.integer("the number of registers")?;
        self.expect(TokenKind::Greater, "`>`", "a register range is `%r<n>`")?;
        if space != Space::Reg {
            let message = "only registers can be declared as a range";
            let help = "declare an array with `[n]`";
            return Err(self.fault(start.to(self.previous_span()), message, "not a register", help));
        }
        Ok(Some(count))
    }

    fn dimensions(&mut self) -> Parsed<Vec<Option<u64>>> {
        let mut dimensions = Vec::new();
        while self.eat(TokenKind::LeftBracket) {
            let span = self.span();
            let dimension = match self.peek() {
                TokenKind::RightBracket => None,
                _ => Some(self.integer_constant("an array's length")?),
            };
            if dimension.is_none() && !dimensions.is_empty() {
                let message = "only the first dimension of an array can be open";
                return Err(self.fault(span, message, "no length", "write the length"));
            }
            self.expect(TokenKind::RightBracket, "`]`", "end the dimension with `]`")?;
            dimensions.push(dimension);
        }
        Ok(dimensions)
    }

    /// The whole size must fit 63 bits, which is what lets everyone else multiply without care.
    fn check_size(&mut self, variable: &Variable<'s>) -> Parsed<()> {
        let lengths = variable.dimensions.iter().flatten();
        let bytes = lengths.copied().try_fold(variable.element_bytes().max(1), u64::checked_mul);
        if bytes.is_some_and(|bytes| i64::try_from(bytes).is_ok()) {
            return Ok(());
        }
        let message = format!("the array `{}` is too large to address", variable.name.text);
        Err(self.fault(variable.name.span, message, "too large", "make its dimensions smaller"))
    }

    fn initializer(&mut self) -> Parsed<Initializer<'s>> {
        let start = self.span();
        let kind = match self.peek() {
            TokenKind::LeftBrace => InitializerKind::List(self.nested(Self::initializer_list)?),
            TokenKind::Word if self.peek_text() != "WARP_SZ" => self.named_initializer()?,
            _ => self.constant_initializer()?,
        };
        Ok(Initializer { span: start.to(self.previous_span()), kind })
    }

    fn initializer_list(&mut self) -> Parsed<Vec<Initializer<'s>>> {
        self.bump();
        let mut list = Vec::new();
        if self.eat(TokenKind::RightBrace) {
            return Ok(list);
        }
        loop {
            list.push(self.initializer()?);
            if !self.eat(TokenKind::Comma) {
                self.expect(TokenKind::RightBrace, "`,` or `}`", "separate values with `,` and end them with `}`")?;
                return Ok(list);
            }
        }
    }

    /// A constant, or the mask of `0xFF00(symbol)` or `0xFF00(generic(symbol)+4)`.
    fn constant_initializer(&mut self) -> Parsed<InitializerKind<'s>> {
        if self.peek() == TokenKind::Integer && self.peek_second() == TokenKind::LeftParen {
            let mask = self.integer("a byte mask")?;
            self.bump();
            if self.peek_text() != "generic" || self.peek_second() != TokenKind::LeftParen {
                return self.wrapped_address(false, Some(mask));
            }
            self.bump();
            self.bump();
            let address = self.wrapped_address(true, Some(mask))?;
            self.expect(TokenKind::RightParen, "`)`", "end the mask with `)`")?;
            return Ok(address);
        }
        Ok(InitializerKind::Constant(self.constant()?))
    }

    /// `symbol`, `symbol+offset`, `generic(symbol)+offset`, `field = value`.
    fn named_initializer(&mut self) -> Parsed<InitializerKind<'s>> {
        let symbol = self.name("a symbol")?;
        match self.peek() {
            TokenKind::LeftParen if symbol.text == "generic" => {
                self.bump();
                self.wrapped_address(true, None)
            }
            TokenKind::Equals => {
                self.bump();
                let value = self.field_value()?;
                Ok(InitializerKind::Field(Box::new((symbol, value))))
            }
            _ => self.address_initializer(symbol, false, None),
        }
    }

    fn field_value(&mut self) -> Parsed<Name<'s>> {
        match self.peek() {
            TokenKind::Integer => {
                let span = self.bump();
                Ok(Name { text: self.text(span), span })
            }
            _ => self.name("the field's value"),
        }
    }

    fn wrapped_address(&mut self, generic: bool, mask: Option<u64>) -> Parsed<InitializerKind<'s>> {
        let symbol = self.name("a symbol")?;
        let inner = self.symbol_offset()?;
        self.expect(TokenKind::RightParen, "`)`", "end it with `)`")?;
        let address = self.address_initializer(symbol, generic, mask)?;
        Ok(match address {
            InitializerKind::Address(mut address) => {
                address.offset = address.offset.wrapping_add(inner);
                InitializerKind::Address(address)
            }
            other => other,
        })
    }

    fn address_initializer(
        &mut self,
        symbol: Name<'s>,
        generic: bool,
        mask: Option<u64>,
    ) -> Parsed<InitializerKind<'s>> {
        let offset = self.symbol_offset()?;
        Ok(InitializerKind::Address(Box::new(SymbolAddress { symbol, generic, mask, offset })))
    }

    fn symbol_offset(&mut self) -> Parsed<i64> {
        match self.peek() {
            TokenKind::Plus => Ok(self.integer_constant("an offset in bytes")? as i64),
            TokenKind::Minus => {
                let help = "add a negative offset: `symbol+-8`";
                Err(self.fault(self.span(), "an address cannot subtract", "not allowed in PTX", help))
            }
            _ => Ok(0),
        }
    }
}
