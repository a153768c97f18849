//! Which element of a matrix is in which lane, by the formulas of the PTX ISA. They speak of
//! `groupID = %laneid >> 2` and `threadID_in_group = %laneid % 4`.

/// Lanes of a group.
pub const GROUP: usize = 4;

/// Where half `half` of a lane's word is in a matrix of 8 by 8 elements of 16 bits, row and column: PTX ISA 9.0,
/// "ldmatrix", "movmatrix". A lane's group is its row.
pub fn half_of_rows(lane: usize, half: usize) -> (usize, usize) {
    (lane / GROUP, 2 * (lane % GROUP) + half)
}

/// The row of A that a lane's register holds elements of, the `which`th one of those that have the same columns: the
/// lane's group, or eight rows below. The columns of B are those of the groups.
#[inline(always)]
pub fn row_of_left(lane: usize, which: usize) -> usize {
    lane / GROUP + 8 * which
}

/// The column of A, and the row of B, of an element of a lane's register, of `each` elements in a register: the lanes
/// of a group follow each other, and then again from the next register on.
#[inline(always)]
pub fn inner(lane: usize, register: usize, element: usize, each: usize) -> usize {
    each * (lane % GROUP) + element + GROUP * each * register
}

/// Row and column in A of an element of a lane's register for `wmma`, of `each` in a register; of B, the columns stand
/// for rows.
pub fn whole_factor(
    [rows, inner_extent]: [usize; 2],
    each: usize,
    lane: usize,
    register: usize,
    element: usize,
) -> (usize, usize) {
    // The registers of 8 or 16 rows follow each other.
    let side = if rows % 16 == 0 { 2 } else { 1 };
    let tile = side * inner_extent / (GROUP * each);
    let row = row_of_left(lane, register % side) + 16 * (register / tile);
    (row, inner(lane, register % tile / side, element, each))
}

/// Row and column of C and D in a lane's register of 32 or 64 bits.
#[inline(always)]
pub fn sum_of_word(lane: usize, register: usize) -> (usize, usize) {
    (lane / GROUP + 8 * (register / 2), 2 * (lane % GROUP) + register % 2)
}

/// Row and column of C and D in half a register.
#[inline(always)]
pub fn sum_of_half(lane: usize, register: usize, half: usize) -> (usize, usize) {
    (lane / GROUP + 8 * register, 2 * (lane % GROUP) + half)
}
