//! Questions about floats, as solvers know floats.
//!
//! The terms of a question take floats apart into circuits, which samples and simplification like, and solvers do not:
//! of a product of two f64 they decide little. The same question is translated once more with the floats of SMT-LIB's
//! theory, whose operations solvers rewrite before they take them apart.

use std::sync::Arc;
use std::time::Duration;

use oriole_proof::term::Op;
use oriole_proof::{Answer, SolverError, Term};

use super::judge::Judge;
use super::settle::{Judged, Settled};
use super::translate::{Question, over_floats};

/// What solvers get for a question over floats.
const LIMIT: Duration = Duration::from_secs(10);

/// The largest finite f64, with which circuits compare what they round.
const LARGEST: u128 = 0x7fef_ffff_ffff_ffff;

impl Question<'_> {
    /// Whether it rounds to f64 anywhere.
    pub(super) fn rounds_doubles(&self) -> bool {
        self.terms.reachable(&[self.query.goal]).into_iter().any(|term| self.terms.value(term) == Some(LARGEST))
    }
}

impl Judge {
    /// The answer to a question over floats; nothing where it has none, or no solver knows it.
    pub(super) fn over_floats(&self, question: &Question<'_>) -> Result<Option<Arc<Judged>>, SolverError> {
        let Ok(floats) = over_floats(question) else { return Ok(None) };
        let is_float = |term: Term| matches!(floats.terms.node(term).op, Op::Float(_));
        if !floats.terms.reachable(&[floats.query.goal]).into_iter().any(is_float) {
            return Ok(None);
        }
        let Some(answered) = self.prover.ask_over_floats(&floats.terms, &floats.query, LIMIT)? else { return Ok(None) };
        let settled = match answered.answer {
            Answer::Proved => Settled::Solved { solver: answered.solver, millis: answered.millis },
            // The circuits must call it wrong, too.
            Answer::Refuted(inputs) if question.query.holds(&question.terms, &inputs) => {
                Settled::Wrong { inputs, found_by: "the solver" }
            }
            Answer::Refuted(_) => {
                let question = floats.query.script(&floats.terms).text;
                return Err(SolverError::WrongModel { solver: answered.solver, question });
            }
            Answer::Unknown(_) => return Ok(None),
        };
        Ok(Some(Arc::new(Judged { settled, tried: 0, relevant: 0 })))
    }
}
