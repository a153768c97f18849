//! The tests of this crate's interface.

mod machine;
