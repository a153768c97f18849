//! Checks the cubins that are named, and prints the hazards of each.

use oriole_sass::cubin::Cubin;
use oriole_scoreboard::check_cubin;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut functions, mut hazards) = (0, 0);
    for path in std::env::args().skip(1) {
        let cubin = Cubin::read(&std::fs::read(&path)?)?;
        let found = check_cubin(&cubin)?;
        found.iter().for_each(|hazard| println!("{path}: {hazard}"));
        (functions, hazards) = (functions + cubin.functions.len(), hazards + found.len());
    }
    println!("{functions} functions, {hazards} hazards");
    Ok(())
}
