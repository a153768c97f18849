//! The units that an element goes over, and the nests that run other elements for one unit after the other.
//!
//! The components of the call graph are those of the module when the element begins, callees first. A component whose
//! calls to itself a pass has removed may fall apart: its parts are visited then, callees first again. A call that
//! becomes direct is one that the vertex for unknown code had covered, so components never grow together.

use std::slice;

use super::report::PipelineError;
use super::runner::{PassRun, size};
use oriole_ir::ops::Opcode;
use oriole_ir::{FuncId, Function, Module, Operand};
use oriole_pass::pass::{Argument, Changed, Element, Run, Unit};

/// The part of a module on which an element runs: all of it, or the unit of the nest around the element.
#[derive(Clone, Copy)]
pub(super) enum Within<'u> {
    /// The whole module.
    Module,
    /// A component of the call graph, or one of its functions.
    Component(&'u [FuncId]),
}

impl Within<'_> {
    /// The functions of the part, in the order of the module.
    pub(super) fn functions(self, module: &Module) -> impl Iterator<Item = FuncId> + use<> {
        let (all, some) = match self {
            Within::Module => (Some(module.functions.keys()), Vec::new()),
            Within::Component(members) => (None, members.to_vec()),
        };
        all.into_iter().flatten().chain(some)
    }

    /// The instructions of these functions.
    pub(super) fn inst_count(self, module: &Module) -> usize {
        self.functions(module).map(|id| module.functions[id].inst_count()).sum()
    }
}

impl PassRun<'_, '_> {
    /// Runs work on the units of a part of a module.
    pub(super) fn units(
        &mut self,
        run: &Run,
        within: Within<'_>,
        module: &mut Module,
    ) -> Result<Changed, PipelineError> {
        match run {
            Run::Module(work) => self.module(&**work, module),
            Run::Component(work) => {
                self.components(within, module, |this, members, module| this.component(&**work, module, members))
            }
            Run::Function(_) | Run::Loop(_) => self.on_functions(run, within, module),
            Run::Sequence(runs) => {
                runs.iter().try_fold(Changed::No, |changed, run| Ok(changed | self.units(run, within, module)?))
            }
            Run::Nest(Unit::Module) => self.inside(within, module),
            Run::Nest(Unit::Component) => {
                self.components(within, module, |this, members, module| this.rounds(members, module))
            }
            // What is inside looks at more than a function, or this would be a group.
            Run::Nest(Unit::Function | Unit::Loop) => {
                let ids = within.functions(module).filter(|id| module.functions[*id].is_definition());
                let ids: Vec<FuncId> = ids.collect();
                ids.into_iter()
                    .try_fold(Changed::No, |all, id| Ok(all | self.inside(Within::Component(&[id]), module)?))
            }
        }
    }

    /// The part of the element's work that is on functions.
    fn on_functions(&mut self, run: &Run, within: Within<'_>, module: &mut Module) -> Result<Changed, PipelineError> {
        let mut element = Element { inside: Vec::new(), ..self.element.clone() };
        element.row.to_mut().run = Some(run.clone());
        let (running, observer) = (&mut *self.running, &mut *self.observer);
        let (changed, counts) = running.group(slice::from_ref(&element), self.at, within, module, observer)?;
        let statistics = &mut running.report.passes[self.at].statistics;
        for (name, count) in counts.into_iter().flat_map(|count| count.statistics) {
            *statistics.entry(name).or_default() += count;
        }
        Ok(changed)
    }

    /// Goes over components, callees first; over the parts of one that falls apart, again.
    fn components(
        &mut self,
        within: Within<'_>,
        module: &mut Module,
        mut work: impl FnMut(&mut Self, &[FuncId], &mut Module) -> Result<Changed, PipelineError>,
    ) -> Result<Changed, PipelineError> {
        let is_whole = matches!(within, Within::Module);
        let mut left: Vec<Vec<FuncId>> = if is_whole {
            let graph = self.running.analyses.begin_walk(module);
            graph.bottom_up().map(<[FuncId]>::to_vec).collect()
        } else {
            vec![within.functions(module).collect()]
        };
        // The next component is the last one here.
        left.reverse();
        let mut all = Changed::No;
        while let Some(members) = left.pop() {
            let changed = work(self, &members, module)?;
            all |= changed;
            self.running.analyses.forget_if_many(module.functions.len(), &members);
            if !changed.is_yes() {
                continue;
            }
            let walk = self.running.analyses.walk(module);
            walk.forget(&members);
            if members.len() > 1 {
                let parts = walk.split(module, &members);
                if parts.len() > 1 {
                    left.extend(parts.into_iter().rev());
                }
            }
        }
        if is_whole {
            self.running.analyses.end_walk();
        }
        Ok(all)
    }

    /// The elements inside, on a component; again while a round has made calls through registers direct, as often as
    /// the argument allows.
    fn rounds(&mut self, members: &[FuncId], module: &mut Module) -> Result<Changed, PipelineError> {
        let most = self.element.arguments.iter().find_map(|argument| match argument {
            Argument::Number(number) => Some(*number),
            Argument::Word(_) | Argument::Unlimited | Argument::Name(_) => None,
        });
        let mut changed = Changed::No;
        for _ in 0..most.unwrap_or(1).max(1) {
            let before = indirect_calls(module, members);
            changed |= self.inside(Within::Component(members), module)?;
            if indirect_calls(module, members) >= before {
                break;
            }
        }
        Ok(changed)
    }

    fn inside(&mut self, within: Within<'_>, module: &mut Module) -> Result<Changed, PipelineError> {
        let mut at = self.at + 1;
        let mut changed = Changed::No;
        for element in &self.element.inside {
            changed |= self.running.element(element, at, within, module, self.observer)?;
            at += size(element);
        }
        Ok(changed)
    }
}

/// The calls through registers in some functions.
fn indirect_calls(module: &Module, members: &[FuncId]) -> usize {
    let calls = |func: &Function| {
        let is_indirect = |inst: &oriole_ir::Inst| {
            func.inst(*inst).opcode == Opcode::Call && !matches!(func.srcs(*inst).first(), Some(Operand::Func(_)))
        };
        func.layout_insts().filter(is_indirect).count()
    };
    members.iter().map(|id| calls(&module.functions[*id])).sum()
}
