//! The table of roles against clap's options, the identity of campaigns, the texts of commands, and the book.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::{CommandFactory, FromArgMatches};
use oriole_campaign::Options;
use oriole_check::compiler::Ptxas;

use super::*;
use crate::Cli;

/// Commands that print other commands, and so need a role for each option.
const PRINTING: &[&str] = &["check", "explain", "fuzz", "bisect", "reduce", "opt", "selftest"];
/// Commands that print none.
const QUIET: &[&str] = &[
    "run",
    "schema",
    "launch",
    "compare",
    "compile",
    "judge",
    "corpus",
    "findings",
    "rules",
    "sass",
    "phases",
    "knobs",
    "ops",
    "completions",
    "man",
];
/// How the table of the book is written again.
const BLESS: &str = "ORIOLE_BLESS=1 cargo test -p oriole --bin oriole options";

/// A value other than the default for each option of `fuzz`; a file for those that take one.
const OTHER: &[(&str, &str)] = &[
    ("level", "-O1"),
    ("passes", "--passes GvnCse,GeneralOptimize"),
    ("knob", "--knob CopyPropAddr=0"),
    ("nvopt", "--nvopt Ofcmid"),
    ("no_nvopt", "--no-nvopt"),
    ("lang", "--lang mid"),
    ("pass_option", "--opt no-sroa"),
    ("disable_phases", "--disable-phases GvnCse"),
    ("rules", "--rules FOLDER/own.rules"),
    ("no_builtin_rules", "--no-builtin-rules"),
    // By itself it changes nothing.
    ("unchecked_rules", "--unchecked-rules --rules FOLDER/more.rules"),
    ("fault", "--fault off-by-one@GeneralOptimize:3"),
    ("plant", "--plant"),
    ("hang_after", "--hang-after 3s"),
    ("format", "--format json"),
    ("out", "--out FOLDER/out"),
    ("jobs", "--jobs 3"),
    ("quiet", "--quiet"),
    ("target", "--target kernels"),
    ("corpus", "--corpus FOLDER"),
    ("machine", "--machine sm_90"),
    ("sm", "--target ptxas --sm sm_80"),
    ("ptxas_level", "--target ptxas --ptxas-level 1"),
    ("fast_compile", "--target ptxas --fast-compile max"),
    ("max_registers", "--target ptxas --max-registers 32"),
    ("ptxas_option", "--target ptxas --ptxas-option -Ofc=max"),
    ("gpu", "--target ptxas --gpu"),
    ("compile", "--compile sm_90"),
    ("compile_level", "--compile sm_90 --compile-level 1"),
    ("compile_registers", "--compile sm_90 --compile-registers 24"),
    ("with_ptxas", "--compile sm_90 --with-ptxas"),
    ("phases", "--phases GeneralOptimize"),
    ("config", "--config FOLDER/config.toml"),
    ("randoms", "--randoms 3"),
    ("seed", "--seed 7"),
    ("shard", "--shard 1/2"),
    ("round_trip_every", "--round-trip-every 3"),
    ("case", "--case 3"),
    ("time", "--time 3s"),
    ("cases", "--cases 3"),
    ("resume", "--resume"),
    ("anew", "--anew"),
    ("print_config", "--print-config"),
    ("canary", "--canary"),
    ("floor", "--floor 3"),
    ("baseline", "--baseline FOLDER/other.db"),
    ("require_coverage", "--require-coverage"),
    ("require_rules", "--require-rules"),
    ("coverage", "--coverage FOLDER/coverage.json"),
    ("vary_knobs", "--vary-knobs"),
];

fn commands() -> Vec<Command> {
    let mut program = Cli::command();
    program.build();
    let is_for_people = |command: &&Command| command.get_name() != "help" && !command.is_hide_set();
    program.get_subcommands().filter(is_for_people).cloned().collect()
}

fn options_of(command: &Command) -> impl Iterator<Item = &Arg> {
    let by_clap = ["help", "version"];
    command.get_arguments().filter(move |arg| written(arg).is_some() && !by_clap.contains(&arg.get_id().as_str()))
}

/// A command line as the program takes it.
#[track_caller]
fn parsed(line: &str) -> (crate::Command, Given) {
    let program = Cli::command();
    // No word has a blank in it, so quotes hold none together.
    let words = line.split(' ').filter(|word| !word.is_empty()).map(|word| word.trim_matches('\''));
    let matches = program.clone().try_get_matches_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
    let given = Given::of(&program, &matches);
    (Cli::from_arg_matches(&matches).expect("matches of the program").command, given)
}

/// The campaign that a command line of `fuzz` means.
#[track_caller]
fn campaign(line: &str) -> Options {
    let (crate::Command::Fuzz(args), given) = parsed(line) else { panic!("{line} is no campaign") };
    crate::fuzz::options(&args, &given).map_err(|failure| failure.report()).expect("its options are good")
}

/// The option by which phases over code are judged.
const MACHINE: &str = "--machine";

/// The option by which Oriole's own compiler is judged.
const COMPILE: &str = "--compile";

/// Whether words of [`OTHER`] are about ptxas.
fn is_of_ptxas(value: &str) -> bool {
    value.starts_with("--target ptxas")
}

/// What words of [`OTHER`] need and is not there; `None` if nothing is.
fn missing(value: &str) -> Option<&'static str> {
    let asks_ptxas = value.ends_with("--with-ptxas");
    if (is_of_ptxas(value) || value.starts_with(MACHINE) || asks_ptxas) && Ptxas::find(&root()).is_none() {
        return Some("there is no ptxas (ci/cuda-tools installs it)");
    }
    // Tests are no program that could be beside a GPU.
    value.ends_with("--gpu").then_some("tests have no GPU")
}

/// The files that values of [`OTHER`] name.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let kernels = here.join("kernels");
    std::fs::create_dir(&kernels).expect("the folder is new");
    let corpus = root().join("corpus/kernels");
    for file in ["saxpy.ptx", "saxpy.launch.toml", "saxpy.x.bin", "saxpy.y.bin", "saxpy.y.expect.bin"] {
        let from = corpus.join(file);
        if from.exists() {
            std::fs::copy(from, kernels.join(file)).expect("the corpus is readable");
        }
    }
    let write = |file: &str, text: &str| std::fs::write(here.join(file), text).expect("the folder is writable");
    write("own.rules", "rule mine: iadd.u32(x, 0) => x\n");
    write("more.rules", "rule more: isub.u32(x, 0) => x\n");
    write("config.toml", "blocks = 1\n");
    folder
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_option_has_one_role() {
    for command in commands() {
        let name = command.get_name();
        assert!(PRINTING.contains(&name) != QUIET.contains(&name), "say whether `{name}` prints commands");
        for option in options_of(&command).filter(|_| PRINTING.contains(&name)) {
            let id = option.get_id().as_str();
            let rows = ROLES.iter().filter(|(commands, option, _)| *option == id && commands.contains(&name));
            assert_eq!(rows.count(), 1, "`ROLES` must say once what `{}` of `{name}` decides", option.get_id());
        }
    }
    for (names, option, _) in ROLES {
        let has = |command: &Command| options_of(command).any(|arg| arg.get_id().as_str() == *option);
        for name in *names {
            let command = commands().into_iter().find(|command| command.get_name() == *name);
            assert!(command.is_some_and(|command| has(&command)), "there is no `{option}` of `{name}`");
        }
    }
}

/// The identity changes with each option that belongs to it, and with no other.
#[test]
fn a_campaign_is_known_by_what_its_options_decide() {
    let folder = folder();
    let default = campaign("oriole fuzz --corpus none").identity();
    let ptxas = Ptxas::find(&root());
    let of_ptxas = ptxas.is_some().then(|| campaign("oriole fuzz --corpus none --target ptxas").identity());
    let fuzz = commands().into_iter().find(|command| command.get_name() == "fuzz").expect("there are campaigns");
    for option in options_of(&fuzz) {
        let id = option.get_id().as_str();
        let other =
            OTHER.iter().find(|(option, _)| *option == id).unwrap_or_else(|| panic!("no other value of `{id}`"));
        let value = other.1.replace("FOLDER", &folder.path().display().to_string());
        if let Some(why) = missing(&value) {
            eprintln!("skipped: `{value}`, as {why}");
            continue;
        }
        let default = of_ptxas.as_ref().filter(|_| is_of_ptxas(&value)).unwrap_or(&default);
        let corpus = if id == "corpus" { "" } else { " --corpus none" };
        let identity = campaign(&format!("oriole fuzz{corpus} {value}")).identity();
        let role = role("fuzz", id).expect("every option has a role");
        assert_eq!(identity == *default, matches!(role, Role::Neither(_)), "{value}, which has the role {role:?}");
    }
}

/// The command that makes a case again has the same options as the campaign, but for those that it need not have.
#[test]
fn a_case_is_made_again_with_all_that_decides_it() {
    let folder = folder();
    let other = OTHER.iter().filter(|(option, _)| match role("fuzz", option) {
        Some(role) => matches!(role, Role::Check | Role::Case | Role::Numbering),
        None => false,
    });
    // Options of ptxas are taken where it is.
    let there = other.filter(|(_, value)| missing(value).is_none());
    // Phases over code take no passes over anything else, and no other way of ptxas to compile.
    let (code, others): (Vec<_>, Vec<_>) = there.map(|(_, value)| *value).partition(|value| value.starts_with(MACHINE));
    let code = code.first().map(|value| format!("{value} --ptxas-level 1 --randoms 3 --plant"));
    // Nor does Oriole's own compiler, which takes each of its options alone.
    let (own, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|value| value.starts_with(COMPILE));
    let own = own.into_iter().map(str::to_owned);
    for line in code.into_iter().chain(own).chain([others.join(" ")]) {
        let line = line.replace("FOLDER", &folder.path().display().to_string());
        let whole = campaign(&format!("oriole fuzz {line}"));
        for value in line.split(' ') {
            assert!(whole.arguments.contains(value), "`{value}` is missing in {}", whole.arguments);
        }
        let again = campaign(&format!("oriole fuzz --seed 1 --case 5{}", whole.arguments));
        assert_eq!(again.identity(), whole.identity());
        assert_eq!(again.arguments, whole.arguments);
    }
    let plain = campaign("oriole fuzz");
    assert_eq!(plain.arguments, " --target kernels,instructions,mutants --corpus corpus");
}

/// What a finding's replay command says of a variation is the variation.
#[test]
fn replays_say_how_a_case_was_varied() {
    for line in
        ["oriole fuzz --corpus none", "oriole fuzz --corpus none -O2 --knob CopyPropAddr=1 --disable-phases GvnCse"]
    {
        let campaign = campaign(line);
        for number in 0..60 {
            let varied = campaign.check_of(number);
            let (crate::Command::Check(args), given) = parsed(&format!("oriole check K.ptx{}", varied.replay)) else {
                panic!("a replay command checks a kernel")
            };
            let replayed = args.checking.scope.check(Path::new("K.ptx"), &given).map_err(|failure| failure.report());
            let replayed = replayed.expect("the options are good");
            assert_eq!(replayed.passes.to_string(), varied.passes.to_string(), "{}", varied.replay);
            let replayed = replayed.pipeline;
            assert_eq!(replayed.opt_level, varied.pipeline.opt_level, "{}", varied.replay);
            assert_eq!(replayed.disabled, varied.pipeline.disabled, "{}", varied.replay);
            let knobs = |options: &oriole_optimizer::pipeline::runner::Options| {
                options.knobs.settings().collect::<BTreeSet<String>>()
            };
            assert_eq!(knobs(&replayed), knobs(&varied.pipeline), "{}", varied.replay);
        }
    }
}

#[test]
fn every_checking_command_repeats_what_a_check_depends_on() {
    let line = "-O1 --knob CopyPropAddr=0 --disable-phases GvnCse,GeneralOptimize --rules a.rules --rules b.rules \
                --no-builtin-rules --fault off-by-one@GeneralOptimize:3 --plant";
    for command in CHECKS {
        let file = if *command == "fuzz" { "" } else { " K.ptx" };
        let (_, given) = parsed(&format!("oriole {command}{file} {line}"));
        assert_eq!(given.replay(), format!(" {line}"), "{command}");
        let (_, default) = parsed(&format!("oriole {command}{file} -O3"));
        assert_eq!(default.replay(), "", "{command}");
    }
}

/// What is printed for a shell reads back to the same words.
#[test]
fn printed_words_read_back() {
    for words in [&["a", "b c", "it's", "", "''", r"\", "--x=1", "$HOME;*"][..], &[]] {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        assert_eq!(super::words_of(&super::text(&words)), words);
    }
}

#[test]
fn words_are_quoted_as_shells_want_it() {
    for (word, text) in [("a=1", "a=1"), ("", "''"), ("my rules", "'my rules'"), ("it's", r"'it'\''s'"), ("$x", "'$x'")]
    {
        assert_eq!(quoted(word), text);
    }
}

/// The rows of the book: options that decide what is found, with the commands that have them.
fn table() -> String {
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for command in commands().into_iter().filter(|command| PRINTING.contains(&command.get_name())) {
        for option in options_of(&command) {
            let kept = match role(command.get_name(), option.get_id().as_str()) {
                Some(Role::Check) => "every replay, identity",
                Some(Role::Case | Role::Numbering) => "replays of a case, identity",
                Some(Role::Campaign(_)) => "identity",
                Some(Role::Neither(_)) | None => continue,
            };
            let value = option.get_value_names().filter(|_| option.get_action().takes_values());
            let value = value.and_then(|names| names.first()).map_or(String::new(), |name| format!(" {name}"));
            let help = option.get_help().map_or(String::new(), |help| help.to_string().replace('|', "\\|"));
            let row = format!("| `{}{value}` | {help} | {kept} |", written(option).unwrap_or_default());
            match rows.iter_mut().find(|(text, _)| *text == row) {
                Some((_, commands)) => commands.push(command.get_name().to_owned()),
                None => rows.push((row, vec![command.get_name().to_owned()])),
            }
        }
    }
    let mut text = "| option | what it does | repeated by, part of | commands |\n|---|---|---|---|\n".to_owned();
    rows.iter().for_each(|(row, commands)| text += &format!("{row} {} |\n", commands.join(", ")));
    text
}

#[test]
fn the_book_lists_the_options_that_decide_what_is_found() {
    let path = root().join("book/src/options.md");
    let page = std::fs::read_to_string(&path).expect("the book has the page");
    let (begin, end) = ("<!-- options -->\n", "<!-- end of options -->\n");
    let (before, rest) = page.split_once(begin).expect("the table has a beginning");
    let (_, after) = rest.split_once(end).expect("the table has an end");
    let wanted = format!("{before}{begin}{}{end}{after}", table());
    if std::env::var_os("ORIOLE_BLESS").is_some() {
        std::fs::write(&path, &wanted).expect("the page is writable");
    } else if page != wanted {
        panic!("the table of options in book/src/options.md is not that of the program; `{BLESS}` writes it again");
    }
}

/// The command that a piece of code names: `check`, or `oriole check K.ptx`.
fn command_of(code: &str) -> &str {
    let rest = code.strip_prefix("oriole ").unwrap_or(code);
    rest.split(' ').next().unwrap_or_default().trim_end_matches(',')
}

/// The option that a word is, without what follows its name.
fn option_of(word: &str) -> Option<&str> {
    word.starts_with("--").then(|| word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()))
}

/// The commands and the options that a row of the book names in code.
fn named(row: &str) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let code: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
    let options = code.iter().flat_map(|text| text.split(' ')).filter_map(option_of).collect();
    (code.into_iter().map(command_of).collect(), options)
}

#[test]
fn the_book_names_commands_and_options_that_exist() {
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for command in commands() {
        let nested = command.get_subcommands().flat_map(options_of);
        known.insert(command.get_name().to_owned(), options_of(&command).chain(nested).filter_map(written).collect());
    }
    let page = std::fs::read_to_string(root().join("book/src/commands.md")).expect("the book has the page");
    let mut described = BTreeSet::from(["completions", "man"]);
    for row in page.lines().filter(|line| line.starts_with("| `oriole ")) {
        let (commands, options) = named(row);
        let own: Vec<&BTreeSet<String>> = commands.iter().filter_map(|name| known.get(*name)).collect();
        assert!(!own.is_empty(), "there is no such command: {row}");
        let missing: Vec<&&str> =
            options.iter().filter(|option| own.iter().all(|known| !known.contains(**option))).collect();
        assert!(missing.is_empty(), "no command of this row has {missing:?}: {row}");
        described.extend(commands);
    }
    let missing: Vec<&String> = known.keys().filter(|name| !described.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "book/src/commands.md describes no {missing:?}");
}

#[test]
fn only_commands_that_check_are_replayed() {
    let only_checks = |command: &str| super::only_checks(&super::words_of(command));
    for good in [
        "oriole check k.ori --phase GvnCse --randoms 0 -O1 --knob X=1 --rewrite-limit 7 --hang-after 1s",
        "oriole check 'a file.ptx' --fault drop-store@GvnCse:7 --rules my.rules",
        "oriole judge k.ptx --randoms 0 --sm sm_90 -O 3 --ptxas-option '--def-load-cache cv'",
    ] {
        assert!(only_checks(good), "{good}");
    }
    for bad in [
        "oriole reduce k.ori --exec 'touch here'",
        "oriole opt k.ori -o there",
        "oriole check k.ori --out there",
        "oriole check k.ori -o there",
        "oriole fuzz --out there",
        "oriole judge k.ptx --ptxas-option '--output-file there'",
        "oriole judge k.ptx --ptxas-option -o",
        "sh -c 'touch here'",
        "oriole",
        "",
    ] {
        assert!(!only_checks(bad), "{bad}");
    }
}
