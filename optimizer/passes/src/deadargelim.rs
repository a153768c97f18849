//! `deadargelim`: parameters and results that nobody reads (`spec/pass-pipeline.txt`, line 1204: DeadArgElimination).
//!
//! A function of which every call is known loses the parameters that its body does not name, and the results that no
//! caller names but for the calls that fill them. What calls and bodies stored for them goes as well, and so do the
//! variables of callers that were passed there alone. What computed the stored values is left to others, and so are
//! functions that other modules can name or whose address is taken: others call them as they are.
//!
//! Cost: linear in the instructions of the module.

use cranelift_entity::{EntityRef, EntitySet};

use super::calls::{KnownCalls, Site, callee, count_results, is_store, local_of, results};
use oriole_ir::{FuncId, Function, Inst, Local, Module, Operand};
use oriole_pass::analysis::CallGraph;
use oriole_pass::pass::{Changed, ModuleContext};

/// The parameters and results that a function loses: places in its lists.
#[derive(Clone, Default)]
struct Dead {
    results: Vec<usize>,
    parameters: Vec<usize>,
}

impl Dead {
    fn is_empty(&self) -> bool {
        self.results.is_empty() && self.parameters.is_empty()
    }
}

/// The deadargelim pass.
pub fn run(module: &mut Module, cx: &mut ModuleContext<'_>) -> Changed {
    let graph = cx.analyses.get::<CallGraph>(module);
    let calls = KnownCalls::new(module, &graph);
    let named: Vec<Named> = module.functions.values().map(Named::of).collect();
    let find = |id: FuncId| calls.all(id).map_or_else(Dead::default, |sites| dead(module, id, sites, &named));
    let mut all: Vec<Dead> = module.functions.keys().map(find).collect();
    for dead in &mut all {
        dead.parameters.retain(|_| cx.rewrite("dead-argument"));
        dead.results.retain(|_| cx.rewrite("dead-result"));
    }
    let mut changed = Changed::No;
    for id in module.functions.keys().collect::<Vec<FuncId>>() {
        let loses = |inst: Inst| callee(&module.functions[id], inst).is_some_and(|to| !all[to.index()].is_empty());
        if all[id.index()].is_empty() && !module.functions[id].layout_insts().any(loses) {
            continue;
        }
        changed |= cx.function(module, id, |func, _| {
            let mut gone = lose(func, &all[id.index()]);
            gone.extend(pass_less(func, &all));
            remove_unread(func, gone);
            Changed::Yes
        });
    }
    changed
}

/// Which variables the instructions of a function name.
struct Named {
    /// Those that something names.
    at_all: EntitySet<Local>,
    /// Those that something reads: neither a store to them nor a call that fills them.
    read: EntitySet<Local>,
}

impl Named {
    fn of(func: &Function) -> Named {
        let mut named = Named { at_all: EntitySet::new(), read: EntitySet::new() };
        for inst in func.layout_insts() {
            named.at_all.extend(func.inputs(inst).iter().filter_map(local_of));
            named.read.extend(reads(func, inst));
        }
        named
    }
}

/// The variables that an instruction reads, or whose address it takes.
fn reads(func: &Function, inst: Inst) -> impl Iterator<Item = Local> + '_ {
    let written = match callee(func, inst) {
        Some(_) => 2 + count_results(func, inst),
        None => usize::from(is_store(func, inst)),
    };
    func.inputs(inst).iter().skip(written).filter_map(local_of)
}

/// The parameters and results of a function that nobody reads.
fn dead(module: &Module, id: FuncId, sites: &[Site], named: &[Named]) -> Dead {
    let func = &module.functions[id];
    let unnamed = |local: &Local| !named[id.index()].at_all.contains(*local);
    let is_own = |local: &Local| !named[id.index()].read.contains(*local);
    let is_unread = |place: usize, (caller, call): &Site| {
        let filled = results(&module.functions[*caller], *call).nth(place);
        filled.is_some_and(|local| !is_passed_on(&module.functions[*caller], local, &named[caller.index()]))
    };
    let results = func.returns.iter().enumerate();
    let results = results.filter(|(place, local)| is_own(local) && sites.iter().all(|site| is_unread(*place, site)));
    let parameters = func.params.iter().enumerate().filter(|(_, local)| unnamed(local));
    Dead {
        results: results.map(|(place, _)| place).collect(),
        parameters: parameters.map(|(place, _)| place).collect(),
    }
}

/// Whether a function reads a variable, or its caller does.
fn is_passed_on(func: &Function, local: Local, named: &Named) -> bool {
    named.read.contains(local) || func.returns.contains(&local) || func.params.contains(&local)
}

/// Takes parameters and results from a function; they are its own variables from then on.
fn lose(func: &mut Function, dead: &Dead) -> Vec<Local> {
    let mut gone = take(&mut func.params, &dead.parameters);
    gone.extend(take(&mut func.returns, &dead.results));
    gone
}

/// Takes out what is at these places, which are sorted.
fn take<T: Copy>(list: &mut Vec<T>, places: &[usize]) -> Vec<T> {
    let taken = places.iter().map(|place| list[*place]).collect();
    let mut place = 0..;
    list.retain(|_| place.next().is_some_and(|place| places.binary_search(&place).is_err()));
    taken
}

/// Has the calls of a function pass no more than what is left; the variables that they passed there.
fn pass_less(func: &mut Function, all: &[Dead]) -> Vec<Local> {
    let calls: Vec<(Inst, FuncId)> = func.layout_insts().filter_map(|inst| Some((inst, callee(func, inst)?))).collect();
    let mut gone = Vec::new();
    for (call, to) in calls.into_iter().filter(|(_, to)| !all[to.index()].is_empty()) {
        let count = count_results(func, call);
        let mut filled: Vec<Operand> = func.srcs(call)[2..2 + count].to_vec();
        let mut passed: Vec<Operand> = func.srcs(call)[2 + count..].to_vec();
        gone.extend(take(&mut filled, &all[to.index()].results));
        gone.extend(take(&mut passed, &all[to.index()].parameters));
        let head = [Operand::Func(to), Operand::imm(filled.len() as u32)];
        let srcs: Vec<Operand> = head.into_iter().chain(filled).chain(passed).collect();
        func.set_srcs(call, &srcs);
    }
    gone.iter().filter_map(local_of).collect()
}

/// Of some variables, removes those that nothing reads or passes any longer, with the stores to them.
fn remove_unread(func: &mut Function, mut gone: Vec<Local>) {
    let mut named = EntitySet::<Local>::new();
    for inst in func.layout_insts() {
        named.extend(func.inputs(inst).iter().skip(usize::from(is_store(func, inst))).filter_map(local_of));
    }
    named.extend(func.params.iter().chain(&func.returns).copied());
    gone.retain(|local| !named.contains(*local));
    let mut absent = EntitySet::<Local>::new();
    absent.extend(gone.iter().copied());
    let is_dead = |inst: &Inst| {
        let to = func.srcs(*inst).first().and_then(local_of);
        is_store(func, *inst) && to.is_some_and(|to| absent.contains(to))
    };
    let stores: Vec<Inst> = func.layout_insts().filter(is_dead).collect();
    stores.into_iter().for_each(|store| func.remove_inst(store));
    func.remove_locals(&gone);
}
