//! Writes `src/latencies.txt`: the fewest cycles between instructions that meet, over the cubins that are named.
//!
//! ```text
//! cargo run -p oriole-scoreboard --example latencies -- corpus/cubins/*.cubin >latencies.txt
//! ```

use std::collections::{BTreeMap, BTreeSet};

use oriole_sass::cubin::Cubin;
use oriole_scoreboard::{Code, latency, walk};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut measured: BTreeMap<String, (u8, BTreeSet<String>)> = BTreeMap::new();
    for path in std::env::args().skip(1) {
        let name = std::path::Path::new(&path).file_name().map_or(String::new(), |name| name.to_string_lossy().into());
        let program = name.split('.').next().unwrap_or(&name).to_owned();
        let cubin = Cubin::read(&std::fs::read(&path)?)?;
        for function in &cubin.functions {
            let code = Code::of(&cubin, function)?;
            walk(&code, &mut |meeting| {
                for key in latency::keys(&code, meeting).into_iter().filter(|_| meeting.is_fixed) {
                    let (fewest, programs) = measured.entry(key).or_insert((u8::MAX, BTreeSet::new()));
                    if meeting.elapsed < *fewest {
                        (*fewest, *programs) = (meeting.elapsed, BTreeSet::new());
                    }
                    if meeting.elapsed == *fewest {
                        programs.insert(program.clone());
                    }
                }
            });
        }
    }
    println!("# kind, file, generation, producer, consumer's pipe, place, cycles: ptxas 13.0.88, 2026-11");
    for (key, (cycles, programs)) in measured {
        if programs.len() >= latency::ENOUGH {
            println!("{key} {cycles}");
        }
    }
    Ok(())
}
