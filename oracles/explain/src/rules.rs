//! Why the changes of a step are right: the rules that its counters name, with reason and place.

use std::collections::BTreeMap;
use std::sync::Arc;

use oriole_ir::place::line_column;
use oriole_optimizer::peephole::RuleSet;
use oriole_rules::machine;
use oriole_rules::source::machine_sources;

use crate::record::Rule;

/// Texts of rules.
pub struct Rules {
    set: Arc<RuleSet>,
    /// The rules over instructions of the machine, by name: reason and file; read once one of them is asked for.
    machine: Option<BTreeMap<&'static str, (String, String)>>,
}

impl Rules {
    /// The rules that phases had.
    pub fn new(set: Arc<RuleSet>) -> Rules {
        Rules { set, machine: None }
    }

    /// The rules among the counters of a step. What is no text has the reason of its phase.
    pub fn among(&mut self, counters: &BTreeMap<&'static str, u64>, doc: &str, document: Option<&str>) -> Vec<Rule> {
        // `NAME: guard` and the like count matches that were left alone.
        let applied = counters.iter().filter(|(name, count)| !name.contains(": ") && **count > 0);
        let of = |(name, count): (&&'static str, &u64)| {
            let (reason, document) =
                self.written(name).unwrap_or_else(|| (doc.to_owned(), document.map(str::to_owned)));
            Rule { name: (*name).to_owned(), count: *count, reason, document }
        };
        applied.map(of).collect()
    }

    /// The words of the file of a rule on it, and the place there; `None` for what is no text.
    fn written(&mut self, name: &str) -> Option<(String, Option<String>)> {
        if let Some(rule) = self.set.rule(name) {
            let (decl, source) = (rule.decl(), &self.set.sources()[rule.source]);
            let (line, _) = line_column(&source.text, decl.span.start);
            let text = source.text.get(decl.span.start..decl.span.end).unwrap_or_default();
            return Some((reason(&decl.doc, text), Some(format!("{}:{line}", source.name))));
        }
        let (reason, document) = self.machine.get_or_insert_with(of_the_machine).get(name)?.clone();
        Some((reason, Some(document)))
    }
}

/// The sentences above a rule, and the rule.
fn reason(doc: &str, text: &str) -> String {
    if doc.is_empty() { text.to_owned() } else { format!("{doc}\n{text}") }
}

fn of_the_machine() -> BTreeMap<&'static str, (String, String)> {
    let files = machine_sources().into_iter().flat_map(|source| {
        let (rules, _) = machine::resolve(&source.text);
        rules.into_iter().map(move |rule| (rule.name, (reason(&rule.doc, &rule.text), source.name.clone())))
    });
    files.collect()
}
