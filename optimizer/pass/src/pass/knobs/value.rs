//! Values of knobs: kinds with their defaults, and values of each kind, read from text and printed.

use std::fmt;
use std::ops::RangeInclusive;

/// What a knob holds, with its default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// On or off.
    Flag(bool),
    /// A budget or size: at most this many, `None` for no limit.
    Limit(Option<u32>),
    /// A whole number within a range.
    Number {
        /// Value when not set.
        default: i64,
        /// Smallest value accepted.
        min: i64,
        /// Largest value accepted.
        max: i64,
    },
    /// A non-negative real number.
    Real(f64),
    /// For each instruction, whether the phase may touch it; open by default.
    InstructionGate,
    /// For each function, whether the phase may run on it; open by default.
    FunctionGate,
    /// Free text; empty by default.
    Text,
}

impl Kind {
    pub(super) fn default_value(self) -> Value {
        match self {
            Kind::Flag(v) => Value::Flag(v),
            Kind::Limit(v) => Value::Limit(v),
            Kind::Number { default, .. } => Value::Number(default),
            Kind::Real(v) => Value::Real(v),
            Kind::InstructionGate => Value::Instructions(Gate::All),
            Kind::FunctionGate => Value::Functions(Gate::All),
            Kind::Text => Value::Text(String::new()),
        }
    }

    /// What a value looks like, for messages and listings.
    pub(super) fn expected(self) -> String {
        match self {
            Kind::Flag(_) => "on or off".to_owned(),
            Kind::Limit(_) => "a number, or `unlimited`".to_owned(),
            Kind::Number { min, max, .. } => format!("a number from {min} to {max}"),
            Kind::Real(_) => "a non-negative number".to_owned(),
            Kind::InstructionGate => "all, none, `3,7-9` or `!3,7-9`".to_owned(),
            Kind::FunctionGate => "all, none, `f,g` or `!f,g`".to_owned(),
            Kind::Text => "text".to_owned(),
        }
    }

    /// The values at both ends of what the knob takes, as texts of settings; none for free text. A budget of one stands
    /// beside a budget of nothing: it stops in the middle of the work.
    pub fn ends(self) -> Vec<String> {
        match self {
            Kind::Flag(_) => ["off", "on"].map(str::to_owned).to_vec(),
            Kind::Limit(_) => ["0", "1", "unlimited"].map(str::to_owned).to_vec(),
            Kind::Number { min, max, .. } => vec![min.to_string(), max.to_string()],
            Kind::Real(_) => ["0", "1e9"].map(str::to_owned).to_vec(),
            Kind::InstructionGate | Kind::FunctionGate => ["none", "all"].map(str::to_owned).to_vec(),
            Kind::Text => Vec::new(),
        }
    }

    pub(super) fn parse(self, text: &str) -> Option<Value> {
        match self {
            Kind::Flag(_) => parse_flag(text).map(Value::Flag),
            Kind::Limit(_) => parse_limit(text).map(Value::Limit),
            Kind::Number { min, max, .. } => text.parse().ok().filter(|v| (min..=max).contains(v)).map(Value::Number),
            Kind::Real(_) => text.parse().ok().filter(|v: &f64| v.is_finite() && *v >= 0.0).map(Value::Real),
            Kind::InstructionGate => Gate::parse(text, parse_range).map(Value::Instructions),
            Kind::FunctionGate => Gate::parse(text, parse_name).map(Value::Functions),
            Kind::Text => Some(Value::Text(text.to_owned())),
        }
    }
}

/// Which instructions or functions a phase may touch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Gate<T> {
    /// Every one.
    All,
    /// None.
    None,
    /// Those listed.
    Only(Vec<T>),
    /// All but those listed.
    Except(Vec<T>),
}

impl<T> Gate<T> {
    /// `all`, `none`, a comma-separated list, or `!` and such a list.
    fn parse(text: &str, item: impl Fn(&str) -> Option<T>) -> Option<Gate<T>> {
        if text.eq_ignore_ascii_case("all") {
            return Some(Gate::All);
        }
        if text.eq_ignore_ascii_case("none") {
            return Some(Gate::None);
        }
        let list = |text: &str| -> Option<Vec<T>> { text.split(',').map(|t| item(t.trim())).collect() };
        match text.strip_prefix('!') {
            Some(rest) => list(rest).map(Gate::Except),
            None => list(text).map(Gate::Only),
        }
    }

    fn open(&self, listed: impl Fn(&T) -> bool) -> bool {
        match self {
            Gate::All => true,
            Gate::None => false,
            Gate::Only(items) => items.iter().any(listed),
            Gate::Except(items) => !items.iter().any(listed),
        }
    }
}

/// A gate over instructions, numbered from 0 in layout order of their function at the start of the phase.
pub type InstructionGate = Gate<RangeInclusive<u32>>;

/// A gate over functions, by name.
pub type FunctionGate = Gate<String>;

impl InstructionGate {
    /// Whether the phase may touch the instruction with this ordinal.
    pub fn allows(&self, ordinal: u32) -> bool {
        self.open(|range| range.contains(&ordinal))
    }
}

impl FunctionGate {
    /// Whether the phase may run on the function with this name; case counts.
    pub fn allows(&self, name: &str) -> bool {
        self.open(|listed| listed == name)
    }
}

fn parse_flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "on" | "true" | "yes" => Some(true),
        "0" | "off" | "false" | "no" => Some(false),
        _ => None,
    }
}

fn parse_limit(text: &str) -> Option<Option<u32>> {
    if text.eq_ignore_ascii_case("unlimited") {
        return Some(None);
    }
    text.parse().ok().map(Some)
}

fn parse_range(text: &str) -> Option<RangeInclusive<u32>> {
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (first.parse().ok()?, last.parse().ok()?),
        None => {
            let one = text.parse().ok()?;
            (one, one)
        }
    };
    (first <= last).then_some(first..=last)
}

fn parse_name(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// What a knob is set to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Flag(bool),
    Limit(Option<u32>),
    Number(i64),
    Real(f64),
    Instructions(InstructionGate),
    Functions(FunctionGate),
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Flag(v) => f.write_str(if *v { "on" } else { "off" }),
            Value::Limit(None) => f.write_str("unlimited"),
            Value::Limit(Some(v)) => write!(f, "{v}"),
            Value::Number(v) => write!(f, "{v}"),
            Value::Real(v) => write!(f, "{v}"),
            Value::Instructions(gate) => write_gate(f, gate, |range| match range.start() {
                first if first == range.end() => first.to_string(),
                first => format!("{first}-{}", range.end()),
            }),
            Value::Functions(gate) => write_gate(f, gate, String::clone),
            Value::Text(v) => f.write_str(v),
        }
    }
}

fn write_gate<T>(f: &mut fmt::Formatter<'_>, gate: &Gate<T>, item: impl Fn(&T) -> String) -> fmt::Result {
    let list = |items: &[T]| items.iter().map(&item).collect::<Vec<_>>().join(",");
    match gate {
        Gate::All => f.write_str("all"),
        Gate::None => f.write_str("none"),
        Gate::Only(items) => f.write_str(&list(items)),
        Gate::Except(items) => write!(f, "!{}", list(items)),
    }
}
