//! judge K.ptx CUBIN…: executes the PTX and each cubin on K's launches and compares.
use oriole_interp::launch::{Launch, compare, launch_files_for};
use oriole_interp::{Executable, RunOptions};
use oriole_machine::Image;
fn main() {
    let mut args = std::env::args().skip(1);
    let ptx = args.next().unwrap();
    let source = std::fs::read_to_string(&ptx).unwrap();
    let tree = oriole_ptx::parse(&source).unwrap();
    let module = oriole_ptx::lower(&tree, &source).unwrap();
    let exe = Executable::new(&module).unwrap();
    let _ = compare;
    for cubin_path in args {
        let cubin = match oriole_sass::cubin::Cubin::read(&std::fs::read(&cubin_path).unwrap()) {
            Ok(c) => c,
            Err(e) => {
                println!("{cubin_path}: CUBIN {e}");
                continue;
            }
        };
        for file in launch_files_for(std::path::Path::new(&ptx)) {
            let launch = Launch::load(&file).unwrap();
            let before = exe.run(&launch, &RunOptions::default()).unwrap();
            let bound = exe.bound(&launch).unwrap();
            let name = format!("{cubin_path}");
            let image = match Image::load(&cubin, &bound) {
                Ok(i) => i,
                Err(e) => {
                    println!("{name}: LOAD {e}");
                    continue;
                }
            };
            let started = std::time::Instant::now();
            match image.run(&launch, &bound, &RunOptions::default()) {
                Err(e) => println!("{name}: UNKNOWN {e}"),
                Ok(after) => {
                    if after.outcome != oriole_interp::Outcome::Finished {
                        println!("{name}: OUTCOME {}", after.outcome);
                        continue;
                    }
                    let mut bad = 0;
                    let mut first = String::new();
                    for (a, b) in before.memory.iter().zip(&after.memory) {
                        for i in 0..a.bytes.len() {
                            if !a.bytes.is_undefined(i) && a.bytes.data()[i] != b.bytes.data()[i] {
                                if bad == 0 {
                                    let s = i & !3;
                                    first = format!(
                                        "{} at {s}: {:02x?} vs {:02x?}",
                                        a.name,
                                        &a.bytes.data()[s..(s + 8).min(a.bytes.len())],
                                        &b.bytes.data()[s..(s + 8).min(a.bytes.len())]
                                    );
                                }
                                bad += 1;
                            }
                        }
                    }
                    if bad > 0 {
                        println!("{name}: DIFFERS {bad} bytes, {first}")
                    } else {
                        println!(
                            "{name}: same ({} warp insts ptx, {} sass, {:?})",
                            before.executed,
                            after.executed,
                            started.elapsed()
                        )
                    }
                }
            }
        }
    }
}
