//! Tensor maps of a launch: what the driver's `cuTensorMapEncodeTiled` is told, without interleaving.

use super::fields::{Fields, Placed, Value, unsigned, wrong_type};
use super::{Problem, ScalarType};
use oriole_ir::diagnostics::counted;

const MAP_KEYS: &[&str] = &["arg", "offset", "type", "dims", "strides", "box", "element_strides", "swizzle", "fill"];
/// Directions of a tensor at most, and what the driver allows of each (CUDA driver API, "cuTensorMapEncodeTiled").
pub const MAX_RANK: usize = 5;
const MAX_EXTENT: u64 = 1 << 32;
const MAX_STRIDE: u64 = 1 << 40;
/// Elements of a box at most, in each direction.
pub const MAX_BOX: u64 = 256;
const MAX_STEP: u64 = 8;
/// What addresses, strides and rows of a box are multiples of, in bytes.
const GRAIN: u64 = 16;
const ELEMENTS: [ScalarType; 10] = [
    ScalarType::U8,
    ScalarType::U16,
    ScalarType::U32,
    ScalarType::S32,
    ScalarType::U64,
    ScalarType::S64,
    ScalarType::F16,
    ScalarType::Bf16,
    ScalarType::F32,
    ScalarType::F64,
];

/// How pieces of 16 bytes of a box change places in shared memory, so that columns lie in different banks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Swizzle {
    /// Not at all.
    #[default]
    None,
    /// Two pieces, every other one in rows of 128 bytes.
    B32,
    /// Four pieces.
    B64,
    /// Eight pieces.
    B128,
}

impl Swizzle {
    /// All ways.
    pub const ALL: [Swizzle; 4] = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128];
    const NAMES: [&'static str; 4] = ["none", "32B", "64B", "128B"];

    /// The name in launch files.
    pub fn name(self) -> &'static str {
        Swizzle::NAMES[self as usize]
    }

    /// The bits of a piece's number that change, by the same bits of the number of its row.
    pub fn mask(self) -> u64 {
        (1 << self as u64) - 1
    }

    /// The bytes that a row of the box may have at most.
    fn span(self) -> u64 {
        if self == Swizzle::None { u64::MAX } else { GRAIN << self as u64 }
    }
}

/// A tensor map: an array of elements in a buffer, and a box that is copied at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorMap {
    /// The index in [`super::Launch::args`] of the argument in whose buffer the tensor lies.
    pub arg: usize,
    /// Bytes from the start of that buffer.
    pub offset: u64,
    /// The type of an element.
    pub element: ScalarType,
    /// Elements in each direction, the innermost first.
    pub dims: Vec<u64>,
    /// Bytes from one element to the next, in all directions but the first, where they lie side by side.
    pub strides: Vec<u64>,
    /// The extents of the box, in elements of the tensor.
    pub extents: Vec<u64>,
    /// Of so many elements of the box one is copied, in each direction but the first.
    pub steps: Vec<u64>,
    /// How the box lies in shared memory.
    pub swizzle: Swizzle,
    /// Whether elements outside of the tensor are no numbers; otherwise they are zero.
    pub nan: bool,
}

impl TensorMap {
    /// Bytes of a map.
    pub const BYTES: usize = 128;

    /// Reads the table of an argument's `tensor_map`.
    pub(super) fn read(fields: &Fields<'_>) -> Placed<TensorMap> {
        let value = fields.required("tensor_map")?;
        let inner = Fields::of(value, "tensor_map", "tensor_map")?;
        inner.check_keys(MAP_KEYS)?;
        inner.required("arg")?;
        let element = inner.required_type()?;
        let dims = numbers("dims", inner.required("dims")?)?;
        let extents = numbers("box", inner.required("box")?)?;
        let steps = match inner.get("element_strides") {
            Some(value) => numbers("element_strides", value)?,
            None => vec![1; dims.len()],
        };
        let strides = match inner.get("strides") {
            Some(value) => numbers("strides", value)?,
            None => dense(element, &dims),
        };
        let map = TensorMap {
            arg: inner.limited("arg", u64::from(u32::MAX))?.unwrap_or(0) as usize,
            offset: inner.limited("offset", u64::MAX)?.unwrap_or(0),
            element,
            swizzle: named(&inner, "swizzle", &Swizzle::NAMES)?.map_or(Swizzle::None, |at| Swizzle::ALL[at]),
            nan: named(&inner, "fill", &["zero", "nan"])? == Some(1),
            dims,
            strides,
            extents,
            steps,
        };
        map.check().map_err(|(what, value, limit)| {
            (
                Problem::Limit { what: format!("`{what}` of a tensor map"), value, limit: limit.to_owned() },
                inner.span.clone(),
            )
        })?;
        Ok(map)
    }

    /// What the driver would refuse: the key, what it says, and what is allowed.
    fn check(&self) -> Result<(), (&'static str, String, &'static str)> {
        let rank = self.dims.len();
        let list = |values: &[u64]| format!("{values:?}");
        let within = |values: &[u64], most: u64| values.iter().all(|value| (1..=most).contains(value));
        let row = self.extents.first().map_or(0, |count| count * self.element.bytes() as u64);
        let checks = [
            (
                ELEMENTS.contains(&self.element),
                "type",
                self.element.name().to_owned(),
                "it is one of u8 u16 u32 s32 u64 s64 f16 bf16 f32 f64",
            ),
            ((1..=MAX_RANK).contains(&rank), "dims", list(&self.dims), "a tensor has 1 to 5 directions"),
            (within(&self.dims, MAX_EXTENT), "dims", list(&self.dims), "each is 1 to 4294967296"),
            (
                self.strides.len() + 1 == rank,
                "strides",
                list(&self.strides),
                "there is one for each direction but the first",
            ),
            (
                self.strides.iter().all(|stride| stride.is_multiple_of(GRAIN) && *stride < MAX_STRIDE),
                "strides",
                list(&self.strides),
                "each is a multiple of 16 bytes below 2^40",
            ),
            (
                self.extents.len() == rank && within(&self.extents, MAX_BOX),
                "box",
                list(&self.extents),
                "there is one for each direction, from 1 to 256",
            ),
            (
                self.steps.len() == rank && within(&self.steps, MAX_STEP),
                "element_strides",
                list(&self.steps),
                "there is one for each direction, from 1 to 8",
            ),
            (self.offset.is_multiple_of(GRAIN), "offset", self.offset.to_string(), "it is a multiple of 16"),
            (
                row.is_multiple_of(GRAIN),
                "box",
                format!("a row of {row}", row = counted(row, "byte")),
                "a row of the box has a multiple of 16 bytes",
            ),
            (
                row <= self.swizzle.span(),
                "swizzle",
                self.swizzle.name().to_owned(),
                "a row of the box has at most as many bytes",
            ),
            (!self.nan || self.element.is_float(), "fill", "nan".to_owned(), "only floats have what is no number"),
        ];
        let broken = checks.into_iter().find(|(holds, ..)| !holds);
        broken.map_or(Ok(()), |(_, key, value, limit)| Err((key, value, limit)))
    }

    /// The table of an argument, on one line.
    pub(super) fn text(&self) -> String {
        let TensorMap { arg, offset, element, dims, strides, extents, steps, swizzle, nan } = self;
        let fill = if *nan { "nan" } else { "zero" };
        format!(
            "{{ arg = {arg}, offset = {offset}, type = \"{}\", dims = {dims:?}, strides = {strides:?}, \
             box = {extents:?}, element_strides = {steps:?}, swizzle = \"{}\", fill = \"{fill}\" }}",
            element.name(),
            swizzle.name()
        )
    }
}

/// Strides of a tensor without gaps.
fn dense(element: ScalarType, dims: &[u64]) -> Vec<u64> {
    let mut stride = element.bytes() as u64;
    let inner = dims.iter().take(dims.len().saturating_sub(1));
    inner
        .map(|extent| {
            stride = stride.saturating_mul(*extent);
            stride
        })
        .collect()
}

fn numbers(key: &'static str, value: &Value<'_>) -> Placed<Vec<u64>> {
    let list = value.get_ref().as_array().ok_or_else(|| wrong_type(key, "an array of numbers", value))?;
    list.iter().map(|value| unsigned(key, value, "a number")).collect()
}

/// Which of these names a key has.
fn named(fields: &Fields<'_>, key: &'static str, names: &[&'static str]) -> Placed<Option<usize>> {
    let Some((text, span)) = fields.text(key)? else { return Ok(None) };
    let found = names.iter().position(|name| *name == text);
    let wrong = || {
        let limit = format!("it is one of {}", names.join(", "));
        (Problem::Limit { what: format!("`{key}`"), value: text.chars().take(40).collect(), limit }, span)
    };
    found.map(Some).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use crate::{ArgValue, Launch, LaunchError, Swizzle};

    fn parsed(map: &str) -> Result<Launch, LaunchError> {
        let text = format!("grid = 1\nblock = 1\n[[arg]]\nzeroed = 4096\n[[arg]]\ntensor_map = {{ {map} }}\n");
        Launch::parse(&text, "k.launch.toml", |_, _| Ok(Vec::new()))
    }

    #[test]
    fn maps_are_read_and_written() {
        let text = "arg = 0, offset = 64, type = \"f16\", dims = [64, 8, 2], strides = [128, 1024], box = [32, 4, 1], \
                    element_strides = [1, 2, 1], swizzle = \"64B\", fill = \"nan\"";
        let launch = parsed(text).expect("it is a map");
        let ArgValue::TensorMap(map) = &launch.args[1].value else { panic!("{launch:?}") };
        assert_eq!((map.swizzle, map.nan, map.extents.as_slice()), (Swizzle::B64, true, &[32, 4, 1][..]));
        let written = launch.to_toml("k").text;
        let again = Launch::parse(&written, "k.launch.toml", |_, _| Ok(Vec::new())).expect("it is read again");
        assert_eq!(again, launch, "{written}");
        let dense = parsed("arg = 0, type = \"u32\", dims = [12, 10, 3], box = [4, 4, 4]").expect("it is a map");
        let ArgValue::TensorMap(map) = &dense.args[1].value else { panic!("{dense:?}") };
        assert_eq!((map.strides.as_slice(), map.steps.as_slice()), (&[48, 480][..], &[1, 1, 1][..]));
    }

    #[test]
    fn what_the_driver_refuses_is_refused() {
        for (map, part) in [
            ("arg = 0, type = \"b32\", dims = [16], box = [16]", "type"),
            ("arg = 0, type = \"u32\", dims = [], box = []", "1 to 5 directions"),
            ("arg = 0, type = \"u32\", dims = [16, 0], box = [4, 4]", "1 to 4294967296"),
            ("arg = 0, type = \"u32\", dims = [6, 6], box = [4, 4]", "multiple of 16 bytes"),
            ("arg = 0, type = \"u32\", dims = [16], box = [257]", "from 1 to 256"),
            ("arg = 0, type = \"u32\", dims = [16], box = [3]", "multiple of 16 bytes"),
            ("arg = 0, type = \"u32\", dims = [16], box = [16], swizzle = \"32B\"", "at most as many bytes"),
            ("arg = 0, type = \"u32\", dims = [16], box = [16], swizzle = \"16B\"", "none, 32B, 64B, 128B"),
            ("arg = 0, type = \"u32\", dims = [16], box = [16], fill = \"nan\"", "only floats"),
            ("arg = 0, type = \"u32\", dims = [16], box = [16], offset = 8", "multiple of 16"),
            ("arg = 1, type = \"u32\", dims = [16], box = [16]", "argument 1 is not a buffer"),
            ("arg = 0, type = \"u32\", dims = [16], box = [16], size = 3", "unknown key `size`"),
        ] {
            let error = parsed(map).expect_err(map);
            let said = format!("{error:?} {error}");
            assert!(said.contains(part), "{map}: {said}");
        }
    }
}
