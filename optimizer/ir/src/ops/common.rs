//! Operations of both levels: values that flow and are copied, and control.

macro_rules! common_value_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Any {
    /// The value that flows in from the predecessor that control came from.
    Phi "phi" -: [Any] <- [Incoming], PURE,
        fields &[], rules &[],
        since 50, later &[],
        cost Free, rank 0, latency Free, undef Copying;

    /// A copy; also loads constants and the addresses of symbols.
    Mov "mov" -: [T] <- [T], COPY,
        fields &[ty(PRED | bits!(Type: B32 | B64 | B128))], rules &[],
        since 50, later &[from(70, Field::Type, bits!(Type: B128))],
        cost Free, rank 0, latency Fixed, undef Copying;

    /// Concatenates values, lowest first.
    Pack "pack" -: [Packed] <- [Parts], PURE,
        fields &[ty(bits!(Type: B8 | B16 | B32 | B64))], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Fixed, undef Copying;
    } } };
}
pub(in crate::ops) use common_value_rows;

macro_rules! common_control_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Any {
    /// Goes to a block.
    Bra "bra" -: [] <- [Block], TERM,
        fields &[], rules &[],
        since 50, later &[],
        cost Flat(10), rank 10, latency Fixed, undef Nothing;

    /// Goes to the first block where the predicate is true, else to the second.
    CBra "cbra" -: [] <- [P, Block, Block], TERM,
        fields &[], rules &[],
        since 50, later &[],
        cost Flat(10), rank 10, latency Fixed, undef Nothing;

    /// Goes to the block with this index; undefined out of range.
    Brx "brx" -: [] <- [R, Blocks], TERM,
        fields &[], rules &[],
        since 50, later &[],
        cost Flat(10), rank 10, latency Fixed, undef Nothing;

    /// Returns from a function; ends the thread in an entry.
    Ret "ret" -: [] <- [], TERM,
        fields &[], rules &[],
        since 50, later &[],
        cost Flat(10), rank 10, latency Fixed, undef Nothing;

    /// Ends the thread.
    Exit "exit" -: [] <- [], TERM,
        fields &[], rules &[],
        since 50, later &[],
        cost Flat(10), rank 10, latency Fixed, undef Nothing;
    } } };
}
pub(in crate::ops) use common_control_rows;

macro_rules! split_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Any {
    /// A copy between two parts of a live range that are to stay apart (opcode 46 of `spec/liveness-and-dce.txt`): no
    /// phase looks through it or joins its sides. PTX has no word for that, and takes a copy.
    Split "split" -: [T] <- [T], COPY,
        fields &[ty(bits!(Type: B32 | B64))], rules &[],
        since 50, later &[],
        cost Free, rank 0, latency Fixed, undef Copying;
    } } };
}
pub(in crate::ops) use split_rows;
