//! Fetches from textures, questions about images, and accesses to surfaces.
//!
//! Where a word has its operands was measured on what ptxas 13.0 makes of PTX; `oriole_sass` says which registers the
//! mnemonic names. Levels of places (`TMML`), formatted loads (`SULD.P`) and atomics with a result (`SUATOM`) are what
//! no PTX asks for, so they have no meaning here.

use oriole_interp::{ImageAccess, ImageKind};
use oriole_ir::ops::{AtomOp, Component, Geometry, ImageQuery, LevelOfDetail, OutOfBounds, Type};
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
/// The component that a gather is about.
const CHANNEL: u8 = 87;
/// The predicate that says whether something was missing.
const MISSING: u8 = 81;
/// Operands that a word splits equally are so many at most.
const MOST_SPLIT: usize = 4;
/// Components of a texel.
const COMPONENTS: u64 = 4;

/// Offsets of a fetch.
const OFFSETS: Offsets = Offsets { first: 0, apart: 4, bits: 4, has_layer: false };
/// Offsets of a gather.
const GATHER_OFFSETS: Offsets = Offsets { first: 0, apart: 8, bits: 6, has_layer: false };
/// Offsets of a fetch with derivatives, above a layer if there is one.
const OFFSETS_ABOVE: Offsets = Offsets { first: 16, apart: 4, bits: 4, has_layer: false };

/// The operation of a mnemonic of this family.
pub fn decode(base: &str, ops: &mut Operands<'_>) -> Option<Result<Kind, Unknown>> {
    let name = ops.inst.encoding.name;
    Some(match (base, name) {
        ("TEX", _) => fetch(ops, true),
        ("TLD", _) => fetch(ops, false),
        ("TLD4", _) => gather(ops),
        ("TXD", _) => derived(ops),
        ("TXQ", _) => question(ops),
        (_, "SULD.D") => bytes(ops, ImageKind::Load),
        (_, "SUST.D") => bytes(ops, ImageKind::Store),
        (_, "SUST.P") => texel(ops),
        (_, "SURED.D") => reduction(ops),
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

/// The shape of a texture.
fn shape(ops: &Operands<'_>) -> Result<Geometry, Unknown> {
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
    SHAPES.iter().find(|(shape, _)| *shape == name).map(|(_, shape)| *shape).ok_or_else(|| "a shape".to_owned())
}

/// How many registers the layer and the coordinates take.
fn count(geometry: Geometry) -> usize {
    geometry.coordinates() + usize::from(geometry.is_array())
}

/// The registers of a fetch: the layer and the coordinates, then the handle if a register has it, and so many more.
fn registers(
    ops: &mut Operands<'_>,
    coordinates: usize,
    more: usize,
) -> Result<(Vec<u16>, ImageHandle, std::vec::IntoIter<u16>), Unknown> {
    ops.has("NODEP");
    let handle = handle(ops)?;
    let has_handle = handle.is_none() && ops.has("B");
    let (first, second) = (register(ops, COORDINATES)?, register(ops, BESIDE)?);
    let all = coordinates + more + usize::from(has_handle);
    let before = if ops.has("SCR") && all <= MOST_SPLIT { all.div_ceil(2) } else { coordinates };
    let mut rows = [run(first, before)?, run(second, all - before)?].concat();
    let mut rest = rows.split_off(coordinates).into_iter();
    let own = if has_handle { rest.next().map(ImageHandle::Word) } else { None };
    Ok((rows, handle.or(own).ok_or("no handle")?, rest))
}

/// An access that yields a texel of words.
fn texel_of(kind: ImageKind, geometry: Geometry, floats: bool) -> ImageAccess {
    ImageAccess { kind, geometry, ty: Type::B32, floats, beyond: OutOfBounds::Trap, results: COMPONENTS as usize }
}

/// Operands: results, coordinates, what is beside them (the level, offsets, a depth), the handle, the shape, the mask.
fn fetch(ops: &mut Operands<'_>, floats: bool) -> Result<Kind, Unknown> {
    let geometry = shape(ops)?;
    let has_level = ops.has("LL");
    ops.has("LZ");
    // Fetches by integers take the last level for one behind it.
    if !floats {
        ops.has("CL");
    }
    let (has_offsets, compares) = (ops.has("AOFFI"), floats && ops.has("DC"));
    let more = [has_level, has_offsets, compares].into_iter().filter(|is| *is).count();
    let (coordinates, handle, mut rest) = registers(ops, count(geometry), more)?;
    let levels = if has_level { rest.next().into_iter().collect() } else { Vec::new() };
    let offsets = if has_offsets { rest.next().map(|row| (row, OFFSETS)) } else { None };
    let reference = if compares { rest.next() } else { None };
    let level = if has_level { LevelOfDetail::Level } else { LevelOfDetail::Implicit };
    let access = texel_of(ImageKind::Fetch(level), geometry, floats);
    let (values, missing) = (results(ops)?, ops.pred_out(MISSING));
    Ok(Kind::Image(Box::new(ImageWord { access, handle, coordinates, levels, offsets, reference, values, missing })))
}

/// The same of a gather, which has no level, and says of which component the four texels are.
fn gather(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    const COMPONENTS: &[(&str, Component)] =
        &[("R", Component::R), ("G", Component::G), ("B", Component::B), ("A", Component::A)];
    let geometry = shape(ops)?;
    let parts = &ops.inst.encoding.parts;
    let channel = parts.iter().find(|part| part.at.low == CHANNEL).and_then(|part| part.name(ops.inst.word));
    let component = COMPONENTS.iter().find(|(name, _)| Some(*name) == channel).ok_or("a component")?.1;
    COMPONENTS.iter().filter(|(name, _)| Some(*name) == channel).for_each(|(name, _)| _ = ops.has(name));
    let (has_offsets, compares) = (ops.has("AOFFI"), ops.has("DC"));
    let more = [has_offsets, compares].into_iter().filter(|is| *is).count();
    let (coordinates, handle, mut rest) = registers(ops, count(geometry), more)?;
    let offsets = if has_offsets { rest.next().map(|row| (row, GATHER_OFFSETS)) } else { None };
    let reference = if compares { rest.next() } else { None };
    let access = texel_of(ImageKind::Gather(component), geometry, true);
    let (values, missing) = (results(ops)?, ops.pred_out(MISSING));
    let levels = Vec::new();
    Ok(Kind::Image(Box::new(ImageWord { access, handle, coordinates, levels, offsets, reference, values, missing })))
}

/// The same with derivatives. Operands: results, the handle if a register has it, the coordinates and behind them the
/// layer with offsets above it; then for each coordinate what it differs by along both directions of a quad.
fn derived(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let geometry = shape(ops)?;
    ops.has("NODEP");
    let (has_offsets, axes) = (ops.has("AOFFI"), geometry.coordinates());
    let has_layer = geometry.is_array();
    let handle = handle(ops)?;
    let has_handle = handle.is_none() && ops.has("B");
    let before = usize::from(has_handle) + axes + usize::from(has_layer || has_offsets);
    let mut rows = run(register(ops, COORDINATES)?, before)?.into_iter();
    let own = if has_handle { rows.next().map(ImageHandle::Word) } else { None };
    let mut coordinates: Vec<u16> = rows.by_ref().take(axes).collect();
    let behind = rows.next();
    if has_layer {
        coordinates.insert(0, behind.ok_or("no layer")?);
    }
    let offsets = behind.filter(|_| has_offsets).map(|row| (row, Offsets { has_layer, ..OFFSETS_ABOVE }));
    let changes = run(register(ops, BESIDE)?, 2 * axes)?;
    // PTX names those along one direction first.
    let levels = [0, 1].iter().flat_map(|from| changes.iter().copied().skip(*from).step_by(2)).collect();
    let access = texel_of(ImageKind::Fetch(LevelOfDetail::Grad), geometry, true);
    let (values, missing) = (results(ops)?, ops.pred_out(MISSING));
    let handle = handle.or(own).ok_or("no handle")?;
    let reference = None;
    Ok(Kind::Image(Box::new(ImageWord { access, handle, coordinates, levels, offsets, reference, values, missing })))
}

/// An extent of a level. Operands: the result, the handle if a register has it and the level, the question, the mask of
/// extents, of which one is asked for.
fn question(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    const EXTENTS: [(u64, ImageQuery); 3] = [(1, ImageQuery::Width), (2, ImageQuery::Height), (4, ImageQuery::Depth)];
    ops.has("NODEP");
    let asked = ops.find(|what| matches!(what, What::Name(_))).ok_or("no question")?;
    if ops.value(asked)? != 0 {
        return Err("a question about something else than extents".to_owned());
    }
    let mask = at(ops, MASK).map_or(Ok(15), |at| ops.value(at))?;
    let query = EXTENTS.iter().find(|(bit, _)| *bit == mask).ok_or("several extents at once, or none")?.1;
    let handle = handle(ops)?;
    let has_handle = handle.is_none() && ops.has("B");
    let mut rows = run(register(ops, COORDINATES)?, 1 + usize::from(has_handle))?.into_iter();
    let own = if has_handle { rows.next().map(ImageHandle::Word) } else { None };
    let kind = ImageKind::Query(query);
    let access = ImageAccess { results: 1, ..texel_of(kind, Geometry::D1, false) };
    Ok(Kind::Image(Box::new(ImageWord {
        access,
        handle: handle.or(own).ok_or("no handle")?,
        coordinates: Vec::new(),
        levels: rows.collect(),
        offsets: None,
        reference: None,
        values: vec![register(ops, RESULTS)?.unwrap_or(SINK)],
        missing: NOWHERE,
    })))
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

/// Bytes of a row. Operands: result, coordinates in an address, value, handle.
fn bytes(ops: &mut Operands<'_>, kind: ImageKind) -> Result<Kind, Unknown> {
    const SIZES: &[(&str, (Type, usize))] = &[
        ("U8", (Type::B8, 1)),
        ("U16", (Type::B16, 1)),
        ("S8", (Type::S8, 1)),
        ("S16", (Type::S16, 1)),
        ("64", (Type::B32, 2)),
        ("128", (Type::B32, 4)),
    ];
    let (ty, count) = ops.one_of(SIZES).unwrap_or((Type::B32, 1));
    if matches!(ty, Type::S8 | Type::S16) {
        return Err("a signed part of a word".to_owned());
    }
    if !ops.has("BA") {
        return Err("a coordinate that counts elements".to_owned());
    }
    surface(ops, kind, ty, count)
}

/// A whole texel, a register for each component. Operands: coordinates in an address, values, handle.
fn texel(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let count = ops.one_of(&[("R", 1), ("RG", 2)]).unwrap_or(COMPONENTS as usize);
    ops.has("P");
    surface(ops, ImageKind::StoreTexel, Type::B32, count)
}

/// A word, or a texel of one component, combined with a value. Operands: coordinates in an address, value, handle.
fn reduction(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    const OPERATIONS: &[(&str, AtomOp)] = &[
        ("ADD", AtomOp::Add),
        ("MIN", AtomOp::Min),
        ("MAX", AtomOp::Max),
        ("AND", AtomOp::And),
        ("OR", AtomOp::Or),
        ("XOR", AtomOp::Xor),
    ];
    // `SD32` says nothing of the sign: the format of the texels does.
    const TYPES: &[(&str, Type)] =
        &[("S32", Type::S32), ("U64", Type::U64), ("S64", Type::S64), ("SD32", Type::B32), ("SD64", Type::B64)];
    let op = ops.one_of(OPERATIONS).ok_or("an operation")?;
    let of_bytes = ops.has("BA");
    // A sum has no sign, so texels need no type for it.
    let is_order = matches!(op, AtomOp::Min | AtomOp::Max);
    let usual = if of_bytes || is_order { Type::U32 } else { Type::B32 };
    let ty = ops.one_of(TYPES).unwrap_or(usual);
    if of_bytes == matches!(ty, Type::B32 | Type::B64) {
        return Err("a type that does not fit the coordinate".to_owned());
    }
    let kind = if of_bytes { ImageKind::Reduce(op) } else { ImageKind::ReduceTexel(op) };
    surface(ops, kind, ty, ty.bits() as usize / 32)
}

/// An access to a surface, of so many registers.
fn surface(ops: &mut Operands<'_>, kind: ImageKind, ty: Type, count: usize) -> Result<Kind, Unknown> {
    const SHAPES: &[(&str, Geometry)] = &[
        ("1D", Geometry::D1),
        ("2D", Geometry::D2),
        ("3D", Geometry::D3),
        ("1D_ARRAY", Geometry::A1d),
        ("2D_ARRAY", Geometry::A2d),
    ];
    let geometry = ops.one_of(SHAPES).ok_or("a shape")?;
    ops.has("D");
    let beyond = match () {
        () if ops.has("IGN") => OutOfBounds::Zero,
        () if ops.has("TRAP") => OutOfBounds::Trap,
        () => OutOfBounds::Clamp,
    };
    let mut coordinates = run(register(ops, COORDINATES)?, self::count(geometry))?;
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
    let (levels, offsets, reference) = (Vec::new(), None, None);
    Ok(Kind::Image(Box::new(ImageWord { access, handle, coordinates, levels, offsets, reference, values, missing })))
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

    #[test]
    fn derivatives_are_those_of_each_coordinate_in_turn() {
        // TXD.B R18, R16, R8, R28, 2D
        let word = image(80, 0x1001_4200_001e_0f12_2800_001c_0810_736d);
        assert_eq!((word.handle, word.coordinates), (ImageHandle::Word(8), vec![9, 10]));
        assert_eq!((word.levels, word.values), (vec![28, 30, 29, 31], vec![16, 17, 18, 19]));
        // TXD.AOFFI R14, R12, R8, R28, UR6, 0x0, ARRAY_2D: the layer is below the offsets.
        let word = image(90, 0x0223_6200_081e_1f0e_a000_061c_080c_8f6c);
        assert_eq!((word.coordinates, word.levels), (vec![10, 8, 9], vec![28, 30, 29, 31]));
        assert_eq!(word.offsets, Some((10, Offsets { has_layer: true, ..OFFSETS_ABOVE })));
    }

    #[test]
    fn gathers_have_offsets_and_depths_beside() {
        // TLD4.G.B.AOFFI.DC R30, R28, R2, R24, 2D
        let word = image(80, 0x000f_6400_009e_5f1e_2800_0018_021c_7364);
        assert_eq!((word.handle, word.coordinates), (ImageHandle::Word(24), vec![2, 3]));
        assert_eq!((word.offsets, word.reference), (Some((25, GATHER_OFFSETS)), Some(26)));
        assert_eq!(word.access.kind, ImageKind::Gather(Component::G));
        // TLD4.SCR.G.B R34, R32, R8, R24, 2D
        let word = image(80, 0x100f_4200_009e_0f22_3800_0018_0820_7364);
        assert_eq!((word.handle, word.coordinates), (ImageHandle::Word(24), vec![8, 9]));
    }

    #[test]
    fn questions_name_a_level_behind_the_handle() {
        // TXQ.B.NODEP RZ, R4, R24, TEX_HEADER_DIMENSION, 0x1
        let word = image(80, 0x044f_4200_0400_01ff_0800_0000_1804_7370);
        assert_eq!((word.handle, word.levels, word.values), (ImageHandle::Word(24), vec![25], vec![4]));
        assert_eq!(word.access.kind, ImageKind::Query(ImageQuery::Width));
    }

    #[test]
    fn texels_and_reductions_have_the_layer_last() {
        // SUST.P.2D_ARRAY.STRONG.SM.RG.IGN [R12], R4, R24
        let word = image(80, 0x0003_e200_0010_a318_8000_0004_0c00_799c);
        assert_eq!((word.handle, word.coordinates, word.values), (ImageHandle::Word(24), vec![14, 12, 13], vec![4, 5]));
        assert_eq!((word.access.kind, word.access.beyond), (ImageKind::StoreTexel, OutOfBounds::Zero));
        // SURED.D.BA.2D.ADD.STRONG.SYS.TRAP [R6], R4, R24
        let word = image(80, 0x0005_e200_0011_4118_7000_0004_0600_73a0);
        assert_eq!((word.access.kind, word.access.ty), (ImageKind::Reduce(AtomOp::Add), Type::U32));
    }
}
