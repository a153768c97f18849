//! The call graph of a module, and its strongly connected components from the callees up.
//!
//! One vertex stands for all code that is not known: what indirect calls reach, and the bodies of functions that are
//! only declared. It calls every function whose address is taken, by an instruction or in a variable's initial bytes,
//! and every device function that other modules can name. So whatever a function may cause to run is reachable from it,
//! and a function that calls unknown code and can be called by it is recursive. Only the system calls that the device
//! runtime provides (CUDA C++ Programming Guide, "Formatted Output", "Dynamic Global Memory Allocation", "Assertion")
//! are known to call nothing. Entries are called by nobody unless their address is taken.
//!
//! Linear in instructions and calls.

use cranelift_entity::EntityRef;

use super::components::components;
use oriole_ir::ops::Opcode;
use oriole_ir::{FuncId, Function, FunctionKind, Linkage, Module, Operand, SymbolRef};

/// Declared functions that run to their end without calling anything of the module.
pub const SYSTEM_CALLS: &[&str] = &["vprintf", "malloc", "free", "__assertfail"];

/// Who calls whom in a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallGraph {
    /// By function: the functions that it calls by name, sorted and different.
    callees: Vec<Vec<FuncId>>,
    /// By function: those that call it by name, sorted and different.
    callers: Vec<Vec<FuncId>>,
    calls_unknown: Vec<bool>,
    called_by_unknown: Vec<bool>,
    /// By function: its component; components are in bottom-up order.
    component: Vec<u32>,
    /// The functions, component by component.
    order: Vec<FuncId>,
    /// By component: where it begins in `order`; at the end, the length of that.
    start: Vec<u32>,
    recursive: Vec<bool>,
}

impl CallGraph {
    /// The call graph of a module.
    pub fn compute(module: &Module) -> CallGraph {
        let count = module.functions.len();
        let (mut callees, mut callers) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        let mut calls_unknown = vec![false; count];
        let mut called_by_unknown: Vec<bool> = module.functions.values().map(is_seen_outside).collect();
        for target in module.globals.values().flat_map(|global| &global.relocations) {
            if let SymbolRef::Func(target) = target.symbol {
                called_by_unknown[target.index()] = true;
            }
        }
        for (id, func) in &module.functions {
            calls_unknown[id.index()] = !func.is_definition() && !SYSTEM_CALLS.contains(&func.name.as_str());
            let mut calls =
                Calls { callees: &mut callees[id.index()], addressed: &mut called_by_unknown, unknown: false };
            calls.scan(func);
            calls_unknown[id.index()] |= calls.unknown;
        }
        for (id, callees) in callees.iter_mut().enumerate() {
            callees.sort_unstable();
            callees.dedup();
            callees.iter().for_each(|callee| callers[callee.index()].push(FuncId::new(id)));
        }
        let (component, order, start) = (Vec::new(), Vec::new(), Vec::new());
        let recursive = vec![false; count];
        let mut graph =
            CallGraph { callees, callers, calls_unknown, called_by_unknown, component, order, start, recursive };
        graph.group();
        graph
    }

    /// The components, by Tarjan's algorithm over the functions and, behind them, the vertex for unknown code.
    fn group(&mut self) {
        let unknown = self.callees.len();
        let component = components(unknown + 1, |vertex| {
            let known = self.callees.get(vertex as usize).map_or(&[][..], Vec::as_slice);
            let outward = self.calls_unknown.get(vertex as usize).is_some_and(|calls| *calls);
            let inward = if vertex as usize == unknown { self.called_by_unknown.as_slice() } else { &[] };
            let inward = inward.iter().enumerate().filter(|(_, called)| **called).map(|(id, _)| id as u32);
            known.iter().map(|id| id.as_u32()).chain(outward.then_some(unknown as u32)).chain(inward)
        });
        let mut order: Vec<FuncId> = (0..unknown).map(FuncId::new).collect();
        order.sort_by_key(|id| component[id.index()]);
        // The numbers are made dense: unknown code may be a component by itself.
        let mut last = None;
        self.component = vec![0; unknown];
        for (place, id) in order.iter().enumerate() {
            if last.replace(component[id.index()]) != Some(component[id.index()]) {
                self.start.push(place as u32);
            }
            self.component[id.index()] = self.start.len() as u32 - 1;
        }
        self.start.push(order.len() as u32);
        self.order = order;
        for id in (0..unknown).map(FuncId::new) {
            let with_others = self.members(self.component(id)).len() > 1;
            let through_unknown = component[id.index()] == component[unknown];
            self.recursive[id.index()] = with_others || through_unknown || self.callees(id).contains(&id);
        }
    }

    /// The functions that a function calls by name, sorted.
    pub fn callees(&self, id: FuncId) -> &[FuncId] {
        &self.callees[id.index()]
    }

    /// The functions that call a function by name, sorted.
    pub fn callers(&self, id: FuncId) -> &[FuncId] {
        &self.callers[id.index()]
    }

    /// Whether a function itself calls through a register, or has a body elsewhere that may call anything.
    pub fn calls_unknown(&self, id: FuncId) -> bool {
        self.calls_unknown[id.index()]
    }

    /// Whether unknown code can call a function: its address is taken, or other modules can name it.
    pub fn is_called_by_unknown(&self, id: FuncId) -> bool {
        self.called_by_unknown[id.index()]
    }

    /// Whether a function may run again before it ends.
    pub fn is_recursive(&self, id: FuncId) -> bool {
        self.recursive[id.index()]
    }

    /// The number of a function's component.
    pub fn component(&self, id: FuncId) -> usize {
        self.component[id.index()] as usize
    }

    /// The functions of a component, sorted.
    pub fn members(&self, component: usize) -> &[FuncId] {
        &self.order[self.start[component] as usize..self.start[component + 1] as usize]
    }

    /// The components from the callees up: each behind those that its functions call, other than itself.
    pub fn bottom_up(&self) -> impl DoubleEndedIterator<Item = &[FuncId]> {
        (0..self.start.len() - 1).map(|component| self.members(component))
    }
}

/// Whether other modules can name a function and call it.
fn is_seen_outside(func: &Function) -> bool {
    func.kind == FunctionKind::Device && func.linkage != Linkage::Internal
}

/// What one function's instructions say.
struct Calls<'a> {
    callees: &'a mut Vec<FuncId>,
    addressed: &'a mut [bool],
    unknown: bool,
}

impl Calls<'_> {
    fn scan(&mut self, func: &Function) {
        for inst in func.layout_insts() {
            let is_call = func.inst(inst).opcode == Opcode::Call;
            for (index, operand) in func.inputs(inst).iter().enumerate() {
                match operand {
                    Operand::Func(callee) if is_call && index == 0 => self.callees.push(*callee),
                    Operand::Func(addressed) => self.addressed[addressed.index()] = true,
                    _ => self.unknown |= is_call && index == 0,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ir::parse_module;

    fn of(text: &str) -> (Module, CallGraph) {
        let module = parse_module(&format!("target sm_90 ptx 9.0\n{text}")).expect("the text is a module");
        let graph = CallGraph::compute(&module);
        (module, graph)
    }

    fn names(module: &Module, ids: &[FuncId]) -> Vec<String> {
        ids.iter().map(|id| module.functions[*id].name.clone()).collect()
    }

    const MUTUAL: &str = "\
entry @k {\nbb0:\n  call @a() -> ()\n  call @c() -> ()\n  ret\n}
device @a {\nbb0:\n  call @b() -> ()\n  call @b() -> ()\n  ret\n}
device @b {\nbb0:\n  call @a() -> ()\n  call @c() -> ()\n  ret\n}
device @c {\nbb0:\n  ret\n}
";

    #[test]
    fn components_come_from_the_callees_up() {
        let (module, graph) = of(MUTUAL);
        let order: Vec<_> = graph.bottom_up().map(|ids| names(&module, ids)).collect();
        assert_eq!(order, [vec!["c"], vec!["a", "b"], vec!["k"]]);
        let recursive: Vec<bool> = module.functions.keys().map(|id| graph.is_recursive(id)).collect();
        assert_eq!(recursive, [false, true, true, false]);
        let c = module.function_named("c").expect("it is there");
        assert_eq!(names(&module, graph.callers(c)), ["k", "b"]);
        assert_eq!(graph.component(c), 0);
    }

    /// `a` calls through a register; `b`'s address is taken and it calls `a`; `c` calls a declared function, but
    /// unknown code cannot call `c` back.
    #[test]
    fn unknown_code_closes_circles() {
        let (module, graph) = of("\
device @outside extern {\n}\ndevice @vprintf {\n}
device @a {\nbb0:\n  %d1 = mov.b64 @b\n  call %d1() -> ()\n  ret\n}
device @b {\nbb0:\n  call @a() -> ()\n  ret\n}
device @c {\nbb0:\n  call @outside() -> ()\n  ret\n}
device @d {\nbb0:\n  call @vprintf() -> ()\n  ret\n}
");
        let recursive = |name| graph.is_recursive(module.function_named(name).expect("it is there"));
        assert_eq!(["outside", "a", "b", "c", "d"].map(recursive), [true, true, true, false, false]);
        let last = graph.bottom_up().map(|ids| names(&module, ids)).find(|names| names.contains(&"a".to_owned()));
        assert_eq!(last.expect("it is in a component"), ["outside", "a", "b"]);
    }
}
