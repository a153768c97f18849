//! The units of a pass, and the call of its work on each.
//!
//! The runner goes through a module in the units of a pass and calls the pass for each: once for a module, for each
//! component of the call graph callees first, for each function in the order of the module, for each loop inner loops
//! first. The units are those of the module when the pass begins. A nest calls the elements inside it for one unit
//! after the other. Work is a function of the program, or a closure that carries state of its own, such as a test's.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::context::{Changed, ModuleContext, PhaseContext};
use oriole_ir::{Block, FuncId, Function, Module};

/// What a pass works on at a time, the largest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Unit {
    /// A whole module.
    Module,
    /// A strongly connected component of the call graph: functions that call each other in a circle, or one function.
    Component,
    /// A function.
    Function,
    /// A loop of a function.
    Loop,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Unit::Module => "module",
            Unit::Component => "component",
            Unit::Function => "function",
            Unit::Loop => "loop",
        })
    }
}

/// Work on a module. It may add functions and variables, and takes others out by [`ModuleContext::remove_symbols`].
pub type ModuleFn = dyn Fn(&mut Module, &mut ModuleContext<'_>) -> Changed + Send + Sync;
/// Work on the functions of a component of the call graph; it must not change others.
pub type ComponentFn = dyn Fn(&mut Module, &[FuncId], &mut ModuleContext<'_>) -> Changed + Send + Sync;
/// Work on a loop, which is named by its header.
pub type LoopFn = dyn Fn(&mut Function, Block, &mut PhaseContext<'_>) -> Changed + Send + Sync;
/// Work on a function.
pub type FunctionFn = dyn Fn(&mut Function, &mut PhaseContext<'_>) -> Changed + Send + Sync;

/// The simplest work on a function: a function of the program.
pub type PhaseFn = fn(&mut Function, &mut PhaseContext<'_>) -> Changed;

/// A function of the program, or a closure.
pub enum Work<F: ?Sized + 'static> {
    /// One that lives as long as the program.
    Static(&'static F),
    /// One that is shared by the copies of a pass.
    Shared(Arc<F>),
}

impl<F: ?Sized> Clone for Work<F> {
    fn clone(&self) -> Work<F> {
        match self {
            Work::Static(work) => Work::Static(work),
            Work::Shared(work) => Work::Shared(work.clone()),
        }
    }
}

impl<F: ?Sized> Deref for Work<F> {
    type Target = F;

    fn deref(&self) -> &F {
        match self {
            Work::Static(work) => work,
            Work::Shared(work) => work,
        }
    }
}

/// The work of a pass on each unit.
#[derive(Clone)]
pub enum Run {
    /// On the module.
    Module(Work<ModuleFn>),
    /// On each component.
    Component(Work<ComponentFn>),
    /// On each function.
    Function(Work<FunctionFn>),
    /// On each loop.
    Loop(Work<LoopFn>),
    /// Each of these on the whole module, in this order.
    Sequence(Arc<[Run]>),
    /// The elements inside, all of them for one unit of this kind after the other.
    Nest(Unit),
}

impl Run {
    /// Work on each function, by a closure.
    pub fn function(work: impl Fn(&mut Function, &mut PhaseContext<'_>) -> Changed + Send + Sync + 'static) -> Run {
        Run::Function(Work::Shared(Arc::new(work)))
    }

    /// Work on the module, by a closure.
    pub fn module(work: impl Fn(&mut Module, &mut ModuleContext<'_>) -> Changed + Send + Sync + 'static) -> Run {
        Run::Module(Work::Shared(Arc::new(work)))
    }

    /// This work on the whole module, then another.
    pub fn then(self, next: Run) -> Run {
        Run::Sequence(Arc::new([self, next]))
    }

    /// What the work is called for.
    pub fn unit(&self) -> Unit {
        match self {
            Run::Component(_) => Unit::Component,
            Run::Function(_) => Unit::Function,
            Run::Loop(_) => Unit::Loop,
            Run::Module(_) | Run::Sequence(_) => Unit::Module,
            Run::Nest(unit) => *unit,
        }
    }
}

impl Run {
    /// Whether the work looks at one function at a time, and at nothing of the module beside it.
    pub fn is_on_functions(&self) -> bool {
        match self {
            Run::Function(_) | Run::Loop(_) | Run::Nest(Unit::Function | Unit::Loop) => true,
            Run::Module(_) | Run::Component(_) | Run::Nest(Unit::Module | Unit::Component) => false,
            Run::Sequence(runs) => runs.iter().all(Run::is_on_functions),
        }
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "work on each {}", self.unit())
    }
}
