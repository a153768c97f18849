//! Images of a launch: what textures, samplers and surfaces are made of.

use oriole_ir::reference::{ADDRESS_MODES, FILTERS, Setting, Settings};

use super::fields::{Fields, Placed, Value, wrong_type};
use super::{Buffer, Problem, ScalarType};

pub(super) const IMAGE_KEYS: &[&str] = &[
    "name",
    "bind",
    "width",
    "height",
    "depth",
    "layers",
    "cube",
    "levels",
    "type",
    "channels",
    "normalized_float",
    "normalized",
    "filter",
    "level_filter",
    "address",
    "buffer",
    "hex",
    "data",
    "zeroed",
    "random",
    "expect",
    "expect_hex",
    "expect_data",
    "tolerance",
];
/// Texels in a direction at most (CUDA C++ Programming Guide, "Technical Specifications": 131072 in one dimension).
const MAX_EXTENT: u64 = 131_072;
/// Layers of an array at most (the same).
const MAX_LAYERS: u64 = 2048;
const FORMATS: [ScalarType; 8] = [
    ScalarType::U8,
    ScalarType::S8,
    ScalarType::U16,
    ScalarType::S16,
    ScalarType::U32,
    ScalarType::S32,
    ScalarType::F16,
    ScalarType::F32,
];

/// An array of texels that textures and surfaces lead to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Image {
    /// Its name, which is unique in the launch: a variable of the module of that name leads to it.
    pub name: String,
    /// Further variables that lead to it.
    pub bind: Vec<String>,
    /// The extents of a layer or face in texels; as many as the image has dimensions.
    pub extents: Vec<u32>,
    /// The layers of an array; of cubes each has six faces.
    pub layers: Option<u32>,
    /// Whether it is one cube, or an array of cubes.
    pub cube: bool,
    /// The levels of a mipmap, each half as large in every direction.
    pub levels: u32,
    /// What a component of a texel is.
    pub format: ScalarType,
    /// Components of a texel: 1, 2 or 4.
    pub channels: u8,
    /// Whether small integers are read as floats, from 0 to 1 or from -1 to 1.
    pub normalized_float: bool,
    /// Whether the filter also mixes two levels.
    pub level_filter: bool,
    /// What fetches do, where a variable of the module does not say it.
    pub settings: Settings,
    /// The texels: level after level, in each of them layer after layer (face after face) and row after row.
    pub buffer: Buffer,
}

impl Image {
    /// Bytes of a texel.
    pub fn texel_bytes(&self) -> usize {
        self.format.bytes() * usize::from(self.channels)
    }

    /// Two-dimensional slices of a level that stand for its layers and faces; one where there are none.
    pub fn slices(&self) -> u32 {
        self.layers.unwrap_or(1) * if self.cube { 6 } else { 1 }
    }

    /// The extents of a level in x, y and z; those that the image does not have are 1.
    pub fn level_extents(&self, level: u32) -> [u32; 3] {
        let extent = |axis: usize| self.extents.get(axis).map_or(1, |extent| (extent >> level).max(1));
        std::array::from_fn(extent)
    }

    /// Bytes of a level.
    pub fn level_bytes(&self, level: u32) -> u64 {
        let texels: u64 = self.level_extents(level).into_iter().map(u64::from).product();
        texels.saturating_mul(u64::from(self.slices())).saturating_mul(self.texel_bytes() as u64)
    }

    /// Bytes of the whole image.
    pub fn bytes(&self) -> u64 {
        (0..self.levels).fold(0, |bytes, level| bytes.saturating_add(self.level_bytes(level)))
    }

    /// Whether fetches yield floats, which alone can be filtered.
    pub fn yields_floats(&self) -> bool {
        self.normalized_float || self.format.is_float()
    }

    /// Whether texels are bytes that stand for numbers from 0 to 1.
    pub fn holds_normalized_bytes(&self) -> bool {
        self.normalized_float && self.format == ScalarType::U8
    }

    /// The first thing that is wrong with it, apart from its bytes.
    fn fault(&self) -> Option<&'static str> {
        let small = matches!(self.format, ScalarType::U8 | ScalarType::S8 | ScalarType::U16 | ScalarType::S16);
        let filtered = self.settings.get(Setting::Filter) == Some(1) || self.level_filter;
        let largest = self.extents.iter().copied().max().unwrap_or(1);
        let square = self.extents.len() == 2 && self.extents[0] == self.extents[1];
        Some(match self {
            _ if !FORMATS.contains(&self.format) => "the type of a component is one of u8 s8 u16 s16 u32 s32 f16 f32",
            _ if !matches!(self.channels, 1 | 2 | 4) => "a texel has 1, 2 or 4 channels",
            _ if self.normalized_float && !small => "only u8, s8, u16 and s16 are read as normalized floats",
            _ if filtered && !self.yields_floats() => "only floats are filtered: add `normalized_float = true`",
            _ if self.cube && !square => "the faces of a cube are squares: `width` and `height` are equal",
            _ if self.layers.is_some() && self.extents.len() > 2 => "layers have one or two dimensions",
            _ if self.levels > largest.ilog2() + 1 => "the last level has one texel in its longest direction",
            _ => return None,
        })
    }
}

/// An image without its bytes.
pub(super) fn description(fields: &Fields<'_>) -> Placed<Image> {
    fields.check_keys(IMAGE_KEYS)?;
    let name = fields.required("name")?;
    let name = name.get_ref().as_str().ok_or_else(|| wrong_type("name", "a string", name))?.to_owned();
    let image = Image {
        name,
        bind: names(fields)?,
        extents: extents(fields)?,
        layers: positive(fields, "layers", MAX_LAYERS)?,
        cube: fields.flag("cube")?.unwrap_or(false),
        levels: positive(fields, "levels", 32)?.unwrap_or(1),
        format: fields.required_type()?,
        channels: positive(fields, "channels", 255)?.unwrap_or(1) as u8,
        normalized_float: fields.flag("normalized_float")?.unwrap_or(false),
        level_filter: choice(fields, "level_filter", &FILTERS)? == Some(1),
        settings: settings(fields)?,
        buffer: Buffer::default(),
    };
    match image.fault() {
        Some(what) => Err((Problem::Image(what), fields.span.clone())),
        None => Ok(image),
    }
}

/// Variables that an image is bound to beside the one of its name.
fn names(fields: &Fields<'_>) -> Placed<Vec<String>> {
    let Some(value) = fields.get("bind") else { return Ok(Vec::new()) };
    let text = |value: &Value<'_>| {
        let text = value.get_ref().as_str().map(str::to_owned);
        text.ok_or_else(|| wrong_type("bind", "an array of names", value))
    };
    let list = value.get_ref().as_array().ok_or_else(|| wrong_type("bind", "an array of names", value))?;
    list.iter().map(text).collect()
}

fn extents(fields: &Fields<'_>) -> Placed<Vec<u32>> {
    fields.required("width")?;
    let mut extents = Vec::new();
    for key in ["width", "height", "depth"] {
        match positive(fields, key, MAX_EXTENT)? {
            Some(extent)
                if extents.len() == ["width", "height", "depth"].iter().position(|k| *k == key).unwrap_or(0) =>
            {
                extents.push(extent);
            }
            Some(_) => {
                return Err((Problem::MissingKey { key: "height", table: fields.name }, fields.required(key)?.span()));
            }
            None => {}
        }
    }
    Ok(extents)
}

/// A number from 1 to a limit.
fn positive(fields: &Fields<'_>, key: &'static str, limit: u64) -> Placed<Option<u32>> {
    match fields.limited(key, limit)? {
        Some(0) => {
            let problem = Problem::Limit {
                what: format!("`{key}`"),
                value: "0".to_owned(),
                limit: "it is at least 1".to_owned(),
            };
            Err((problem, fields.required(key)?.span()))
        }
        number => Ok(number.map(|number| number as u32)),
    }
}

fn settings(fields: &Fields<'_>) -> Placed<Settings> {
    let mut settings = Settings::default();
    if let Some(filter) = choice(fields, "filter", &FILTERS)? {
        settings.set(Setting::Filter, filter);
    }
    if let Some(normalized) = fields.flag("normalized")? {
        settings.set(Setting::Normalized, normalized.into());
    }
    const AXES: [Setting; 3] = [Setting::Address0, Setting::Address1, Setting::Address2];
    let Some(value) = fields.get("address") else { return Ok(settings) };
    match value.get_ref().as_array() {
        // One mode is that of all directions.
        None => {
            let mode = named("address", value, &ADDRESS_MODES)?;
            AXES.into_iter().for_each(|axis| settings.set(axis, mode));
        }
        Some(list) => {
            for (axis, value) in AXES.into_iter().zip(list.iter()) {
                settings.set(axis, named("address", value, &ADDRESS_MODES)?);
            }
        }
    }
    Ok(settings)
}

fn choice(fields: &Fields<'_>, key: &'static str, known: &'static [&'static str]) -> Placed<Option<u8>> {
    fields.get(key).map(|value| named(key, value, known)).transpose()
}

fn named(key: &'static str, value: &Value<'_>, known: &'static [&'static str]) -> Placed<u8> {
    let text = value.get_ref().as_str().ok_or_else(|| wrong_type(key, "a string", value))?;
    let found = known.iter().position(|name| *name == text);
    found
        .map(|at| at as u8)
        .ok_or_else(|| (Problem::UnknownMode { key, value: text.chars().take(80).collect(), known }, value.span()))
}
