//! The meaning of warp collectives: from the operands of all lanes to the results of all lanes.

use oriole_ir::ops::{ShuffleMode, VoteMode};

use super::frame::{LANES, lanes};
use super::program::CollectiveOp;
use super::scalar;

/// Operands of all lanes, by source; a bit a lane says what is undefined.
#[derive(Clone, Debug)]
pub struct Inputs {
    pub values: [[u64; LANES]; 3],
    pub undefined: [u32; 3],
    /// The member mask that each lane names.
    pub members: [u32; LANES],
}

impl Default for Inputs {
    fn default() -> Inputs {
        Inputs { values: [[0; LANES]; 3], undefined: [0; 3], members: [0; LANES] }
    }
}

/// Results of all lanes: value, predicate, and which values are undefined.
#[derive(Clone, Debug)]
pub struct Outputs {
    pub values: [u64; LANES],
    pub preds: u32,
    pub undefined: u32,
}

/// Computes a collective for the lanes of `active`; every lane's members are among them.
pub fn compute(op: CollectiveOp, inputs: &Inputs, active: u32) -> Outputs {
    let mut out = Outputs { values: [0; LANES], preds: 0, undefined: 0 };
    for lane in lanes(active) {
        let members = inputs.members[lane] & active;
        let (value, pred, undefined) = match op {
            CollectiveOp::Sync => (0, false, false),
            CollectiveOp::Shuffle(mode) => shuffle(mode, inputs, active, lane),
            CollectiveOp::Vote(mode) => vote(mode, inputs, members),
            CollectiveOp::Ballot => {
                let value = ballot(inputs, members);
                (u64::from(value), false, inputs.undefined[0] & members != 0)
            }
            CollectiveOp::MatchAny => {
                let same = equal_lanes(inputs, members, inputs.values[0][lane]);
                (u64::from(same), false, inputs.undefined[0] & members != 0)
            }
            CollectiveOp::MatchAll => {
                let all = equal_lanes(inputs, members, inputs.values[0][lane]) == members;
                (if all { u64::from(members) } else { 0 }, all, inputs.undefined[0] & members != 0)
            }
            CollectiveOp::Reduce(op, ty) => {
                let mut values = lanes(members).map(|l| inputs.values[0][l]);
                let first = values.next().unwrap_or(0);
                let value = values.fold(first, |a, b| scalar::reduce(op, ty, a, b));
                (value, false, inputs.undefined[0] & members != 0)
            }
            CollectiveOp::ReduceFloat(extreme) => {
                let values = lanes(members).map(|l| inputs.values[0][l] as u32);
                (extreme.of(values).into(), false, inputs.undefined[0] & members != 0)
            }
            CollectiveOp::Elect => {
                let leader = members.trailing_zeros();
                (u64::from(leader), leader == lane as u32, false)
            }
        };
        out.values[lane] = value;
        out.preds |= u32::from(pred) << lane;
        out.undefined |= u32::from(undefined) << lane;
    }
    out
}

fn ballot(inputs: &Inputs, members: u32) -> u32 {
    lanes(members).filter(|lane| inputs.values[0][*lane] & 1 == 1).fold(0, |mask, lane| mask | 1 << lane)
}

fn equal_lanes(inputs: &Inputs, members: u32, value: u64) -> u32 {
    lanes(members).filter(|lane| inputs.values[0][*lane] == value).fold(0, |mask, lane| mask | 1 << lane)
}

fn vote(mode: VoteMode, inputs: &Inputs, members: u32) -> (u64, bool, bool) {
    let yes = ballot(inputs, members);
    let result = match mode {
        VoteMode::All => yes == members,
        VoteMode::Any => yes != 0,
        VoteMode::Uni => yes == 0 || yes == members,
    };
    (u64::from(result), result, inputs.undefined[0] & members != 0)
}

/// `shfl.sync`: PTX ISA 9.0, "shfl.sync". Sources: value, lane or delta, clamp and segment mask.
fn shuffle(mode: ShuffleMode, inputs: &Inputs, active: u32, lane: usize) -> (u64, bool, bool) {
    let operand = inputs.values[1][lane] as u32 & 31;
    let control = inputs.values[2][lane] as u32;
    let (clamp, segment) = (control & 31, control >> 8 & 31);
    let this = lane as u32;
    let max = (this & segment) | (clamp & !segment);
    let min = this & segment;
    let (from, in_range) = match mode {
        ShuffleMode::Up => {
            let from = this.wrapping_sub(operand);
            (from, from as i32 >= max as i32)
        }
        ShuffleMode::Down => (this + operand, this + operand <= max),
        ShuffleMode::Bfly => (this ^ operand, this ^ operand <= max),
        ShuffleMode::Idx => {
            let from = min | (operand & !segment);
            (from, from <= max)
        }
    };
    let from = if in_range { from as usize & 31 } else { lane };
    let value = inputs.values[0][from];
    let absent = active >> from & 1 == 0 || inputs.members[lane] >> from & 1 == 0;
    let controls = (inputs.undefined[1] | inputs.undefined[2]) >> lane & 1 == 1;
    (value, in_range, absent || controls || inputs.undefined[0] >> from & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shuffled(mode: ShuffleMode, operand: u64, control: u64) -> Outputs {
        let mut inputs = Inputs { members: [u32::MAX; LANES], ..Inputs::default() };
        inputs.values[0] = std::array::from_fn(|lane| 100 + lane as u64);
        inputs.values[1] = [operand; LANES];
        inputs.values[2] = [control; LANES];
        compute(CollectiveOp::Shuffle(mode), &inputs, u32::MAX)
    }

    #[test]
    fn shuffles_follow_the_isa_examples() {
        let down = shuffled(ShuffleMode::Down, 4, 31);
        assert_eq!((down.values[3], down.values[28]), (107, 128));
        assert_eq!(down.preds, 0x0FFF_FFFF);
        let up = shuffled(ShuffleMode::Up, 1, 0);
        assert_eq!((up.values[0], up.values[5]), (100, 104));
        assert_eq!(up.preds, 0xFFFF_FFFE);
        let bfly = shuffled(ShuffleMode::Bfly, 16, 31);
        assert_eq!(bfly.values[1], 117);
        // Segments of eight lanes: mask 0x18 in bits 8 to 12.
        let idx = shuffled(ShuffleMode::Idx, 2, 0x181F);
        assert_eq!((idx.values[0], idx.values[9], idx.values[31]), (102, 110, 126));
    }

    #[test]
    fn votes_and_matches_look_at_members_only() {
        let mut inputs = Inputs { members: [0x0F; LANES], ..Inputs::default() };
        inputs.values[0] = std::array::from_fn(|lane| u64::from(lane != 2));
        let out = compute(CollectiveOp::Ballot, &inputs, 0x0F);
        assert_eq!(out.values[0], 0b1011);
        assert_eq!(compute(CollectiveOp::Vote(VoteMode::All), &inputs, 0x0F).preds, 0);
        assert_eq!(compute(CollectiveOp::MatchAny, &inputs, 0x0F).values[2], 0b0100);
        assert_eq!(compute(CollectiveOp::MatchAll, &inputs, 0x0F).preds, 0);
        assert_eq!(compute(CollectiveOp::Elect, &inputs, 0x0F).preds, 1);
    }
}
