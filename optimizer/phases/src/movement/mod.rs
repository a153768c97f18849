//! The movements of `spec/instruction-movement.txt`: one engine, which a kind drives.
//!
//! The engine asks the gates (`gates.rs`), moves the instructions of the kind's class (`texture.rs`) by the worker that
//! hoisting has too, makes a record of what is left (`record.rs`), and where the kind cleans up and something is left,
//! computes its analyses anew and moves once more. Kinds 0 and 1, of kill markers, are listed and do nothing: no
//! function has markers, since liveness says where a value ends.

pub mod gates;
pub mod kinds;
pub mod record;
pub mod texture;

use gates::Question;
use kinds::{Class, Kind};
use oriole_ir::Function;
use oriole_pass::analysis::AnalysisSet;
use oriole_pass::engine::worker::{self, Direction};
use oriole_pass::pass::{Changed, PhaseContext};
use record::Record;
use texture::{Fetches, is_fetch};

const RULE: &str = "move-fetch";

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
    let (row, question) = (kind.row(), Question::new(func, cx, kind));
    let Ok(movement) = question.movement() else { return Changed::No };
    if row.class != Class::Texture || !func.layout_insts().any(|inst| is_fetch(func, inst)) {
        return Changed::No;
    }
    let before = Record::new(func, cx);
    let mut changed = move_fetches(func, cx);
    let mut after = Record::new(func, cx);
    // D4: with analyses of the function as it is now.
    if movement.cleans_up && after.any() && changed.is_yes() {
        changed |= move_fetches(func, cx);
        after = Record::new(func, cx);
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
