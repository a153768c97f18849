//! `ipmsp`: the memory spaces of addresses that calls pass (`spec/pass-pipeline.txt`, lines 203 and 194: do-ip-msp).
//!
//! A parameter of which every call is known, and to which all pass generic addresses of one space, leads to that space.
//! The function says so behind the load of the parameter, `cvta.to.shared` and `cvta.shared` back, and reads what comes
//! out; `memory-space-opt` then takes its accesses to the space. The address is what it was, so nothing else changes.
//! Where calls pass addresses of different spaces, each kind of call gets a copy of the function, unless the switch
//! `do-clone-for-ip-msp` is off: of small functions, that do not call themselves, and [`COPIES`] in a run at most.
//!
//! Callers are looked at before what they call, so that a space is passed on. `dump-ip-msp` has each parameter said.
//!
//! Cost: linear in the instructions of the module, and of the copies; the calls of what a copied function calls.

use cranelift_entity::SecondaryMap;

use super::calls::{KnownCalls, Site, arguments, is_load, local_of};
use super::stored::{Content, Stored};
use oriole_ir::ops::{CvtaDirection, FieldValue, Opcode, Space, Type};
use oriole_ir::{FuncId, Function, FunctionKind, Inst, InstBuilder, Local, Module, Operand, RegInfo, Rewriter};
use oriole_pass::analysis::{Addresses, CallGraph};
use oriole_pass::pass::{Changed, Knob, ModuleContext, PassOption};

/// Copies in a run.
const COPIES: usize = 64;
/// Instructions of a function that is copied.
const LARGEST: usize = 256;

/// By parameter: the space that it leads to.
type Spaces = Vec<Option<Space>>;

/// The ipmsp pass.
pub fn run(module: &mut Module, cx: &mut ModuleContext<'_>) -> Changed {
    if !is_on(cx, "do-ip-msp") {
        return Changed::No;
    }
    let graph = cx.analyses.get::<CallGraph>(module);
    let calls = KnownCalls::new(module, &graph);
    let mut work = Work { calls, graph: &graph, stored: SecondaryMap::new(), copies: 0 };
    let order: Vec<FuncId> = graph.bottom_up().flatten().copied().collect();
    let mut changed = Changed::No;
    for id in order.into_iter().rev().filter(|id| !graph.is_recursive(*id)) {
        changed |= work.on(module, id, cx);
    }
    changed
}

/// Whether a switch of cicc is on.
fn is_on(cx: &ModuleContext<'_>, option: &str) -> bool {
    PassOption::named(option).is_some_and(|option| cx.pass_options.flag(option) == Some(true))
}

struct Work<'a> {
    calls: KnownCalls,
    graph: &'a CallGraph,
    /// By function that calls: the spaces of the addresses that it stores, once it is asked for. It has been looked at
    /// itself by then.
    stored: SecondaryMap<FuncId, Option<Stored<Space>>>,
    copies: usize,
}

impl Work<'_> {
    /// Looks at the calls of a function.
    fn on(&mut self, module: &mut Module, id: FuncId, cx: &mut ModuleContext<'_>) -> Changed {
        let func = &module.functions[id];
        if !func.params.iter().any(|local| func.locals[*local].size() == 8) || !may_gain(func) {
            return Changed::No;
        }
        let Some(sites) = self.calls.all(id).map(<[Site]>::to_vec) else { return Changed::No };
        let mut kinds: Vec<(Spaces, Vec<Site>)> = Vec::new();
        for site in sites {
            let spaces = self.passed(module, site, cx);
            match kinds.iter_mut().find(|(of, _)| *of == spaces) {
                Some((_, sites)) => sites.push(site),
                None => kinds.push((spaces, vec![site])),
            }
        }
        match kinds.len() {
            0 => Changed::No,
            1 => say(module, id, &kinds[0].0, cx),
            _ => self.part(module, id, kinds, cx),
        }
    }

    /// The spaces of what a call passes. What is never stored leads nowhere, and is no address of any space.
    fn passed(&mut self, module: &Module, (caller, call): Site, cx: &mut ModuleContext<'_>) -> Spaces {
        let func = &module.functions[caller];
        let stored = self.stored[caller].get_or_insert_with(|| spaces(func, caller, cx));
        let space = |local: Local| match stored.passed(func, local) {
            Content::Known(space) => Some(space),
            _ => None,
        };
        arguments(func, call).map(space).collect()
    }

    /// Has each kind of call name a function of its own; the last one keeps this.
    fn part(
        &mut self,
        module: &mut Module,
        id: FuncId,
        mut kinds: Vec<(Spaces, Vec<Site>)>,
        cx: &mut ModuleContext<'_>,
    ) -> Changed {
        let is_small = module.functions[id].inst_count() <= LARGEST;
        if !is_on(cx, "do-clone-for-ip-msp") || !is_small {
            return self.common(module, id, &kinds, cx);
        }
        // Calls that pass no address of a known space stay.
        kinds.sort_by_key(|(spaces, _)| std::cmp::Reverse(spaces.iter().flatten().count()));
        let (rest, copied) = kinds.split_last().expect("there are two kinds");
        let mut changed = Changed::No;
        for (spaces, sites) in copied {
            if self.copies == COPIES || !cx.rewrite("copy-for-space") {
                return changed;
            }
            self.copies += 1;
            let copy = self.copy(module, id);
            for (caller, call) in sites {
                module.functions[*caller].srcs_mut(*call)[0] = Operand::Func(copy);
            }
            changed = Changed::Yes;
            say(module, copy, spaces, cx);
        }
        changed | say(module, id, &rest.0, cx)
    }

    /// Says the spaces in which all kinds of calls agree.
    fn common(
        &self,
        module: &mut Module,
        id: FuncId,
        kinds: &[(Spaces, Vec<Site>)],
        cx: &mut ModuleContext<'_>,
    ) -> Changed {
        let agreed = |place: usize| {
            let space = kinds[0].0[place];
            space.filter(|_| kinds.iter().all(|(spaces, _)| spaces[place] == space))
        };
        let spaces: Spaces = (0..module.functions[id].params.len()).map(agreed).collect();
        say(module, id, &spaces, cx)
    }

    fn copy(&mut self, module: &mut Module, id: FuncId) -> FuncId {
        let mut func = module.functions[id].clone();
        let wanted = (1..).map(|number| format!("{}_space{number}", module.functions[id].name));
        let taken = module.symbols();
        let name = wanted.into_iter().find(|name| !taken.contains_key(name.as_str())).expect("some number is free");
        func.name = name;
        let copy = module.functions.push(func);
        self.calls.copied(id, copy, self.graph.callees(id));
        copy
    }
}

/// Whether a function may use what is said of its parameters: it accesses memory by generic addresses, or passes them.
fn may_gain(func: &Function) -> bool {
    func.layout_insts().any(|inst| {
        let data = func.inst(inst);
        data.opcode == Opcode::Call || data.field::<Space>() == Some(Space::Generic)
    })
}

/// The spaces of the addresses that a function stores in variables that it passes.
fn spaces(func: &Function, id: FuncId, cx: &mut ModuleContext<'_>) -> Stored<Space> {
    let global = cx.knobs.flag(Knob::KernelPointersAreGlobal) && func.kind == FunctionKind::Entry;
    let addresses = match global {
        true => Addresses::with_global_parameters(func),
        false => (*cx.analyses.of(id).get::<Addresses>(func)).clone(),
    };
    Stored::of(func, |store, local| {
        let &[_, offset, value] = func.srcs(store) else { return None };
        let is_whole = func.imm_bits(offset) == Some(0) && func.inst(store).ty().bits() == 64;
        let pointer = addresses.pointer(func, value).filter(|_| is_whole && func.locals[local].size() == 8)?;
        pointer.space.filter(|space| pointer.generic && !matches!(space, Space::Param | Space::Generic))
    })
}

/// Has a function say where its parameters lead.
fn say(module: &mut Module, id: FuncId, spaces: &[Option<Space>], cx: &mut ModuleContext<'_>) -> Changed {
    let known: Vec<(Local, Space)> =
        module.functions[id].params.iter().zip(spaces).filter_map(|(local, space)| Some((*local, (*space)?))).collect();
    if known.is_empty() {
        return Changed::No;
    }
    for (local, space) in &known {
        let func = &module.functions[id];
        cx.remark("dump-ip-msp", || format!("{} of {}: {}", func.locals[*local].name, func.name, space.name()));
    }
    cx.function(module, id, |func, cx| {
        let loads: Vec<(Inst, Space)> = func.layout_insts().filter_map(|inst| loaded(func, inst, &known)).collect();
        let mut rewriter = Rewriter::new(func);
        let mut changed = Changed::No;
        for (load, space) in loads {
            if !is_said(&rewriter, load, space) && cx.rewrite("say-space") {
                say_of(&mut rewriter, load, space);
                changed = Changed::Yes;
            }
        }
        changed
    })
}

/// The space of what an instruction loads, where that is one of these parameters.
fn loaded(func: &Function, inst: Inst, known: &[(Local, Space)]) -> Option<(Inst, Space)> {
    let data = func.inst(inst);
    let is_whole = is_load(func, inst) && data.guard.is_none() && data.vector_len() == 1 && data.ty().bits() == 64;
    let &[base, offset] = func.srcs(inst) else { return None };
    let local = local_of(&base).filter(|_| is_whole && func.imm_bits(offset) == Some(0))?;
    known.iter().find(|(of, _)| *of == local).map(|(_, space)| (inst, *space))
}

/// Whether what a load defines is read by nothing but its conversion to the space.
fn is_said(rewriter: &Rewriter<'_>, load: Inst, space: Space) -> bool {
    let Some(address) = rewriter.dsts(load)[0].whole_reg() else { return true };
    let converts = |inst: Inst| {
        let data = rewriter.inst(inst);
        data.field::<CvtaDirection>() == Some(CvtaDirection::FromGeneric) && data.field::<Space>() == Some(space)
    };
    rewriter.def_use().reads(address).all(converts)
}

/// Converts what a load defines to the space and back, and has all others read that.
fn say_of(rewriter: &mut Rewriter<'_>, load: Inst, space: Space) {
    let address = rewriter.dsts(load)[0].whole_reg().expect("it was looked at");
    let [specific, generic] = [0; 2].map(|_| rewriter.new_reg(RegInfo::words(2)));
    rewriter.replace_reads(address, generic);
    let line = rewriter.inst(load).line;
    let convert = |direction: CvtaDirection| {
        InstBuilder::new(Opcode::Cvta).field(direction).field(space).field(Type::U64).line(line)
    };
    let from = convert(CvtaDirection::FromGeneric).src(address).dst(specific);
    let from = rewriter.insert_after(load, &from);
    rewriter.insert_after(from, &convert(CvtaDirection::ToGeneric).src(specific).dst(generic));
}
