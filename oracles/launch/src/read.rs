//! Launch files: TOML text to [`Launch`], in one walk over the spanned tree so that every error has its place.
//!
//! The tree of `toml` keeps the text of numbers, so `u64` values beyond `i64` and long decimals arrive exactly.
//! Cost: linear in the text (at most [`MAX_TEXT_BYTES`]) plus the buffers, whose total is checked before allocation.

use std::ops::Range;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::fields::{EXPECT_KEYS, Fields, Placed, Value, unsigned, wrong_type};
use super::image::description;
use super::source::{BufferSource, Resolve, files_in, same_length};
use super::{
    Arg, ArgValue, Buffer, HandleKind, Image, Launch, LaunchError, MAX_BUFFER_BYTES, MAX_DYNAMIC_SHARED,
    MAX_PARAMETER_BYTES, MAX_REPLICAS, MAX_TEXT_BYTES, Pointer, Problem, REPLICA_GRAIN, Scalar, ScalarType, Structure,
    TensorMap, Tolerance, geometry_limit, random,
};
use crate::file::read_text;

const LAUNCH_KEYS: &[&str] =
    &["kernel", "grid", "block", "cluster", "dynamic_shared", "steps", "race_check", "copies", "arg", "image"];
/// The keys of an argument, first those of which exactly one is there: it decides the argument's kind.
const ARG_KEYS: &[&str] = &[
    "value",
    "bytes",
    "buffer",
    "hex",
    "data",
    "zeroed",
    "random",
    "alias",
    "multicast",
    "tensor_map",
    "null",
    "texture",
    "surface",
    "sampler",
    "name",
    "type",
    "replicas",
    "expect",
    "expect_hex",
    "expect_data",
    "tolerance",
    "pointers",
];
const CONTENT_KEYS: &[&str] = ARG_KEYS.split_at(14).0;
const RANDOM_KEYS: &[&str] = &["seed", "bytes", "min", "max"];
const TOLERANCE_KEYS: &[&str] = &["ulp", "relative", "absolute"];
const ALIAS_KEYS: &[&str] = &["arg", "offset"];
const POINTER_KEYS: &[&str] = &["at", "arg", "offset"];
/// Exactly one of these is in an image.
const TEXEL_KEYS: [&str; 5] = ["buffer", "hex", "data", "zeroed", "random"];
const RANDOM_TEXEL_KEYS: &[&str] = &["seed", "min", "max"];

pub(super) fn load(path: &Path) -> Result<Launch, LaunchError> {
    let name = path.display().to_string();
    let unreadable = |reason: String| LaunchError::new(Problem::Read { path: path.to_owned(), reason });
    let text = match read_text(path, MAX_TEXT_BYTES as u64) {
        Ok(text) => text,
        Err(failure) => return Err(unreadable(failure.to_string())),
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    parse(&text, &name, MAX_BUFFER_BYTES, &mut files_in(folder))
}

pub(super) fn parse(text: &str, name: &str, limit: u64, resolve: Resolve<'_>) -> Result<Launch, LaunchError> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(LaunchError::new(Problem::TextTooLarge { limit: MAX_TEXT_BYTES }));
    }
    let placed = |(problem, span)| LaunchError::at(problem, name, text, span);
    let root = DeTable::parse(text)
        .map_err(|error| placed((Problem::Toml(error.message().to_owned()), error.span().unwrap_or(0..0))))?;
    let fields = Fields { table: root.get_ref(), span: 0..text.len().min(1), name: "the launch file" };
    launch(&fields, &mut BufferSource::new(limit, resolve)).map_err(placed)
}

fn launch(fields: &Fields<'_>, source: &mut BufferSource<'_>) -> Placed<Launch> {
    fields.check_keys(LAUNCH_KEYS)?;
    let mut launch = Launch::new(None);
    launch.kernel = fields.text("kernel")?.map(|(text, _)| text.to_owned());
    launch.grid = dimensions("grid", fields.required("grid")?)?;
    launch.block = dimensions("block", fields.required("block")?)?;
    launch.cluster = fields.get("cluster").map(|value| dimensions("cluster", value)).transpose()?;
    launch.dynamic_shared = fields.limited("dynamic_shared", u64::from(MAX_DYNAMIC_SHARED))?.unwrap_or(0) as u32;
    launch.steps = fields.limited("steps", u64::MAX)?;
    launch.copies = fields.limited("copies", u64::MAX)?;
    launch.race_check = fields.flag("race_check")?.unwrap_or(false);
    if let Some(cluster) = launch.cluster
        && (0..3).any(|axis| !launch.grid[axis].is_multiple_of(cluster[axis]))
    {
        let problem = Problem::PartOfCluster { grid: launch.grid, cluster };
        return Err((problem, fields.required("cluster")?.span()));
    }
    launch.images = images(fields, source)?;
    let mut spans = Vec::new();
    if let Some(list) = fields.get("arg") {
        let tables = list.get_ref().as_array().ok_or_else(|| wrong_type("arg", "an array of tables: [[arg]]", list))?;
        for table in tables.iter() {
            launch.args.push(argument(&Fields::of(table, "arg", "[[arg]]")?, source, &launch.images)?);
            spans.push(table.span());
        }
    }
    check_parameter_space(&launch, &spans)?;
    check_aliases(&launch).map_err(|(index, problem)| (problem, spans[index].clone()))?;
    Ok(launch)
}

/// An integer, or an array of one to three, within CUDA's limits.
fn dimensions(key: &'static str, value: &Value<'_>) -> Placed<[u32; 3]> {
    let mut size = [1; 3];
    match value.get_ref().as_array() {
        None => size[0] = dimension(key, value)?,
        Some(list) if (1..=3).contains(&list.len()) => {
            for (slot, value) in size.iter_mut().zip(list.iter()) {
                *slot = dimension(key, value)?;
            }
        }
        Some(_) => {
            return Err(wrong_type(key, "an integer or an array of one to three", value));
        }
    }
    geometry_limit(key, size).map_or(Ok(size), |problem| Err((problem, value.span())))
}

fn dimension(key: &'static str, value: &Value<'_>) -> Placed<u32> {
    let number = unsigned(key, value, "an integer or an array of one to three")?;
    u32::try_from(number).map_err(|_| {
        let limit = "CUDA's limits are far below".to_owned();
        (Problem::Limit { what: key.to_owned(), value: number.to_string(), limit }, value.span())
    })
}

/// The images, whose bytes count as those of buffers.
fn images(fields: &Fields<'_>, source: &mut BufferSource<'_>) -> Placed<Vec<Image>> {
    let Some(list) = fields.get("image") else { return Ok(Vec::new()) };
    let tables = list.get_ref().as_array().ok_or_else(|| wrong_type("image", "an array of tables: [[image]]", list))?;
    let mut images: Vec<Image> = Vec::new();
    for table in tables.iter() {
        let fields = Fields::of(table, "image", "[[image]]")?;
        let mut image = description(&fields)?;
        if images.iter().any(|other| other.name == image.name) {
            return Err((Problem::RepeatedImage(image.name), table.span()));
        }
        image.buffer = texels(&fields, image.bytes(), source)?;
        images.push(image);
    }
    Ok(images)
}

/// The bytes of an image of so many.
fn texels(fields: &Fields<'_>, wanted: u64, source: &mut BufferSource<'_>) -> Placed<Buffer> {
    let missing = || (Problem::MissingKey { key: "buffer", table: fields.name }, fields.span.clone());
    let content = fields.one_of(&TEXEL_KEYS)?.ok_or_else(missing)?;
    let value = fields.required(content)?;
    let here = |problem| (problem, value.span());
    let bytes = match content {
        "zeroed" if fields.flag(content)? == Some(true) => source.zeroed(wanted).map_err(here)?,
        "zeroed" => return Err(wrong_type("zeroed", "true", value)),
        "random" => {
            let inner = Fields::of(value, "random", "random")?;
            inner.check_keys(RANDOM_TEXEL_KEYS)?;
            drawn(&inner, Some(fields.required_type()?), wanted, value.span(), source)?
        }
        _ => content_bytes(fields, content, source)?,
    };
    if bytes.len() as u64 != wanted {
        return Err(here(Problem::ImageLength { found: bytes.len() as u64, wanted }));
    }
    let expect = expectation(fields, bytes.len(), source)?;
    let tolerance = tolerance(fields)?;
    Ok(Buffer { bytes, element: fields.element_type()?, expect, tolerance, replicas: 0 })
}

fn handle(fields: &Fields<'_>, content: &'static str, images: &[Image]) -> Placed<ArgValue> {
    let value = fields.required(content)?;
    let name = value.get_ref().as_str().ok_or_else(|| wrong_type(content, "the name of an image", value))?;
    let kind = HandleKind::ALL.into_iter().find(|kind| kind.name() == content).unwrap_or(HandleKind::Texture);
    let unknown = || {
        let known = images.iter().map(|image| image.name.as_str()).collect::<Vec<_>>().join(", ");
        (Problem::NoImage { name: name.chars().take(80).collect(), known }, value.span())
    };
    let image = images.iter().position(|image| image.name == name).ok_or_else(unknown)?;
    Ok(ArgValue::Handle { kind, image })
}

fn argument(fields: &Fields<'_>, source: &mut BufferSource<'_>, images: &[Image]) -> Placed<Arg> {
    fields.check_keys(ARG_KEYS)?;
    let content = fields.one_of(CONTENT_KEYS)?.ok_or_else(|| (Problem::NoContent, fields.span.clone()))?;
    fields.check_company(content)?;
    let name = fields.text("name")?.map(|(text, _)| text.to_owned());
    let value = match content {
        "value" => ArgValue::Scalar(scalar("value", fields.required_type()?, fields.required("value")?)?),
        "bytes" => match pointers(fields)? {
            None => ArgValue::Bytes(structure(fields)?),
            Some(pointers) => ArgValue::Structure(Structure { bytes: structure(fields)?, pointers }),
        },
        "alias" => {
            let (arg, offset) = place(fields, "alias")?;
            ArgValue::Alias { arg, offset }
        }
        "multicast" => {
            let (arg, offset) = place(fields, "multicast")?;
            ArgValue::Multicast { arg, offset }
        }
        "tensor_map" => ArgValue::TensorMap(TensorMap::read(fields)?),
        "null" => null(fields)?,
        "texture" | "surface" | "sampler" => handle(fields, content, images)?,
        _ => ArgValue::Buffer(buffer(fields, content, source)?),
    };
    Ok(Arg { name, value })
}

fn structure(fields: &Fields<'_>) -> Placed<Vec<u8>> {
    let bytes = fields.hex("bytes")?;
    if bytes.is_empty() { Err((Problem::BadHex, fields.required("bytes")?.span())) } else { Ok(bytes) }
}

/// The addresses within a structure, where there are any. Each has a place for all of its bytes.
fn pointers(fields: &Fields<'_>) -> Placed<Option<Vec<Pointer>>> {
    let Some(value) = fields.get("pointers") else { return Ok(None) };
    let wanted = "an array of tables: [{ at = 0, arg = 1 }]";
    let list = value.get_ref().as_array().ok_or_else(|| wrong_type("pointers", wanted, value))?;
    let bytes = fields.hex("bytes")?.len();
    let pointer = |table: &Value<'_>| {
        let inner = Fields::of(table, "pointers", "a pointer")?;
        inner.check_keys(POINTER_KEYS)?;
        let place = inner.required("at")?;
        let at = inner.limited("at", u64::from(u32::MAX))?.unwrap_or(0) as usize;
        if at + Pointer::BYTES > bytes {
            let limit =
                format!("the structure has {}, and an address 8", oriole_ir::diagnostics::counted(bytes, "byte"));
            return Err((Problem::Limit { what: "`at`".to_owned(), value: at.to_string(), limit }, place.span()));
        }
        inner.required("arg")?;
        let arg = inner.limited("arg", u64::from(u32::MAX))?.unwrap_or(0) as usize;
        Ok(Pointer { at, arg, offset: inner.limited("offset", u64::MAX)?.unwrap_or(0) })
    };
    list.iter().map(pointer).collect::<Placed<Vec<Pointer>>>().map(Some)
}

/// A place in another argument's buffer: the argument's index, and an offset.
fn place(fields: &Fields<'_>, key: &'static str) -> Placed<(usize, u64)> {
    let inner = Fields::of(fields.required(key)?, key, key)?;
    inner.check_keys(ALIAS_KEYS)?;
    inner.required("arg")?;
    let arg = inner.limited("arg", u64::from(u32::MAX))?.unwrap_or(0) as usize;
    Ok((arg, inner.limited("offset", u64::MAX)?.unwrap_or(0)))
}

fn null(fields: &Fields<'_>) -> Placed<ArgValue> {
    match fields.flag("null")? {
        Some(true) => Ok(ArgValue::Null),
        _ => Err(wrong_type("null", "true", fields.required("null")?)),
    }
}

fn buffer(fields: &Fields<'_>, content: &'static str, source: &mut BufferSource<'_>) -> Placed<Buffer> {
    let value = fields.required(content)?;
    let here = |problem| (problem, value.span());
    let element = fields.element_type()?;
    let bytes = match content {
        "buffer" | "hex" | "data" => content_bytes(fields, content, source)?,
        "zeroed" => source.zeroed(unsigned(content, value, "a number of bytes")?).map_err(here)?,
        _ => random_content(&Fields::of(value, "random", "random")?, element, source)?,
    };
    let expect = expectation(fields, bytes.len(), source)?;
    let tolerance = tolerance(fields)?;
    let replicas = replicas(fields, bytes.len() as u64)?;
    Ok(Buffer { bytes, element, expect, tolerance, replicas })
}

/// How many replicas a buffer of so many bytes is; 0 where the file does not say.
fn replicas(fields: &Fields<'_>, bytes: u64) -> Placed<u32> {
    let Some(value) = fields.get("replicas") else { return Ok(0) };
    let replicas = fields.limited("replicas", u64::from(MAX_REPLICAS))?.unwrap_or(0) as u32;
    check_replicas(replicas, bytes).map(|()| replicas).map_err(|problem| (problem, value.span()))
}

/// Whether so many bytes are so many replicas.
pub(super) fn check_replicas(replicas: u32, bytes: u64) -> Result<(), Problem> {
    let grains = u64::from(replicas) * REPLICA_GRAIN;
    if replicas == 0 || bytes == 0 || !bytes.is_multiple_of(grains) {
        return Err(Problem::Replicas { replicas, bytes });
    }
    Ok(())
}

/// Bytes that are written down, here or in a file.
fn content_bytes(fields: &Fields<'_>, content: &'static str, source: &mut BufferSource<'_>) -> Placed<Vec<u8>> {
    let value = fields.required(content)?;
    let here = |problem| (problem, value.span());
    match content {
        "buffer" => source.file(Path::new(fields.text(content)?.map_or("", |(text, _)| text))).map_err(here),
        "hex" => counted(fields.hex(content)?, source).map_err(here),
        _ => counted(elements(content, fields.required_type()?, value)?, source).map_err(here),
    }
}

/// A number of values, or distances; of floating-point elements.
fn tolerance(fields: &Fields<'_>) -> Placed<Option<Tolerance>> {
    let Some(value) = fields.get("tolerance") else { return Ok(None) };
    let inner = Fields::of(value, "tolerance", "tolerance")?;
    inner.check_keys(TOLERANCE_KEYS)?;
    if !fields.required_type()?.is_float() {
        return Err(wrong_type("type", "a floating-point type, which has a tolerance", fields.required("type")?));
    }
    inner.one_of(&["ulp", "relative"])?;
    inner.one_of(&["ulp", "absolute"])?;
    if let Some(ulp) = inner.limited("ulp", u64::MAX)? {
        return Ok(Some(Tolerance::Ulp(ulp)));
    }
    if inner.get("relative").or(inner.get("absolute")).is_none() {
        return Err((Problem::MissingKey { key: "ulp", table: "tolerance" }, value.span()));
    }
    Ok(Some(Tolerance::Near { relative: distance(&inner, "relative")?, absolute: distance(&inner, "absolute")? }))
}

/// A finite number that is not negative; zero where it is not written.
fn distance(fields: &Fields<'_>, key: &'static str) -> Placed<Scalar> {
    let zero = Scalar::from_bytes(ScalarType::F64, &[0; 8]);
    let Some(value) = fields.get(key) else { return Ok(zero) };
    let number = scalar(key, ScalarType::F64, value)?;
    if ordered(zero, number) {
        return Ok(number);
    }
    let limit = "it must be finite and not negative".to_owned();
    Err((Problem::Limit { what: format!("`{key}`"), value: number.to_string(), limit }, value.span()))
}

fn counted(bytes: Vec<u8>, source: &mut BufferSource<'_>) -> Result<Vec<u8>, Problem> {
    source.spend(bytes.len() as u64)?;
    Ok(bytes)
}

fn random_content(fields: &Fields<'_>, element: Option<ScalarType>, source: &mut BufferSource<'_>) -> Placed<Vec<u8>> {
    fields.check_keys(RANDOM_KEYS)?;
    let size = fields.required("bytes")?;
    drawn(fields, element, unsigned("bytes", size, "a number of bytes")?, size.span(), source)
}

/// So many bytes of a seed, between bounds where there are any.
fn drawn(
    fields: &Fields<'_>,
    element: Option<ScalarType>,
    length: u64,
    span: Range<usize>,
    source: &mut BufferSource<'_>,
) -> Placed<Vec<u8>> {
    fields.required("seed")?;
    let seed = fields.limited("seed", u64::MAX)?.unwrap_or(0);
    let here = |problem| (problem, span.clone());
    let (min, max) = match (fields.get("min"), fields.get("max")) {
        (None, None) => return source.random(seed, length).map_err(here),
        (Some(min), Some(max)) => (min, max),
        (bound, _) => {
            let key = if bound.is_some() { "max" } else { "min" };
            return Err((Problem::MissingKey { key, table: fields.name }, fields.span.clone()));
        }
    };
    let ty =
        element.ok_or_else(|| (Problem::MissingKey { key: "type", table: "random with min and max" }, min.span()))?;
    let (low, high) = (scalar("min", ty, min)?, scalar("max", ty, max)?);
    if !ordered(low, high) {
        return Err((Problem::EmptyRange { min: low.to_string(), max: high.to_string() }, max.span()));
    }
    let length = source.spend(length).map_err(here)?;
    Ok(random::elements(seed, length, low, high))
}

/// Whether both are finite and the first is not above the second.
fn ordered(low: Scalar, high: Scalar) -> bool {
    let ty = low.ty();
    let (first, last) = (ty.to_f64(low.bits()), ty.to_f64(high.bits()));
    if ty.is_float() {
        first.is_finite() && last.is_finite() && first <= last
    } else {
        ty.integer(low.bits()) <= ty.integer(high.bits())
    }
}

fn expectation(fields: &Fields<'_>, length: usize, source: &mut BufferSource<'_>) -> Placed<Option<Vec<u8>>> {
    let Some(key) = fields.one_of(&EXPECT_KEYS)? else {
        return Ok(None);
    };
    let value = fields.required(key)?;
    let here = |problem| (problem, value.span());
    let content = match key {
        "expect" => {
            source.expectation(Path::new(fields.text(key)?.map_or("", |(text, _)| text)), length).map_err(here)?
        }
        "expect_hex" => same_length(fields.hex(key)?, length).map_err(here)?,
        _ => same_length(elements(key, fields.required_type()?, value)?, length).map_err(here)?,
    };
    Ok(Some(content))
}

fn elements(key: &'static str, ty: ScalarType, value: &Value<'_>) -> Placed<Vec<u8>> {
    let list = value.get_ref().as_array().ok_or_else(|| wrong_type(key, "an array of numbers", value))?;
    let mut bytes = Vec::with_capacity(list.len() * ty.bytes());
    for element in list.iter() {
        bytes.extend(scalar(key, ty, element)?.to_bytes());
    }
    Ok(bytes)
}

/// A number, as TOML number or as string.
fn scalar(key: &'static str, ty: ScalarType, value: &Value<'_>) -> Placed<Scalar> {
    let text = match value.get_ref() {
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::String(text) => text.to_string(),
        _ => return Err(wrong_type(key, "a number", value)),
    };
    Scalar::parse(ty, &text).map_err(|problem| (problem, value.span()))
}

/// Invariant: what is passed by value is bounded by the parameter space, so a file cannot make a kernel call huge.
fn check_parameter_space(launch: &Launch, spans: &[Range<usize>]) -> Placed<()> {
    let mut total = 0;
    for (arg, span) in launch.args.iter().zip(spans) {
        total += arg.value.parameter_bytes();
        if total > MAX_PARAMETER_BYTES {
            let limit = format!("CUDA takes at most {MAX_PARAMETER_BYTES} bytes");
            let what = "the arguments' size".to_owned();
            return Err((Problem::Limit { what, value: total.to_string(), limit }, span.clone()));
        }
    }
    Ok(())
}

/// The first address that does not point into another argument's buffer, with the argument's index.
pub(super) fn check_aliases(launch: &Launch) -> Result<(), (usize, Problem)> {
    for (index, arg) in launch.args.iter().enumerate() {
        let is_multicast = matches!(arg.value, ArgValue::Multicast { .. });
        let places = match &arg.value {
            ArgValue::Alias { arg, offset } | ArgValue::Multicast { arg, offset } => vec![(*arg, *offset)],
            ArgValue::TensorMap(map) => vec![(map.arg, map.offset)],
            ArgValue::Structure(structure) => structure.pointers.iter().map(|it| (it.arg, it.offset)).collect(),
            _ => continue,
        };
        places.into_iter().try_for_each(|place| check_place(launch, place, is_multicast)).map_err(|it| (index, it))?;
    }
    Ok(())
}

/// Whether a place is within the buffer of an argument, or within each replica of it.
fn check_place(launch: &Launch, (owner, offset): (usize, u64), is_multicast: bool) -> Result<(), Problem> {
    let owned = match launch.args.get(owner).map(|arg| &arg.value) {
        Some(ArgValue::Buffer(buffer)) if is_multicast && buffer.replicas > 0 => Some(buffer.replica_bytes()),
        Some(ArgValue::Buffer(buffer)) if !is_multicast => Some(buffer.bytes.len() as u64),
        _ => None,
    };
    let arg = owner as u64;
    match owned {
        None if is_multicast => Err(Problem::MulticastTarget(arg)),
        None => Err(Problem::AliasTarget(arg)),
        Some(bytes) if offset > bytes && is_multicast => Err(Problem::MulticastOffset { arg, offset, bytes }),
        Some(bytes) if offset > bytes => Err(Problem::AliasOffset { arg, offset, bytes }),
        Some(_) => Ok(()),
    }
}
