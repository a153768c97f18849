//! The module level: directives, variables, functions, and the debug sections that are passed over.

use super::super::ast::{Item, Linkage, Location, Module, Name, Span, Version};
use super::super::lexer::TokenKind;
use super::{Parsed, Parser, Reported};

/// What the module's header has said so far.
#[derive(Default)]
struct Header {
    version: Option<Version>,
    address_size: Option<u32>,
}

impl<'s> Parser<'s> {
    pub(super) fn module(&mut self) -> Module<'s> {
        let mut module = Module { address_size: 32, ..Module::default() };
        let mut header = Header::default();
        while self.peek() != TokenKind::End {
            let start = self.position;
            if self.item(&mut module, &mut header).is_err() {
                self.recover_item(start);
            }
        }
        self.finish_header(&mut module, &header);
        module
    }

    /// Continues behind the `;` or the closed `{...}` that ends the faulty item that began at token `start`.
    fn recover_item(&mut self, start: usize) {
        let fault = self.position;
        let mut open_braces = 0u32;
        self.position = start;
        loop {
            let behind_fault = self.position >= fault;
            match self.peek() {
                TokenKind::End => return,
                TokenKind::LeftBrace => open_braces += 1,
                TokenKind::RightBrace => open_braces = open_braces.saturating_sub(1),
                _ => {}
            }
            let kind = self.peek();
            self.bump();
            if behind_fault && open_braces == 0 && matches!(kind, TokenKind::Semicolon | TokenKind::RightBrace) {
                self.eat(TokenKind::Semicolon);
                return;
            }
        }
    }

    fn finish_header(&mut self, module: &mut Module<'s>, header: &Header) {
        let start = Span::default();
        match header.version {
            Some(version) => module.version = version,
            None => {
                let help = "begin the module with a line such as `.version 9.0`";
                self.fault(start, "the module has no `.version` directive", "missing here", help);
            }
        }
        if module.targets.is_empty() {
            let help = "add a line such as `.target sm_90`";
            self.fault(start, "the module has no `.target` directive", "missing here", help);
        }
        module.address_size = header.address_size.unwrap_or(32);
    }

    fn item(&mut self, module: &mut Module<'s>, header: &mut Header) -> Parsed<()> {
        if self.peek() != TokenKind::Dotted {
            return self.stray_token();
        }
        match self.peek_text() {
            ".version" => self.version(header),
            ".target" => self.targets(module),
            ".address_size" => self.address_size(header),
            ".file" => self.file(),
            ".loc" => self.location(),
            ".section" => self.section(),
            ".pragma" => {
                let pragma = self.pragma()?;
                module.items.push(Item::Pragma(pragma));
                Ok(())
            }
            ".alias" => self.alias(module),
            _ => self.declaration(module),
        }
    }

    /// A stray brace or semicolon stands alone; behind anything else the whole item is wrong.
    fn stray_token(&mut self) -> Parsed<()> {
        let fault = self.unexpected("a directive, variable or function", "declarations begin with a dot");
        let alone = matches!(self.peek(), TokenKind::RightBrace | TokenKind::Semicolon);
        self.bump();
        if alone { Ok(()) } else { Err(fault) }
    }

    fn version(&mut self, header: &mut Header) -> Parsed<()> {
        self.bump();
        let help = "write it as `.version 9.0`";
        let span = self.expect(TokenKind::Decimal, "a version such as `9.0`", help)?;
        let text = self.text(span);
        let parts = text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let Some((major, minor)) = parts else {
            return Err(self.fault(span, format!("`{text}` is not a PTX version"), "not a version", help));
        };
        header.version = Some(Version { major, minor });
        Ok(())
    }

    fn targets(&mut self, module: &mut Module<'s>) -> Parsed<()> {
        self.bump();
        loop {
            let target = self.name("a target such as `sm_90`")?;
            module.targets.push(target);
            if !self.eat(TokenKind::Comma) {
                return Ok(());
            }
        }
    }

    fn address_size(&mut self, header: &mut Header) -> Parsed<()> {
        self.bump();
        let span = self.span();
        match self.integer("an address size")? {
            size @ (32 | 64) => {
                header.address_size = Some(size as u32);
                Ok(())
            }
            size => Err(self.fault(span, format!("{size} is not an address size"), "not 32 or 64", "write 32 or 64")),
        }
    }

    /// `.file index "name" [, timestamp, size]`, which names what `.loc` speaks of.
    pub(super) fn file(&mut self) -> Parsed<()> {
        self.bump();
        let index = self.integer("a file index")?;
        let name = self.string("a file name")?;
        self.files.push((index, name.text));
        while self.eat(TokenKind::Comma) {
            self.integer("a timestamp or file size")?;
        }
        Ok(())
    }

    /// `.loc file line column [, function_name label [+ offset], inlined_at file line column]`. Of inlined code
    /// the place in the function that was inlined is kept.
    pub(super) fn location(&mut self) -> Parsed<()> {
        let span = self.span();
        self.bump();
        let (file, line) = self.source_position()?;
        self.locations.push(Location { span, file, line });
        while self.eat(TokenKind::Comma) {
            match self.name("`function_name` or `inlined_at`")?.text {
                "inlined_at" => _ = self.source_position()?,
                _ => {
                    self.name("a label of the debug section")?;
                    if self.eat(TokenKind::Plus) {
                        self.integer("an offset")?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The index of a file, and the line.
    fn source_position(&mut self) -> Parsed<(u64, u64)> {
        let (file, line) = (self.integer("a file index")?, self.integer("a line")?);
        self.integer("a column")?;
        Ok((file, line))
    }

    /// `.section name { ... }`: debug information, passed over to its closing brace.
    pub(super) fn section(&mut self) -> Parsed<()> {
        self.bump();
        if matches!(self.peek(), TokenKind::Dotted | TokenKind::Word) {
            self.bump();
        }
        let open = self.expect(TokenKind::LeftBrace, "`{`", "a section's content stands in braces")?;
        let mut depth = 1u32;
        while depth > 0 {
            match self.peek() {
                TokenKind::End => {
                    return Err(self.fault(open, "this section is never closed", "opened here", "close it with `}`"));
                }
                TokenKind::LeftBrace => depth += 1,
                TokenKind::RightBrace => depth -= 1,
                _ => {}
            }
            self.bump();
        }
        Ok(())
    }

    pub(super) fn pragma(&mut self) -> Parsed<Name<'s>> {
        self.bump();
        let first = self.string("a pragma string")?;
        while self.eat(TokenKind::Comma) {
            self.string("a pragma string")?;
        }
        self.semicolon("the pragma")?;
        Ok(first)
    }

    fn alias(&mut self, module: &mut Module<'s>) -> Parsed<()> {
        self.bump();
        let name = self.name("the alias")?;
        self.expect(TokenKind::Comma, "`,`", "write it as `.alias name, function;`")?;
        let aliasee = self.name("the aliased function")?;
        self.semicolon("the alias")?;
        module.items.push(Item::Alias { name, aliasee });
        Ok(())
    }

    fn declaration(&mut self, module: &mut Module<'s>) -> Parsed<()> {
        let start = self.span();
        let linkage = self.linkage();
        match self.peek_text() {
            ".func" | ".entry" => {
                let function = self.function(start, linkage)?;
                module.items.push(Item::Function(function));
            }
            _ => {
                let variables = self.variables(start, linkage)?;
                self.semicolon("the declaration")?;
                module.items.extend(variables.into_iter().map(Item::Variable));
            }
        }
        Ok(())
    }

    /// At most one linkage directive; a second one is no part of any declaration.
    fn linkage(&mut self) -> Linkage {
        let linkage = match self.peek_text() {
            ".extern" => Linkage::Extern,
            ".visible" => Linkage::Visible,
            ".weak" => Linkage::Weak,
            ".common" => Linkage::Common,
            _ => return Linkage::Internal,
        };
        self.bump();
        linkage
    }

    /// Reports a dotted word that nothing begins with.
    pub(super) fn unknown_directive(&mut self, help: &str) -> Reported {
        let message = format!("`{}` is not a directive that can stand here", self.excerpt());
        self.fault(self.span(), message, "unknown directive", help)
    }
}
