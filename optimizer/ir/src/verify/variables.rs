//! Variables of modules and functions, and function signatures.

use rustc_hash::{FxBuildHasher, FxHashSet};

use super::{Checker, Rule, Violation};
use crate::diagnostics::counted;
use crate::ops::Space;
use crate::{FunctionKind, Module, SymbolRef, Variable};

/// Whether a symbol lies in its arena.
pub(super) fn symbol_exists(module: &Module, symbol: SymbolRef) -> bool {
    match symbol {
        SymbolRef::Global(id) => module.globals.is_valid(id),
        SymbolRef::Func(id) => module.functions.is_valid(id),
    }
}

/// What is wrong with a module's variables and names.
pub(super) fn module_violations(module: &Module) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut report = |rule, message| {
        let excerpt = String::new();
        found.push(Violation { rule, function: None, block: None, inst: None, excerpt, message });
    };
    let mut names = FxHashSet::default();
    let symbols = module.globals.values().map(|global| &global.name);
    for name in symbols.chain(module.functions.values().map(|func| &func.name)) {
        if !names.insert(name.as_str()) {
            report(Rule::Names, format!("`@{name}` is defined twice"));
        }
    }
    for global in module.globals.values() {
        check_variable(global, |symbol| symbol_exists(module, symbol), &mut report);
    }
    found
}

/// Whether both text forms can say the name: an identifier of the PTX ISA, section 4.4.
fn is_identifier(name: &str) -> bool {
    let mut rest = name.bytes();
    let first = rest.next().unwrap_or(b'0');
    let follows = rest.clone().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'));
    follows && (first.is_ascii_alphabetic() || matches!(first, b'_' | b'$' | b'%') && rest.len() > 0)
}

fn not_a_name(name: &str) -> String {
    format!("`{}` is no name that PTX has", name.escape_debug())
}

fn check_variable(var: &Variable, exists: impl Fn(SymbolRef) -> bool, report: &mut impl FnMut(Rule, String)) {
    let name = &var.name;
    if !is_identifier(name) {
        report(Rule::Names, not_a_name(name));
    }
    if matches!(var.space, Space::Generic | Space::Cluster) {
        report(Rule::VariableSpace, format!("`{name}` has no state space of its own"));
    }
    if !var.align.is_power_of_two() {
        report(Rule::Alignment, format!("`{name}` is aligned to {}, which is no power of two", var.align));
    }
    if var.init.len() as u64 > var.size() {
        report(
            Rule::Initialiser,
            format!("`{name}` has {}, but {} initial ones", counted(var.size(), "byte"), var.init.len()),
        );
    }
    for relocation in &var.relocations {
        let end = u64::from(relocation.offset) + u64::from(relocation.width);
        if !(1..=8).contains(&relocation.width) || end > var.size() {
            report(Rule::Initialiser, format!("an address of `{name}` at {} does not fit", relocation.offset));
        }
        if !exists(relocation.symbol) {
            report(Rule::Entity, format!("`{name}` has the address of a symbol that does not exist"));
        }
    }
}

impl Checker<'_> {
    /// The function's variables, parameters and results.
    pub(super) fn signature(&mut self) {
        let func = self.func;
        self.expect(is_identifier(&func.name), Rule::Names, || not_a_name(&func.name));
        let mut names = FxHashSet::with_capacity_and_hasher(func.locals.len(), FxBuildHasher);
        for variable in func.locals.values() {
            let new = names.insert(variable.name.as_str());
            self.expect(new, Rule::Names, || format!("`${}` is defined twice", variable.name));
            let mut found = Vec::new();
            check_variable(variable, |symbol| self.symbol_exists(symbol), &mut |rule, text| found.push((rule, text)));
            for (rule, message) in found {
                self.expect(false, rule, || message);
            }
        }
        let listed = func.params.len() + func.returns.len();
        let mut seen = FxHashSet::with_capacity_and_hasher(listed, FxBuildHasher);
        for local in func.params.iter().chain(&func.returns) {
            let variable = &func.locals[*local];
            let fits = seen.insert(*local) && variable.space == Space::Param;
            self.expect(fits, Rule::Signature, || {
                format!("`${}` is listed twice or not in the parameter space", variable.name)
            });
        }
        let in_order = func.params.is_sorted() && func.returns.is_sorted();
        self.expect(in_order, Rule::Signature, || {
            "parameters and results stand in another order than the variables".into()
        });
        let results = func.kind == FunctionKind::Entry && !func.returns.is_empty();
        self.expect(!results, Rule::Signature, || "an entry has results".into());
    }
}
