//! What threads can see of each other's accesses, in the order in which it is in a module.
//!
//! A phase that drops a barrier, or moves an access over one, makes a race; so does a load that comes in front of what
//! acquires, or a store behind what releases. The interpreter runs threads in one of many orders, which may not show
//! it. Looking for races in every run would take most of a campaign's time, so they are looked for only if the sequence
//! of what orders threads and of shared accesses changed.

use oriole_ir::ops::{self, Flags, Opcode, Space};
use oriole_ir::{InstData, Module};

/// The operations that other threads can see, and those that order them; none where nothing orders threads.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Order(Vec<Step>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Step {
    opcode: Opcode,
    space: Option<Space>,
    /// The order of an access, where it acquires or releases.
    order: Option<ops::Order>,
}

impl Order {
    /// The order of a module.
    pub fn of(module: &Module) -> Order {
        let steps: Vec<Step> = module.operations().filter_map(step).collect();
        let is_ordered = steps.iter().any(|step| orders(step.opcode) || step.order.is_some());
        if is_ordered { Order(steps) } else { Order::default() }
    }

    /// Whether nothing orders threads.
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether nothing can race in a changed module of this order that did not before: it does the same in the same
    /// order, but for plain accesses that it does no longer.
    pub fn is_kept_by(&self, changed: &Order) -> bool {
        let mut rest = changed.0.iter().peekable();
        let is_kept = |step: &Step| rest.next_if_eq(&step).is_some() || step.is_plain();
        // What nothing orders cannot be ordered less.
        self.is_none() || self.0.iter().all(is_kept) && rest.next().is_none()
    }
}

impl Step {
    fn is_plain(self) -> bool {
        matches!(self.opcode, Opcode::Ld | Opcode::St) && self.order.is_none()
    }
}

/// Whether an operation orders accesses of several threads.
fn orders(opcode: Opcode) -> bool {
    opcode.is(Flags::CTA_BARRIER) || matches!(opcode, Opcode::BarWarpSync | Opcode::Fence)
}

fn step(data: &InstData) -> Option<Step> {
    let space = data.field::<Space>();
    let own = matches!(space, Some(Space::Local | Space::Param | Space::Const));
    let seen = (data.is(Flags::READS) || data.is(Flags::WRITES)) && !own;
    let ordering = |order: &ops::Order| matches!(order, ops::Order::Acquire | ops::Order::Release | ops::Order::AcqRel);
    let order = data.field::<ops::Order>().filter(ordering);
    (seen || orders(data.opcode)).then_some(Step { opcode: data.opcode, space, order })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(body: &str) -> Module {
        let text = format!(
            "target sm_90 ptx 9.0\n\nglobal @s: b8[256] shared align 4\n\nentry @k visible ssa {{\nbb0:\n  %r0 = mov.b32 7\n{body}  ret\n}}\n"
        );
        oriole_ir::parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    const STORE: &str = "  st.shared.b32 [@s], %r0\n";
    const LOAD: &str = "  %r1 = ld.shared.b32 [@s+4]\n";
    const BARRIER: &str = "  bar.sync 0, 0\n";

    #[test]
    fn dropped_barriers_and_moved_accesses_show_and_dropped_accesses_do_not() {
        let order = |parts: &[&str]| Order::of(&module(&parts.concat()));
        let kept = |parts: &[&str]| {
            let order = order(&[STORE, BARRIER, LOAD]);
            order.is_kept_by(&Order::of(&module(&parts.concat())))
        };
        let unordered = order(&[STORE, LOAD]);
        assert!(unordered.is_none() && unordered.is_kept_by(&order(&[LOAD, BARRIER, STORE])));
        assert!(kept(&[STORE, BARRIER, LOAD]) && kept(&[BARRIER, LOAD]) && kept(&[STORE, BARRIER]));
        assert!(!kept(&[STORE, LOAD]) && !kept(&[BARRIER, STORE, LOAD]) && !kept(&[STORE, LOAD, BARRIER]));
        assert!(!kept(&[STORE, BARRIER, LOAD, STORE]), "an access more");
    }

    #[test]
    fn loads_moved_over_what_acquires_show() {
        const ACQUIRE: &str = "  %r2 = ld.acquire.cta.shared.b32 [@s+8]\n";
        let order = |parts: &[&str]| Order::of(&module(&parts.concat()));
        let kept = |order: &Order, text: &str| order.is_kept_by(&Order::of(&module(text)));
        let original = order(&[ACQUIRE, LOAD]);
        assert!(kept(&original, &[ACQUIRE, LOAD].concat()));
        assert!(!kept(&original, &[LOAD, ACQUIRE].concat()));
        assert!(kept(&original, ACQUIRE) && !kept(&original, &[LOAD, LOAD, ACQUIRE].concat()));
        let weaker = ACQUIRE.replace("acquire", "relaxed");
        let two = order(&[ACQUIRE, ACQUIRE, LOAD]);
        assert!(!kept(&two, &[ACQUIRE, &weaker, LOAD].concat()), "one is weaker");
        assert!(!kept(&two, &[ACQUIRE, LOAD].concat()), "one is dropped");
    }
}
