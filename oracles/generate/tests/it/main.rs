//! Generated kernels: what they contain, what they are good for.
//!
//! One program: linking one is faster than linking many, and its tests fill the processors to the end.

mod kinds;
mod lanes;
mod lean;
mod ptxas;
mod shapes;
