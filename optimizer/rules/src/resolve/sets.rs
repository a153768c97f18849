//! The named sets of types, and the functions of types and comparisons.

use super::super::language::Fault;
use super::super::language::ast::{Binder, Name};
use super::{Resolved, fault};
use oriole_ir::ops::{Compare, Field, FieldValue, Opcode, Type};

/// Sets that a `for` may name.
pub const SETS: &[(&str, &[&str])] = &[
    ("uint", &["u16", "u32", "u64"]),
    ("sint", &["s16", "s32", "s64"]),
    ("int", &["u16", "s16", "u32", "s32", "u64", "s64"]),
    ("full", &["u32", "s32", "u64", "s64"]),
    ("bits", &["b16", "b32", "b64"]),
    ("logic", &["pred", "b16", "b32", "b64"]),
    ("float", &["f32", "f64"]),
    ("select", &["b16", "b32", "b64", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"]),
];

/// The value that is not written.
pub const NONE: &str = "none";

/// The values that a variable goes through.
pub(super) fn members(binder: &Binder) -> Result<Vec<String>, Fault> {
    let mut members: Vec<String> = Vec::new();
    for name in &binder.set {
        let set = SETS.iter().find(|(set, _)| *set == name.text);
        match set {
            Some((_, types)) => members.extend(types.iter().map(|ty| (*ty).to_owned())),
            None if is_value(&name.text) => members.push(name.text.clone()),
            None => return Err(unknown_value(name)),
        }
    }
    for (index, member) in members.iter().enumerate() {
        if members[..index].contains(member) {
            let message = format!("`{}` goes through `{member}` twice", binder.name.text);
            return Err(Fault::new(binder.name.span, message, "this variable", "leave one of them out"));
        }
    }
    Ok(members)
}

/// Whether a word is a value that a variable can have.
pub(super) fn is_value(text: &str) -> bool {
    let field = || Field::ALL.iter().any(|field| field.value_index(text).is_some());
    text == NONE || Opcode::from_name(text).is_some() || field()
}

/// The fault of a word that is none.
pub(super) fn unknown_value(name: &Name) -> Fault {
    let sets: Vec<&str> = SETS.iter().map(|(set, _)| *set).collect();
    Fault::new(
        name.span,
        format!("`{}` is no type, field value, opcode or set", name.text),
        "this word",
        format!("sets are {}; types, values and opcodes are those of the opcode table", sets.join(", ")),
    )
}

/// The type with a name.
pub(super) fn type_named(text: &str) -> Option<Type> {
    Field::Type.value_index(text).map(|index| Type::ALL[usize::from(index)])
}

fn untyped(bits: u32) -> Option<Type> {
    Some(match bits {
        1 => Type::Pred,
        8 => Type::B8,
        16 => Type::B16,
        32 => Type::B32,
        64 => Type::B64,
        128 => Type::B128,
        _ => return None,
    })
}

/// The type of the same kind with another width.
fn resized(ty: Type, bits: u32) -> Option<Type> {
    match ty {
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => Type::integer(bits, false),
        Type::S8 | Type::S16 | Type::S32 | Type::S64 => Type::integer(bits, true),
        Type::B8 | Type::B16 | Type::B32 | Type::B64 | Type::B128 => untyped(bits),
        Type::F16 | Type::F32 | Type::F64 => match bits {
            16 => Some(Type::F16),
            32 => Some(Type::F32),
            64 => Some(Type::F64),
            _ => None,
        },
        _ => None,
    }
}

/// What a function in a head yields: names of values, several where any of them matches.
pub(super) fn call(function: &Name, arguments: &[(&Name, &str)]) -> Resolved<Vec<&'static str>> {
    let (name, text) = arguments[0];
    if matches!(function.text.as_str(), "mirror" | "inverse") {
        return compare_call(function, arguments).map(|compare| vec![compare.name()]);
    }
    let ty = type_named(text).ok_or_else(|| fault(name.span, format!("`{text}` is no type"), "here", HELP))?;
    let bits = ty.bits();
    let found = match function.text.as_str() {
        "bits" => untyped(bits).map(|ty| vec![ty]),
        "unsigned" => Type::integer(bits, false).map(|ty| vec![ty]),
        "signed" => Type::integer(bits, true).map(|ty| vec![ty]),
        "int" => Type::integer(bits, false).zip(Type::integer(bits, true)).map(|(a, b)| vec![a, b]),
        "sized" => Some(Type::ALL.iter().copied().filter(|ty| ty.bits() == bits && !ty.is_reference()).collect()),
        "wide" => resized(ty, bits * 2).map(|ty| vec![ty]),
        "half" => resized(ty, bits / 2).map(|ty| vec![ty]),
        _ => return Err(fault(function.span, format!("no function `{}` of types", function.text), "here", HELP)),
    };
    match found {
        Some(types) => Ok(types.into_iter().map(Type::name).collect()),
        None => {
            let message = format!("there is no `{}({text})`", function.text);
            Err(fault(function.span, message, "here", "leave this type out of the rule"))
        }
    }
}

const HELP: &str =
    "functions are bits(T), unsigned(T), signed(T), int(T), sized(T), wide(T), half(T), mirror(CMP), inverse(CMP, T)";

fn compare_call(function: &Name, arguments: &[(&Name, &str)]) -> Resolved<Compare> {
    let (name, text) = arguments[0];
    let Some(index) = Field::Compare.value_index(text) else {
        return Err(fault(name.span, format!("`{text}` is no comparison"), "here", HELP));
    };
    let compare = Compare::ALL[usize::from(index)];
    match (function.text.as_str(), &arguments[1..]) {
        ("mirror", []) => Ok(compare.mirrored()),
        ("inverse", [(name, ty)]) => match type_named(ty) {
            Some(ty) => Ok(complement(compare, ty.is_float())),
            None => Err(fault(name.span, format!("`{ty}` is no type"), "here", HELP)),
        },
        _ => Err(fault(function.span, "wrong number of arguments".to_owned(), "here", HELP)),
    }
}

/// The comparison that holds exactly where this one does not. Floats: ordered and unordered change places.
pub fn complement(compare: Compare, float: bool) -> Compare {
    use Compare::*;
    match (compare, float) {
        (Eq, false) => Ne,
        (Ne, false) => Eq,
        (Lt, false) => Ge,
        (Le, false) => Gt,
        (Gt, false) => Le,
        (Ge, false) => Lt,
        (Lo, _) => Hs,
        (Ls, _) => Hi,
        (Hi, _) => Ls,
        (Hs, _) => Lo,
        (Eq, true) => Neu,
        (Ne, true) => Equ,
        (Lt, true) => Geu,
        (Le, true) => Gtu,
        (Gt, true) => Leu,
        (Ge, true) => Ltu,
        (Equ, _) => Ne,
        (Neu, _) => Eq,
        (Ltu, _) => Ge,
        (Leu, _) => Gt,
        (Gtu, _) => Le,
        (Geu, _) => Lt,
        (Num, _) => Nan,
        (Nan, _) => Num,
    }
}
