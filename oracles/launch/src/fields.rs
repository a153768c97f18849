//! Tables of a launch file: keys taken one by one, each with its place and with a suggestion where it is misspelt.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::source::decode_hex;
use super::{Problem, ScalarType};

/// A node of the tree with its place.
pub(super) type Value<'t> = Spanned<DeValue<'t>>;

/// A result, or a problem and the bytes of the text that it concerns.
pub(super) type Placed<T> = Result<T, (Problem, Range<usize>)>;

/// At most one of these is in an argument.
pub(super) const EXPECT_KEYS: [&str; 3] = ["expect", "expect_hex", "expect_data"];

/// A table whose keys are taken one by one.
pub(super) struct Fields<'t> {
    pub(super) table: &'t DeTable<'t>,
    pub(super) span: Range<usize>,
    pub(super) name: &'static str,
}

impl<'t> Fields<'t> {
    pub(super) fn of(value: &'t Value<'t>, key: &'static str, name: &'static str) -> Placed<Self> {
        let table = value.get_ref().as_table().ok_or_else(|| wrong_type(key, "a table", value))?;
        Ok(Self { table, span: value.span(), name })
    }

    pub(super) fn get(&self, key: &str) -> Option<&'t Value<'t>> {
        self.table.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }

    pub(super) fn required(&self, key: &'static str) -> Placed<&'t Value<'t>> {
        self.get(key).ok_or_else(|| (Problem::MissingKey { key, table: self.name }, self.span.clone()))
    }

    pub(super) fn check_keys(&self, known: &'static [&'static str]) -> Placed<()> {
        let unknown = self.table.keys().filter(|key| !known.contains(&key.get_ref().as_ref()));
        // In the order of the text, not of the map.
        let Some(key) = unknown.min_by_key(|key| key.span().start) else {
            return Ok(());
        };
        let (shown, table) = (key.get_ref().chars().take(80).collect(), self.name);
        Err((Problem::UnknownKey { nearest: nearest(key.get_ref(), known), key: shown, table, known }, key.span()))
    }

    /// The one of these keys that is there, if any; two are an error at the second.
    pub(super) fn one_of(&self, keys: &[&'static str]) -> Placed<Option<&'static str>> {
        let mut present = keys.iter().copied().filter(|key| self.get(key).is_some());
        let (first, second) = (present.next(), present.next());
        match (first, second) {
            (Some(first), Some(second)) => Err((Problem::Exclusive { first, second }, self.required(second)?.span())),
            _ => Ok(first),
        }
    }

    /// Refuses keys that the kind of argument has no use for, rather than ignoring what somebody meant.
    pub(super) fn check_company(&self, content: &'static str) -> Placed<()> {
        let is_buffer = !matches!(
            content,
            "value" | "bytes" | "alias" | "multicast" | "tensor_map" | "null" | "texture" | "surface" | "sampler"
        );
        let misplaced = |key: &str| match key {
            "type" => !is_buffer && content != "value",
            "pointers" => content != "bytes",
            key => !is_buffer && (EXPECT_KEYS.contains(&key) || matches!(key, "tolerance" | "replicas")),
        };
        match self.table.keys().find(|key| misplaced(key.get_ref())) {
            Some(key) => Err((Problem::KeyNotHere { key: key.get_ref().to_string(), source_key: content }, key.span())),
            None => Ok(()),
        }
    }

    pub(super) fn text(&self, key: &'static str) -> Placed<Option<(&'t str, Range<usize>)>> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let text = value.get_ref().as_str().ok_or_else(|| wrong_type(key, "a string", value))?;
        Ok(Some((text, value.span())))
    }

    pub(super) fn hex(&self, key: &'static str) -> Placed<Vec<u8>> {
        let value = self.required(key)?;
        let text = value.get_ref().as_str().ok_or_else(|| wrong_type(key, "a string of hexadecimal bytes", value))?;
        decode_hex(text).map_err(|problem| (problem, value.span()))
    }

    pub(super) fn flag(&self, key: &'static str) -> Placed<Option<bool>> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        value.get_ref().as_bool().map(Some).ok_or_else(|| wrong_type(key, "true or false", value))
    }

    pub(super) fn limited(&self, key: &'static str, limit: u64) -> Placed<Option<u64>> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let number = unsigned(key, value, "an integer")?;
        if number <= limit {
            return Ok(Some(number));
        }
        let problem = Problem::Limit {
            what: format!("`{key}`"),
            value: number.to_string(),
            limit: format!("the limit is {limit}"),
        };
        Err((problem, value.span()))
    }

    pub(super) fn element_type(&self) -> Placed<Option<ScalarType>> {
        let Some((text, span)) = self.text("type")? else {
            return Ok(None);
        };
        let unknown = || (Problem::UnknownType(text.chars().take(80).collect()), span);
        ScalarType::from_name(text).map(Some).ok_or_else(unknown)
    }

    pub(super) fn required_type(&self) -> Placed<ScalarType> {
        self.element_type()?.ok_or_else(|| (Problem::MissingKey { key: "type", table: self.name }, self.span.clone()))
    }
}

pub(super) fn unsigned(key: &'static str, value: &Value<'_>, wanted: &'static str) -> Placed<u64> {
    let number = value.get_ref().as_integer().ok_or_else(|| wrong_type(key, wanted, value))?;
    u64::from_str_radix(number.as_str(), number.radix()).map_err(|_| {
        let limit = "it must lie between 0 and 18446744073709551615".to_owned();
        (Problem::Limit { what: format!("`{key}`"), value: number.to_string(), limit }, value.span())
    })
}

pub(super) fn wrong_type(key: &'static str, wanted: &'static str, value: &Value<'_>) -> (Problem, Range<usize>) {
    let found = format!("{} {}", article(value), value.get_ref().type_str());
    (Problem::WrongType { key, wanted, found }, value.span())
}

fn article(value: &Value<'_>) -> &'static str {
    if value.get_ref().type_str().starts_with(['a', 'i']) { "an" } else { "a" }
}

/// The known key that is a spelling error away: at most a third of its letters differ, or one starts the other.
fn nearest(key: &str, known: &[&'static str]) -> Option<&'static str> {
    if key.len() > 40 {
        return None;
    }
    let distance = |name: &&str| strsim::damerau_levenshtein(key, name);
    let closest = known.iter().copied().min_by_key(distance)?;
    let near = distance(&closest) * 3 <= closest.len().max(3);
    near.then_some(closest).or_else(|| known.iter().copied().find(|name| key.len() > 2 && name.starts_with(key)))
}
