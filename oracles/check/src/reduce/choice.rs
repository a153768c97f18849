//! Which of its opportunities a mutator takes.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use oriole_ir::ops::Opcode;
use oriole_ir::{FuncId, Inst, inst_to_string};

use super::edit::places;
use crate::report::Evidence;
use oriole_interp::{Executable, Outcome, RunOptions, ThreadId, may_be_address};

/// Programs that run longer are not followed: each step of the thread is an event with its text.
const MOST_EVENTS: u64 = 20_000;

/// A mutator asks at each opportunity, in an order that depends on the evidence alone, and leaves the program as it is
/// where the answer is no. So opportunities have numbers, and a driver can try any stretch of them.
pub struct Choice<'a> {
    taken: Range<usize>,
    seen: usize,
    facts: &'a Facts,
}

impl<'a> Choice<'a> {
    /// Takes the opportunities of a stretch.
    pub fn new(taken: Range<usize>, facts: &'a Facts) -> Choice<'a> {
        Choice { taken, seen: 0, facts }
    }

    /// Whether to take this opportunity.
    pub fn take(&mut self) -> bool {
        let at = self.seen;
        self.seen += 1;
        self.taken.contains(&at)
    }

    /// Opportunities so far.
    pub fn seen(&self) -> usize {
        self.seen
    }

    /// What instructions of the evidence compute, where it is always the same.
    pub fn values(&self, evidence: &Evidence) -> &'a Values {
        self.facts.values.get_or_init(|| observe(evidence))
    }
}

/// What is known of one state of the evidence, worked out when it is asked for.
#[derive(Default)]
pub struct Facts {
    values: OnceLock<Values>,
}

/// By instruction: what its first destination holds whenever the first thread executes it. Addresses are left out: they
/// are of the interpreter's making, and a program that holds them means nothing elsewhere.
pub type Values = HashMap<(FuncId, Inst), u64>;

fn observe(evidence: &Evidence) -> Values {
    events(evidence).unwrap_or_default()
}

/// Follows the first thread. Its events name instructions by text, which in SSA form is different for each that has a
/// destination.
fn events(evidence: &Evidence) -> Option<Values> {
    let (module, launch) = (&evidence.module, evidence.launch.as_ref()?);
    let executable = Executable::new(module).ok()?;
    let first = ThreadId { ctaid: [0; 3], tid: [0; 3] };
    let options = RunOptions { steps: Some(MOST_EVENTS), trace: Some(first), ..RunOptions::default() };
    let result = executable.run(launch, &options).ok()?;
    if result.outcome != Outcome::Finished {
        return None;
    }
    let mut seen: HashMap<(&str, &str), Option<u64>> = HashMap::new();
    for event in &result.trace {
        let key = (event.place.function.as_str(), event.place.text.as_str());
        let value = seen.entry(key).or_insert(event.value);
        *value = value.filter(|known| Some(*known) == event.value);
    }
    let mut values = Values::new();
    for (id, _, inst) in places(module) {
        let func = &module.functions[id];
        let text = inst_to_string(func, inst, Some(module));
        let known = seen.get(&(func.name.as_str(), text.as_str())).copied().flatten();
        let Some(reg) = func.defs(inst).next().filter(|_| func.inst(inst).opcode != Opcode::Call) else { continue };
        let info = func.regs()[reg];
        let kept = |value: &u64| info.words <= 2 && !may_be_address(*value);
        if let Some(value) = known.filter(kept) {
            let bits = if info.is_predicate() { 1 } else { 32 * u32::from(info.words) };
            values.insert((id, inst), value & (u64::MAX >> (64 - bits)));
        }
    }
    Some(values)
}
