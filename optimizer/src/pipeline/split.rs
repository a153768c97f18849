//! A module that is optimized in parts, each of which sees nothing of the others' bodies
//! (`spec/pass-pipeline.txt`, line 85).
//!
//! A part has all symbols of the module: functions of other parts are declared, and what only the module sees is
//! visible, since other parts name it. Behind the passes the functions are linked again: every symbol is where it was
//! and has the linkage that it had. Functions and variables that a part has made come behind those of the module.

use std::collections::HashMap;

use super::on_function::Said;
use super::report::{PipelineError, Report};
use super::runner::{Known, Observer, Options, run_passes, run_throttled};
use super::throttle::Throttle;
use super::workers::Workers;
use oriole_ir::symbols::Renaming;
use oriole_ir::{FuncId, Function, Global, Linkage, Module, Variable};
use oriole_pass::pass::Element;

/// The most parts of a module: each has all of its symbols.
pub const MOST_PARTS: usize = 64;

/// Runs elements on so many parts of a module, on [`MOST_PARTS`] at most, or on as many as it has definitions. One part
/// is the module itself. The observer hears what each part says, one part after the other; it sees no module.
///
/// # Errors
///
/// As [`run_passes`], of the first part that fails; the module is as it was then.
pub fn run_split(
    elements: &[Element],
    module: &mut Module,
    options: &Options,
    parts: usize,
    observer: &mut dyn Observer,
) -> Result<Report, PipelineError> {
    let bins = bins(module, parts.min(MOST_PARTS));
    if bins.len() < 2 {
        return run_passes(elements, module, options, observer);
    }
    let whole = &*module;
    let throttle = Throttle::new(whole, options);
    let alone = Options { workers: Workers::default(), ..options.clone() };
    let jobs = bins.iter().enumerate().map(|(number, ids)| (number, ids.as_slice())).collect();
    let size = |(_, ids): &(usize, &[FuncId])| ids.iter().map(|id| whole.functions[*id].inst_count()).sum();
    let optimized = options.workers.fold(jobs, size, |parts: &mut Vec<_>, (number, ids)| {
        let (mut part, mut heard) = (part(whole, ids), Heard::default());
        let known = &mut Known::default();
        let result = run_throttled(elements, &mut part, &alone, &throttle, &mut heard, known);
        parts.push((number, heard, result.map(|report| (part, report))));
    });
    let mut optimized: Vec<_> = optimized.into_iter().flatten().collect();
    optimized.sort_by_key(|(number, ..)| *number);
    let mut report: Option<Report> = None;
    let mut linked = Vec::new();
    for ((_, Heard(said), result), ids) in optimized.into_iter().zip(&bins) {
        said.iter().for_each(|said| said.to(observer));
        let (part, of_part) = result?;
        linked.push((part, ids));
        report = Some(report.map_or(of_part.clone(), |report| report.with(of_part)));
    }
    for (number, (part, ids)) in linked.into_iter().enumerate() {
        link(module, part, ids, number);
    }
    Ok(report.unwrap_or_default())
}

/// Keeps what a part says.
#[derive(Default)]
struct Heard(Vec<Said>);

impl Observer for Heard {
    fn watches(&self) -> bool {
        false
    }

    fn remark(&mut self, text: &str) {
        self.0.push(Said::Remark(text.to_owned()));
    }

    fn dump(&mut self, text: &str) {
        self.0.push(Said::Dump(text.to_owned()));
    }
}

/// The definitions of each part: the largest ones first, each to the part that has the fewest instructions.
fn bins(module: &Module, parts: usize) -> Vec<Vec<FuncId>> {
    let mut ids: Vec<FuncId> = module.functions.keys().filter(|id| module.functions[*id].is_definition()).collect();
    ids.sort_by_key(|id| std::cmp::Reverse(module.functions[*id].inst_count()));
    let mut bins = vec![(0, Vec::new()); parts.min(ids.len())];
    for id in ids {
        if let Some((insts, bin)) = bins.iter_mut().min_by_key(|(insts, _)| *insts) {
            *insts += module.functions[id].inst_count();
            bin.push(id);
        }
    }
    let mut bins: Vec<Vec<FuncId>> = bins.into_iter().map(|(_, bin)| bin).collect();
    bins.iter_mut().for_each(|bin| bin.sort_unstable());
    bins
}

/// A module with the bodies of some functions.
fn part(whole: &Module, ids: &[FuncId]) -> Module {
    let seen = |linkage: Linkage| if linkage == Linkage::Internal { Linkage::Visible } else { linkage };
    let function = |(id, func): (FuncId, &Function)| {
        let mut func = if ids.binary_search(&id).is_ok() { func.clone() } else { func.declaration() };
        func.linkage = seen(func.linkage);
        func
    };
    let global = |global: &Variable| Variable { linkage: seen(global.linkage), ..global.clone() };
    Module {
        target: whole.target.clone(),
        ptx_version: whole.ptx_version,
        globals: whole.globals.values().map(global).collect(),
        functions: whole.functions.iter().map(function).collect(),
        sources: whole.sources.clone(),
    }
}

/// Takes the bodies of some functions from a part. Names that a part has made are said to be of it.
fn link(module: &mut Module, mut part: Module, ids: &[FuncId], number: usize) {
    let functions: HashMap<String, FuncId> =
        module.functions.iter().map(|(id, func)| (func.name.clone(), id)).collect();
    let globals: HashMap<String, Global> =
        module.globals.iter().map(|(id, global)| (global.name.clone(), id)).collect();
    let mut renaming = Renaming::default();
    for (id, global) in &mut part.globals {
        renaming.globals[id] = Some(match globals.get(&global.name) {
            Some(known) => {
                // Wide accesses of one part need what another one knows nothing of.
                let align = &mut module.globals[*known].align;
                *align = global.align.max(*align);
                *known
            }
            None => module.globals.push(Variable { name: format!("{}_part{number}", global.name), ..global.clone() }),
        });
    }
    for (id, func) in &mut part.functions {
        renaming.functions[id] = Some(functions.get(&func.name).copied().unwrap_or_else(|| {
            let mut declared = func.declaration();
            declared.name = format!("{}_part{number}", func.name);
            module.functions.push(declared)
        }));
    }
    for (id, mut func) in part.functions {
        let Some(to) = renaming.functions[id] else { continue };
        let is_new = !functions.contains_key(&func.name);
        if is_new || ids.binary_search(&to).is_ok() {
            let before = &mut module.functions[to];
            (func.name, func.linkage) = (std::mem::take(&mut before.name), before.linkage);
            func.rename_symbols(&renaming);
            *before = func;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::text::parse;
    use oriole_ir::ops::{Space, Type};
    use oriole_ir::sm::Target;
    use oriole_ir::{Operand, parse_module};
    use oriole_pass::pass::{Changed, Needs, Run};

    const MODULE: &str = "target sm_90 ptx 9.0
global @table: u64[2] global align 8 = 0x00000000000000000000000000000000 generic 0 8 @leaf+0
device @leaf ssa {
bb0:
  %r1 = iadd.u32 1, 2
  st.global.b32 [@table], %r1
  ret
}
device @outside extern ssa {
}
entry @k visible ssa {
bb0:
  %r1 = iadd.u32 3, 4
  call @leaf() -> ()
  call @outside() -> ()
  st.global.b32 [@table+4], %r1
  ret
}
device @other weak ssa {
bb0:
  call @leaf() -> ()
  ret
}
";

    const EXTRA: &str = "target sm_90 ptx 9.0
global @word: b32 global align 4
device @extra ssa {
bb0:
  st.global.b32 [@word], 1
  ret
}
";

    fn options() -> Options {
        Options::new(Target::portable(90).expect("the machine is known"))
    }

    fn module() -> Module {
        parse_module(MODULE).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Order, linkage, variables, relocations and calls are those of the module, and bodies as without parts.
    #[test]
    fn parts_are_linked_as_they_were() {
        let passes = parse("GeneralOptimizeEarly,dce").expect("a pipeline");
        let mut whole = module();
        let as_one = run_passes(&passes, &mut whole, &options(), &mut ()).expect("a valid run");
        assert_ne!(whole, module(), "the passes fold");
        for parts in [0, 1, 2, 3, 64] {
            let mut split = module();
            let report = run_split(&passes, &mut split, &options(), parts, &mut ()).expect("a valid run");
            assert_eq!(split.to_string(), whole.to_string(), "{parts} parts");
            assert_eq!(report.rewrites, as_one.rewrites, "{parts} parts");
        }
    }

    /// A part may add symbols: they get names of its own, and what names them follows.
    #[test]
    fn symbols_that_parts_add_are_told_apart() {
        let add = Run::module(|module, cx| {
            let mut extra = parse_module(EXTRA).expect("the text is a module").functions.values().next().cloned();
            let granted = cx.rewrite("add");
            if let Some(extra) = extra.take().filter(|_| granted) {
                let global = module.globals.push(Variable::new("word", Space::Global, Type::B32, None));
                let id = module.functions.push(extra);
                let names = |operand: &mut Operand| match operand {
                    Operand::Func(callee) => *callee = id,
                    Operand::Global(of) => *of = global,
                    _ => {}
                };
                for func in module.functions.values_mut() {
                    for inst in func.layout_insts().collect::<Vec<_>>() {
                        func.inputs_mut(inst).iter_mut().for_each(names);
                    }
                }
            }
            Changed::when(granted)
        });
        let passes = [Element::custom("Add", add).needing(Needs::ANYTHING)];
        let mut split = module();
        run_split(&passes, &mut split, &options(), 2, &mut ()).expect("a valid run");
        let names: Vec<&str> = split.functions.values().map(|func| func.name.as_str()).collect();
        assert_eq!(names, ["leaf", "outside", "k", "other", "extra_part0", "extra_part1"]);
        let text = split.to_string();
        let body = |name: &str| {
            let from = text.find(&format!("@{name} ")).expect("it is there");
            text[from..].split("\n}").next().expect("a body").to_owned()
        };
        let (k, other) = (body("k"), body("other"));
        let part = usize::from(k.contains("extra_part1"));
        assert!(k.contains(&format!("call @extra_part{part}()")) && k.contains(&format!("[@word_part{part}")), "{k}");
        assert!(other.contains("call @extra_part"), "{other}");
        assert!(
            body("extra_part0").contains("[@word_part0]") && body("extra_part1").contains("[@word_part1]"),
            "{text}"
        );
        assert!(text.contains("device @extra_part1 ssa"), "linkage is its own: {text}");
    }

    /// A part that aligns a variable for its accesses aligns it for all.
    #[test]
    fn a_variable_is_aligned_as_the_most_careful_part_wants() {
        let align = Run::module(|module, cx| {
            let is_of_kernel = module.functions.values().any(|func| func.name == "k" && func.is_definition());
            let granted = is_of_kernel && cx.rewrite("align");
            module.globals.values_mut().filter(|_| granted).for_each(|global| global.align = 16);
            Changed::when(granted)
        });
        let passes = [Element::custom("Align", align).needing(Needs::ANYTHING)];
        let mut split = module();
        run_split(&passes, &mut split, &options(), 3, &mut ()).expect("a valid run");
        assert!(split.globals.values().all(|global| global.align == 16));
    }

    /// Passes over modules see one part: a function that nothing in it calls is still called from another.
    #[test]
    fn what_another_part_names_stays() {
        let passes = parse("always-inline").expect("a pipeline");
        let mut split = module();
        run_split(&passes, &mut split, &options(), 3, &mut ()).expect("a valid run");
        assert_eq!(split.to_string(), module().to_string());
        let mut whole = module();
        run_passes(&passes, &mut whole, &options(), &mut ()).expect("a valid run");
        assert_ne!(whole, module(), "one part alone is inlined");
    }
}
