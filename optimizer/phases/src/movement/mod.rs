//! The movements of `spec/instruction-movement.txt`: one engine, which a kind drives.
//!
//! The engine asks the gates (`gates.rs`), moves the instructions of the kind's class, makes a record of what is left
//! (`record.rs`), and where the kind cleans up and something is left, computes its analyses anew and moves once more.
//! Fetches (`texture.rs`) move by the worker that hoisting has too. Kill markers (`kill.rs`) are no instructions, so
//! the places that they are tied to move.
//!
//! The inventory has OriPerformLiveDeadFourth, which makes markers for what follows, behind the movements. So kinds 0
//! and 1 move those that a phase before has left, and where there are none, make them.

pub mod gates;
pub mod kill;
pub mod kinds;
pub mod record;
pub mod texture;

use gates::{Movement, Question};
use kinds::{Class, Kind};
use oriole_ir::Function;
use oriole_pass::analysis::AnalysisSet;
use oriole_pass::engine::kill_markers;
use oriole_pass::engine::worker::{self, Direction};
use oriole_pass::pass::{Changed, PhaseContext};
use record::Record;
use texture::{Fetches, is_fetch};

const RULE: &str = "move-fetch";

/// DoKillMovement, kind 0.
pub fn kill(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    engine(func, cx, Kind::KillDown)
}

/// DoKillMovementUpward, kind 1.
pub fn kill_upward(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    engine(func, cx, Kind::KillUp)
}

/// DoTexMovement, kind 2.
pub fn texture(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    engine(func, cx, Kind::TextureUp)
}

/// DoTexMovementUpward, kind 3.
pub fn texture_raw(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    engine(func, cx, Kind::TextureRaw)
}

/// The engine.
fn engine(func: &mut Function, cx: &mut PhaseContext<'_>, kind: Kind) -> Changed {
    let question = Question::new(func, cx, kind);
    match (question.movement(), kind.row().class) {
        (Ok(movement), Class::Kill) => markers(func, cx, movement),
        (Ok(movement), Class::Texture) if func.layout_insts().any(|inst| is_fetch(func, inst)) => {
            fetches(func, cx, movement)
        }
        _ => Changed::No,
    }
}

/// Kinds 0 and 1.
fn markers(func: &mut Function, cx: &mut PhaseContext<'_>, movement: Movement) -> Changed {
    // All that changes is beside the instructions.
    cx.keep_kills();
    cx.keep_analyses();
    cx.preserve(AnalysisSet::ALL);
    let mut changed = Changed::No;
    if func.kills().is_empty() {
        changed |= kill_markers::mark(func, cx);
    }
    let moved = kill::run(func, cx, movement.direction);
    let mut after = Record::of_markers(func, movement.direction);
    // D4.
    if movement.cleans_up && after.any() && moved.is_yes() {
        kill::run(func, cx, movement.direction);
        after = Record::of_markers(func, movement.direction);
    }
    cx.count("record: markers", after.markers);
    cx.count("record: movable markers", after.kill_survivors);
    changed | moved
}

/// Kinds 2 and 3.
fn fetches(func: &mut Function, cx: &mut PhaseContext<'_>, movement: Movement) -> Changed {
    let before = Record::of_fetches(func, cx);
    let mut changed = move_fetches(func, cx);
    let mut after = Record::of_fetches(func, cx);
    // D4: with analyses of the function as it is now.
    if movement.cleans_up && after.any() && changed.is_yes() {
        changed |= move_fetches(func, cx);
        after = Record::of_fetches(func, cx);
    }
    cx.count("record: fetches", after.fetches);
    cx.count("record: movable fetches", after.fetch_survivors);
    cx.count("record: distance before", before.distance);
    cx.count("record: distance after", after.distance);
    changed
}

fn move_fetches(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let mut fetches = Fetches::new(func, cx);
    let blocks = fetches.blocks();
    let moved = worker::run(func, cx, (RULE, Direction::Up), &blocks, &mut fetches);
    if moved.is_yes() {
        cx.analyses.retain(AnalysisSet::CONTROL_FLOW);
    }
    moved
}
