//! The content of a function's variables in parameter space, where calls pass them and where it returns.
//!
//! The order of stores and calls does not matter here: all stores to a variable have to say the same. What is never
//! stored is undefined. A variable is looked at if nothing but loads, stores and calls by name names it.

use cranelift_entity::EntityRef;

use super::calls::{callee, is_load, is_store, local_of, results};
use oriole_ir::{Form, Function, Inst, Local};

/// The content of a variable, as the stores to it say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Content<T> {
    /// There is none.
    Nothing,
    /// All store this, in the whole variable.
    Known(T),
    Varying,
}

impl<T: PartialEq> Content<T> {
    pub(super) fn join(self, other: Content<T>) -> Content<T> {
        match (self, other) {
            (Content::Nothing, known) | (known, Content::Nothing) => known,
            (a, b) if a == b => a,
            _ => Content::Varying,
        }
    }
}

/// The stores of one function, by variable.
#[derive(Clone)]
pub(super) struct Stored<T> {
    stored: Vec<Content<T>>,
    /// Whether a call by name fills it.
    filled: Vec<bool>,
    /// Whether something names it that is none of the above, nor a load, nor a call that reads it.
    escapes: Vec<bool>,
}

impl<T: Copy + PartialEq> Stored<T> {
    /// Of a function in SSA form; `content` says what a store puts in the whole of a variable.
    pub(super) fn of(func: &Function, content: impl Fn(Inst, Local) -> Option<T>) -> Stored<T> {
        let count = func.locals.len();
        let (stored, filled) = (vec![Content::Nothing; count], vec![false; count]);
        let mut all = Stored { stored, filled, escapes: vec![func.form != Form::Ssa; count] };
        func.layout_insts().for_each(|inst| all.note(func, &content, inst));
        all
    }

    fn note(&mut self, func: &Function, content: &impl Fn(Inst, Local) -> Option<T>, inst: Inst) {
        if callee(func, inst).is_some() {
            results(func, inst).for_each(|local| self.filled[local.index()] = true);
            return;
        }
        let is_access = is_store(func, inst) || is_load(func, inst);
        let elsewhere = func.inputs(inst).iter().skip(usize::from(is_access)).filter_map(local_of);
        elsewhere.for_each(|local| self.escapes[local.index()] = true);
        if let Some(local) = func.srcs(inst).first().and_then(local_of).filter(|_| is_store(func, inst)) {
            let content = content(inst, local).map_or(Content::Varying, Content::Known);
            self.stored[local.index()] = self.stored[local.index()].join(content);
        }
    }

    /// The content of a variable where a call passes it, or where the function returns it.
    pub(super) fn passed(&self, func: &Function, local: Local) -> Content<T> {
        match func.params.contains(&local) || self.filled[local.index()] || self.escapes[local.index()] {
            true => Content::Varying,
            false => self.stored[local.index()],
        }
    }

    /// Whether nothing in the function changes a variable, but for calls that fill it.
    pub(super) fn is_read_alone(&self, local: Local) -> bool {
        !self.escapes[local.index()] && self.stored[local.index()] == Content::Nothing
    }
}
