//! Random questions, polynomials and inputs against what they stand for, and what needs no solver.

mod met;
mod model;
mod polynomials;
mod shown;
