//! Calls, and what acts on the whole grid or on nothing.

macro_rules! control_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Virtual {
    /// Calls a function; arguments and results are parameter variables.
    Call "call" -: [] <- [Callee, Params], CALL,
        fields &[], rules &[],
        since 50, later &[],
        cost Flat(18), rank 10, latency Expanded, undef Nothing;

    /// Ends the grid with an error.
    Trap "trap" "trap": [] <- [], EFFECT,
        fields &[], rules &[],
        since 50, later &[],
        cost Flat(10), rank 10, latency Fixed, undef Nothing;

    /// Breakpoint; without effect here.
    BrkPt "brkpt" "brkpt": [] <- [], EFFECT,
        fields &[], rules &[],
        since 50, later &[],
        cost Flat(10), rank 10, latency Fixed, undef Nothing;

    /// Waits about so many nanoseconds.
    NanoSleep "nanosleep" "nanosleep": [] <- [R], HINT,
        fields &[ty(bits!(Type: U32))], rules &[],
        since 70, later &[],
        cost Flat(10), rank 10, latency Wait, undef Nothing;

    /// Triggers a performance-monitor event.
    PmEvent "pmevent" "pmevent": [] <- [Imm], HINT,
        fields &[opt(Field::EventMask)], rules &[],
        since 50, later &[],
        cost Flat(10), rank 10, latency Fixed, undef Nothing;

    /// Changes the number of registers; without effect here.
    SetMaxNReg "setmaxnreg" -: [] <- [Imm], HINT.or(Flags::SPECIFIC),
        fields &[req(Field::MaxNReg), req_of(Field::Aligned, bits!(Aligned: Aligned)), ty(bits!(Type: U32))],
        rules &[],
        since 90, later &[],
        cost Flat(10), rank 10, latency Wait, undef Nothing;
    } } };
}
pub(in crate::ops) use control_rows;
