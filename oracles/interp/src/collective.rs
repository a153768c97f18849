//! The meaning of warp collectives: from the operands of all lanes to the results of all lanes.
//!
//! A result is undefined in the bits that undefined bits of the operands may change: a shuffled word keeps its own, a
//! ballot has one for each lane whose predicate is undefined, and a vote that other lanes settle has none.

use oriole_ir::ops::{ReduxOp, ShuffleMode, Type, VoteMode};

use super::partial::spread;
use super::program::CollectiveOp;
use oriole_semantics::lanes::{LANES, lanes};
use oriole_semantics::scalar;

/// Operands of all lanes, by source; a bit a lane says what is undefined.
#[derive(Clone, Debug)]
pub struct Inputs {
    pub values: [[u64; LANES]; 3],
    pub undefined: [u32; 3],
    /// Which bits of the first source are undefined.
    pub unknown: [u64; LANES],
    /// The member mask that each lane names.
    pub members: [u32; LANES],
}

impl Default for Inputs {
    fn default() -> Inputs {
        Inputs { values: [[0; LANES]; 3], undefined: [0; 3], unknown: [0; LANES], members: [0; LANES] }
    }
}

/// Results of all lanes.
#[derive(Clone, Debug)]
pub struct Outputs {
    pub values: [u64; LANES],
    /// Which bits of the values are undefined.
    pub unknown: [u64; LANES],
    pub preds: u32,
    pub preds_undefined: u32,
}

/// What one lane gets.
#[derive(Clone, Copy, Default)]
struct Result {
    value: u64,
    /// Its undefined bits.
    unknown: u64,
    pred: bool,
    /// Whether the predicate is undefined.
    is_open: bool,
}

/// Computes a collective for the lanes of `active`; every lane's members are among them.
pub fn compute(op: CollectiveOp, inputs: &Inputs, active: u32) -> Outputs {
    let mut out = Outputs { values: [0; LANES], unknown: [0; LANES], preds: 0, preds_undefined: 0 };
    for lane in lanes(active) {
        let members = inputs.members[lane] & active;
        let result = match op {
            CollectiveOp::Sync => Result::default(),
            CollectiveOp::Shuffle(mode) => shuffle(mode, inputs, active, lane),
            CollectiveOp::Vote(mode) => vote(mode, inputs, members),
            CollectiveOp::Ballot => {
                let unknown = inputs.undefined[0] & members;
                Result { value: ballot(inputs, members).into(), unknown: unknown.into(), ..Result::default() }
            }
            CollectiveOp::MatchAny => match_any(inputs, members, lane),
            CollectiveOp::MatchAll => match_all(inputs, members, lane),
            CollectiveOp::Reduce(op, ty) => reduce(op, ty, inputs, members),
            CollectiveOp::ReduceFloat(extreme) => {
                let value = extreme.of(lanes(members).map(|l| inputs.values[0][l] as u32)).into();
                let unknown = if inputs.undefined[0] & members == 0 { 0 } else { u64::MAX };
                Result { value, unknown, ..Result::default() }
            }
            CollectiveOp::Elect => {
                let leader = members.trailing_zeros();
                Result { value: u64::from(leader), pred: leader == lane as u32, ..Result::default() }
            }
        };
        (out.values[lane], out.unknown[lane]) = (result.value, result.unknown);
        out.preds |= u32::from(result.pred) << lane;
        out.preds_undefined |= u32::from(result.is_open) << lane;
    }
    out
}

fn ballot(inputs: &Inputs, members: u32) -> u32 {
    lanes(members).filter(|lane| inputs.values[0][*lane] & 1 == 1).fold(0, |mask, lane| mask | 1 << lane)
}

fn match_any(inputs: &Inputs, members: u32, lane: usize) -> Result {
    let (value, unknown) = (inputs.values[0][lane], inputs.unknown[lane]);
    let mut result = Result::default();
    for other in lanes(members) {
        let open = unknown | inputs.unknown[other];
        let differing = value ^ inputs.values[0][other];
        result.value |= u64::from(differing == 0) << other;
        let is_open = other != lane && open != 0 && differing & !open == 0;
        result.unknown |= u64::from(is_open) << other;
    }
    result
}

fn match_all(inputs: &Inputs, members: u32, lane: usize) -> Result {
    let value = inputs.values[0][lane];
    let all = lanes(members).all(|other| inputs.values[0][other] == value);
    // Two lanes differ for certain where a bit is one in some lane and zero in another.
    let seen = |flip: u64| {
        let bits = lanes(members).map(|other| (inputs.values[0][other] ^ flip) & !inputs.unknown[other]);
        bits.fold(0, |seen, bits| seen | bits)
    };
    let may_differ = inputs.undefined[0] & members != 0 && members.count_ones() > 1;
    let is_open = may_differ && seen(0) & seen(u64::MAX) == 0;
    let value = if all { u64::from(members) } else { 0 };
    Result { value, unknown: if is_open { u64::from(members) } else { 0 }, pred: all, is_open }
}

fn reduce(op: ReduxOp, ty: Type, inputs: &Inputs, members: u32) -> Result {
    let transfer = scalar::undef_transfer(scalar::combining(op), ty);
    let combined = |[a, b]: [u64; 2]| scalar::reduce(op, ty, a, b);
    let all = lanes(members).map(|lane| (inputs.values[0][lane], inputs.unknown[lane]));
    let all = all.reduce(|(a, a_unknown), (b, b_unknown)| {
        (combined([a, b]), spread(transfer, [a, b], [a_unknown, b_unknown], &combined))
    });
    let (value, unknown) = all.unwrap_or_default();
    Result { value, unknown, ..Result::default() }
}

fn vote(mode: VoteMode, inputs: &Inputs, members: u32) -> Result {
    let yes = ballot(inputs, members);
    let pred = match mode {
        VoteMode::All => yes == members,
        VoteMode::Any => yes != 0,
        VoteMode::Uni => yes == 0 || yes == members,
    };
    let unknown = inputs.undefined[0] & members;
    let (some, others) = (yes & !unknown != 0, members & !yes & !unknown != 0);
    let is_settled = match mode {
        VoteMode::All => others,
        VoteMode::Any => some,
        VoteMode::Uni => some && others || members.count_ones() == 1,
    };
    Result { value: u64::from(pred), pred, is_open: unknown != 0 && !is_settled, ..Result::default() }
}

/// `shfl.sync`: PTX ISA 9.0, "shfl.sync". Sources: value, lane or delta, clamp and segment mask.
fn shuffle(mode: ShuffleMode, inputs: &Inputs, active: u32, lane: usize) -> Result {
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
    let unknown = if absent || controls { u64::MAX } else { inputs.unknown[from] };
    Result { value, unknown, pred: in_range, is_open: controls }
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

    /// Values of which lane 1 has undefined bits.
    fn inputs_with(unknown: u64) -> Inputs {
        let mut inputs = Inputs { members: [0x0F; LANES], ..Inputs::default() };
        inputs.values[0] = std::array::from_fn(|lane| 0x100 + lane as u64);
        (inputs.undefined[0], inputs.unknown[1]) = (0b10, unknown);
        inputs
    }

    #[test]
    fn words_that_are_undefined_in_part_stay_so() {
        let mut inputs = inputs_with(0xFFFF_0000);
        inputs.values[1] = [1; LANES];
        inputs.values[2] = [31; LANES];
        let out = compute(CollectiveOp::Shuffle(ShuffleMode::Down), &inputs, 0x0F);
        assert_eq!((out.unknown[0], out.unknown[1], out.preds_undefined), (0xFFFF_0000, 0, 0));
        let reduced = |op, unknown| {
            let out = compute(CollectiveOp::Reduce(op, Type::U32), &inputs_with(unknown), 0x0F);
            out.unknown[0] & 0xFFFF_FFFF
        };
        assert_eq!(reduced(ReduxOp::Xor, 0xF0), 0xF0);
        assert_eq!(reduced(ReduxOp::Add, 0xF0), 0xFFFF_FFF0);
        assert_eq!(reduced(ReduxOp::Min, 0xF0), 0xFFFF_FFFF);
        // Lanes 0 to 3 are 0x100 to 0x103: bit 8 of all of them is set whatever bits 4 to 7 are.
        assert_eq!((reduced(ReduxOp::Or, 0x1F0), reduced(ReduxOp::And, 0x1F0)), (0xF0, 0x100));
    }

    /// Defined bits that differ, and defined predicates that settle a vote, leave nothing undefined.
    #[test]
    fn what_settles_a_result_makes_it_defined() {
        let any = |unknown| compute(CollectiveOp::MatchAny, &inputs_with(unknown), 0x0F).unknown;
        assert_eq!(any(0xF0)[..3], [0, 0, 0]);
        assert_eq!(any(1)[..3], [0b10, 0b01, 0]);
        let all = |unknown| compute(CollectiveOp::MatchAll, &inputs_with(unknown), 0x0F).preds_undefined;
        assert_eq!((all(0xF0), all(1)), (0, 0));
        let mut same = inputs_with(1);
        same.values[0] = [5; LANES];
        assert_eq!(compute(CollectiveOp::MatchAll, &same, 0x0F).preds_undefined, 0x0F);
        let votes = |yes: u32| {
            let mut inputs = inputs_with(1);
            inputs.values[0] = std::array::from_fn(|lane| u64::from(yes >> lane & 1));
            [VoteMode::All, VoteMode::Any, VoteMode::Uni]
                .map(|mode| compute(CollectiveOp::Vote(mode), &inputs, 0x0F).preds_undefined & 1)
        };
        assert_eq!((votes(0b1101), votes(0), votes(0b0101)), ([1, 0, 1], [0, 1, 1], [0, 0, 0]));
        assert_eq!(compute(CollectiveOp::Ballot, &inputs_with(1), 0x0F).unknown[3], 0b10);
    }
}
