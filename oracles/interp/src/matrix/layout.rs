//! Which element of a matrix stands in which lane, by the formulas of the PTX ISA. They speak of
//! `groupID = %laneid >> 2` and `threadID_in_group = %laneid % 4`.

/// Lanes of a group.
const GROUP: usize = 4;

/// Where half `half` of a lane's word stands in a matrix of 8 by 8 elements of 16 bits, row and column: PTX ISA 9.0,
/// "ldmatrix", "movmatrix". A lane's group is its row.
pub fn half_of_rows(lane: usize, half: usize) -> (usize, usize) {
    (lane / GROUP, 2 * (lane % GROUP) + half)
}
