//! Tokens to the syntax tree.
//!
//! A rule with a mistake is left out and reported; reading continues at the next line that begins a rule or an example,
//! so that one run reports the first mistake of every rule. Nesting is bounded, so that no text overflows the stack.

mod constants;
mod machine;

use std::ops::Range;

use super::ast::{Binder, Contract, Example, File, Head, Inst, Let, MeasureDecl, Name, Operand, RuleDecl, Segment};
use super::lexer::{Lexed, Lexeme, Token, lex, lex_until};
use super::{Fault, Span};

/// How deep patterns and expressions may be nested.
const MAX_DEPTH: u32 = 24;

/// The priority of a rule that states none: a common combining pattern of `spec/peephole.txt`, "Priority System".
pub const DEFAULT_PRIORITY: u16 = 10;

/// The highest priority there is.
pub const MAX_PRIORITY: u64 = 36;

type Parsed<T> = Result<T, Fault>;

/// Reads a rule file. What could be read is returned beside the faults.
pub fn parse(source: &str) -> (File, Vec<Fault>) {
    let mut parser = Parser::new(source, 0..source.len());
    let file = parser.file();
    (file, parser.faults)
}

/// The beginning of a rule, to the head of its pattern: enough to know for which instructions the rest is needed.
#[derive(Debug)]
pub struct Outline<'s> {
    /// The rule's name.
    pub name: &'s str,
    /// Its priority.
    pub priority: u16,
    /// Its variables.
    pub binders: Vec<Binder>,
    /// Opcode and fields of its pattern.
    pub head: Head,
    /// The rule with its comment and its examples, in bytes of the file.
    pub range: Range<usize>,
}

/// Where the rules of a file stand. The rest of them is not looked at: [`parse_one`] reads it.
pub fn outlines(source: &str) -> Result<Vec<Outline<'_>>, Fault> {
    let mut found: Vec<Outline<'_>> = Vec::new();
    for rule in rules_of(source) {
        let mut parser = Parser::of(source, lex_until(source, rule.clone(), Some(Token::Becomes)));
        let Header { name, priority, binders, .. } = parser.header()?;
        let head = parser.head()?;
        let name = &source[name.span.start..name.span.end];
        found.push(Outline { name, priority, binders, head, range: rule });
    }
    Ok(found)
}

/// From each line that begins with `rule` to the next one, or from the comments above it.
fn rules_of(source: &str) -> Vec<Range<usize>> {
    let mut starts = Vec::new();
    let (mut at, mut comment) = (0, None);
    for line in source.split_inclusive('\n') {
        let text = line.trim_start();
        let begins = |word: &str| text.strip_prefix(word).is_some_and(|more| more.starts_with(char::is_whitespace));
        match begins("rule") || begins("machine") {
            true => starts.push((comment.take().unwrap_or(at), begins("rule"))),
            false if text.starts_with('#') => comment = comment.or(Some(at)),
            false => comment = None,
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).map(|(start, _)| *start).chain([source.len()]);
    starts.iter().zip(ends).filter(|((_, is_virtual), _)| *is_virtual).map(|((start, _), end)| *start..end).collect()
}

/// The rule of an [`Outline`] and its examples.
pub fn parse_one(source: &str, range: Range<usize>) -> Result<RuleDecl, Fault> {
    let mut parser = Parser::new(source, range);
    let rule = parser.file().rules.pop();
    match parser.faults.pop() {
        None => rule.ok_or_else(|| parser.unexpected("a rule")),
        Some(fault) => Err(fault),
    }
}

struct Parser<'s> {
    source: &'s str,
    tokens: Vec<Lexeme>,
    comments: Vec<Span>,
    at: usize,
    depth: u32,
    faults: Vec<Fault>,
}

/// A rule up to the colon.
struct Header {
    start: Span,
    doc: String,
    name: Name,
    priority: u16,
    contract: Contract,
    binders: Vec<Binder>,
    legal_only: bool,
}

impl<'s> Parser<'s> {
    fn new(source: &'s str, part: Range<usize>) -> Parser<'s> {
        Parser::of(source, lex(source, part))
    }

    fn of(source: &'s str, lexed: Lexed) -> Parser<'s> {
        let Lexed { tokens, comments, faults } = lexed;
        Parser { source, tokens, comments, at: 0, depth: 0, faults }
    }
}

impl Parser<'_> {
    fn file(&mut self) -> File {
        let mut file = File::default();
        while self.at < self.tokens.len() {
            let read = match () {
                () if self.at_line("rule") => self.rule().map(|rule| file.rules.push(rule)),
                () if self.at_line("machine") => self.machine_rule().map(|rule| file.machine.push(rule)),
                () if self.at_line("measure") => self.measure().map(|measure| file.measures.push(measure)),
                () if self.at_line("yes") || self.at_line("no") => self.example_below(&mut file),
                () => Err(self.unexpected("`rule` at the beginning of a line")),
            };
            if let Err(fault) = read {
                self.faults.push(fault);
                self.recover();
            }
        }
        file
    }

    /// An example of the rule above it, of whichever level.
    fn example_below(&mut self, file: &mut File) -> Parsed<()> {
        let start = file.rules.last().map(|rule| rule.span.start);
        match file.machine.last().map(|rule| rule.span.start) > start {
            true => self.machine_example(file.machine.last_mut()),
            false => self.example_of(file.rules.last_mut()),
        }
    }

    /// Goes to the next line that begins something, at least one token further unless one begins here.
    fn recover(&mut self) {
        self.depth = 0;
        while self.at < self.tokens.len() && !self.begins_item() {
            self.at += 1;
        }
    }

    fn begins_item(&self) -> bool {
        ["rule", "machine", "yes", "no", "measure"].iter().any(|word| self.at_line(word))
    }

    fn measure(&mut self) -> Parsed<MeasureDecl> {
        let start = self.expect_word("measure")?;
        let mut weights = Vec::new();
        loop {
            weights.push((self.dotted()?, self.number()?.0));
            if !self.eat(Token::Comma) {
                break;
            }
        }
        let span = start.to(self.last_span());
        self.expect_end_of_item()?;
        Ok(MeasureDecl { span, weights })
    }

    fn rule(&mut self) -> Parsed<RuleDecl> {
        let Header { start, doc, name, priority, contract, binders, legal_only } = self.header()?;
        let pattern = self.inst()?;
        self.expect(Token::Becomes, "`=>` and the result")?;
        let lets = self.lets()?;
        let results = self.results()?;
        let guards = if self.eat_word("if") { self.guards()? } else { Vec::new() };
        let span = start.to(self.last_span());
        self.expect_end_of_item()?;
        let examples = Vec::new();
        Ok(RuleDecl {
            name,
            span,
            doc,
            priority,
            contract,
            binders,
            legal_only,
            pattern,
            lets,
            results,
            guards,
            examples,
        })
    }

    fn header(&mut self) -> Parsed<Header> {
        let start = self.expect_word("rule")?;
        let doc = self.doc_before(start);
        let name = self.rule_name()?;
        let priority = if self.eat_word("priority") { self.priority()? } else { DEFAULT_PRIORITY };
        let mut contract = Contract::Exact;
        if self.eat_word("modulo") {
            self.expect_word("nan")?;
            contract = Contract::ModuloNan;
        }
        let binders = if self.eat_word("for") { self.binders()? } else { Vec::new() };
        let legal_only = self.eat_word("where");
        if legal_only {
            self.expect_word("legal")?;
        }
        self.expect(Token::Colon, "`:` and the pattern")?;
        Ok(Header { start, doc, name, priority, contract, binders, legal_only })
    }

    /// The comment lines that end right above a place, without their marks.
    fn doc_before(&self, place: Span) -> String {
        let previous = self.at.checked_sub(2).and_then(|i| self.tokens.get(i)).map_or(0, |token| token.span.end);
        let mut lines: Vec<&str> = Vec::new();
        let mut below = place.start;
        for comment in self.comments.iter().rev().skip_while(|c| c.start >= place.start) {
            let gap = &self.source[comment.end..below];
            if comment.start < previous || gap.bytes().filter(|byte| *byte == b'\n').count() != 1 {
                break;
            }
            lines.push(self.text(*comment).trim_start_matches('#').trim());
            below = comment.start;
        }
        lines.reverse();
        lines.join(" ")
    }

    /// Words and numbers joined by hyphens, without blanks: `add-zero`.
    fn rule_name(&mut self) -> Parsed<Name> {
        let first = self.expect(Token::Word, "the rule's name, such as `add-zero`")?;
        let mut span = first;
        while let Some(Lexeme { token: Token::Minus, span: hyphen, .. }) = self.peek_lexeme()
            && hyphen.start == span.end
            && let Some(next) = self.tokens.get(self.at + 1)
            && matches!(next.token, Token::Word | Token::Number)
            && next.span.start == hyphen.end
        {
            span = span.to(next.span);
            self.at += 2;
        }
        Ok(Name { text: self.text(span).to_owned(), span })
    }

    fn priority(&mut self) -> Parsed<u16> {
        let (value, span) = self.number()?;
        match u16::try_from(value) {
            Ok(priority) if (1..=MAX_PRIORITY).contains(&value) => Ok(priority),
            _ => Err(Fault::new(
                span,
                format!("priority {value} does not exist"),
                "here",
                format!("priorities go from 1 to {MAX_PRIORITY}; without one a rule has {DEFAULT_PRIORITY}"),
            )),
        }
    }

    fn binders(&mut self) -> Parsed<Vec<Binder>> {
        let mut binders = Vec::new();
        loop {
            let name = self.name("a variable, such as `T`")?;
            self.expect_word("in")?;
            binders.push(Binder { name, set: self.set()? });
            if !self.eat(Token::Comma) {
                return Ok(binders);
            }
        }
    }

    /// One or more words, dotted or not, up to what is no word.
    fn set(&mut self) -> Parsed<Vec<Name>> {
        let mut set = vec![self.dotted()?];
        while self.peek() == Some(Token::Word) && !self.begins_item() && !self.at_word("where") && !self.at_word("if") {
            set.push(self.dotted()?);
        }
        Ok(set)
    }

    fn dotted(&mut self) -> Parsed<Name> {
        let mut name = self.name("a type, a field's value or an opcode")?;
        while self.peek() == Some(Token::Dot) && self.peek_at(1) == Some(Token::Word) {
            self.at += 1;
            let part = self.name("a word")?;
            name.text.push('.');
            name.text.push_str(&part.text);
            name.span = name.span.to(part.span);
        }
        Ok(name)
    }

    fn lets(&mut self) -> Parsed<Vec<Let>> {
        let mut lets = Vec::new();
        while self.eat_word("let") {
            let name = self.name("a name for the value")?;
            self.expect(Token::Assign, "`=`")?;
            let value = self.operand()?;
            self.expect(Token::Semicolon, "`;` after the value")?;
            lets.push(Let { name, value });
        }
        Ok(lets)
    }

    /// One operand, or several in parentheses.
    fn results(&mut self) -> Parsed<Vec<Operand>> {
        let start = self.at;
        let open = self.next_span();
        if self.eat(Token::ParenOpen)
            && let Ok(list) = self.operands_to_close(open)
            && list.len() > 1
        {
            return Ok(list);
        }
        self.at = start;
        Ok(vec![self.operand()?])
    }

    /// Operands to the end of the parenthesis that is open.
    fn operands_to_close(&mut self, open: Span) -> Parsed<Vec<Operand>> {
        let mut list = Vec::new();
        if self.eat(Token::ParenClose) {
            return Ok(list);
        }
        loop {
            list.push(self.operand()?);
            if !self.eat(Token::Comma) {
                self.close(open, "`,` or `)`")?;
                return Ok(list);
            }
        }
    }

    fn example_of(&mut self, rule: Option<&mut RuleDecl>) -> Parsed<()> {
        let start = self.next_span();
        let positive = self.at_line("yes");
        self.at += 1;
        let input = self.inst()?;
        let expected = if positive {
            self.expect(Token::Becomes, "`=>` and what it becomes")?;
            Some(self.results()?)
        } else {
            None
        };
        let span = start.to(self.last_span());
        self.expect_end_of_item()?;
        let Some(rule) = rule else {
            return Err(Fault::new(span, "an example before the first rule", "here", "put examples under their rule"));
        };
        rule.examples.push(Example { input, expected, span });
        Ok(())
    }

    fn inst(&mut self) -> Parsed<Inst> {
        let head = self.head()?;
        let open = self.expect(Token::ParenOpen, "`(` and the operands")?;
        self.enter()?;
        let operands = self.operands_to_close(open)?;
        self.depth -= 1;
        let span = head.span.to(self.last_span());
        Ok(Inst { head, operands, span })
    }

    fn head(&mut self) -> Parsed<Head> {
        let first = self.name("an operation such as `iadd.T(x, y)`")?;
        let start = first.span;
        let (mut segments, mut rest) = (vec![Segment::Word(first)], None);
        loop {
            if self.eat(Token::Dot) {
                segments.push(self.segment()?);
            } else if rest.is_none() && self.eat(Token::BraceOpen) {
                rest = Some(self.name("a name for the other fields, or `_`")?);
                self.expect(Token::BraceClose, "`}`")?;
            } else {
                return Ok(Head { segments, rest, span: start.to(self.last_span()) });
            }
        }
    }

    fn segment(&mut self) -> Parsed<Segment> {
        let function = self.name("a field's value or a variable")?;
        if !self.is_segment_call() {
            return Ok(Segment::Word(function));
        }
        self.at += 1;
        let mut arguments = vec![self.name("a variable")?];
        while self.eat(Token::Comma) {
            arguments.push(self.name("a variable")?);
        }
        self.expect(Token::ParenClose, "`)`")?;
        Ok(Segment::Call { function, arguments })
    }

    /// Whether the parentheses here belong to a part of the head: other parentheses, or a dot, follow them.
    fn is_segment_call(&self) -> bool {
        let mut ahead = 0;
        if self.peek() != Some(Token::ParenOpen) {
            return false;
        }
        loop {
            match (self.peek_at(ahead + 1), self.peek_at(ahead + 2)) {
                (Some(Token::Word), Some(Token::Comma)) => ahead += 2,
                (Some(Token::Word), Some(Token::ParenClose)) => break,
                _ => return false,
            }
        }
        matches!(self.peek_at(ahead + 3), Some(Token::ParenOpen | Token::Dot | Token::BraceOpen))
    }

    fn operand(&mut self) -> Parsed<Operand> {
        self.enter()?;
        let operand = self.operand_here();
        self.depth -= 1;
        operand
    }

    fn operand_here(&mut self) -> Parsed<Operand> {
        let mut binding = None;
        if self.peek() == Some(Token::Word) && self.peek_at(1) == Some(Token::At) {
            binding = Some(self.name("a name")?);
            self.at += 1;
        }
        let shared = self.eat(Token::Ampersand);
        if binding.is_some() || shared || self.begins_inst() {
            return Ok(Operand::Inst { binding, shared, inst: self.inst()? });
        }
        let start = self.next_span();
        if self.eat_word("_") {
            return Ok(Operand::Wildcard(start));
        }
        let word = u8::from(self.at_word("hi"));
        if (self.at_word("lo") || word == 1) && self.peek_at(1) == Some(Token::ParenOpen) {
            self.at += 1;
            let open = self.next_span();
            self.at += 1;
            let of = Box::new(self.operand()?);
            self.close(open, "`)`")?;
            return Ok(Operand::Word { word, of, span: start.to(self.last_span()) });
        }
        self.expr().map(Operand::Expr)
    }

    fn begins_inst(&self) -> bool {
        self.peek() == Some(Token::Word) && matches!(self.peek_at(1), Some(Token::Dot | Token::BraceOpen))
    }
}

/// Tokens.
impl Parser<'_> {
    fn text(&self, span: Span) -> &str {
        &self.source[span.start..span.end]
    }

    fn peek_lexeme(&self) -> Option<Lexeme> {
        self.tokens.get(self.at).copied()
    }

    fn peek(&self) -> Option<Token> {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> Option<Token> {
        self.tokens.get(self.at + ahead).map(|lexeme| lexeme.token)
    }

    fn at_word(&self, word: &str) -> bool {
        self.peek_lexeme().is_some_and(|lexeme| lexeme.token == Token::Word && self.text(lexeme.span) == word)
    }

    fn at_line(&self, word: &str) -> bool {
        self.at_word(word) && self.tokens[self.at].first
    }

    fn eat(&mut self, token: Token) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, token: Token, what: &str) -> Parsed<Span> {
        let span = self.next_span();
        if self.eat(token) { Ok(span) } else { Err(self.unexpected(what)) }
    }

    /// The end of a parenthesis; where the rule continues or ends without it, the fault is where it was opened.
    fn close(&mut self, open: Span, what: &str) -> Parsed<()> {
        let goes_on = matches!(self.peek(), None | Some(Token::Becomes | Token::Colon | Token::Semicolon));
        if goes_on || self.begins_item() || self.at_word("if") {
            let Fault { message, .. } = self.unexpected(what);
            let message = format!("the parenthesis is not closed: {message}");
            return Err(Fault::new(open, message, "opened here", "write `)` behind its last operand"));
        }
        self.expect(Token::ParenClose, what).map(drop)
    }

    fn expect_word(&mut self, word: &str) -> Parsed<Span> {
        let span = self.next_span();
        if self.eat_word(word) { Ok(span) } else { Err(self.unexpected(&format!("`{word}`"))) }
    }

    fn expect_end_of_item(&self) -> Parsed<()> {
        let ended = self.at >= self.tokens.len() || self.begins_item();
        if ended { Ok(()) } else { Err(self.unexpected("the end of the rule or example")) }
    }

    fn name(&mut self, what: &str) -> Parsed<Name> {
        let span = self.expect(Token::Word, what)?;
        Ok(Name { text: self.text(span).to_owned(), span })
    }

    fn number(&mut self) -> Parsed<(u64, Span)> {
        let span = self.expect(Token::Number, "a number")?;
        let text = self.text(span).replace('_', "").to_ascii_lowercase();
        let parsed = match (text.strip_prefix("0x"), text.strip_prefix("0b")) {
            (Some(digits), _) => u64::from_str_radix(digits, 16),
            (_, Some(digits)) => u64::from_str_radix(digits, 2),
            _ => text.parse(),
        };
        match parsed {
            Ok(value) => Ok((value, span)),
            Err(_) => Err(Fault::new(span, "the number is not one of 64 bits", "here", "constants have 1 to 64 bits")),
        }
    }

    /// Where the next token stands; the end of the text where there is none.
    fn next_span(&self) -> Span {
        let end = Span { start: self.source.len(), end: self.source.len() };
        self.peek_lexeme().map_or(end, |lexeme| lexeme.span)
    }

    fn last_span(&self) -> Span {
        self.at.checked_sub(1).and_then(|i| self.tokens.get(i)).map_or(Span::default(), |lexeme| lexeme.span)
    }

    fn enter(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth <= MAX_DEPTH {
            return Ok(());
        }
        let message = format!("nested more than {MAX_DEPTH} deep");
        Err(Fault::new(self.next_span(), message, "here", "split the rule in two"))
    }

    fn unexpected(&self, wanted: &str) -> Fault {
        let span = self.next_span();
        let found = match self.peek_lexeme() {
            Some(lexeme) => format!("`{}`", self.text(lexeme.span)),
            None => "the end of the file".to_owned(),
        };
        Fault::new(
            span,
            format!("expected {wanted}, found {found}"),
            "here",
            "a rule reads `rule NAME for T in int: PATTERN => RESULT if GUARDS`, its examples `yes … => …` and `no …`",
        )
    }
}
