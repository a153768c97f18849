//! Files that the tools write and read again: launches, the generator's configuration, knob settings, pass options.

use std::path::Path;

use oriole_optimizer::pass::knobs::Knobs;
use oriole_optimizer::pass::options::{Kind, OPTIONS, PassOptions};

use super::{canary, settings};
use oriole_generate::{Config, Entropy};
use oriole_launch::{Arg, ArgValue, Buffer, Launch, MAX_CLUSTER, Pointer, ReadFailure, Scalar, ScalarType, Structure};

/// One of each, made of these bytes.
pub fn files(data: &[u8]) -> bool {
    let mut entropy = Entropy::from_bytes(data);
    launch(&mut entropy);
    config(&mut entropy);
    knobs(&mut entropy);
    pass_options(&mut entropy);
    data.len() >= 8
}

/// `Launch` to TOML and buffer files, and back.
fn launch(entropy: &mut Entropy<'_>) {
    let mut launch = Launch::new(entropy.percent(50).then(|| name(entropy)));
    launch.grid = [(); 3].map(|()| 1 + entropy.below(9) as u32);
    launch.block = [(); 3].map(|()| 1 + entropy.below(8) as u32);
    launch.cluster = entropy.percent(30).then(|| launch.grid.map(|size| if entropy.percent(50) { size } else { 1 }));
    launch.cluster =
        launch.cluster.filter(|cluster| cluster.iter().map(|size| u64::from(*size)).product::<u64>() <= MAX_CLUSTER);
    launch.dynamic_shared = entropy.below(4096) as u32;
    launch.steps = entropy.percent(30).then(|| 1 + (entropy.bits() >> 2));
    launch.race_check = entropy.percent(30);
    launch.copies = entropy.percent(30).then(|| entropy.bits());
    for _ in 0..entropy.below(7) {
        let value = argument(entropy, &launch.args);
        launch.args.push(Arg { name: entropy.percent(50).then(|| name(entropy)), value });
    }
    let written = launch.to_toml("stem");
    let resolve = |path: &Path, _| {
        let file = written.files.iter().find(|(name, _)| name == path);
        file.map(|(_, content)| content.clone()).ok_or_else(|| ReadFailure::Io("there is no such file".to_owned()))
    };
    match Launch::parse(&written.text, "stem.launch.toml", resolve) {
        Ok(mut read) => {
            read.dynamic_shared ^= u32::from(canary::planted());
            assert_eq!(read, launch, "read from\n{}", written.text);
        }
        Err(error) => panic!("a written launch is refused: {:?}\n{}", error.problem(), written.text),
    }
}

fn name(entropy: &mut Entropy<'_>) -> String {
    (0..=entropy.below(4)).map(|_| entropy.choose(&['a', '_', '9', '"', '\\', '\n', 'é', '\u{1}', ' ', '#'])).collect()
}

fn argument(entropy: &mut Entropy<'_>, before: &[Arg]) -> ArgValue {
    let owners: Vec<(usize, usize)> = before
        .iter()
        .enumerate()
        .filter_map(|(at, arg)| match &arg.value {
            ArgValue::Buffer(buffer) => Some((at, buffer.bytes.len())),
            _ => None,
        })
        .collect();
    match entropy.below(6) {
        0 => ArgValue::Scalar(Scalar::from_bits(entropy.choose(&ScalarType::ALL), entropy.bits())),
        1 => ArgValue::Bytes(bytes(entropy, 40)),
        2 if !owners.is_empty() => {
            let (arg, length) = entropy.choose(&owners);
            ArgValue::Alias { arg, offset: entropy.below(length + 1) as u64 }
        }
        3 => ArgValue::Null,
        4 if !owners.is_empty() => {
            let bytes = bytes(entropy, 40);
            let pointer = |entropy: &mut Entropy<'_>| {
                let (arg, length) = entropy.choose(&owners);
                Pointer { at: entropy.below(bytes.len() - 7), arg, offset: entropy.below(length + 1) as u64 }
            };
            let pointers = (0..entropy.below(3)).map(|_| pointer(entropy)).collect();
            ArgValue::Structure(Structure { bytes, pointers })
        }
        _ => {
            let most = if entropy.percent(5) { 9000 } else { 80 };
            let bytes = bytes(entropy, most);
            let element = entropy.percent(50).then(|| entropy.choose(&ScalarType::ALL));
            let mut expect = bytes.clone();
            expect.iter_mut().take(3).for_each(|byte| *byte ^= entropy.below(2) as u8);
            ArgValue::Buffer(Buffer {
                bytes,
                element,
                expect: entropy.percent(50).then_some(expect),
                tolerance: None,
                replicas: 0,
            })
        }
    }
}

/// At least one byte, a multiple of eight for any element type; sometimes nothing but zeros.
fn bytes(entropy: &mut Entropy<'_>, most: usize) -> Vec<u8> {
    let words = 1 + entropy.below(most / 8);
    let zero = entropy.percent(20);
    (0..words).flat_map(|_| if zero { [0; 8] } else { entropy.bits().to_le_bytes() }).collect()
}

/// `Config` to TOML and back.
fn config(entropy: &mut Entropy<'_>) {
    let mut config = Config::default();
    let Config { instructions, stretch, flow, family, operand, .. } = &mut config;
    let more = [&mut stretch[1], &mut flow.branch, &mut flow.unstructured, &mut family.memory, &mut operand.guard];
    instructions.iter_mut().chain(more).for_each(|number| *number = entropy.bits() as u32);
    let text = toml::to_string(&config).unwrap_or_else(|error| panic!("a configuration is TOML, but: {error}"));
    match toml::from_str::<Config>(&text) {
        Ok(read) => assert_eq!(read, config, "read from\n{text}"),
        Err(error) => panic!("a written configuration is refused: {error}\n{text}"),
    }
}

/// Settings that a set of knobs lists make the same set.
fn knobs(entropy: &mut Entropy<'_>) {
    let mut knobs = Knobs::new();
    for _ in 0..entropy.below(8) {
        settings::knob(entropy, &mut knobs);
    }
    let mut again = Knobs::new();
    for setting in knobs.settings() {
        again.set(&setting).unwrap_or_else(|error| panic!("the listed setting `{setting}` is refused: {error}"));
    }
    assert_eq!(again, knobs, "set from {:?}", knobs.settings().collect::<Vec<_>>());
}

/// The same for pass options.
fn pass_options(entropy: &mut Entropy<'_>) {
    let mut options = PassOptions::new();
    for _ in 0..entropy.below(8) {
        let row = &OPTIONS[entropy.below(OPTIONS.len())];
        let value = match row.kind {
            Kind::Bool(_) => entropy.below(2).to_string(),
            Kind::Int(_) => (entropy.bits() as i64).to_string(),
            Kind::Text => entropy.choose(&["", "7", "a=b", "x y"]).to_owned(),
        };
        let setting = format!("{}={value}", row.key());
        // Rows without name and slot cannot be written; the listing says so.
        let _ = options.set(&setting);
    }
    let mut again = PassOptions::new();
    for setting in options.settings() {
        again.set(&setting).unwrap_or_else(|error| panic!("the listed setting `{setting}` is refused: {error}"));
    }
    assert_eq!(again, options, "set from {:?}", options.settings().collect::<Vec<_>>());
}
