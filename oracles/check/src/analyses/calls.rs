//! The call graph.

use cranelift_entity::EntityRef;
use oriole_ir::{FuncId, Module};
use oriole_optimizer::analysis::CallGraph;

use super::{Disagreement, expect};
use oriole_reference::Calls;

/// Asks the optimizer's call graph everything about `module`, and compares with what is true of `truth` by definition;
/// the same module, unless a test wants to see a difference found. Both have the same functions.
pub fn compare_calls(module: &Module, truth: &Module) -> Result<(), Disagreement> {
    let (graph, calls) = (CallGraph::compute(module), Calls::of(truth));
    let ids: Vec<FuncId> = module.functions.keys().collect();
    let unknown = ids.len();
    let mut place = vec![usize::MAX; unknown];
    for (component, members) in graph.bottom_up().enumerate() {
        members.iter().for_each(|id| place[id.index()] = component);
    }
    for id in &ids {
        let (name, row) = (&module.functions[*id].name, &calls.direct[id.index()]);
        let judge = |what: &str, said: &dyn std::fmt::Debug, expected: &dyn std::fmt::Debug| {
            expect(name, "the call graph", || what.to_owned(), format!("{said:?}"), format!("{expected:?}"))
        };
        let callees: Vec<FuncId> = ids.iter().copied().filter(|to| row[to.index()]).collect();
        let callers: Vec<FuncId> = ids.iter().copied().filter(|by| calls.direct[by.index()][id.index()]).collect();
        judge("its callees", &graph.callees(*id), &callees)?;
        judge("its callers", &graph.callers(*id), &callers)?;
        judge("whether it calls unknown code", &graph.calls_unknown(*id), &row[unknown])?;
        let outside = calls.direct[unknown][id.index()];
        judge("whether unknown code calls it", &graph.is_called_by_unknown(*id), &outside)?;
        judge("whether it is recursive", &graph.is_recursive(*id), &calls.may_run(*id, *id))?;
        judge("its place in the order", &graph.component(*id), &place[id.index()])?;
        for other in &ids {
            let (there, back) = (calls.may_run(*id, *other), calls.may_run(*other, *id));
            let together = id == other || there && back;
            let said = graph.component(*id) == graph.component(*other);
            judge(&format!("its component with {other}"), &said, &together)?;
            let behind = !there || graph.component(*other) <= graph.component(*id);
            judge(&format!("its place behind {other}"), &behind, &true)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use oriole_ir::parse_module;

    use super::*;

    #[test]
    fn a_call_more_is_seen() {
        let text =
            "target sm_90 ptx 9.0\ndevice @a {\nbb0:\n  call @b() -> ()\n  ret\n}\ndevice @b {\nbb0:\n  ret\n}\n";
        let module = parse_module(text).expect("the text is a module");
        assert_eq!(compare_calls(&module, &module), Ok(()));
        let more = text.replace("@b {\nbb0:\n", "@b {\nbb0:\n  call @a() -> ()\n");
        let wrong = compare_calls(&module, &parse_module(&more).expect("the text is a module"));
        assert_eq!(wrong.map_err(|wrong| wrong.subject), Err("its callers".to_owned()));
    }
}
