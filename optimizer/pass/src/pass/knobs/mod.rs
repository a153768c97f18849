//! Knobs: named values that tune or gate a phase, set by `Name=value` and read by phases through typed getters.
//!
//! The rows are in [`KNOBS`]. A knob can be written by its name in any case, by the ROT13 spelling under which ptxas
//! stores it (computed here, stored nowhere), or by its index. A knob that was never set has its default, and
//! [`Knobs::is_set`] tells the two apart, as the queries of `spec/` do.

mod table;
mod value;

pub use table::{KNOBS, Knob, KnobRow, rot13};
pub use value::{FunctionGate, Gate, InstructionGate, Kind};

use super::suggest;
use value::Value;

/// A setting that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KnobError {
    /// No such knob.
    #[error("no knob is called `{name}`{}", suggest::hint(.suggestions))]
    Unknown {
        /// What was asked for.
        name: String,
        /// Names near it, nearest first.
        suggestions: Vec<&'static str>,
    },
    /// An index that two knobs share.
    #[error("index {index} belongs to {}: use one of these names", .names.join(" and "))]
    Ambiguous {
        /// The index.
        index: u16,
        /// The knobs that have it.
        names: Vec<&'static str>,
    },
    /// The knob is not a flag and no value was given.
    #[error("{name} needs a value: {name}={expected}")]
    MissingValue {
        /// The knob.
        name: &'static str,
        /// What a value looks like.
        expected: String,
    },
    /// The value does not fit the knob.
    #[error("`{value}` does not fit {name}, which takes {expected}")]
    BadValue {
        /// The knob.
        name: &'static str,
        /// What was given.
        value: String,
        /// What a value looks like.
        expected: String,
    },
}

/// The row that `key` means: a name in any case, its ROT13 spelling, or an index.
pub fn find(key: &str) -> Result<&'static KnobRow, KnobError> {
    if let Some(row) = KNOBS.iter().find(|r| r.answers_to(key)) {
        return Ok(row);
    }
    let index: Option<u16> = key.parse().ok();
    let rows: Vec<_> = KNOBS.iter().filter(|r| index.is_some() && r.index == index).collect();
    match (rows.as_slice(), index) {
        ([row], _) => Ok(row),
        ([_, _, ..], Some(index)) => Err(KnobError::Ambiguous { index, names: rows.iter().map(|r| r.name).collect() }),
        _ => Err(KnobError::Unknown {
            name: key.to_owned(),
            suggestions: suggest::near(key, KNOBS.iter().map(|r| r.name)),
        }),
    }
}

/// The values of all knobs for one run of a pipeline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Knobs {
    /// What was set, sorted by knob; everything else has its default.
    set: Vec<(Knob, Value)>,
}

impl Knobs {
    /// Every knob at its default.
    pub fn new() -> Knobs {
        Knobs::default()
    }

    /// Makes one setting, `Name=value`; a flag alone is turned on. A later setting of the same knob wins.
    pub fn set(&mut self, setting: &str) -> Result<(), KnobError> {
        let (key, text) = match setting.split_once('=') {
            Some((key, text)) => (key.trim(), Some(text.trim())),
            None => (setting.trim(), None),
        };
        let row = find(key)?;
        let value = parse_value(row, text)?;
        self.put(row.knob, value);
        Ok(())
    }

    /// Whether the knob was set, to whatever value.
    pub fn is_set(&self, knob: Knob) -> bool {
        self.position(knob).is_ok()
    }

    /// Returns the knob to its default.
    pub fn reset(&mut self, knob: Knob) {
        if let Ok(at) = self.position(knob) {
            self.set.remove(at);
        }
    }

    /// What was set, as settings that [`Knobs::set`] accepts, in table order.
    pub fn settings(&self) -> impl Iterator<Item = String> {
        self.set.iter().map(|(knob, value)| format!("{knob}={value}"))
    }

    /// The value of the knob as text, default included.
    pub fn text_of(&self, knob: Knob) -> String {
        self.value(knob).to_string()
    }

    fn position(&self, knob: Knob) -> Result<usize, usize> {
        self.set.binary_search_by_key(&knob, |&(k, _)| k)
    }

    fn put(&mut self, knob: Knob, value: Value) {
        match self.position(knob) {
            Ok(at) => self.set[at].1 = value,
            Err(at) => self.set.insert(at, (knob, value)),
        }
    }

    fn value(&self, knob: Knob) -> Value {
        match self.position(knob) {
            Ok(at) => self.set[at].1.clone(),
            Err(_) => knob.row().kind.default_value(),
        }
    }
}

fn parse_value(row: &'static KnobRow, text: Option<&str>) -> Result<Value, KnobError> {
    let text = match (text, row.kind) {
        (Some(text), _) => text,
        (None, Kind::Flag(_)) => "on",
        (None, kind) => {
            return Err(KnobError::MissingValue { name: row.name, expected: kind.expected() });
        }
    };
    row.kind.parse(text).ok_or_else(|| KnobError::BadValue {
        name: row.name,
        value: text.to_owned(),
        expected: row.kind.expected(),
    })
}

macro_rules! getters {
    ($($(#[doc = $doc:literal])+ $name:ident -> $type:ty = $kind:ident;)+) => {
        /// Typed getters. Asking a knob for a type it does not hold is a mistake in the phase, and panics.
        impl Knobs {
            $($(#[doc = $doc])+
            pub fn $name(&self, knob: Knob) -> $type {
                match self.value(knob) {
                    Value::$kind(value) => value,
                    other => panic!("{knob} holds {other}, which is no {}", stringify!($name)),
                }
            })+
        }
    };
}

getters! {
    /// The value of a [`Kind::Flag`].
    flag -> bool = Flag;
    /// The value of a [`Kind::Limit`]: `None` for no limit.
    limit -> Option<u32> = Limit;
    /// The value of a [`Kind::Number`].
    number -> i64 = Number;
    /// The value of a [`Kind::Real`].
    real -> f64 = Real;
    /// The value of a [`Kind::InstructionGate`].
    instruction_gate -> InstructionGate = Instructions;
    /// The value of a [`Kind::FunctionGate`].
    function_gate -> FunctionGate = Functions;
    /// The value of a [`Kind::Text`].
    text -> String = Text;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The column "ROT13" of the "Complete Knob Reference" in `spec/copy-propagation-and-cse.txt`.
    const SPELLINGS: [(&str, &str); 21] = [
        ("EnableGvnCse", "RanoyrTiaPfr"),
        ("AllowReassociateCSE", "NyybjErnffbpvngrPFR"),
        ("ReassociateCSEBudget", "ErnffbpvngrPFROhqtrg"),
        ("ReassociateCSEWindow", "ErnffbpvngrPFRJvaqbj"),
        ("ReassociateCSESkip", "ErnffbpvngrPFRFxvc"),
        ("ReassociateLargeImmInUIADD64", "ErnffbpvngrYnetrVzzVaHVNQQ64"),
        ("DistributeAndReassociateMulBudget", "QvfgevohgrNaqErnffbpvngrZhyOhqtrg"),
        ("ForceLateCommoning", "SbeprYngrPbzzbavat"),
        ("DisableMoveCommoning", "QvfnoyrZbirPbzzbavat"),
        ("BackCopyPropBudget", "OnpxPbclCebcOhqtrg"),
        ("CopyPropBudget", "PbclCebcOhqtrg"),
        ("CopyPropGlobalBudget", "PbclCebcTybonyOhqtrg"),
        ("CopyPropForceGlobal", "PbclCebcSbeprTybony"),
        ("CopyPropAddr", "PbclCebcNqqe"),
        ("CopyPropConstantBank", "PbclCebcPbafgnagOnax"),
        ("CopyPropUseReachingDefs", "PbclCebcHfrErnpuvatQrsf"),
        ("CopyPropPreAllocReg", "PbclCebcCerNyybpErt"),
        ("CopyPropNoWriteNonRR", "PbclCebcAbJevgrAbaEE"),
        ("CopyPropNonRegMultiDef", "PbclCebcAbaErtZhygvQrs"),
        ("CopyPropNoMmaCb", "PbclCebcAbZznPo"),
        ("LateCopyPropComplPred", "YngrPbclCebcPbzcyCerq"),
    ];

    /// What the document prints for one knob, with two pairs of letters exchanged.
    const MISPRINT: (&str, &str) = ("SpeculativeHoistCommonInsts", "FcrphyngivruBvfgPbzzbaVafgf");

    fn knobs(settings: &[&str]) -> Knobs {
        let mut knobs = Knobs::new();
        for setting in settings {
            knobs.set(setting).expect("a good setting");
        }
        knobs
    }

    #[test]
    fn a_knob_finds_its_own_row() {
        for row in KNOBS {
            assert_eq!(row.knob.row(), row);
        }
    }

    #[test]
    fn rot13_spellings_are_those_of_the_document() {
        for (name, spelling) in SPELLINGS {
            let row = find(name).expect("listed in the document");
            assert_eq!(row.rot13(), spelling);
            assert_eq!(find(spelling).map(|r| r.name), Ok(name));
            assert_eq!(rot13(spelling), name);
        }
    }

    #[test]
    fn the_one_misprint_of_the_document_is_no_spelling() {
        let (name, printed) = MISPRINT;
        let row = find(name).expect("listed in the document");
        assert_ne!(row.rot13(), printed);
        let mut letters = [row.rot13().to_lowercase(), printed.to_lowercase()].map(|s| s.bytes().collect::<Vec<_>>());
        letters.iter_mut().for_each(|l| l.sort_unstable());
        assert_eq!(letters[0], letters[1], "the same letters in another order");
        assert!(find(printed).is_err());
    }

    #[test]
    fn names_are_unique_in_either_spelling() {
        let names = KNOBS.iter().map(|r| r.name.to_ascii_lowercase());
        let turned = KNOBS.iter().map(|r| r.rot13().to_ascii_lowercase());
        let mut all: Vec<String> = names.chain(turned).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 2 * KNOBS.len());
    }

    #[test]
    fn only_the_movement_index_is_shared() {
        let mut indices: Vec<u16> = KNOBS.iter().filter_map(|r| r.index).collect();
        indices.sort_unstable();
        let twice: Vec<u16> = indices.windows(2).filter(|w| w[0] == w[1]).map(|w| w[0]).collect();
        assert_eq!(twice, [381]);
        indices.dedup();
        assert_eq!(indices, [183, 210, 257, 381, 402, 456, 464, 474, 487, 499, 808, 843, 844]);
    }

    #[test]
    fn defaults_print_as_settings_that_give_them_back() {
        for row in KNOBS {
            let mut knobs = Knobs::new();
            let text = knobs.text_of(row.knob);
            knobs.set(&format!("{}={text}", row.name)).expect("a default is a value");
            assert_eq!(knobs.value(row.knob), row.kind.default_value());
            assert!(knobs.is_set(row.knob));
            assert!(row.doc.ends_with('.'), "{}", row.name);
        }
    }

    #[test]
    fn a_knob_is_set_by_name_spelling_or_index() {
        for key in ["EnableGvnCseMode", "enablegvncsemode", "RanoyrTiaPfrZbqr", "402"] {
            let knobs = knobs(&[&format!(" {key} = 3 ")]);
            assert_eq!(knobs.number(Knob::EnableGvnCseMode), 3);
        }
    }

    #[test]
    fn a_later_setting_wins_and_reset_undoes() {
        let mut knobs = knobs(&["CopyPropBudget=5", "EnableGvnCse=off", "CopyPropBudget=7", "CopyPropForceGlobal"]);
        assert_eq!(knobs.limit(Knob::CopyPropBudget), Some(7));
        assert!(knobs.flag(Knob::CopyPropForceGlobal));
        assert!(!knobs.flag(Knob::EnableGvnCse));
        let settings: Vec<_> = knobs.settings().collect();
        assert_eq!(settings, ["EnableGvnCse=off", "CopyPropBudget=7", "CopyPropForceGlobal=on"]);
        knobs.reset(Knob::CopyPropBudget);
        assert_eq!(knobs.limit(Knob::CopyPropBudget), None);
        assert!(!knobs.is_set(Knob::CopyPropBudget));
    }

    #[test]
    fn settings_round_trip_through_text() {
        let first = knobs(&[
            "EnableGvnCsePerInstr=!1,4-9",
            "MovementEligibility=f,g",
            "GeneralOptimizeCostThreshold=0.5",
            "DisablePhases=GvnCse,HoistInvariants",
        ]);
        let texts: Vec<String> = first.settings().collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        assert_eq!(knobs(&texts), first);
    }

    #[test]
    fn gates_open_and_close() {
        let gate = |text: &str| knobs(&[&format!("257={text}")]).instruction_gate(Knob::EnableGvnCsePerInstr);
        let open = |text: &str| -> Vec<u32> { (0..6).filter(|&i| gate(text).allows(i)).collect() };
        assert_eq!(open("all"), [0, 1, 2, 3, 4, 5]);
        assert_eq!(open("NONE"), []);
        assert_eq!(open("1, 3-4"), [1, 3, 4]);
        assert_eq!(open("!1,3-4"), [0, 2, 5]);
        assert!(gate("0-4294967295").allows(u32::MAX));
        let functions = knobs(&["MovementEligibility=!saxpy"]).function_gate(Knob::MovementEligibility);
        assert!(functions.allows("Saxpy") && !functions.allows("saxpy"));
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        let bad = [
            "EnableGvnCse=maybe",
            "CopyPropBudget=-1",
            "CopyPropBudget=4294967296",
            "CopyPropBudget=",
            "EnableGvnCseMode=7",
            "EnableGvnCseMode=-1",
            "GeneralOptimizeCostThreshold=nan",
            "GeneralOptimizeCostThreshold=-1",
            "GeneralOptimizeCostThreshold=inf",
            "257=4-1",
            "257=1,,2",
            "257=-",
            "257=x",
            "257=!",
            "MovementEligibility=f,,g",
            "MovementEligibility=",
        ];
        for setting in bad {
            let error = Knobs::new().set(setting).expect_err(setting);
            assert!(matches!(error, KnobError::BadValue { .. }), "{setting}: {error}");
        }
        let error = Knobs::new().set("EnableGvnCseMode=7").expect_err("too large");
        assert_eq!(error.to_string(), "`7` does not fit EnableGvnCseMode, which takes a number from 0 to 6");
    }

    #[test]
    fn unknown_and_incomplete_settings_say_what_to_write() {
        let error = Knobs::new().set("CopyPropBudgt=3").expect_err("misspelt");
        assert_eq!(error.to_string(), "no knob is called `CopyPropBudgt` (did you mean CopyPropBudget, CopyPropAddr?)");
        let error = Knobs::new().set("CopyPropBudget").expect_err("no value");
        assert!(error.to_string().contains("CopyPropBudget=a number"));
        let error = Knobs::new().set("381=1").expect_err("shared");
        assert!(error.to_string().contains("MovementEligibility and MovementVariant"), "{error}");
        assert!(matches!(Knobs::new().set(""), Err(KnobError::Unknown { .. })));
        assert!(matches!(Knobs::new().set("=1"), Err(KnobError::Unknown { .. })));
        assert!(matches!(Knobs::new().set("999=1"), Err(KnobError::Unknown { .. })));
    }

    #[test]
    #[should_panic(expected = "EnableGvnCse holds on, which is no limit")]
    fn asking_for_the_wrong_type_names_the_knob() {
        Knobs::new().limit(Knob::EnableGvnCse);
    }
}
