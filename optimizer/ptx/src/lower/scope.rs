//! Names inside a function: registers, variables, labels, tables, in nested scopes that shadow.
//!
//! A register range (`%r<100>`) is kept as its prefix and length; a register exists from its first use on, so that a
//! range of four billion costs nothing. Labels are found before the body is lowered, since branches go forward.

use std::collections::{HashMap, HashSet};

use crate::ast::{self, List, OperandKind, ScalarType, Statement};
use oriole_ir::{Block, Local, Reg, SymbolRef};

/// How deeply scopes may nest; compilers need two or three levels.
pub(super) const MAX_DEPTH: usize = 200;

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Entry {
    /// A register and its declared type.
    Reg(Reg, ScalarType),
    /// A register that is declared and not used yet.
    Unused(ScalarType),
    /// A vector of registers: the first one's number is only known by component.
    Lanes(ScalarType, u8),
    /// A variable of the function.
    Local(Local),
    /// A symbol of the module, or a variable hoisted there.
    Symbol(SymbolRef),
}

#[derive(Clone, Copy)]
struct RangeDeclaration {
    ty: ScalarType,
    lanes: u8,
    count: u64,
}

/// What a register is that is declared and not used yet.
fn unused(ty: ScalarType, lanes: u8) -> Entry {
    if lanes > 1 { Entry::Lanes(ty, lanes) } else { Entry::Unused(ty) }
}

/// The names of one pair of braces.
#[derive(Default)]
struct Scope<'s> {
    names: HashMap<&'s str, Entry>,
    ranges: HashMap<&'s str, RangeDeclaration>,
    /// Registers of vector declarations, by name and component.
    lanes: HashMap<(&'s str, u8), Reg>,
}

/// A declaration of registers.
#[derive(Clone, Copy)]
pub(super) struct Registers<'s> {
    name: &'s str,
    ty: ScalarType,
    lanes: u8,
    count: Option<u64>,
}

impl<'s> Registers<'s> {
    pub(super) fn of(variable: &ast::Variable<'s>) -> Registers<'s> {
        Registers { name: variable.name.text, ty: variable.ty, lanes: variable.lanes, count: variable.count }
    }
}

/// The stack of scopes.
#[derive(Default)]
pub(super) struct Scopes<'s> {
    stack: Vec<Scope<'s>>,
}

/// Where a name was found: its scope's index and what it stands for.
pub(super) struct Found {
    scope: usize,
    /// What the name stands for.
    pub entry: Entry,
}

impl<'s> Scopes<'s> {
    pub(super) fn open(&mut self) {
        self.stack.push(Scope::default());
    }

    pub(super) fn close(&mut self) {
        self.stack.pop();
    }

    pub(super) fn depth(&self) -> usize {
        self.stack.len()
    }

    /// Declares a name in the innermost scope; false if it is there already.
    pub(super) fn declare(&mut self, name: &'s str, entry: Entry) -> bool {
        let Some(scope) = self.stack.last_mut() else { return false };
        let in_range = split_index(name)
            .is_some_and(|(prefix, index)| scope.ranges.get(prefix).is_some_and(|range| index < range.count));
        !in_range && scope.names.insert(name, entry).is_none()
    }

    /// Declares registers in the innermost scope; false if they are there already.
    pub(super) fn declare_registers(&mut self, registers: Registers<'s>) -> bool {
        let Registers { name, ty, lanes, count } = registers;
        match count {
            Some(count) => self.declare_range(name, RangeDeclaration { ty, lanes, count }),
            None => self.declare(name, unused(ty, lanes)),
        }
    }

    /// Declares `prefix<count>` in the innermost scope; false if it is there already.
    fn declare_range(&mut self, prefix: &'s str, range: RangeDeclaration) -> bool {
        let Some(scope) = self.stack.last_mut() else { return false };
        let is_new = !scope.ranges.contains_key(prefix);
        if is_new {
            scope.ranges.insert(prefix, range);
        }
        is_new
    }

    /// What a name stands for.
    pub(super) fn find(&self, name: &str) -> Option<Found> {
        let indexed = split_index(name);
        self.stack.iter().enumerate().rev().find_map(|(scope, names)| {
            if let Some(entry) = names.names.get(name) {
                return Some(Found { scope, entry: *entry });
            }
            let (prefix, index) = indexed?;
            let range = names.ranges.get(prefix).filter(|range| index < range.count)?;
            Some(Found { scope, entry: unused(range.ty, range.lanes) })
        })
    }

    /// Gives a declared register the IR register that it has from now on.
    pub(super) fn bind(&mut self, name: &'s str, found: &Found, reg: Reg, ty: ScalarType) {
        self.stack[found.scope].names.insert(name, Entry::Reg(reg, ty));
    }

    /// The register of a vector's component, made on first use.
    pub(super) fn lane(&mut self, name: &'s str, found: &Found, lane: u8, make: impl FnOnce() -> Reg) -> Reg {
        *self.stack[found.scope].lanes.entry((name, lane)).or_insert_with(make)
    }

    /// Names like a missing one, for help: the closest declared prefix is not searched, only whether any scope has
    /// a range whose prefix fits and whose length does not.
    pub(super) fn range_end(&self, name: &str) -> Option<u64> {
        let (prefix, _) = split_index(name)?;
        self.stack.iter().rev().find_map(|scope| scope.ranges.get(prefix)).map(|range| range.count)
    }
}

/// `%r12` is `%r` and 12; a leading zero or no digits at all is no index.
fn split_index(name: &str) -> Option<(&str, u64)> {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    let bytes = name.as_bytes();
    // With `%r1<5>` the prefix ends in a digit; the longest suffix is tried only, as ptxas's own output needs.
    let (prefix, index) = name.split_at(bytes.len() - digits);
    let leading_zero = index.len() > 1 && index.starts_with('0');
    (!index.is_empty() && !leading_zero).then(|| index.parse().ok().map(|index| (prefix, index))).flatten()
}

/// Labels and tables of a body, by the scope that they are in.
pub(super) struct Labels<'s> {
    labels: HashMap<(u32, &'s str), Block>,
    tables: HashMap<&'s str, List<ast::Operand<'s>>>,
    prototypes: HashMap<&'s str, usize>,
    /// The scope around each scope, by number.
    parents: Vec<u32>,
}

impl<'s> Labels<'s> {
    /// Numbers the scopes and makes a block of every label that a branch names. Duplicates come back by place.
    pub(super) fn collect(body: &ast::Body<'s>, mut make: impl FnMut() -> Block) -> (Labels<'s>, Vec<ast::Name<'s>>) {
        let mut labels =
            Labels { labels: HashMap::new(), tables: HashMap::new(), prototypes: HashMap::new(), parents: vec![0] };
        let mut duplicates = Vec::new();
        let used = branch_targets(body);
        let mut scope = 0;
        for (at, statement) in body.statements.iter().enumerate() {
            match statement {
                Statement::ScopeStart(_) => {
                    labels.parents.push(scope);
                    scope = labels.parents.len() as u32 - 1;
                }
                Statement::ScopeEnd(_) => scope = labels.parents[scope as usize],
                Statement::Label(name) if used.contains(name.text) => {
                    let repeated = labels.labels.insert((scope, name.text), make()).is_some();
                    duplicates.extend(repeated.then_some(*name));
                }
                Statement::BranchTargets { name, targets } | Statement::CallTargets { name, targets } => {
                    labels.tables.insert(name.text, *targets);
                }
                Statement::CallPrototype(prototype) => {
                    labels.prototypes.insert(prototype.name.text, at);
                }
                _ => {}
            }
        }
        (labels, duplicates)
    }

    /// The block of a label as seen from a scope.
    pub(super) fn block(&self, mut scope: u32, name: &str) -> Option<Block> {
        loop {
            if let Some(block) = self.labels.get(&(scope, name)) {
                return Some(*block);
            }
            if scope == 0 {
                return None;
            }
            scope = self.parents[scope as usize];
        }
    }

    /// The list of a `.branchtargets` or `.calltargets` table.
    pub(super) fn table(&self, name: &str) -> Option<List<ast::Operand<'s>>> {
        self.tables.get(name).copied()
    }

    /// The statement of a `.callprototype`.
    pub(super) fn prototype(&self, name: &str) -> Option<usize> {
        self.prototypes.get(name).copied()
    }

    /// The scope around a scope.
    pub(super) fn parent(&self, scope: u32) -> u32 {
        self.parents[scope as usize]
    }
}

/// Every name that a branch or a table goes to; labels that only debug information names make no block.
fn branch_targets<'s>(body: &ast::Body<'s>) -> HashSet<&'s str> {
    let mut names = HashSet::new();
    for statement in &body.statements {
        let operands = match statement {
            Statement::Instruction(inst) if inst.opcode.text == "bra" => inst.operands,
            Statement::BranchTargets { targets, .. } => *targets,
            _ => continue,
        };
        names.extend(body[operands].iter().filter_map(|operand| match operand.kind {
            OperandKind::Name(name) => Some(name),
            _ => None,
        }));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_split_as_written() {
        assert_eq!(split_index("%r12"), Some(("%r", 12)));
        assert_eq!(split_index("%r0"), Some(("%r", 0)));
        assert_eq!(split_index("%r01"), None);
        assert_eq!(split_index("%r"), None);
        assert_eq!(split_index("%r99999999999999999999999"), None);
    }

    #[test]
    fn inner_ranges_shadow_outer_names() {
        let mut scopes = Scopes::default();
        scopes.open();
        let range = |ty, count| RangeDeclaration { ty, lanes: 1, count };
        assert!(scopes.declare_range("%r", range(ScalarType::B32, 4)));
        assert!(!scopes.declare_range("%r", range(ScalarType::B32, 8)));
        assert!(!scopes.declare("%r3", Entry::Unused(ScalarType::B64)));
        scopes.open();
        assert!(scopes.declare_range("%r", range(ScalarType::B64, 2)));
        let ty = |scopes: &Scopes<'_>, name: &str| match scopes.find(name).map(|found| found.entry) {
            Some(Entry::Unused(ty)) => Some(ty),
            _ => None,
        };
        assert_eq!(ty(&scopes, "%r1"), Some(ScalarType::B64));
        assert_eq!(ty(&scopes, "%r3"), Some(ScalarType::B32));
        assert_eq!(ty(&scopes, "%r4"), None);
        scopes.close();
        assert_eq!(ty(&scopes, "%r1"), Some(ScalarType::B32));
    }
}
