//! Facts about functions for passes on components of the call graph, kept while a pipeline goes over the components,
//! callees first.
//!
//! Such a pass changes functions, and the analyses of a module forget all that they know then. Asked for in every
//! component, the call graph and the effects of functions would cost the module times its components. A walk takes the
//! call graph once, in the beginning, and follows its changes: a component may fall apart, and a function may stop
//! calling itself. It finds the effects of a function when they are first asked for, behind the last pass on its
//! component.
//!
//! **Invariant:** a function that is said not to be recursive is not. Components never grow together: a pass copies
//! calls of callees, which were called before, and makes calls direct that the vertex for unknown code had covered.
//!
//! Cost: linear in the module for a whole walk, in the members for a component that falls apart.

use std::sync::Arc;

use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;

use super::call_graph::{CallGraph, SYSTEM_CALLS};
use super::components::components;
use super::function_effects::{Effects, of_body};
use oriole_ir::ops::Opcode;
use oriole_ir::{FuncId, Function, FunctionKind, Linkage, Module, Operand};

/// How a function may run again before it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Circle {
    /// Not at all.
    #[default]
    None,
    /// By calling itself, or unknown code that calls it; no other function is in its component.
    Alone {
        /// Whether unknown code can call it.
        through_unknown: bool,
    },
    /// By way of other functions of its component.
    Others,
}

/// Which functions may run again before they end.
#[derive(Clone, Debug, Default)]
pub struct Circles {
    of: SecondaryMap<FuncId, Circle>,
    /// Those that unknown code can call, as it was when the walk began.
    called_by_unknown: SecondaryMap<FuncId, bool>,
}

impl Circles {
    /// As a call graph says.
    pub fn new(module: &Module, graph: &CallGraph) -> Circles {
        let mut circles = Circles::default();
        for id in module.functions.keys() {
            circles.called_by_unknown[id] = graph.is_called_by_unknown(id);
            circles.of[id] = match graph.members(graph.component(id)).len() {
                _ if !graph.is_recursive(id) => Circle::None,
                1 => Circle::Alone { through_unknown: graph.is_called_by_unknown(id) },
                _ => Circle::Others,
            };
        }
        circles
    }

    /// Whether a function may run again before it ends.
    pub fn is_recursive(&self, module: &Module, id: FuncId) -> bool {
        let func = &module.functions[id];
        let calls = |wanted: &dyn Fn(Option<FuncId>) -> bool| callees(func).any(wanted);
        match self.of[id] {
            Circle::None => false,
            Circle::Alone { .. } if !func.is_definition() => true,
            Circle::Alone { through_unknown } => {
                calls(&|callee| callee == Some(id)) || through_unknown && calls(&|callee| callee.is_none())
            }
            Circle::Others => true,
        }
    }

    /// The parts into which a component has fallen, callees first.
    fn split(&mut self, module: &Module, members: &[FuncId]) -> Vec<Vec<FuncId>> {
        let unknown = members.len();
        // Numbers of functions are dense, but members are few: a map keeps the cost that of the members.
        let places: FxHashMap<FuncId, u32> = members.iter().enumerate().map(|(at, id)| (*id, at as u32)).collect();
        let mut edges: Vec<Vec<u32>> = members.iter().map(|id| edges(module, *id, &places, unknown as u32)).collect();
        let called = members.iter().enumerate().filter(|(_, id)| self.called_by_unknown[**id]);
        edges.push(called.map(|(at, _)| at as u32).collect());
        let component = components(unknown + 1, |vertex| edges[vertex as usize].iter().copied());
        let mut order: Vec<usize> = (0..unknown).collect();
        order.sort_by_key(|at| component[*at]);
        let parts: Vec<&[usize]> = order.chunk_by(|a, b| component[*a] == component[*b]).collect();
        for part in &parts {
            for at in *part {
                let id = members[*at];
                let is_alone = Circle::Alone { through_unknown: self.called_by_unknown[id] };
                self.of[id] = if part.len() > 1 { Circle::Others } else { is_alone };
            }
        }
        parts.into_iter().map(|part| part.iter().map(|at| members[*at]).collect()).collect()
    }
}

/// Facts that are kept on the way over the components of a module.
#[derive(Clone, Debug)]
pub struct ComponentWalk {
    circles: Arc<Circles>,
    effects: SecondaryMap<FuncId, Option<Effects>>,
    is_whole_program: bool,
}

impl ComponentWalk {
    /// At the first component.
    pub fn new(module: &Module, graph: &CallGraph) -> ComponentWalk {
        let circles = Arc::new(Circles::new(module, graph));
        ComponentWalk { circles, effects: SecondaryMap::new(), is_whole_program: is_whole_program(module) }
    }

    /// Which functions are recursive.
    pub fn circles(&self) -> Arc<Circles> {
        self.circles.clone()
    }

    /// Whether the module needs no other one, and no other one can need it.
    pub fn is_whole_program(&self) -> bool {
        self.is_whole_program
    }

    /// The effects of a call of a function.
    pub fn effects(&mut self, module: &Module, id: FuncId) -> Effects {
        // Of a function on the way, nothing is known until all that it calls is.
        let mut way = vec![(id, false)];
        while let Some((id, is_ready)) = way.pop() {
            let func = &module.functions[id];
            if is_ready {
                let all = |callee: FuncId| self.effects[callee].unwrap_or(Effects::ANYTHING);
                self.effects[id] = Some(of_body(func, all));
            } else if self.effects[id].is_none() {
                self.effects[id] = Some(Effects::ANYTHING);
                if func.is_definition() && !self.circles.is_recursive(module, id) {
                    way.push((id, true));
                    way.extend(callees(func).flatten().map(|callee| (callee, false)));
                }
            }
        }
        self.effects[id].unwrap_or(Effects::ANYTHING)
    }

    /// After a pass has changed some functions: what was known of them is found again.
    pub fn forget(&mut self, members: &[FuncId]) {
        members.iter().for_each(|id| self.effects[*id] = None);
    }

    /// After a pass has changed a component: the parts into which it has fallen, callees first.
    pub fn split(&mut self, module: &Module, members: &[FuncId]) -> Vec<Vec<FuncId>> {
        Arc::make_mut(&mut self.circles).split(module, members)
    }
}

/// Whether a module needs no other one, and no other one can need it.
pub fn is_whole_program(module: &Module) -> bool {
    let is_closed = |func: &Function| match func.kind {
        FunctionKind::Entry => true,
        FunctionKind::Device if !func.is_definition() => SYSTEM_CALLS.contains(&func.name.as_str()),
        FunctionKind::Device => matches!(func.linkage, Linkage::Internal | Linkage::Weak),
    };
    let has_entry = module.functions.values().any(|func| func.kind == FunctionKind::Entry);
    has_entry && module.functions.values().all(is_closed)
}

/// The functions that calls name; none for a call through a register.
fn callees(func: &Function) -> impl Iterator<Item = Option<FuncId>> + '_ {
    let calls = func.layout_insts().filter(|inst| func.inst(*inst).opcode == Opcode::Call);
    calls.map(|call| match func.srcs(call).first() {
        Some(Operand::Func(callee)) => Some(*callee),
        _ => None,
    })
}

/// The members of a component that a function calls, by their places, and the vertex for unknown code.
fn edges(module: &Module, id: FuncId, places: &FxHashMap<FuncId, u32>, unknown: u32) -> Vec<u32> {
    let func = &module.functions[id];
    let is_outside = !func.is_definition() && !SYSTEM_CALLS.contains(&func.name.as_str());
    let called = callees(func).filter_map(|callee| callee.map_or(Some(unknown), |callee| places.get(&callee).copied()));
    let mut edges: Vec<u32> = called.chain(is_outside.then_some(unknown)).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

#[cfg(test)]
mod tests {
    use super::super::FunctionEffects;
    use super::*;
    use oriole_ir::parse_module;

    const TEXT: &str = "target sm_90 ptx 9.0
device @leaf {\nbb0:\n  ret\n}
device @writes {\nbb0:\n  %d0 = mov.b64 undef\n  st.b32 [%d0], 1\n  ret\n}
device @both {\nbb0:\n  call @leaf() -> ()\n  call @writes() -> ()\n  ret\n}
device @itself {\nbb0:\n  call @itself() -> ()\n  ret\n}
device @a {\nbb0:\n  call @b() -> ()\n  ret\n}
device @b {\nbb0:\n  call @a() -> ()\n  call @leaf() -> ()\n  ret\n}
device @seen visible {\nbb0:\n  %d0 = mov.b64 undef\n  call %d0() -> ()\n  ret\n}
entry @k {\nbb0:\n  call @both() -> ()\n  call @b() -> ()\n  ret\n}
";

    fn walk(module: &Module) -> ComponentWalk {
        ComponentWalk::new(module, &CallGraph::compute(module))
    }

    /// Removes the first call of a function.
    fn forget_call(module: &mut Module, name: &str) -> FuncId {
        let id = module.function_named(name).expect("it is there");
        let func = &mut module.functions[id];
        let call = func.layout_insts().find(|inst| func.inst(*inst).opcode == Opcode::Call).expect("it calls");
        func.remove_inst(call);
        id
    }

    fn recursive(module: &Module, circles: &Circles) -> Vec<bool> {
        module.functions.keys().map(|id| circles.is_recursive(module, id)).collect()
    }

    #[test]
    fn a_walk_knows_what_the_analyses_of_the_module_say() {
        let mut module = parse_module(TEXT).expect("the text is a module");
        let mut walk = walk(&module);
        let agree = |module: &Module, walk: &mut ComponentWalk| {
            let graph = CallGraph::compute(module);
            let effects = FunctionEffects::compute(module, &graph);
            for id in module.functions.keys() {
                assert_eq!(walk.effects(module, id), effects.of(id), "{}", module.functions[id].name);
            }
            let fresh: Vec<bool> = module.functions.keys().map(|id| graph.is_recursive(id)).collect();
            assert_eq!(recursive(module, &walk.circles()), fresh);
        };
        agree(&module, &mut walk);
        // A function stops calling itself, and a component of two falls apart.
        let itself = forget_call(&mut module, "itself");
        walk.forget(&[itself]);
        let [a, b] = ["a", "b"].map(|name| module.function_named(name).expect("it is there"));
        assert_eq!(walk.split(&module, &[a, b]), [vec![a, b]]);
        forget_call(&mut module, "b");
        assert_eq!(walk.split(&module, &[a, b]), [vec![b], vec![a]]);
        walk.forget(&module.functions.keys().collect::<Vec<FuncId>>());
        agree(&module, &mut walk);
    }
}
