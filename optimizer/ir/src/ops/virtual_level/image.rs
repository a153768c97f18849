//! Textures and surfaces: PTX ISA 9.0, "Texture Instructions", "Surface Instructions" and `istypep`.
//!
//! A fetch names its texture and its sampler; where the texture has its own, both are the same operand. Offsets stand
//! always, and are zero where PTX writes none. The second result of a fetch says whether memory has the texels.

use crate::ops::prelude::*;

pub const FLAT: u64 = bits!(Geometry: D1 | D2 | D3 | A1d | A2d);
pub const CUBES: u64 = bits!(Geometry: Cube | Acube);
pub const TEXELS: FieldSpec = ty(bits!(Type: U32 | S32 | F16 | F32 | F16x2));
pub const FOUR: FieldSpec = req_of(Field::Vector, Vector::V4.bit());
pub const FOUR_OR_PAIRS: FieldSpec = req_of(Field::Vector, bits!(Vector: V2 | V4));
pub const COORDINATE: FieldSpec = req_of(Field::SrcType, bits!(SrcType: S32 | F32));
pub const FLOATING: FieldSpec = req_of(Field::SrcType, SrcType::F32.bit());
pub const GATHERED: FieldSpec = req_of(Field::Geometry, bits!(Geometry: D2 | A2d) | CUBES);

const PAIRS: Requirement = when(Field::Type, Type::F16x2.bit(), Field::Vector, Vector::V2.bit());
const SINGLES: Requirement = when(Field::Type, bits!(Type: U32 | S32 | F16 | F32), Field::Vector, Vector::V4.bit());

pub const FETCH_RULES: &[Requirement] =
    &[PAIRS, SINGLES, when(Field::Geometry, CUBES, Field::SrcType, SrcType::F32.bit())];
pub const DEPTH_RULES: &[Requirement] = &[PAIRS, SINGLES];
pub const FETCH_LATER: &[Later] = &[from(53, Field::Type, bits!(Type: F16 | F16x2))];

pub const SIZES: u64 = bits!(ImageQuery: Width | Height | Depth);
pub const COMMON_QUERIES: u64 = SIZES | bits!(ImageQuery: ChannelDataType | ChannelOrder | ArraySize);

pub const SURFACE: FieldSpec = req_of(Field::Geometry, FLAT);
pub const REDUCED: FieldSpec = req_of(Field::Geometry, bits!(Geometry: D1 | D2 | D3));
pub const BEYOND: FieldSpec = req(Field::OutOfBounds);
pub const TO_SURFACE: FieldSpec = opt_of(Field::CacheOp, bits!(CacheOp: Cg | Cs | Wb | Wt));
pub const SURFACE_VECTOR: FieldSpec = opt_of(Field::Vector, bits!(Vector: V2 | V4));
pub const SURFACE_TYPES: FieldSpec = ty(bits!(Type: B8 | B16 | B32 | B64));
/// No more than 16 bytes at once.
pub const SURFACE_RULES: &[Requirement] =
    &[when(Field::Vector, Vector::V4.bit(), Field::Type, bits!(Type: B8 | B16 | B32))];
pub const REDUCTIONS: FieldSpec = req_of(Field::AtomOp, bits!(AtomOp: Add | Min | Max | And | Or));

macro_rules! image_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Virtual {
    /// Fetches from a texture at coordinates, through a sampler's filter.
    Tex "tex" "tex": [V, P] <- [Image(Handle), Image(Sampler), Image(Coordinates), Image(Level), Image(Offsets)],
        FETCH,
        fields &[opt(Field::LevelOfDetail), req(Field::Geometry), FOUR_OR_PAIRS, TEXELS, COORDINATE],
        rules FETCH_RULES,
        since 50, later FETCH_LATER,
        cost Flat(24), rank 10, latency Memory, undef Mixing;

    /// The same, where each texel is one or zero, as a depth compares with it.
    TexCompare "tex.compare" -:
        [V, P] <- [
            Image(Handle), Image(Sampler), Image(Coordinates), Image(Level), Image(Offsets), Image(Reference)
        ],
        FETCH,
        fields &[
            opt(Field::LevelOfDetail), req_of(Field::Geometry, all(Field::Geometry) & !Geometry::D3.bit()),
            FOUR_OR_PAIRS, TEXELS, FLOATING,
        ],
        rules DEPTH_RULES,
        since 50, later FETCH_LATER,
        cost Flat(24), rank 10, latency Memory, undef Mixing;

    /// One component of each of the four texels that a linear filter would mix.
    Tld4 "tld4" "tld4": [V, P] <- [Image(Handle), Image(Sampler), Image(Coordinates), Image(Offsets)], FETCH,
        fields &[req(Field::Component), GATHERED, FOUR, ty(bits!(Type: U32 | S32 | F32)), FLOATING], rules &[],
        since 50, later &[],
        cost Flat(24), rank 10, latency Memory, undef Mixing;

    /// The same, compared with a depth.
    Tld4Compare "tld4.compare" -:
        [V, P] <- [Image(Handle), Image(Sampler), Image(Coordinates), Image(Offsets), Image(Reference)], FETCH,
        fields &[req(Field::Component), GATHERED, FOUR, ty(bits!(Type: U32 | S32 | F32)), FLOATING], rules &[],
        since 50, later &[],
        cost Flat(24), rank 10, latency Memory, undef Mixing;

    /// Asks about a texture or a sampler.
    Txq "txq" "txq": [R] <- [Image(Handle)], FETCH,
        fields &[
            req_of(Field::ImageQuery, all(Field::ImageQuery) & !ImageQuery::MemoryLayout.bit()),
            ty(bits!(Type: B32)),
        ],
        rules &[],
        since 50, later &[],
        cost Flat(20), rank 10, latency Memory, undef Mixing;

    /// Asks about a level of a texture.
    TxqLevel "txq.level" "txq.level": [R] <- [Image(Handle), R], FETCH,
        fields &[req_of(Field::ImageQuery, SIZES), ty(bits!(Type: B32))], rules &[],
        since 50, later &[],
        cost Flat(20), rank 10, latency Memory, undef Mixing;

    /// Asks about a surface.
    Suq "suq" "suq": [R] <- [Image(Handle)], FETCH,
        fields &[
            req_of(Field::ImageQuery, COMMON_QUERIES | ImageQuery::MemoryLayout.bit()), ty(bits!(Type: B32)),
        ],
        rules &[],
        since 50, later &[],
        cost Flat(20), rank 10, latency Memory, undef Mixing;

    /// Whether a handle is one of a texture, a sampler or a surface.
    IsTypeP "istypep" "istypep": [P] <- [D], ADDRESS,
        fields &[ty(bits!(Type: TexRef | SamplerRef | SurfRef))], rules &[],
        since 50, later &[],
        cost Flat(10), rank 10, latency Variable, undef Mixing;

    /// Loads bytes of a surface; the first coordinate counts bytes.
    Suld "suld" "suld.b": [V] <- [Image(Handle), Image(Coordinates)], FETCH.or(WIDER),
        fields &[
            SURFACE, opt_of(Field::CacheOp, bits!(CacheOp: Ca | Cg | Cs | Cv)), SURFACE_VECTOR, SURFACE_TYPES, BEYOND,
        ],
        rules SURFACE_RULES,
        since 50, later &[],
        cost Flat(22), rank 10, latency Memory, undef Copying;

    /// Stores bytes to a surface.
    Sust "sust" "sust.b": [] <- [Image(Handle), Image(Coordinates), V], STORE.or(Flags::IMAGE).or(WIDER),
        fields &[SURFACE, TO_SURFACE, SURFACE_VECTOR, SURFACE_TYPES, BEYOND], rules SURFACE_RULES,
        since 50, later &[],
        cost Flat(18), rank 10, latency Memory, undef Nothing;

    /// Stores components of a texel, converted to the surface's format; the first coordinate counts texels.
    SustP "sust.p" "sust.p": [] <- [Image(Handle), Image(Coordinates), V], STORE.or(Flags::IMAGE),
        fields &[SURFACE, TO_SURFACE, SURFACE_VECTOR, ty(bits!(Type: B32)), BEYOND], rules &[],
        since 50, later &[],
        cost Flat(18), rank 10, latency Memory, undef Nothing;

    /// Combines bytes of a surface with a value.
    Sured "sured" "sured.b": [] <- [Image(Handle), Image(Coordinates), T], ATOMIC.or(Flags::IMAGE),
        fields &[REDUCTIONS, REDUCED, ty(bits!(Type: B32 | U32 | S32 | U64 | S64)), BEYOND],
        rules &[
            when(Field::AtomOp, bits!(AtomOp: And | Or), Field::Type, bits!(Type: B32)),
            when(Field::AtomOp, bits!(AtomOp: Add), Field::Type, bits!(Type: U32 | S32 | U64)),
            when(Field::AtomOp, bits!(AtomOp: Min | Max), Field::Type, bits!(Type: U32 | S32 | U64 | S64)),
        ],
        since 50, later &[],
        cost Flat(18), rank 10, latency Memory, undef Nothing;

    /// Combines a texel of a surface with a value; the surface's format says how it is read.
    SuredP "sured.p" "sured.p": [] <- [Image(Handle), Image(Coordinates), T], ATOMIC.or(Flags::IMAGE),
        fields &[REDUCTIONS, REDUCED, ty(bits!(Type: B32 | B64)), BEYOND],
        rules &[when(Field::Type, Type::B64.bit(), Field::AtomOp, bits!(AtomOp: Min | Max))],
        since 50, later &[],
        cost Flat(18), rank 10, latency Memory, undef Nothing;
    } } };
}
pub(in crate::ops) use image_rows;
