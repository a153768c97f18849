//! The gates of the movements: what `spec/instruction-movement.txt` asks before a kind moves anything (steps 0 to 4).
//!
//! The page's `break` falls into the movement that it is to prevent, and with knob 381 at 0, its default, no kind but
//! the first does anything. Read so, nothing is ever moved; so `break` ends the movement here, and at 0 each kind moves
//! what it is for. On the same page a failed function gate ends the phase for all functions from Blackwell on; here it
//! ends it for that function, since work on a function sees nothing of others. Where gate and value are of one setting
//! for all functions, both are the same.

use std::fmt;

use oriole_ir::Function;
use oriole_pass::pass::{Knob, PhaseContext};

use super::kinds::{Direction, Kind};

/// A gate, in the order in which they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// The level that the wrapper asks for: above 1.
    WrapperLevel,
    /// The bit that the late hoist has too.
    Master,
    /// The level that the engine asks for: above 2.
    EngineLevel,
    /// The token that the four kinds share with the late hoist.
    Token,
    /// The count of functions.
    Functions,
    /// The function has instructions.
    Body,
    /// The condition of knob 381.
    Eligibility,
    /// The value of knob 381.
    Value,
}

impl Gate {
    /// Every gate, in the order in which they are asked.
    pub const ALL: [Gate; 8] = [
        Gate::WrapperLevel,
        Gate::Master,
        Gate::EngineLevel,
        Gate::Token,
        Gate::Functions,
        Gate::Body,
        Gate::Eligibility,
        Gate::Value,
    ];
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Gate::WrapperLevel => "level O2",
            Gate::Master => "always open",
            Gate::EngineLevel => "level O3",
            Gate::Token => "the token HoistInvariants",
            Gate::Functions => "a function that is at hand",
            Gate::Body => "the function",
            Gate::Eligibility => "MovementEligibility, the target",
            Gate::Value => "MovementVariant",
        })
    }
}

/// All that the gates of one kind ask about a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// The kind.
    pub kind: Kind,
    /// The effective level of the function, 0 to 3.
    pub level: u8,
    /// Whether the token that the kinds share, or the phase's own, turns it off.
    pub is_disabled: bool,
    /// The condition of knob 381.
    pub is_eligible: bool,
    /// The value of knob 381, 0 to 3.
    pub value: i64,
    /// Whether a failed condition ends the movement whatever the kind: from Blackwell on.
    pub gate_is_final: bool,
    /// Whether the function has no instructions.
    pub is_empty: bool,
}

/// The work of a kind in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Movement {
    /// D5.
    pub direction: Direction,
    /// D4: whether it moves again what the first movement has set free.
    pub cleans_up: bool,
}

impl Question {
    /// About a function that a phase has at hand: the runner has asked for tokens.
    pub fn new(func: &Function, cx: &PhaseContext<'_>, kind: Kind) -> Question {
        Question {
            kind,
            level: cx.opt_level,
            is_disabled: false,
            is_eligible: cx.knobs.function_gate(Knob::MovementEligibility).allows(&func.name),
            value: cx.knobs.number(Knob::MovementVariant),
            gate_is_final: cx.target.movement_gate_is_final(),
            is_empty: func.inst_count() == 0,
        }
    }

    /// Whether a gate is open, given that those before it are.
    pub fn is_open(&self, gate: Gate) -> bool {
        let row = self.kind.row();
        match gate {
            Gate::WrapperLevel => self.level > 1,
            Gate::EngineLevel => self.level > 2,
            Gate::Master | Gate::Functions => true,
            Gate::Token => !self.is_disabled,
            Gate::Body => !self.is_empty,
            Gate::Eligibility => self.is_eligible || !self.gate_is_final && row.moves_otherwise,
            // A function that is not eligible and moved in is not asked for the value.
            Gate::Value if !self.is_eligible => true,
            Gate::Value => match self.value {
                0 => true,
                1 => row.moves_at_one,
                3 => false,
                _ => row.moves_otherwise,
            },
        }
    }

    /// The first gate that is closed.
    pub fn closed(&self) -> Option<Gate> {
        Gate::ALL.into_iter().find(|gate| !self.is_open(*gate))
    }

    /// The work of the kind.
    ///
    /// # Errors
    ///
    /// The gate that keeps it from moving.
    pub fn movement(&self) -> Result<Movement, Gate> {
        let row = self.kind.row();
        self.closed().map_or(Ok(Movement { direction: row.direction, cleans_up: row.cleans_up }), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All questions: kinds, levels, token, condition, value, tier, body.
    fn questions() -> impl Iterator<Item = Question> {
        let kinds = [Kind::KillDown, Kind::KillUp, Kind::TextureUp, Kind::TextureRaw];
        (0..1024_usize).map(move |number| {
            let bit = |at: usize| number >> at & 1 == 1;
            Question {
                kind: kinds[number & 3],
                level: (number >> 2 & 3) as u8,
                value: (number >> 4 & 3) as i64,
                is_disabled: bit(6),
                is_eligible: bit(7),
                gate_is_final: bit(8),
                is_empty: bit(9),
            }
        })
    }

    /// The signed direction and the cleanup, as the pseudocode of the page has them, line by line, with numbers in the
    /// place of rows; `None` where nothing moves. Where it differs from the page, the module says why.
    fn by_the_page(question: Question) -> Option<(i8, bool)> {
        let a2 = question.kind as i32;
        let sure = (if a2 == 0 { 1 } else { -1 }, a2 <= 2);
        if question.level <= 1 || question.level <= 2 || question.is_disabled || question.is_empty {
            return None;
        }
        if question.gate_is_final {
            if !question.is_eligible {
                return None;
            }
        } else if !question.is_eligible {
            return if a2 <= 1 { Some(sure) } else { None };
        }
        let v17 = question.value;
        if v17 == 1 {
            return if a2 == 1 { Some(sure) } else { None };
        }
        if v17 == 3 {
            return None;
        }
        if v17 != 0 {
            return if a2 <= 1 { Some(sure) } else { None };
        }
        Some(sure)
    }

    #[test]
    fn gates_answer_as_the_page_does() {
        let mut moving = 0;
        for question in questions() {
            let moves = question.movement().ok().map(|m| (m.direction.sign(), m.cleans_up));
            assert_eq!(moves, by_the_page(question), "{question:?}");
            moving += usize::from(moves.is_some());
        }
        // At level 3, with the token and a body: before Blackwell 2 kinds of 4 values where the function is not
        // eligible, and on both sides 4 + 1 + 2 where it is.
        assert_eq!((questions().count(), moving), (1024, 2 * 4 + 2 * 7));
    }

    #[test]
    fn every_gate_that_may_close_closes_first_somewhere() {
        for gate in Gate::ALL {
            let closes = questions().any(|question| question.closed() == Some(gate));
            assert_eq!(closes, !matches!(gate, Gate::Master | Gate::Functions), "{gate:?}");
        }
    }
}
