//! What each option of a command decides, and the commands that repeat it.
//!
//! A command that finds something prints the command that shows it again, and a campaign that continues must be the one
//! that stopped. Both follow from one table, [`ROLES`]: the text of a command line is made of the options that were
//! given ([`Given`]), and the table says which of them are repeated. Tests hold the table against clap's own list of
//! options, the identity of a campaign against the table, and the rows of the book against both.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use miette::miette;

use crate::failure::Failure;

/// What an option decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// What a check finds. Replay commands repeat it, and it belongs to a campaign's identity.
    Check,
    /// Which cases are made. Commands that make a case again repeat it, and it belongs to a campaign's identity.
    Case,
    /// As [`Role::Case`], and repeated where it has its default too: with another default the numbers of cases change.
    Numbering,
    /// It belongs to a campaign's identity; the reason why no command repeats it.
    Campaign(&'static str),
    /// It changes no finding; the reason.
    Neither(&'static str),
}

/// Commands that check kernels.
const CHECKS: &[&str] = &["check", "explain", "fuzz", "bisect", "reduce", "opt"];

const LOOKS: Role = Role::Neither("says where results go and how they look");
const SPEED: Role = Role::Neither("changes how fast results come");
const AMOUNT: Role = Role::Neither("changes how much is done, not what one case shows");
const DATA: Role = Role::Neither("a reproducer lies beside the data on which it goes wrong");
const CODE: Role = Role::Neither("a replay names the code that was written");
const STEP: Role = Role::Neither("a replay names the guilty step");
const STATED: Role = Role::Neither("the command that needs a limit states it");
const REDUCED: Role = Role::Neither("says what is looked for, not what is there");
const AGAIN: Role = Role::Campaign("the command that makes a case again names the case");

/// What each option of these commands decides, by the name that clap has for it.
const ROLES: &[(&[&str], &str, Role)] = &[
    (CHECKS, "level", Role::Check),
    (CHECKS, "nvopt", Role::Check),
    (CHECKS, "no_nvopt", Role::Neither("says what all commands but `opt` do")),
    (CHECKS, "lang", Role::Check),
    (&["selftest"], "level", Role::Check),
    (&["selftest"], "nvopt", Role::Check),
    (&["selftest"], "no_nvopt", Role::Neither("says what all commands but `opt` do")),
    (&["selftest"], "lang", Role::Check),
    (&["selftest"], "pass_option", Role::Check),
    (CHECKS, "knob", Role::Check),
    (CHECKS, "pass_option", Role::Check),
    (CHECKS, "disable_phases", Role::Check),
    (CHECKS, "rules", Role::Check),
    (CHECKS, "no_builtin_rules", Role::Check),
    (
        &["check", "explain", "bisect", "reduce", "opt"],
        "opaque",
        Role::Neither("a reproducer has the text of what is carried through"),
    ),
    (CHECKS, "unchecked_rules", Role::Check),
    (CHECKS, "fault", Role::Check),
    (CHECKS, "plant", Role::Check),
    (&["check", "explain", "bisect", "reduce", "opt"], "phase", STEP),
    (&["check", "explain", "bisect", "reduce"], "launch", DATA),
    (&["check", "explain", "bisect"], "seed", DATA),
    (&["check", "explain", "bisect"], "randoms", DATA),
    (&["check", "explain", "bisect", "fuzz"], "hang_after", STATED),
    (&["check", "fuzz", "bisect", "reduce", "opt", "selftest"], "format", LOOKS),
    (&["check", "bisect", "fuzz"], "out", LOOKS),
    (&["check", "fuzz", "reduce", "selftest"], "jobs", SPEED),
    (&["opt"], "threads", SPEED),
    (&["opt"], "jobserver", SPEED),
    (&["opt"], "split_compile", Role::Neither("a reproducer is checked as a whole")),
    (&["check", "explain", "opt"], "rewrite_limit", STATED),
    (&["check"], "costs", LOOKS),
    (&["check"], "record", LOOKS),
    (&["check", "explain", "fuzz", "bisect", "reduce", "opt", "selftest"], "quiet", LOOKS),
    (&["check", "explain"], "steps", DATA),
    (&["check", "explain"], "races", DATA),
    (&["check"], "verbose", LOOKS),
    (&["fuzz"], "target", Role::Numbering),
    (&["fuzz"], "corpus", Role::Numbering),
    (&["fuzz"], "sm", Role::Case),
    (&["fuzz", "selftest"], "ptxas_level", Role::Case),
    (&["fuzz", "selftest"], "compile", Role::Case),
    (&["fuzz", "selftest"], "compile_level", Role::Case),
    (&["fuzz", "selftest"], "compile_registers", Role::Case),
    (&["fuzz", "selftest"], "with_ptxas", Role::Case),
    (&["check", "explain", "bisect"], "compile", CODE),
    (&["check", "explain", "bisect"], "compile_level", CODE),
    (&["check", "explain", "bisect"], "compile_registers", CODE),
    (&["check", "explain", "bisect"], "with_ptxas", CODE),
    (&["reduce"], "compile", REDUCED),
    (&["reduce"], "compile_level", REDUCED),
    (&["reduce"], "compile_registers", REDUCED),
    (&["reduce"], "with_ptxas", REDUCED),
    (&["fuzz"], "fast_compile", Role::Case),
    (&["fuzz"], "max_registers", Role::Case),
    (&["fuzz"], "ptxas_option", Role::Case),
    (&["fuzz"], "gpu", Role::Case),
    (&["fuzz"], "phases", Role::Case),
    (&["fuzz", "selftest"], "config", Role::Case),
    (&["fuzz"], "randoms", Role::Case),
    (&["fuzz"], "vary_knobs", Role::Case),
    (&["fuzz"], "seed", AGAIN),
    (&["fuzz"], "shard", AGAIN),
    (&["fuzz"], "round_trip_every", Role::Campaign("a case that is made again always goes through PTX")),
    (&["fuzz"], "print_config", LOOKS),
    (&["fuzz"], "case", Role::Neither("one case is no campaign")),
    (&["fuzz"], "time", AMOUNT),
    (&["fuzz"], "cases", AMOUNT),
    (&["fuzz"], "resume", AMOUNT),
    (&["fuzz"], "anew", AMOUNT),
    (&["fuzz"], "canary", Role::Neither("is a campaign of its own, before the other")),
    (&["fuzz"], "floor", LOOKS),
    (&["fuzz"], "baseline", LOOKS),
    (&["fuzz"], "require_coverage", LOOKS),
    (&["fuzz"], "require_rules", LOOKS),
    (&["fuzz"], "coverage", LOOKS),
    (&["reduce"], "predicate", REDUCED),
    (&["reduce"], "check", REDUCED),
    (&["reduce"], "sm", REDUCED),
    (&["reduce"], "ptxas_level", REDUCED),
    (&["reduce"], "fast_compile", REDUCED),
    (&["reduce"], "max_registers", REDUCED),
    (&["reduce"], "ptxas_option", REDUCED),
    (&["reduce"], "gpu", REDUCED),
    (&["reduce"], "exec", REDUCED),
    (&["reduce"], "limit", STATED),
    (&["reduce"], "time", AMOUNT),
    (&["reduce"], "evaluations", AMOUNT),
    (&["reduce"], "force", LOOKS),
    (&["explain", "reduce", "opt"], "output", LOOKS),
    (&["reduce", "opt"], "emit", LOOKS),
    (&["opt"], "dump_ir", LOOKS),
    (&["opt"], "print_pipeline", LOOKS),
    (&["opt"], "explain_gates", LOOKS),
    (&["opt"], "time", LOOKS),
    (&["opt"], "explain", LOOKS),
    (&["opt"], "launch", DATA),
    (&["opt"], "verify", LOOKS),
    (&["opt"], "warn_uninitialized", LOOKS),
    (&["opt"], "machine", Role::Neither("says what kind of file is read")),
    (&["opt"], "compact", Role::Neither("says what is written")),
    (&["check", "explain", "bisect"], "machine", CODE),
    (&["check", "explain", "bisect"], "ptxas_level", CODE),
    (&["check", "explain", "bisect"], "cubin", CODE),
    (&["fuzz", "selftest"], "machine", Role::Case),
    (&["reduce"], "machine", REDUCED),
    (&["opt"], "stop_after", STEP),
    (CHECKS, "passes", Role::Check),
    (&["selftest"], "passes", Role::Check),
    (&["selftest"], "phase", STEP),
    (&["selftest"], "kind", Role::Neither("the command names the fault")),
    (&["selftest"], "seed", Role::Neither("the command names the seed")),
    (&["selftest"], "cases", AMOUNT),
    (&["selftest"], "data_sets", AMOUNT),
    (&["selftest"], "list", LOOKS),
];

/// What an option of a command decides; `None` for commands that print no other command.
fn role(command: &str, option: &str) -> Option<Role> {
    let row = ROLES.iter().find(|(commands, name, _)| *name == option && commands.contains(&command));
    row.map(|(_, _, role)| *role)
}

/// The words of a command line, with cicc's spelling `-opt` as clap reads it.
pub fn as_clap_reads(words: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    words.map(|word| if word == "-opt" { "--opt".into() } else { word })
}

/// Line 654 of `spec/pass-pipeline.txt` has this text.
const LEVEL_AND_PASSES: &str = "Cannot specify -O#/-Ofast-compile=<min,mid,max> and --passes=/--foo-pass, use \
                                -passes='default<O#>,other-pass' or -passes='default<Ofcmax>,other-pass'";

/// An error where options were given that say which passes run in two ways.
pub fn exclude(matches: &ArgMatches) -> Result<(), Failure> {
    let Some((_, matches)) = matches.subcommand() else { return Ok(()) };
    exclude(matches)?;
    let is_given = |id: &str| {
        let has = matches.ids().any(|other| other == id);
        has && matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    let passes = is_given("passes");
    let message = match (is_given("level"), is_given("nvopt"), is_given("no_nvopt")) {
        (true, ..) if passes => LEVEL_AND_PASSES,
        (_, true, _) if passes => "--passes says which passes run: write nvopt<LEVEL> in its text in place of --nvopt",
        (.., true) if passes => "--passes says which passes run: there is no pipeline that --no-nvopt leaves out",
        (_, true, true) => "--nvopt and --no-nvopt exclude each other",
        _ => return Ok(()),
    };
    Err(Failure::Input(miette!("{message}")))
}

/// The options of a command line that other commands repeat.
#[derive(Clone, Default, Debug)]
pub struct Given {
    /// Words of options that decide what a check finds.
    check: Vec<String>,
    /// Words of options that decide which cases are made.
    case: Vec<String>,
}

impl Given {
    /// The options that a command line gives to a subcommand of `program`, in the order of their definition.
    pub fn of(program: &Command, matches: &ArgMatches) -> Given {
        let mut given = Given::default();
        let Some((name, matches)) = matches.subcommand() else { return given };
        let Some(command) = program.find_subcommand(name) else { return given };
        for arg in command.get_arguments() {
            match role(name, arg.get_id().as_str()) {
                Some(Role::Check) => given.check.extend(words(arg, matches, false)),
                Some(Role::Case) => given.case.extend(words(arg, matches, false)),
                Some(Role::Numbering) => given.case.extend(words(arg, matches, true)),
                Some(Role::Campaign(_) | Role::Neither(_)) | None => {}
            }
        }
        given
    }

    /// The words that a command repeats which checks a kernel in the same way.
    pub fn check(&self) -> &[String] {
        &self.check
    }

    /// The same as text behind another, each word after a blank.
    pub fn replay(&self) -> String {
        text(&self.check)
    }

    /// What a command repeats that makes the same cases and checks them in the same way.
    pub fn replay_case(&self) -> String {
        text(&self.case) + &self.replay()
    }
}

/// An option as it is written; nothing where it has its default, unless that is to be said.
fn words(arg: &Arg, matches: &ArgMatches, say_default: bool) -> Vec<String> {
    let id = arg.get_id().as_str();
    let Some(name) = written(arg) else { return Vec::new() };
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        return if matches.get_flag(id) { vec![name] } else { Vec::new() };
    }
    let Some(occurrences) = matches.get_raw_occurrences(id) else { return Vec::new() };
    let delimiter = arg.get_value_delimiter().unwrap_or(',').to_string();
    let join = |values: Vec<String>| values.join(&delimiter);
    let lossy = |value: &std::ffi::OsStr| value.to_string_lossy().into_owned();
    let values: Vec<String> = occurrences.map(|values| join(values.map(lossy).collect())).collect();
    let default = join(arg.get_default_values().iter().map(|value| lossy(value)).collect());
    if !say_default && values == [default] {
        return Vec::new();
    }
    let with_name = |value: String| match arg.get_long() {
        Some(_) => vec![name.clone(), value],
        None => vec![name.clone() + &value],
    };
    values.into_iter().flat_map(with_name).collect()
}

/// The name of an option with its dashes; `None` for what has no name, as files.
fn written(arg: &Arg) -> Option<String> {
    let long = arg.get_long().map(|long| format!("--{long}"));
    long.or_else(|| arg.get_short().map(|short| format!("-{short}")))
}

fn text(words: &[String]) -> String {
    words.iter().map(|word| format!(" {}", quoted(word))).collect()
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./,:=@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The words of a command that was printed.
pub fn words_of(command: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), None::<String>, false);
    let mut rest = command.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' if !is_quoted => words.extend(word.take()),
            '\'' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            '\\' if !is_quoted => word.get_or_insert_default().extend(rest.next()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// What `judge` takes in a command that replays a finding; its options decide which code is judged on which data.
const JUDGED: &[&str] =
    &["sm", "level", "fast_compile", "max_registers", "ptxas_option", "launch", "randoms", "seed", "gpu"];
/// Options of ptxas that name a file to write, or one with further options.
const NAMES_FILES: &[&str] = &["-o", "--output-file", "-optf", "--options-file"];

/// Whether a command checks, judges or runs one kernel and does nothing else. Stores come from elsewhere, too, and a
/// command out of one must not write files or start programs that the reader of the store did not name.
pub fn only_checks(words: &[String]) -> bool {
    let ["oriole", command, rest @ ..] = &words.iter().map(String::as_str).collect::<Vec<_>>()[..] else {
        return false;
    };
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        let (name, value) = word.split_once('=').map_or((*word, None), |(name, value)| (name, Some(value)));
        let Some(option) = name.strip_prefix("--") else {
            // A file, a value, or the level, the one option whose value is part of its word.
            if name.starts_with('-') && !name.starts_with("-O") {
                return false;
            }
            continue;
        };
        let option = option.replace('-', "_");
        let taken = match *command {
            "check" => role("check", &option).is_some_and(|role| role != LOOKS),
            "judge" => JUDGED.contains(&option.as_str()),
            "run" => option == "launch",
            _ => false,
        };
        if !taken {
            return false;
        }
        if option == "ptxas_option" {
            let value = value.or_else(|| rest.next().copied()).unwrap_or_default();
            let named = value.split(['=', ' ']).next().unwrap_or_default();
            if NAMES_FILES.contains(&named) {
                return false;
            }
        }
    }
    matches!(*command, "check" | "judge" | "run")
}

#[cfg(test)]
mod tests;
