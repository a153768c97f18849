//! The driver's tables of textures, samplers and surfaces, which code reads to answer questions about them.
//!
//! A word of bank 0 has the address of each table; the number of a handle, times the size of an entry, is the place in
//! it. Which field is where was measured on what ptxas 13.0 makes of each question of PTX, for `sm_90` to `sm_120`.
//! Textures have other fields where samplers are apart from them.

use oriole_interp::{HANDLE_WINDOW, Images};
use oriole_ir::ops::ImageQuery;
use oriole_sass::cubin::Cubin;

/// The bytes of an entry, which the loader tells code.
pub const ENTRY: u64 = 64;
/// The symbols by which code asks for that.
const SIZES: [&str; 4] = [
    ".nv.unified.texrefDescSize",
    ".nv.independent.texrefDescSize",
    ".nv.independent.samplerrefDescSize",
    ".nv.surfrefDescSize",
];
/// The distance of the tables.
pub const APART: u64 = 1 << 20;
/// How many tables there are.
pub const TABLES: u64 = 3;

/// A question, and where its answer is in an entry.
type Fields = &'static [(usize, ImageQuery)];

const UNIFIED: Fields = &[
    (0x0c, ImageQuery::AddrMode0),
    (0x10, ImageQuery::AddrMode1),
    (0x14, ImageQuery::AddrMode2),
    (0x18, ImageQuery::FilterMode),
    (0x1c, ImageQuery::NormalizedCoords),
    (0x20, ImageQuery::ChannelDataType),
    (0x24, ImageQuery::ChannelOrder),
    (0x28, ImageQuery::ArraySize),
    (0x2c, ImageQuery::NumMipmapLevels),
    (0x30, ImageQuery::NumSamples),
];
const TEXTURES: Fields = &[
    (0x0c, ImageQuery::NormalizedCoords),
    (0x10, ImageQuery::ChannelDataType),
    (0x14, ImageQuery::ChannelOrder),
    (0x18, ImageQuery::ArraySize),
    (0x1c, ImageQuery::NumMipmapLevels),
    (0x20, ImageQuery::NumSamples),
];
const SAMPLERS: Fields = &[
    (0x00, ImageQuery::AddrMode0),
    (0x04, ImageQuery::AddrMode1),
    (0x08, ImageQuery::AddrMode2),
    (0x0c, ImageQuery::FilterMode),
    (0x10, ImageQuery::ForceUnnormalizedCoords),
];
const SURFACES: Fields = &[
    (0x0c, ImageQuery::ChannelDataType),
    (0x10, ImageQuery::ChannelOrder),
    (0x14, ImageQuery::MemoryLayout),
    (0x1c, ImageQuery::ArraySize),
];

/// Whether a symbol is the size of an entry.
pub fn is_size(symbol: &str) -> bool {
    SIZES.contains(&symbol)
}

/// Whether code of a cubin takes textures with their samplers.
pub fn is_unified(cubin: &Cubin) -> bool {
    cubin.symbols.iter().any(|symbol| symbol.name == SIZES[0])
}

/// The tables, in the order in which bank 0 names them; none where there are no images.
pub fn tables(images: &Images, is_unified: bool) -> Vec<Vec<u8>> {
    let numbers = images.handles();
    let Some(last) = numbers.last() else { return Vec::new() };
    let textures = if is_unified { UNIFIED } else { TEXTURES };
    let table = |fields: Fields| {
        let mut bytes = vec![0; (u64::from(*last) + 1) as usize * ENTRY as usize];
        for number in &numbers {
            let entry = &mut bytes[*number as usize * ENTRY as usize..][..ENTRY as usize];
            for (at, query) in fields {
                let answer = images.answer(HANDLE_WINDOW + u64::from(*number), *query).unwrap_or(0);
                entry[*at..*at + 4].copy_from_slice(&answer.to_le_bytes());
            }
        }
        bytes
    };
    [textures, SAMPLERS, SURFACES].map(table).to_vec()
}
