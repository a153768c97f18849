//! A launch from the command line: `--entry`, `--grid`, `--block` and one `--arg` per parameter.
//!
//! An argument is `TYPE:VALUE`, `bytes:HEX`, `null`, `alias:ARG:OFFSET`, `multicast:ARG:OFFSET`, or a buffer:
//! `zeroed:BYTES`, `random:SEED:BYTES`, `file:PATH`, `hex:HEX`. Options follow, in any order: `:type=f32`, `:name=x`,
//! `:expect=PATH`, `:replicas=4`. Files are relative to the working folder. A path may contain colons, as options are
//! taken off the end.

use std::path::Path;

use super::read::{check_aliases, check_replicas};
use super::source::{BufferSource, decode_hex, files_in};
use super::{
    Arg, ArgValue, Buffer, Launch, LaunchError, MAX_BUFFER_BYTES, MAX_REPLICAS, Problem, Scalar, ScalarType,
    geometry_limit,
};

/// The shapes of an argument, for help texts.
pub const HELP: &str = "write TYPE:VALUE (u32:1000, f32:2.0), zeroed:BYTES, random:SEED:BYTES, file:PATH, hex:HEX, \
bytes:HEX, alias:ARG:OFFSET, multicast:ARG:OFFSET or null; a buffer may end in :type=TYPE, :name=NAME, :expect=PATH \
and :replicas=N";

/// Builds a launch: `grid` and `block` as `4`, `4,2` or `4,2,1` (also with `x`), `args` in parameter order.
pub fn launch(kernel: Option<&str>, grid: &str, block: &str, args: &[String]) -> Result<Launch, LaunchError> {
    let mut launch = Launch::new(kernel.map(str::to_owned));
    launch.grid = dimensions("grid", grid)?;
    launch.block = dimensions("block", block)?;
    let mut resolve = files_in(Path::new(""));
    let mut source = BufferSource::new(MAX_BUFFER_BYTES, &mut resolve);
    for text in args {
        launch.args.push(argument(text, &mut source).map_err(|problem| at("--arg", text, problem))?);
    }
    check_aliases(&launch).map_err(|(index, problem)| at("--arg", &args[index], problem))?;
    Ok(launch)
}

/// Reads a grid or a block (`what` is its name) as one to three numbers.
pub fn dimensions(what: &'static str, text: &str) -> Result<[u32; 3], LaunchError> {
    let option = format!("--{what}");
    let wrong = || Problem::WrongType { key: what, wanted: "one to three integers: 4,2,1", found: format!("`{text}`") };
    let mut size = [1; 3];
    for (axis, part) in text.split([',', 'x']).enumerate() {
        let slot = size.get_mut(axis).ok_or_else(|| at(&option, text, wrong()))?;
        *slot = part.trim().parse().map_err(|_| at(&option, text, wrong()))?;
    }
    geometry_limit(what, size).map_or(Ok(size), |problem| Err(at(&option, text, problem)))
}

fn at(option: &str, text: &str, problem: Problem) -> LaunchError {
    LaunchError::at(problem, option, text, 0..text.len())
}

/// The options at the end of a piece.
#[derive(Default)]
struct Options<'t> {
    ty: Option<ScalarType>,
    name: Option<String>,
    expect: Option<&'t str>,
    replicas: Option<u64>,
}

fn argument(text: &str, source: &mut BufferSource<'_>) -> Result<Arg, Problem> {
    let (body, options) = split_options(text)?;
    let (kind, rest) = body.split_once(':').unwrap_or((body, ""));
    let bad = || Problem::BadPiece(text.chars().take(80).collect());
    let value = match kind {
        "null" if rest.is_empty() => ArgValue::Null,
        "bytes" if !rest.is_empty() => ArgValue::Bytes(decode_hex(rest)?),
        "alias" => {
            let (arg, offset) = rest.split_once(':').unwrap_or((rest, "0"));
            ArgValue::Alias { arg: arg.parse().map_err(|_| bad())?, offset: number(offset)? }
        }
        "multicast" => {
            let (arg, offset) = rest.split_once(':').unwrap_or((rest, "0"));
            ArgValue::Multicast { arg: arg.parse().map_err(|_| bad())?, offset: number(offset)? }
        }
        "zeroed" => buffer(source.zeroed(number(rest)?)?, &options, source)?,
        "random" => {
            let (seed, bytes) = rest.split_once(':').ok_or_else(bad)?;
            buffer(source.random(number(seed)?, number(bytes)?)?, &options, source)?
        }
        "file" if !rest.is_empty() => buffer(source.file(Path::new(rest))?, &options, source)?,
        "hex" => {
            let bytes = decode_hex(rest)?;
            source.spend(bytes.len() as u64)?;
            buffer(bytes, &options, source)?
        }
        _ => ArgValue::Scalar(Scalar::parse(ScalarType::from_name(kind).ok_or_else(bad)?, rest)?),
    };
    check_options(&value, &options)?;
    Ok(Arg { name: options.name, value })
}

fn split_options(text: &str) -> Result<(&str, Options<'_>), Problem> {
    let mut options = Options::default();
    let mut body = text;
    while let Some((head, tail)) = body.rsplit_once(':') {
        match tail.split_once('=') {
            Some(("type", name)) => {
                let unknown = || Problem::UnknownType(name.chars().take(80).collect());
                options.ty = Some(ScalarType::from_name(name).ok_or_else(unknown)?);
            }
            Some(("name", name)) => options.name = Some(name.to_owned()),
            Some(("expect", path)) => options.expect = Some(path),
            Some(("replicas", count)) => options.replicas = Some(number(count)?),
            _ => break,
        }
        body = head;
    }
    Ok((body, options))
}

fn buffer(bytes: Vec<u8>, options: &Options<'_>, source: &mut BufferSource<'_>) -> Result<ArgValue, Problem> {
    let expect = options.expect.map(|path| source.expectation(Path::new(path), bytes.len())).transpose()?;
    let replicas = replicas(options, bytes.len() as u64)?;
    Ok(ArgValue::Buffer(Buffer { bytes, element: options.ty, expect, tolerance: None, replicas }))
}

fn replicas(options: &Options<'_>, bytes: u64) -> Result<u32, Problem> {
    let Some(count) = options.replicas else { return Ok(0) };
    let replicas = u32::try_from(count).ok().filter(|count| *count <= MAX_REPLICAS);
    let replicas = replicas.ok_or_else(|| Problem::Limit {
        what: "replicas".to_owned(),
        value: count.to_string(),
        limit: format!("there are at most {MAX_REPLICAS}"),
    })?;
    check_replicas(replicas, bytes).map(|()| replicas)
}

fn check_options(value: &ArgValue, options: &Options<'_>) -> Result<(), Problem> {
    let key = match (options.ty, options.expect, options.replicas) {
        (Some(_), ..) => "type",
        (None, Some(_), _) => "expect",
        (None, None, Some(_)) => "replicas",
        (None, None, None) => return Ok(()),
    };
    let source_key = match value {
        ArgValue::Buffer(_) => return Ok(()),
        ArgValue::Scalar(_) => "value",
        ArgValue::Bytes(_) | ArgValue::Structure(_) => "bytes",
        ArgValue::Alias { .. } => "alias",
        ArgValue::Multicast { .. } => "multicast",
        ArgValue::TensorMap(_) => "tensor_map",
        ArgValue::Null => "null",
        ArgValue::Handle { kind, .. } => kind.name(),
    };
    Err(Problem::KeyNotHere { key: key.to_owned(), source_key })
}

fn number(text: &str) -> Result<u64, Problem> {
    Scalar::parse(ScalarType::U64, text).map(Scalar::bits)
}
