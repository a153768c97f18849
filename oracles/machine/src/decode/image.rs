//! Fetches from textures, and accesses to bytes of surfaces.
//!
//! Where a word has its operands was measured on what ptxas 13.0 makes of PTX; `oriole_sass` says which registers the
//! mnemonic names.

use oriole_interp::{ImageAccess, ImageKind};
use oriole_ir::ops::{Geometry, LevelOfDetail, OutOfBounds, Type};
use oriole_sass::row::{File, What};

use crate::operands::{Operands, Unknown};
use crate::program::*;

/// The first bits of the operands.
const RESULTS: u8 = 16;
const LATER_RESULTS: u8 = 64;
const COORDINATES: u8 = 24;
const BESIDE: u8 = 32;
const HANDLE: u8 = 40;
const MASK: u8 = 72;
const BANK: u8 = 54;
/// The predicate that says whether something was missing.
const MISSING: u8 = 81;
/// Operands that a word splits equally are so many at most.
const MOST_SPLIT: usize = 4;
/// Components of a texel.
const COMPONENTS: u64 = 4;

/// The operation of a mnemonic of this family.
pub fn decode(base: &str, ops: &mut Operands<'_>) -> Option<Result<Kind, Unknown>> {
    let name = ops.inst.encoding.name;
    Some(match (base, name) {
        ("TEX", _) => fetch(ops, true),
        ("TLD", _) => fetch(ops, false),
        (_, "SULD.D") => surface(ops, ImageKind::Load),
        (_, "SUST.D") => surface(ops, ImageKind::Store),
        _ => return None,
    })
}

/// The place of an operand by its first bit.
fn at(ops: &Operands<'_>, low: u8) -> Option<usize> {
    (0..ops.len()).find(|at| ops.part(*at).is_ok_and(|part| part.at.low == low && !matches!(part.what, What::Name(_))))
}

/// A register by its first bit; none where it reads as zero, and beside the coordinates where it is not there.
fn register(ops: &Operands<'_>, low: u8) -> Result<Option<u16>, Unknown> {
    let Some(at) = at(ops, low) else { return Ok(None) };
    Ok(Some(ops.row(at)?).filter(|row| *row != ZERO))
}

/// Registers side by side.
fn run(first: Option<u16>, count: usize) -> Result<Vec<u16>, Unknown> {
    let Some(first) = first else { return Ok(vec![ZERO; count]) };
    match usize::from(first) + count <= usize::from(GENERAL) {
        true => Ok((first..).take(count).collect()),
        false => Err("registers behind the last one".to_owned()),
    }
}

/// Where the handle is, unless it is beside the coordinates.
fn handle(ops: &mut Operands<'_>) -> Result<Option<ImageHandle>, Unknown> {
    if let Some(bank) = at(ops, BANK) {
        let word = at(ops, HANDLE).ok_or("no place in the bank")?;
        let (bank, offset) = (ops.value(bank)? as u8, 4 * ops.value(word)?);
        return Ok(Some(ImageHandle::Word(ops.constant_at(bank, offset)?)));
    }
    let Some(place) = at(ops, HANDLE) else { return Ok(None) };
    if ops.part(place)?.what != What::Register(File::Ur) {
        return Err("a handle that is no register".to_owned());
    }
    let added = at(ops, 46).map(|at| ops.value(at)).transpose()?;
    if added.is_some_and(|added| added != 0) {
        return Err("a number that is added to a handle".to_owned());
    }
    Ok(Some(ImageHandle::Uniform(ops.row(place)?)))
}

/// Operands: results, coordinates, what is beside them, the handle, the shape, the mask.
fn fetch(ops: &mut Operands<'_>, floats: bool) -> Result<Kind, Unknown> {
    const SHAPES: &[(&str, Geometry)] = &[
        ("1D", Geometry::D1),
        ("2D", Geometry::D2),
        ("3D", Geometry::D3),
        ("CUBE", Geometry::Cube),
        ("ARRAY_1D", Geometry::A1d),
        ("ARRAY_2D", Geometry::A2d),
        ("ARRAY_CUBE", Geometry::Acube),
    ];
    let shape = ops.find(|what| matches!(what, What::Name(_))).ok_or("no shape")?;
    let What::Name(names) = ops.part(shape)?.what else { return Err("no shape".to_owned()) };
    let name = names.get(ops.value(shape)? as usize).copied().unwrap_or_default();
    let geometry = SHAPES.iter().find(|(shape, _)| *shape == name).ok_or("a shape")?.1;
    let coordinates = geometry.coordinates() + usize::from(geometry.is_array());
    let has_level = ops.has("LL");
    ops.has("LZ");
    ops.has("NODEP");
    let handle = handle(ops)?;
    let has_handle = handle.is_none() && ops.has("B");
    let has_offsets = ops.has("AOFFI");
    let beside = [has_handle, has_level, has_offsets].into_iter().filter(|is| *is).count();
    let (first, second) = (register(ops, COORDINATES)?, register(ops, BESIDE)?);
    let all = coordinates + beside;
    let before = if ops.has("SCR") && all <= MOST_SPLIT { all.div_ceil(2) } else { coordinates };
    let rows = [run(first, before)?, run(second, all - before)?].concat();
    let (coordinates, mut rest) = (rows[..coordinates].to_vec(), rows[coordinates..].iter().copied());
    let handle = handle.or_else(|| rest.next().filter(|_| has_handle).map(ImageHandle::Word)).ok_or("no handle")?;
    let levels = rest.next().filter(|_| has_level).into_iter().collect();
    let offsets = rest.next();
    let results = results(ops)?;
    let level = if has_level { LevelOfDetail::Level } else { LevelOfDetail::Implicit };
    let kind = ImageKind::Fetch(level);
    let access =
        ImageAccess { kind, geometry, ty: Type::B32, floats, beyond: OutOfBounds::Trap, results: COMPONENTS as usize };
    let missing = ops.pred_out(MISSING);
    Ok(Kind::Image(Box::new(ImageWord { access, handle, coordinates, levels, offsets, values: results, missing })))
}

/// Where each component of a texel goes: those that the mask has, the first two of them in the first place.
fn results(ops: &Operands<'_>) -> Result<Vec<u16>, Unknown> {
    let mask = at(ops, MASK).map_or(Ok(15), |at| ops.value(at))?;
    let wanted = mask.count_ones() as usize;
    let place = |low, count| match register(ops, low)? {
        None => Ok(vec![SINK; count]),
        some => run(some, count),
    };
    let first = place(RESULTS, wanted.min(2))?;
    let mut rows = first.into_iter().chain(place(LATER_RESULTS, wanted.saturating_sub(2))?);
    let row = |component: u64| if mask >> component & 1 == 1 { rows.next() } else { None };
    Ok((0..COMPONENTS).map(row).map(|row| row.unwrap_or(SINK)).collect())
}

/// Operands: result, coordinates in an address, value, handle.
fn surface(ops: &mut Operands<'_>, kind: ImageKind) -> Result<Kind, Unknown> {
    const SHAPES: &[(&str, Geometry)] = &[
        ("1D", Geometry::D1),
        ("2D", Geometry::D2),
        ("3D", Geometry::D3),
        ("1D_ARRAY", Geometry::A1d),
        ("2D_ARRAY", Geometry::A2d),
    ];
    const SIZES: &[(&str, (Type, usize))] = &[
        ("U8", (Type::B8, 1)),
        ("U16", (Type::B16, 1)),
        ("S8", (Type::S8, 1)),
        ("S16", (Type::S16, 1)),
        ("64", (Type::B32, 2)),
        ("128", (Type::B32, 4)),
    ];
    let geometry = ops.one_of(SHAPES).ok_or("a shape")?;
    let (ty, count) = ops.one_of(SIZES).unwrap_or((Type::B32, 1));
    if matches!(ty, Type::S8 | Type::S16) {
        return Err("a signed part of a word".to_owned());
    }
    ops.has("D");
    if !ops.has("BA") {
        return Err("a coordinate that counts elements".to_owned());
    }
    let beyond = match () {
        () if ops.has("IGN") => OutOfBounds::Zero,
        () if ops.has("TRAP") => OutOfBounds::Trap,
        () => OutOfBounds::Clamp,
    };
    let mut coordinates = run(register(ops, COORDINATES)?, geometry.coordinates() + usize::from(geometry.is_array()))?;
    // PTX names the layer first.
    if geometry.is_array() {
        coordinates.rotate_right(1);
    }
    let is_load = kind == ImageKind::Load;
    let place = register(ops, if is_load { RESULTS } else { BESIDE })?;
    let values = if is_load && place.is_none() { vec![SINK; count] } else { run(place, count)? };
    let handle = match handle(ops)? {
        Some(handle) => handle,
        None => ImageHandle::Word(register(ops, LATER_RESULTS)?.ok_or("no handle")?),
    };
    let access = ImageAccess { kind, geometry, ty, floats: false, beyond, results: if is_load { count } else { 0 } };
    let missing = if is_load { ops.pred_out(MISSING) } else { NOWHERE };
    Ok(Kind::Image(Box::new(ImageWord {
        access,
        handle,
        coordinates,
        levels: Vec::new(),
        offsets: None,
        values,
        missing,
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_sass::Table;

    /// The access of a word that ptxas has made.
    fn image(sm: u16, word: u128) -> ImageWord {
        let table = Table::of(sm).expect("it is known");
        let program = crate::decode::decode(table, &[word], vec![(0, "k".to_owned())], None);
        match &program.ops[0].kind {
            Kind::Image(word) => (**word).clone(),
            Kind::Unknown(why) => panic!("{why}"),
            _ => panic!("it is no image"),
        }
    }

    #[test]
    fn results_stand_side_by_side_as_the_mask_has_them() {
        // TLD.SCR.LZ RZ, R2, R5, R6, 0x0, 0x58, 2D, 0x5
        let word = image(80, 0x040f_c200_009e_05ff_3000_5806_0502_7b66);
        assert_eq!((word.coordinates, word.values), (vec![5, 6], vec![2, SINK, 3, SINK]));
        assert!(!word.access.floats && word.levels.is_empty() && word.offsets.is_none());
    }

    #[test]
    fn what_is_beside_the_coordinates_follows_them() {
        // TEX.SCR.LL R7, R10, R10, R16, 0x0, 0x58, ARRAY_2D, 0xd
        let word = image(80, 0x100f_4200_019e_0d07_b000_5810_0a0a_7b60);
        assert_eq!((word.coordinates, word.levels), (vec![10, 11, 16], vec![17]));
        assert_eq!(word.values, [10, SINK, 11, 7]);
        // TEX.LL R10, R8, R8, R11, UR4, 0x0, ARRAY_2D, 0xd
        let word = image(90, 0x000f_6200_099e_0d0a_a000_040b_0808_7f60);
        assert_eq!((word.coordinates, word.levels), (vec![8, 9, 10], vec![11]));
        assert_eq!(word.handle, ImageHandle::Uniform(UNIFORM + 4));
    }

    #[test]
    fn the_layer_of_a_surface_stands_last() {
        // SULD.D.BA.2D_ARRAY.64.STRONG.SM.TRAP R6, [R16], UR4, 0x0
        let word = image(90, 0x000f_6200_081e_ab00_9000_0400_1006_7f99);
        assert_eq!((word.coordinates, word.values), (vec![18, 16, 17], vec![6, 7]));
        assert_eq!((word.access.beyond, word.access.results), (OutOfBounds::Trap, 2));
        // SULD.D.BA.2D.U8.STRONG.SM R0, [R12], UR4, 0x0
        let word = image(90, 0x000f_6400_081e_a100_6800_0400_0c00_7f99);
        assert_eq!((word.coordinates, word.values), (vec![12, 13], vec![0]));
        assert_eq!((word.access.ty, word.access.beyond), (Type::B8, OutOfBounds::Clamp));
    }
}
