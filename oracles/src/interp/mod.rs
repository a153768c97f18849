//! The reference interpreter: what a program means, computed as slowly as is needed to be sure.

pub mod scalar;
