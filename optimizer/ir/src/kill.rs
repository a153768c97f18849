//! Kill markers: places behind which a register holds nothing any more.
//!
//! `spec/instruction-movement.txt` has them as pseudo-instructions without words, "vreg's last use is here", and says
//! that not they move but what they are tied to. So they are a table beside the instructions, as schedules are: a
//! marker is a register and an [`Anchor`]. From there on the register is undefined, until something defines it again; a
//! read behind a marker is a read of an undefined value. Nothing else follows from a marker, so a program without its
//! markers is a refinement of it, never the reverse.
//!
//! The text form writes them as lines of their own, `kill %r3, %r4`, behind what they are tied to.
//!
//! **Invariant:** a marker says something of the code as it was when it was made. Who changes a function drops its
//! markers, unless the change keeps them true.

use super::entity::{Block, Inst, Reg};
use super::function::Function;

/// Where a marker is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Anchor {
    /// At the beginning of a block, behind its phis.
    Entry(Block),
    /// Behind an instruction, which is neither a phi nor a terminator.
    Behind(Inst),
}

/// A marker.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Kill {
    /// Its place.
    pub at: Anchor,
    /// The register that is undefined from there on.
    pub reg: Reg,
}

impl Function {
    /// All markers, by place; also those whose instruction is in no block any more, which mean nothing.
    #[inline]
    pub fn kills(&self) -> &[Kill] {
        &self.kills
    }

    /// The registers that are undefined from a place on, in order of their number. Costs the logarithm of the markers.
    pub fn kills_at(&self, at: Anchor) -> impl ExactSizeIterator<Item = Reg> + '_ {
        let start = self.kills.partition_point(|kill| kill.at < at);
        let count = self.kills[start..].partition_point(|kill| kill.at == at);
        self.kills[start..start + count].iter().map(|kill| kill.reg)
    }

    /// Makes these the markers of the function.
    pub fn set_kills(&mut self, mut kills: Vec<Kill>) {
        kills.sort_unstable();
        kills.dedup();
        self.kills = kills;
    }

    /// The places of the function, in program order, each with its markers.
    pub(super) fn anchored_kills(&self) -> impl Iterator<Item = (Anchor, Vec<Reg>)> + '_ {
        let blocks = if self.kills.is_empty() { &[] } else { self.layout() };
        let places = blocks.iter().flat_map(|block| {
            let insts = self.block_insts(*block).map(Anchor::Behind);
            [Anchor::Entry(*block)].into_iter().chain(insts)
        });
        places.map(|at| (at, self.kills_at(at).collect()))
    }

    /// Whether two functions with the same blocks and as many instructions have the same markers.
    pub(super) fn has_kills_of(&self, other: &Function) -> bool {
        let regs = |func: &Function| -> Vec<Vec<_>> {
            let named = |regs: Vec<Reg>| regs.into_iter().map(|reg| (reg, func.regs.get(reg).copied())).collect();
            func.anchored_kills().map(|(_, regs)| named(regs)).collect()
        };
        let count = |func: &Function| func.anchored_kills().map(|(_, regs)| regs.len()).sum::<usize>();
        match (self.kills.is_empty(), other.kills.is_empty()) {
            (true, true) => true,
            (false, false) => regs(self) == regs(other),
            // What is tied to instructions of no block counts as nothing.
            _ => count(self) == count(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Rule, verify_function};
    use crate::{function_to_string, parse_function};

    const TEXT: &str = "\
device @f ssa {
bb0:
  %r1 = mov.b32 1
  %r2 = iadd.u32 %r1, 2
  kill %r1
  cbra undef, bb1, bb2
bb1:
  bra bb2
bb2:
  %r3 = phi [bb0: %r2], [bb1: 5]
  kill %r2, %r3
  ret
}
";

    #[test]
    fn markers_are_part_of_the_text_and_of_equality() {
        let func = parse_function(TEXT).expect("a function");
        assert_eq!(verify_function(&func, None), Ok(()));
        assert_eq!(function_to_string(&func, None), TEXT);
        let join = func.layout()[2];
        assert_eq!(func.kills_at(Anchor::Entry(join)).map(Reg::as_u32).collect::<Vec<_>>(), [2, 3]);
        let mut other = func.clone();
        assert_eq!(other, func);
        other.set_kills(func.kills()[1..].to_vec());
        assert_ne!(other, func);
        other.set_kills(Vec::new());
        assert_ne!(other, func);
        assert_ne!(func, other);
    }

    #[test]
    fn compaction_keeps_markers_at_their_instructions() {
        let mut func = parse_function(TEXT).expect("a function");
        let first = func.inst_at(func.entry(), 0);
        func.remove_inst(first);
        let text = function_to_string(&func, None);
        func.compact();
        assert_eq!(function_to_string(&func, None), text);
        // What was tied to an instruction goes with it.
        let add = func.inst_at(func.entry(), 0);
        func.remove_inst(add);
        func.compact();
        assert_eq!(func.kills().len(), 2);
    }

    #[test]
    fn no_marker_is_behind_a_phi_or_a_terminator() {
        let func = parse_function(TEXT).expect("a function");
        let (entry, join) = (func.layout()[0], func.layout()[2]);
        let broken = [func.first_inst(join), func.last_inst(entry)];
        for inst in broken.into_iter().flatten() {
            let mut func = func.clone();
            func.set_kills(vec![Kill { at: Anchor::Behind(inst), reg: Reg::from_u32(1) }]);
            let violations = verify_function(&func, None).expect_err("it has no place there");
            assert_eq!(violations[0].rule, Rule::Kill);
        }
        let mut func = func.clone();
        func.set_kills(vec![Kill { at: Anchor::Entry(entry), reg: Reg::from_u32(100) }]);
        assert!(verify_function(&func, None).is_err());
    }
}
