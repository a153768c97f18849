//! Instructions of PTX that no row is about: carried through as they are written.
//!
//! The first source is the text with places for registers ([`crate::template`]), which says what is written and what
//! is read. Nothing else is known of them, so to the optimizer each may do anything to memory, waits for other threads
//! and stays where it is. The interpreter executes a few of them by their names, and ends at others.

macro_rules! opaque_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Virtual {
    /// An instruction of PTX that is not known here: what it yields, its text, what it takes.
    Opaque "opaque" -: [Written] <- [Template, Places], ATOMIC.or(BARRIER),
        fields &[], rules &[],
        since 50, later &[],
        cost Flat(20), rank 10, latency Memory, undef Mixing;
    } } };
}
pub(in crate::ops) use opaque_rows;
