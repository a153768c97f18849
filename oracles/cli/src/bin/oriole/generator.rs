//! The configuration of the generator: read from a file within limits, and shown with the reason of every setting.

use std::path::Path;

use oriole_check::input::InputError;
use oriole_generate::Config;
use oriole_generate::config::SOURCE;
use oriole_ir::diagnostics::{Fault, SourceError};
use oriole_launch::file::read_text;
use toml::{Table, Value};

use crate::failure::Failure;

/// A configuration may have this many bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The largest weight.
const MAX_WEIGHT: i64 = 1_000_000;
/// The largest percentage.
const ALL: i64 = 100;

/// The most that a setting may be: with these, a case still takes seconds and not hours. Of a table, that is what all
/// of its settings may be unless they have a row of their own.
const LIMITS: &[(&str, i64)] = &[
    ("instructions", 5000),
    ("stretch", 5000),
    ("depth", 12),
    ("trips", 100),
    ("nested_trips", 1000),
    ("nest", 12),
    ("again", ALL),
    ("crowd", ALL),
    ("fuel", 1000),
    ("unstructured", 100),
    ("targets", 100),
    ("blocks", 16),
    ("cluster", ALL),
    ("warps", 32),
    ("one_warp", 100),
    ("tail", 100),
    ("virtual_form", ALL),
    ("launches", 100),
    ("tries", 100),
    ("repeats", 10_000),
    ("functions", 100),
    ("function_instructions", 1000),
    ("frame", ALL),
    ("recursive", ALL),
    ("unused", ALL),
    ("swarm", ALL),
    ("calling", ALL),
    ("mixture", MAX_WEIGHT),
    ("flow", MAX_WEIGHT),
    ("family", MAX_WEIGHT),
    ("operand", ALL),
    ("meeting", MAX_WEIGHT),
    ("meeting.accesses", 1000),
    ("meeting.first", ALL),
    ("meeting.alike", ALL),
    ("meeting.strong", ALL),
    ("meeting.nested", ALL),
    ("meeting.mapped", ALL),
    ("meeting.named", ALL),
    ("meeting.sole", ALL),
    ("meeting.vector", ALL),
    ("meeting.widened", ALL),
    ("meeting.elsewhere", ALL),
    ("meeting.computes", ALL),
    ("meeting.function", ALL),
    ("mutants", MAX_WEIGHT),
    ("mutants.changes", 1000),
    ("mutants.attempts", 1000),
    ("mutants.region", 1000),
    ("mutants.trips", 100),
    ("mutants.blocks", 16),
    ("mutants.steps", 100_000_000),
    ("mutants.bytes", 64 << 20),
];

/// The configuration in a file, of which `base` has the settings that are absent; `base` itself where there is no file.
pub fn config(path: Option<&Path>, base: Config) -> Result<Config, Failure> {
    let Some(path) = path else { return Ok(base) };
    let text = read_text(path, MAX_BYTES);
    let text = text.map_err(|failure| InputError::Unreadable { path: path.to_owned(), failure })?;
    read(&path.display().to_string(), &text, &base).map_err(Failure::input)
}

/// Reads a configuration; `name` is its file in messages.
fn read(name: &str, text: &str, base: &Config) -> Result<Config, SourceError> {
    let failed = |fault| SourceError::new(name, text, vec![fault]);
    let help = "`oriole fuzz --print-config` shows every key, each of which may be absent";
    let config = toml::from_str::<Config>(text)
        .map_err(|error| failed(Fault::new(error.span().unwrap_or(0..0), error.message(), "here", help)))?;
    let table: Table = toml::from_str(text).unwrap_or_default();
    match table.iter().find_map(|(key, value)| too_large(key, value)) {
        // What the file says has been read once as it stands, so it can be read again among other settings.
        None => Ok(over(base, table).unwrap_or(config)),
        Some((key, value, limit)) => {
            // The key may be quoted, or written in other ways: then the file is pointed at as a whole.
            let last = key.rsplit('.').next().unwrap_or(&key);
            let at = text.lines().find(|line| line.trim_start().starts_with(last));
            let start = at.map_or(0, |line| line.as_ptr().addr() - text.as_ptr().addr());
            let span = start..start + at.map_or(0, str::len);
            let message = format!("`{key}` is {value}, but at most {limit}");
            Err(failed(Fault::new(span, message, "here", "a larger one would make cases without end")))
        }
    }
}

/// A configuration with some settings in place of its own.
fn over(base: &Config, settings: Table) -> Option<Config> {
    let mut all = Table::try_from(base).ok()?;
    for (key, value) in settings {
        match (all.get_mut(&key), value) {
            (Some(Value::Table(own)), Value::Table(inner)) => own.extend(inner),
            (_, value) => _ = all.insert(key, value),
        }
    }
    // Left-hand sides of rules are no setting.
    Some(Config { patterns: base.patterns.clone(), ..all.try_into().ok()? })
}

/// A setting beyond its limit.
fn too_large(key: &str, value: &Value) -> Option<(String, i64, i64)> {
    match value {
        Value::Integer(number) => {
            limit(key).filter(|limit| number > limit).map(|limit| (key.to_owned(), *number, limit))
        }
        Value::Array(values) => values.iter().find_map(|value| too_large(key, value)),
        Value::Table(table) => table.iter().find_map(|(inner, value)| too_large(&format!("{key}.{inner}"), value)),
        _ => None,
    }
}

fn limit(key: &str) -> Option<i64> {
    let own = LIMITS.iter().find(|(name, _)| *name == key);
    let table = || LIMITS.iter().find(|(name, _)| key.split_once('.').is_some_and(|(table, _)| table == *name));
    own.or_else(table).map(|(_, limit)| *limit)
}

/// A configuration as TOML, with what each setting means and the most that it may be.
pub fn explained(config: &Config) -> String {
    let table = Table::try_from(config).unwrap_or_default();
    let mut text = "# The generator's configuration. Every key may be absent.\n".to_owned();
    let reasons = reasons("Config");
    let is_table = |(_, value): &(&String, &Value)| value.is_table();
    for (key, value) in table.iter().filter(|entry| !is_table(entry)) {
        show(&mut text, key, value, key, &reasons);
    }
    for (key, value) in table.iter().filter(is_table) {
        let Value::Table(inner) = value else { continue };
        let of = |(name, reason): &(String, String)| (name == key).then(|| reason.clone());
        let (kind, reason) = reasons
            .iter()
            .find_map(|(field, reason)| Some((kind_of(key), of(&(field.clone(), reason.clone()))?)))
            .unwrap_or_default();
        text += &format!("\n# {reason}\n[{key}]\n");
        let reasons = self::reasons(&kind);
        inner.iter().for_each(|(name, value)| show(&mut text, name, value, &format!("{key}.{name}"), &reasons));
    }
    text
}

fn show(text: &mut String, name: &str, value: &Value, key: &str, reasons: &[(String, String)]) {
    let reason = reasons.iter().find(|(field, _)| field == name).map_or("", |(_, reason)| reason);
    let most = limit(key).map_or(String::new(), |limit| format!(" At most {limit}."));
    *text += &format!("# {reason}{most}\n{name} = {value}\n");
}

/// The type of a field of the configuration.
fn kind_of(field: &str) -> String {
    let after = SOURCE.split(&format!("pub {field}: ")).nth(1).unwrap_or("");
    after.split(',').next().unwrap_or("").to_owned()
}

/// The fields of a struct of the configuration, with what its source says of them.
fn reasons(kind: &str) -> Vec<(String, String)> {
    let body = SOURCE.split(&format!("pub struct {kind} {{\n")).nth(1).and_then(|rest| rest.split("\n}").next());
    let (mut reasons, mut doc) = (Vec::new(), Vec::new());
    for line in body.unwrap_or("").lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("/// ") {
            doc.push(words);
        } else if let Some((name, _)) = line.strip_prefix("pub ").and_then(|field| field.split_once(':')) {
            reasons.push((name.to_owned(), doc.join(" ")));
            doc.clear();
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_a_limit_and_a_reason() {
        let text = explained(&Config::default());
        assert_eq!(read("f", &text, &Config::default()).ok(), Some(Config::default()));
        let lines: Vec<&str> = text.lines().collect();
        let settings = lines.windows(2).filter(|pair| pair[1].contains(" = ") && !pair[1].starts_with('#'));
        let mut count = 0;
        for pair in settings {
            count += 1;
            assert!(pair[0].len() > 12 && pair[0].starts_with("# "), "{pair:?}");
            // Names have no limit.
            let is_named = ["level", "without"].iter().any(|name| pair[1].starts_with(name));
            assert!(pair[0].contains("At most") || is_named, "{pair:?}");
        }
        assert!(count > 60, "{count} settings");
        // Every row is of a setting that there is.
        let known = |name: &str| text.contains(&format!("\n{name} = ")) || text.contains(&format!("[{name}]"));
        let stray: Vec<&str> = LIMITS
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| !known(name.rsplit('.').next().unwrap_or(name)))
            .collect();
        assert_eq!(stray, Vec::<&str>::new());
    }

    #[test]
    fn absent_settings_are_those_of_the_base() {
        let base = Config::for_compilers();
        let read = |text: &str| read("f", text, &base).expect("it reads");
        assert_eq!(read(""), base);
        let mut wanted = Config { depth: 7, ..base.clone() };
        wanted.flow.branch = 3;
        assert_eq!(read("depth = 7\n[flow]\nbranch = 3\n"), wanted);
    }

    #[test]
    fn settings_beyond_their_limits_are_refused_with_their_place() {
        let error = read("f", "depth = 1\n[mutants]\ntrips = 4294967295\n", &Config::default()).expect_err("too many");
        assert!(
            error.lines().starts_with("f:3:1: `mutants.trips` is 4294967295, but at most 100"),
            "{}",
            error.lines()
        );
        assert!(read("f", "instructions = [1, 4294967295]", &Config::default()).is_err());
        assert!(read("f", "[flow]\nbranch = 4294967295", &Config::default()).is_err());
    }
}
