//! Pass options of the cicc pipeline: `name=value` settings that switch and tune module and function passes.
//!
//! The rows are in [`OPTIONS`]. An option is written by its name, or as `slot-61` where only its slot is known, with
//! any number of leading dashes, as in `-opt "-do-licm=0"`. A switch alone is turned on.

use std::fmt;

pub use super::option_rows::{Kind, OPTIONS, OptionRow, SLOTS, Storage, offset_of, slot_at};
use super::suggest;

/// A setting that cannot be made, or an option that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// No such option.
    #[error("no pass option is called `{name}`{}", suggest::hint(.suggestions))]
    Unknown {
        /// What was asked for.
        name: String,
        /// Names near it, nearest first.
        suggestions: Vec<&'static str>,
    },
    /// The value does not fit the option, or is missing.
    #[error("`{value}` does not fit {name}, which takes {expected}")]
    BadValue {
        /// The option.
        name: String,
        /// What was given.
        value: String,
        /// What a value looks like.
        expected: &'static str,
    },
}

/// An option, as an index into [`OPTIONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PassOption(u16);

impl PassOption {
    /// The option written `key`: a name, or `slot-61`.
    pub fn find(key: &str) -> Result<PassOption, OptionError> {
        PassOption::named(key).ok_or_else(|| OptionError::Unknown {
            name: key.to_owned(),
            suggestions: suggest::near(key, OPTIONS.iter().filter_map(|r| r.name)),
        })
    }

    /// As [`PassOption::find`], for those who ask for names that may be no option's: an error with its suggestions
    /// takes as long as a phase on a small kernel.
    pub fn named(key: &str) -> Option<PassOption> {
        let found = OPTIONS.iter().position(|r| r.answers_to(key));
        found.and_then(|at| u16::try_from(at).ok()).map(PassOption)
    }

    /// All options, in the order of the table.
    pub fn all() -> impl Iterator<Item = PassOption> {
        (0..OPTIONS.len() as u16).map(PassOption)
    }

    /// The option with a slot, from 1 to [`SLOTS`].
    ///
    /// # Panics
    ///
    /// There is no such slot.
    pub fn of_slot(slot: u16) -> PassOption {
        assert!((1..=SLOTS as u16).contains(&slot), "slots are counted from 1 to {SLOTS}");
        PassOption(slot - 1)
    }

    /// The row of this option.
    pub fn row(self) -> &'static OptionRow {
        &OPTIONS[usize::from(self.0)]
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Value {
    Bool(bool),
    Int(i64),
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(v) => f.write_str(if *v { "1" } else { "0" }),
            Value::Int(v) => write!(f, "{v}"),
            Value::Text(v) => f.write_str(v),
        }
    }
}

/// The values of all pass options for one run of a pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PassOptions {
    /// What was set, sorted by option; everything else has its default.
    set: Vec<(PassOption, Value)>,
}

impl PassOptions {
    /// Every option at its default.
    pub fn new() -> PassOptions {
        PassOptions::default()
    }

    /// Makes one setting, such as `-do-licm=0` or `remat-max-live-limit=50`. A later setting of the same option wins.
    pub fn set(&mut self, setting: &str) -> Result<(), OptionError> {
        let setting = setting.trim().trim_start_matches('-');
        let (key, text) = match setting.split_once('=') {
            Some((key, text)) => (key.trim(), Some(text.trim())),
            None => (setting, None),
        };
        let option = PassOption::find(key)?;
        let value = match parse(option.row(), text)? {
            // Who names the slot means what it holds.
            Value::Bool(held) if option.row().inverted && option.row().name != Some(key) => Value::Bool(!held),
            value => value,
        };
        self.put(option, value);
        Ok(())
    }

    /// Sets a switch by what its slot is to hold.
    pub fn hold(&mut self, slot: u16, held: bool) {
        let option = PassOption::of_slot(slot);
        self.put(option, Value::Bool(held != option.row().inverted));
    }

    fn put(&mut self, option: PassOption, value: Value) {
        match self.position(option) {
            Ok(at) => self.set[at].1 = value,
            Err(at) => self.set.insert(at, (option, value)),
        }
    }

    /// The option that decides whether a switch of the document is on, the inverse for some, and what it is: the slot's
    /// own, unless it follows another that was set.
    pub fn decides(&self, slot: u16) -> (PassOption, bool) {
        let own = PassOption::of_slot(slot);
        let other = own.row().follows.and_then(PassOption::named);
        let option = other.filter(|other| self.is_set(*other) && !self.is_set(own)).unwrap_or(own);
        (option, self.flag(option).unwrap_or_default())
    }

    /// Whether a switch is on as its slot holds it, which is the inverse of what some names say.
    pub fn holds(&self, slot: u16) -> bool {
        let (option, on) = self.decides(slot);
        on != (option.row().inverted || option.row().slot != Some(slot))
    }

    /// Whether no option was set.
    pub fn is_default(&self) -> bool {
        self.set.is_empty()
    }

    /// Whether the option was set, to whatever value.
    pub fn is_set(&self, option: PassOption) -> bool {
        self.position(option).is_ok()
    }

    /// The value of a switch, as its name says it, whatever its slot holds; `None` for an option of another type.
    pub fn flag(&self, option: PassOption) -> Option<bool> {
        match (self.get(option), option.row().kind) {
            (Some(Value::Bool(v)), _) => Some(*v),
            (_, Kind::Bool(default)) => Some(default),
            _ => None,
        }
    }

    /// The value of a number; `None` for an option of another type.
    pub fn number(&self, option: PassOption) -> Option<i64> {
        match (self.get(option), option.row().kind) {
            (Some(Value::Int(v)), _) => Some(*v),
            (_, Kind::Int(default)) => Some(default),
            _ => None,
        }
    }

    /// The text of a parameter; `None` where it was not set.
    pub fn text(&self, option: PassOption) -> Option<&str> {
        match self.get(option) {
            Some(Value::Text(v)) => Some(v),
            _ => None,
        }
    }

    /// What was set, as settings that [`PassOptions::set`] accepts, in table order.
    pub fn settings(&self) -> impl Iterator<Item = String> {
        self.set.iter().map(|(option, value)| format!("{}={value}", option.row().key()))
    }

    fn position(&self, option: PassOption) -> Result<usize, usize> {
        self.set.binary_search_by_key(&option, |&(o, _)| o)
    }

    fn get(&self, option: PassOption) -> Option<&Value> {
        self.position(option).ok().map(|at| &self.set[at].1)
    }
}

/// A switch is on when its value starts with `1` or `t`, as cicc reads it, and off when it starts with `0` or `f`;
/// cicc takes anything else for off, which hides mistakes, so anything else is refused here.
fn parse(row: &OptionRow, text: Option<&str>) -> Result<Value, OptionError> {
    let bad =
        |expected| OptionError::BadValue { name: row.key(), value: text.unwrap_or_default().to_owned(), expected };
    match row.kind {
        Kind::Bool(_) => match text.map(|t| t.bytes().next().map(|b| b.to_ascii_lowercase())) {
            None | Some(Some(b'1' | b't')) => Ok(Value::Bool(true)),
            Some(Some(b'0' | b'f')) => Ok(Value::Bool(false)),
            Some(_) => Err(bad("1, 0, true or false")),
        },
        Kind::Int(_) => match text.and_then(|t| t.parse().ok()) {
            Some(v) => Ok(Value::Int(v)),
            None => Err(bad("a whole number")),
        },
        Kind::Text => match text {
            Some(t) => Ok(Value::Text(t.to_owned())),
            None => Err(bad("a value")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(key: &str) -> PassOption {
        PassOption::find(key).expect("known")
    }

    #[test]
    fn keys_are_unique_and_find_their_row() {
        for row in OPTIONS {
            assert_eq!(option(&row.key()).row(), row);
            assert!(row.doc.ends_with('.') && row.doc.len() > 4, "{}", row.key());
        }
    }

    #[test]
    fn slots_rise_and_fit_the_struct() {
        let slots: Vec<_> = OPTIONS.iter().filter_map(|r| Some((r.slot?, r.offset()?))).collect();
        assert_eq!(slots.len(), SLOTS);
        assert!(slots.is_sorted_by(|a, b| a.0 + 1 == b.0 && a.1 < b.1));
        assert_eq!((slots[0], slots[220]), ((1, 16), (221, 4464)));
        assert_eq!(offset_of(222), 4480, "the sentinel of line 169");
        assert!(slots.iter().all(|(slot, offset)| slot_at(*offset) == Some(*slot)));
    }

    /// Lines 173 to 177.
    #[test]
    fn slots_have_the_documented_types() {
        let of = |storage| (1..=SLOTS as u16).filter(|slot| Storage::of(*slot) == storage).count();
        let counts = [Storage::String, Storage::Switch, Storage::Number, Storage::Pointer].map(of);
        assert_eq!(counts, [114, 83 + 17, 6, 1]);
        for (row, slot) in OPTIONS.iter().filter_map(|row| Some((row, row.slot?))) {
            let fits = match Storage::of(slot) {
                Storage::String | Storage::Pointer => row.kind == Kind::Text,
                Storage::Switch => matches!(row.kind, Kind::Bool(_)),
                Storage::Number => matches!(row.kind, Kind::Int(_)),
            };
            assert!(fits, "slot {slot}");
        }
    }

    /// The column "Offset" of the map, lines 311 to 396.
    #[test]
    fn offsets_are_those_of_the_map() {
        let stated = [
            (6, 136),
            (7, 160),
            (8, 176),
            (9, 200),
            (10, 216),
            (11, 240),
            (13, 280),
            (61, 1240),
            (159, 3200),
            (165, 3328),
            (173, 3488),
            (181, 3648),
            (183, 3704),
            (193, 3904),
            (195, 3944),
            (197, 3984),
            (203, 4104),
            (205, 4144),
            (207, 4184),
            (209, 4224),
            (211, 4264),
            (213, 4304),
            (215, 4344),
            (217, 4384),
            (219, 4424),
        ];
        stated.into_iter().for_each(|(slot, offset)| assert_eq!(offset_of(slot), offset, "slot {slot}"));
    }

    #[test]
    fn paired_slots_are_forty_bytes_apart() {
        let paired = |slot: u16| slot % 2 == 1 && (7..160).contains(&slot);
        for (slot, offset) in OPTIONS.iter().filter_map(|r| Some((r.slot?, r.offset()?))) {
            assert!(!paired(slot) || offset == 160 + 20 * (slot - 7), "slot {slot}");
        }
    }

    #[test]
    fn fourteen_slots_are_on_by_default() {
        let on: Vec<u16> = OPTIONS
            .iter()
            .filter(|r| matches!(r.kind, Kind::Bool(on) if on != r.inverted))
            .filter_map(|r| r.slot)
            .collect();
        assert_eq!(on, [19, 25, 93, 95, 117, 141, 143, 151, 155, 157, 159, 165, 211, 219]);
    }

    #[test]
    fn numbers_have_the_documented_defaults() {
        let numbers: Vec<_> = OPTIONS
            .iter()
            .filter_map(|r| match r.kind {
                Kind::Int(default) => Some((r.slot?, default)),
                _ => None,
            })
            .collect();
        assert_eq!(numbers, [(9, 1), (197, 20), (203, -1), (205, -1), (207, -1), (215, 0)]);
    }

    #[test]
    fn named_options_are_all_there() {
        let with = |prefix: &str| {
            let named = OPTIONS.iter().filter_map(|r| r.name);
            named.filter(|n| n.starts_with(prefix)).count()
        };
        assert_eq!((with("do-"), with("dump-"), with("remat-")), (15, 23, 11));
        for name in ["do-scev-cgp-aggresively", "cssa-verbosity", "dump-va", "branch-dist-norm", "ftz"] {
            assert_eq!(option(name).row().name, Some(name));
        }
    }

    #[test]
    fn settings_are_read_as_cicc_reads_them() {
        let mut options = PassOptions::new();
        let licm = option("do-licm");
        assert_eq!(options.flag(licm), Some(true));
        for (text, value) in
            [("-do-licm=0", false), ("do-licm", true), ("--do-licm=false", false), ("slot-143=True", true)]
        {
            options.set(text).expect(text);
            assert_eq!(options.flag(licm), Some(value), "{text}");
        }
        options.set("-remat-max-live-limit=50").expect("a parameter");
        options.set("slot-197=8").expect("a number");
        assert_eq!(options.text(option("remat-max-live-limit")), Some("50"));
        assert_eq!(options.number(option("slot-197")), Some(8));
        assert_eq!(options.text(option("remat-move")), None);
        let mut again = PassOptions::new();
        options.settings().for_each(|s| again.set(&s).expect("its own output"));
        assert_eq!(again, options);
    }

    #[test]
    fn an_inverted_slot_reads_as_its_name() {
        let row = option("slot-115").row();
        assert_eq!((row.name, row.inverted), (Some("do-remat"), true));
        let mut options = PassOptions::new();
        assert_eq!((options.flag(option("do-remat")), options.holds(115)), (Some(true), false));
        options.set("slot-115=1").expect("a switch");
        assert_eq!((options.flag(option("do-remat")), options.holds(115)), (Some(false), true));
        let settings: Vec<String> = options.settings().collect();
        assert_eq!(settings, ["do-remat=0"]);
    }

    #[test]
    fn a_slot_follows_the_option_of_another() {
        let mut options = PassOptions::new();
        assert!(options.holds(143) && !options.holds(61));
        options.set("do-licm=0").expect("a switch");
        assert!(!options.holds(143) && options.holds(61));
        options.set("slot-61=0").expect("a switch");
        assert!(!options.holds(61));
    }

    #[test]
    fn every_slot_is_set_by_its_type() {
        for slot in 1..=SLOTS as u16 {
            let mut options = PassOptions::new();
            let value = if matches!(Storage::of(slot), Storage::Switch | Storage::Number) { "1" } else { "text" };
            options.set(&format!("slot-{slot}={value}")).unwrap_or_else(|error| panic!("slot {slot}: {error}"));
            assert!(options.is_set(PassOption::of_slot(slot)));
        }
    }

    #[test]
    fn a_getter_of_another_type_has_nothing() {
        let options = PassOptions::new();
        assert_eq!(options.number(option("do-licm")), None);
        assert_eq!(options.flag(option("slot-197")), None);
    }

    #[test]
    fn mistakes_are_named() {
        let mut options = PassOptions::new();
        let error = options.set("-do-lcm=0").expect_err("misspelt");
        assert!(error.to_string().contains("did you mean do-licm"), "{error}");
        for bad in ["do-licm=maybe", "do-licm=", "slot-197=x", "slot-197", "remat-move"] {
            let error = options.set(bad).expect_err(bad);
            assert!(matches!(error, OptionError::BadValue { .. }), "{bad}");
        }
        for unknown in ["", "-", "=", "slot-0", "slot-222", "slot-x", "DO-LICM"] {
            let error = options.set(unknown).expect_err(unknown);
            assert!(matches!(error, OptionError::Unknown { .. }), "{unknown}");
        }
        assert_eq!(options, PassOptions::new());
    }
}
