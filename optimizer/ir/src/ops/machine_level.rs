//! Operations of the machine level: one row for each thing that instructions of the machine do beside writing their
//! results.
//!
//! Which instructions there are differs from SM to SM, and the tables of encodings say so, with what each reads and
//! writes. They are not listed here again: an instruction holds the number of its row and the codes of its modifiers
//! ([`crate::machine`]), and that row says which of these opcodes it has. The text form has results, operands and
//! targets of each instruction, so that analyses of control and data flow need no table.

macro_rules! machine_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Machine {
    /// An instruction of the machine that may do everything: access any memory, order accesses, wait for other threads.
    MachineOp "op" -: [Written] <- [Taken], ATOMIC.or(BARRIER).or(MACHINE),
        fields &[], rules &[],
        since 50, later &[],
        cost Flat(2), rank 10, latency Memory, undef Mixing;

    /// An instruction of the machine whose results depend on its operands alone.
    MachinePure "op.pure" -: [Written] <- [Taken], PURE.or(MACHINE),
        fields &[], rules &[],
        since 50, later &[],
        cost Flat(2), rank 10, latency Fixed, undef Mixing;

    /// An instruction of the machine that loads.
    MachineLoad "op.load" -: [Written] <- [Taken], LOAD.or(MACHINE),
        fields &[], rules &[],
        since 50, later &[],
        cost Flat(2), rank 10, latency Memory, undef Mixing;

    /// An instruction of the machine that stores.
    MachineStore "op.store" -: [Written] <- [Taken], STORE.or(MACHINE),
        fields &[], rules &[],
        since 50, later &[],
        cost Flat(2), rank 10, latency Memory, undef Mixing;

    /// An instruction of the machine that reads and writes memory in one step.
    MachineAtomic "op.atomic" -: [Written] <- [Taken], ATOMIC.or(MACHINE),
        fields &[], rules &[],
        since 50, later &[],
        cost Flat(2), rank 10, latency Memory, undef Mixing;

    /// An instruction of the machine whose results depend on which lanes execute it together. It waits for none.
    MachineCollective "op.collective" -: [Written] <- [Taken], COLLECTIVE.or(MACHINE),
        fields &[], rules &[],
        since 50, later &[],
        cost Flat(2), rank 10, latency Variable, undef Mixing;

    /// An instruction of the machine that reads or changes state beside registers and memory.
    MachineState "op.state" -: [Written] <- [Taken], EFFECT.or(MACHINE),
        fields &[], rules &[],
        since 50, later &[],
        cost Flat(2), rank 10, latency Variable, undef Mixing;

    /// An instruction of the machine that ends a block. The blocks among its operands are those that it can go to;
    /// where it may also do nothing, as its guard or another operand says, the last is the one behind it.
    MachineJump "jump" -: [] <- [Taken], TERM.or(MACHINE),
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
