//! ptxas's own code is covered, and the table of latencies is not above what it relies on.

use crate::common;
use oriole_scoreboard::{check, latency, walk};

#[test]
fn the_cubins_of_the_corpus_have_no_hazards() {
    let functions = common::functions();
    assert!(functions.len() > 200, "{} functions", functions.len());
    let found: Vec<String> = functions
        .iter()
        .flat_map(|file| check(&file.code()).into_iter().map(|hazard| format!("{}: {hazard}", file.name)))
        .collect();
    assert!(found.is_empty(), "{} hazards:\n{}", found.len(), found.join("\n"));
}

/// Every row is at most the fewest cycles of its meetings, whichever row is taken for them.
#[test]
fn latencies_are_not_above_what_ptxas_relies_on() {
    let (mut meetings, mut narrow) = (0, 0);
    for file in common::functions() {
        let (name, code) = (&file.name, file.code());
        walk(&code, &mut |meeting| {
            if !meeting.is_fixed {
                return;
            }
            meetings += 1;
            for (width, key) in latency::keys(&code, meeting).iter().enumerate() {
                let Some(cycles) = latency::row(key) else { continue };
                narrow += usize::from(width == 0);
                assert!(cycles <= meeting.elapsed, "{name}: {key} {cycles} is above {}", meeting.elapsed);
            }
        });
    }
    // Most meetings have a row of their own.
    assert!(meetings > 10_000 && narrow * 2 > meetings, "{narrow} of {meetings} meetings have a narrow row");
}
