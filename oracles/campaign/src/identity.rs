//! What tells a campaign from others: a campaign that continues must be the one that stopped.
//!
//! All options are taken apart field by field, so that a new one does not compile until it is said here whether it
//! belongs to the identity.

use oriole_check::CheckOptions;
use oriole_optimizer::pipeline::runner::Options as Pipeline;

use super::Options;
use super::record::Fnv;

/// The build: its version, and a hash of the sources of the optimizer, the interpreter, the generator and the judge.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "-", env!("ORIOLE_BUILD"));

/// Cases whose text stands for the generator.
const SAMPLE: u64 = 16;

impl Options {
    /// The identity: seed and shard for people, and a hash of all that decides what a case is and what comes of it:
    /// configuration, targets, corpus, steps and their options, and what the generator makes of the first cases; and
    /// the [`BUILD`], since another one may find what this one missed.
    pub fn identity(&self) -> String {
        format!("{} build {BUILD}", self.identity_of_any_build())
    }

    /// The identity without the build.
    pub fn identity_of_any_build(&self) -> String {
        let Options {
            seed,
            shard: (shard, shards),
            config,
            targets,
            corpus,
            check,
            compiler,
            vary,
            round_trip_every,
            // How much is done changes no case.
            cases: _,
            time: _,
            resume: _,
            first_finding: _,
            stop: _,
            // A finding is the same before its reduction, and whatever command it names.
            reduce: _,
            arguments: _,
            // Depends on the machine more than on the campaign, and only on steps that do not end.
            hang_after: _,
        } = self;
        let mut hash = Fnv::default();
        hash.text(&format!("{config:?} {targets:?} {vary:?} {round_trip_every}"));
        if let Some(compiler) = compiler {
            hash.text(&compiler.version);
            if compiler.phases.is_some() {
                hash.text("phases over its code");
            }
            if compiler.witness.is_some() {
                hash.text("and that of ptxas");
            }
            compiler.judged().iter().for_each(|axis| hash.text(&axis.to_string()));
        }
        corpus.modules().for_each(|module| hash.text(&module.to_string()));
        add_check(&mut hash, check);
        let cases = self.by_number().in_virtual_form();
        (0..SAMPLE).for_each(|number| hash.text(&cases.case(number).generated.module.to_string()));
        format!("seed {seed} shard {shard}/{shards} {}", hash.hex())
    }
}

/// Adds what decides how a case is checked.
fn add_check(hash: &mut Fnv, check: &CheckOptions) {
    let CheckOptions {
        passes,
        pipeline,
        randoms,
        seed,
        steps,
        races,
        vary,
        destruction,
        round_trip,
        enough,
        second_reader,
        faults,
        // A campaign sets these itself, from its configuration.
        tries: _,
        another: _,
        // These say what is written and bisected, not what is found.
        out: _,
        bisection_limit: _,
        costs: _,
        records: _,
        replay: _,
    } = check;
    hash.text(&passes.to_string());
    faults.iter().for_each(|fault| hash.text(&fault.to_string()));
    let read_every = second_reader.as_ref().map(|reader| reader.every);
    hash.text(&format!(
        "{randoms} {seed} {steps:?} {races:?} {vary} {destruction} {round_trip} {enough:?} {read_every:?}"
    ));
    add_pipeline(hash, pipeline);
}

/// Adds what decides how phases run.
fn add_pipeline(hash: &mut Fnv, pipeline: &Pipeline) {
    let Pipeline {
        opt_level,
        knobs,
        pass_options,
        disabled,
        stop_after,
        rewrite_limit,
        rules,
        // The machine is that of each case.
        target: _,
        // A check says itself what is verified and measured.
        verify: _,
        trusted: _,
        time: _,
        // Printing changes nothing, nor does the number of threads.
        dump: _,
        workers: _,
    } = pipeline;
    hash.text(&format!("{opt_level} {knobs:?} {pass_options:?} {disabled:?} {stop_after:?} {rewrite_limit:?}"));
    // Without the built-in rules there may be none at all, which differs from the default.
    hash.text(if rules.is_some() { "rules" } else { "built-in rules" });
    let sources = rules.iter().flat_map(|rules| rules.sources());
    sources.for_each(|source| hash.text(&source.text));
}
