//! Operations of the machine level: one row for all instructions of the machine that go on to the next one, one for
//! those that do not.
//!
//! Which instructions there are differs from SM to SM, and the tables of encodings say so, with what each reads and
//! writes. They are not listed here again: the first source of these rows is the mnemonic with its modifiers, and the
//! text form has results, operands and targets of each instruction, so that analyses of control and data flow need no
//! table. What an instruction does beside writing its results is not known here, so it counts as doing everything.

macro_rules! machine_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Machine {
    /// An instruction of the machine behind which the next one follows: its results, its mnemonic, what it takes.
    MachineOp "op" -: [Written] <- [Mnemonic, Taken], ATOMIC.or(BARRIER),
        fields &[], rules &[],
        since 50, later &[],
        cost Flat(2), rank 10, latency Memory, undef Mixing;

    /// An instruction of the machine that ends a block. The blocks among its operands are those that it can go to;
    /// where it may also do nothing, as its guard or another operand says, the last is the one behind it.
    MachineJump "jump" -: [] <- [Mnemonic, Taken], TERM,
        fields &[], rules &[],
        since 50, later &[],
        cost Flat(10), rank 10, latency Fixed, undef Nothing;

    /// The end of the code: no instruction of the machine, and control does not get here.
    MachineEnd "end" -: [] <- [], TERM,
        fields &[], rules &[],
        since 50, later &[],
        cost Free, rank 0, latency Fixed, undef Nothing;
    } } };
}
pub(in crate::ops) use machine_rows;
