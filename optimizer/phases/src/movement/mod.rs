//! The four movements of `spec/instruction-movement.txt`: their kinds and their gates.

pub mod gates;
pub mod kinds;
