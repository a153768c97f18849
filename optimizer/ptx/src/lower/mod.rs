//! Lowering: from the syntax tree of a PTX module to an IR module in virtual form.
//!
//! Steps: declare every symbol of the module, so that functions and initialisers may name any of them; lower the
//! variables; lower each body, statement by statement ([`body`]). An instruction's name and modifiers select a row
//! of the opcode table ([`select`]), whose shapes then say what its operands are ([`operand`], [`instruction`]).
//! Registers map one to one, control flow to blocks, guards to guards.
//!
//! Lowering continues behind a fault, so that one run reports all of them. Cost: linear in the text, apart from the
//! nesting of scopes, which is bounded.

mod address;
mod body;
mod call;
mod compound;
mod control;
mod image;
mod instruction;
mod lanes;
mod moves;
mod opaque;
mod operand;
mod passed;
mod reference;
mod scope;
mod select;
mod target;
#[cfg(test)]
mod tests;
mod variable;
pub(super) mod video;
pub(super) mod warpgroup;

use std::collections::{HashMap, HashSet};

use self::body::BodyLowering;
use self::scope::Registers;
use self::select::{Choice, Refusal};
use self::target::Machine;
use crate::Fault;
use crate::ast::{self, DirectiveArgument, Item, ScalarType, Span};
use crate::diagnostics::Diagnostics;
use crate::opaque::Dialect;
use oriole_ir::ops::Space;
use oriole_ir::sm::Target;
use oriole_ir::{self as ir, Directive, FuncId, FunctionKind, Mark, Sources, SymbolRef};

/// Lowers the tree of `source`.
pub(super) fn lower(tree: &ast::Module<'_>, source: &str, dialect: &Dialect) -> Result<ir::Module, Vec<Fault>> {
    let mut cx = Context::new(tree, source, dialect);
    cx.declare_aliases(tree);
    let functions = cx.declare_functions(tree);
    cx.declare_variables(tree);
    for (item, id) in tree.items.iter().filter_map(as_function).zip(functions) {
        // Without a parameter, the rest of a function would be full of faults that are none.
        if let (Some(body), Some(id), false) = (&item.body, id, cx.refused.contains(item.name.text)) {
            let declared = cx.module.functions[id].clone();
            let lowered = BodyLowering::new(&mut cx, item, body, declared).lower();
            cx.module.functions[id] = lowered;
        }
    }
    cx.module.sources = sources(tree, source);
    if cx.diagnostics.is_empty() { Ok(cx.module) } else { Err(cx.diagnostics.into_vec()) }
}

/// Where lines come from: the directives `.loc` in their order, each until the next or the end of its function.
fn sources(tree: &ast::Module<'_>, source: &str) -> Sources {
    if tree.locations.is_empty() {
        return Sources::default();
    }
    let places = tree.locations.iter().map(|place| (place.span.start as usize, Some((place.file, place.line))));
    let bodies = tree.items.iter().filter_map(as_function).filter_map(|function| function.body.as_ref());
    let ends = bodies.map(|body| (body.span.end as usize, None));
    let mut all: Vec<(usize, Option<(u64, u64)>)> = places.chain(ends).collect();
    all.sort_by_key(|(offset, _)| *offset);
    let (mut counted, mut line) = (0, 1);
    let marks = all.into_iter().map(|(offset, place)| {
        line += source.as_bytes()[counted..offset].iter().filter(|byte| **byte == b'\n').count() as u32;
        counted = offset;
        Mark { from: line, place }
    });
    Sources::new(tree.files.iter().map(|(index, name)| (*index, (*name).to_owned())).collect(), marks.collect())
}

fn as_function<'a, 's>(item: &'a Item<'s>) -> Option<&'a ast::Function<'s>> {
    match item {
        Item::Function(function) => Some(function),
        _ => None,
    }
}

/// What the whole module shares while it is lowered.
struct Context<'a, 's> {
    source: &'a str,
    address_bytes: u32,
    module: ir::Module,
    /// The module's target; `None` where it is none that this crate knows, and any instruction is taken.
    target: Option<Target>,
    /// Whether textures and samplers are apart (`.target …, texmode_independent`).
    independent_samplers: bool,
    /// Whether operations on `.f32` flush denormals without saying so.
    flushes: bool,
    /// Whether votes and shuffles have to name the lanes that take part.
    needs_sync: bool,
    /// What is read beyond what the tables know.
    dialect: &'a Dialect,
    /// The version of PTX that it is written in.
    version: (u8, u8),
    /// Registers that the module declares for all of its functions.
    registers: Vec<Registers<'s>>,
    symbols: HashMap<&'s str, SymbolRef>,
    /// Names of module-level variables, those of hoisted ones too.
    global_names: HashSet<String>,
    aliases: HashMap<&'s str, ast::Name<'s>>,
    /// Variables, and functions with a parameter or result, that were reported where they are declared.
    refused: HashSet<&'s str>,
    diagnostics: Diagnostics,
    /// How far lines are counted, and the line there: functions stand one behind the other.
    line_offset: usize,
    line: u32,
    /// What each instruction text selected, so that the table is searched once a text.
    selections: HashMap<&'a str, Result<Choice, Refusal>>,
}

impl<'a, 's> Context<'a, 's> {
    fn new(tree: &ast::Module<'s>, source: &'a str, dialect: &'a Dialect) -> Context<'a, 's> {
        let Machine { name, version, flushes } = Machine::of(tree);
        let mut module = ir::Module { ptx_version: version, ..ir::Module::default() };
        if !name.is_empty() {
            module.target = name;
        }
        let target = module.sm();
        Context {
            source,
            address_bytes: tree.address_size / 8,
            module,
            target,
            independent_samplers: tree.targets.iter().any(|target| target.text == "texmode_independent"),
            flushes,
            needs_sync: target::needs_sync(tree, target),
            dialect,
            version: target::declared_version(tree),
            registers: Vec::new(),
            symbols: HashMap::new(),
            global_names: HashSet::new(),
            aliases: HashMap::new(),
            refused: HashSet::new(),
            diagnostics: Diagnostics::default(),
            line_offset: 0,
            line: 1,
            selections: HashMap::new(),
        }
    }

    fn report(&mut self, span: Span, message: String, label: impl Into<String>, help: impl Into<String>) {
        self.diagnostics.report(span, message, label, help);
    }

    fn declare_aliases(&mut self, tree: &ast::Module<'s>) {
        for item in &tree.items {
            if let Item::Alias { name, aliasee } = item {
                self.aliases.insert(name.text, *aliasee);
            }
        }
    }

    /// Makes a function of each name; the result has one id for each function item of the tree, in order. An alias
    /// is the function that it stands for.
    fn declare_functions(&mut self, tree: &ast::Module<'s>) -> Vec<Option<FuncId>> {
        let mut ids = Vec::new();
        for function in tree.items.iter().filter_map(as_function) {
            ids.push(self.declare_function(function));
        }
        for (alias, aliasee) in self.aliases.clone() {
            match self.symbols.get(aliasee.text) {
                Some(symbol @ SymbolRef::Func(_)) => {
                    self.symbols.insert(alias, *symbol);
                }
                _ => self.report(
                    aliasee.span,
                    format!("`{}` is not a function of this module", aliasee.text),
                    "not defined",
                    "an alias needs a function that is defined in the same module",
                ),
            }
        }
        ids
    }

    fn declare_function(&mut self, function: &ast::Function<'s>) -> Option<FuncId> {
        let name = function.name;
        if self.aliases.contains_key(name.text) {
            return None;
        }
        match self.symbols.get(name.text) {
            Some(SymbolRef::Func(id)) => {
                let id = *id;
                if function.body.is_some() {
                    self.check_single_definition(function, id)?;
                    let header = self.function_header(function);
                    self.module.functions[id] = header;
                }
                Some(id)
            }
            Some(SymbolRef::Global(_)) => None,
            None => {
                let header = self.function_header(function);
                let id = self.module.functions.push(header);
                self.symbols.insert(name.text, SymbolRef::Func(id));
                Some(id)
            }
        }
    }

    /// Definitions are marked by an entry block until their bodies are lowered.
    fn check_single_definition(&mut self, function: &ast::Function<'s>, id: FuncId) -> Option<()> {
        if self.module.functions[id].is_definition() {
            self.report(
                function.name.span,
                format!("function `{}` is defined twice", function.name.text),
                "second definition",
                "rename or remove one of the two",
            );
            return None;
        }
        Some(())
    }

    fn function_header(&mut self, function: &ast::Function<'s>) -> ir::Function {
        let kind = if function.is_entry { FunctionKind::Entry } else { FunctionKind::Device };
        let mut header = ir::Function::new(function.name.text, kind);
        header.linkage = variable::linkage(function.linkage);
        let mut taken = HashSet::new();
        for parameter in &function.parameters {
            if let Some(variable) = self.parameter(parameter, &mut taken, header.params.len(), function.is_entry) {
                header.params.push(header.locals.push(variable));
            }
        }
        for result in &function.returns {
            if let Some(variable) =
                self.parameter(result, &mut taken, header.params.len() + header.returns.len(), false)
            {
                header.returns.push(header.locals.push(variable));
            }
        }
        if header.locals.len() < function.parameters.len() + function.returns.len() {
            self.refused.insert(function.name.text);
        }
        header.directives = directives(function);
        if function.body.is_some() {
            header.new_block();
        }
        header
    }

    /// A parameter as a variable; nameless and repeated ones get a name of their own.
    fn parameter(
        &mut self,
        parameter: &ast::Variable<'s>,
        taken: &mut HashSet<String>,
        position: usize,
        of_entry: bool,
    ) -> Option<ir::Variable> {
        let parameter = &passed::travels_in(parameter);
        if parameter.ty == ScalarType::Pred {
            let message = format!("`{}` is a predicate, which no variable holds", parameter.name.text);
            let help = "declare it in `.reg`, or pass a word of 32 bits, and compare it with zero";
            self.report(parameter.span, message, "a predicate", help);
            return None;
        }
        let mut variable = self.variable(parameter, Space::Param)?;
        self.check_reference(parameter, of_entry)?;
        if variable.name == "_" || taken.contains(&variable.name) {
            variable.name = format!("param_{position}");
        }
        taken.insert(variable.name.clone());
        Some(variable)
    }

    fn declare_variables(&mut self, tree: &ast::Module<'s>) {
        let mut initialised = Vec::new();
        for item in &tree.items {
            let Item::Variable(declared) = item else { continue };
            if declared.space == ast::Space::Reg {
                self.declare_shared_register(declared, tree);
                continue;
            }
            if let Some(id) = self.declare_global(declared, declared.name.text) {
                initialised.push((declared, id));
            }
        }
        for (declared, id) in initialised {
            self.initialise(declared, id);
        }
    }
}

/// The directives that the PTX output repeats. PTX ISA, ".minnctapersm": `.maxnctapersm` was renamed so in PTX 2.0, and
/// what is printed is in a version that knows the new name alone.
fn directives(function: &ast::Function<'_>) -> Vec<Directive> {
    const KEPT: &[&str] = &[
        "maxntid",
        "reqntid",
        "minnctapersm",
        "maxnctapersm",
        "maxnreg",
        "noreturn",
        "explicitcluster",
        "blocksareclusters",
        "reqnctapercluster",
        "maxclusterrank",
    ];
    let kept = function.directives.iter().filter(|directive| KEPT.contains(&directive.name.text));
    kept.map(|directive| Directive {
        name: directive.name.text.replace("maxnctapersm", "minnctapersm"),
        values: directive
            .arguments
            .iter()
            .filter_map(|argument| match argument {
                DirectiveArgument::Integer(value) => Some(*value),
                DirectiveArgument::Text(_) => None,
            })
            .collect(),
    })
    .collect()
}
