//! What special registers may hold in any launch: by the limits of CUDA, and by the directives of the function.

use oriole_ir::ops::SpecialReg;
use oriole_ir::sm::{MAX_CTA_EXTENT, MAX_GRID_EXTENT, MAX_THREADS_PER_CTA, WARP_SIZE};
use oriole_ir::{Function, FunctionKind};

/// The smallest and the largest value of a special register, where they are known.
pub(super) fn bounds(func: &Function, reg: SpecialReg) -> Option<(u64, u64)> {
    use SpecialReg::*;
    let most = |value: u32| Some((0, u64::from(value)));
    let extent = |axis: usize| {
        let (least, most) = cta_extent(func, axis);
        Some((u64::from(least), u64::from(most)))
    };
    match reg {
        TidX => most(cta_extent(func, 0).1 - 1),
        TidY => most(cta_extent(func, 1).1 - 1),
        TidZ => most(cta_extent(func, 2).1 - 1),
        NtidX => extent(0),
        NtidY => extent(1),
        NtidZ => extent(2),
        CtaidX => most(MAX_GRID_EXTENT[0] - 1),
        CtaidY => most(MAX_GRID_EXTENT[1] - 1),
        CtaidZ => most(MAX_GRID_EXTENT[2] - 1),
        NctaidX => Some((1, MAX_GRID_EXTENT[0].into())),
        NctaidY => Some((1, MAX_GRID_EXTENT[1].into())),
        NctaidZ => Some((1, MAX_GRID_EXTENT[2].into())),
        LaneId => most(WARP_SIZE - 1),
        _ => None,
    }
}

/// The least and the most threads of a CTA along an axis. The directives of an entry hold for it alone; device
/// functions run in launches of any kernel.
fn cta_extent(func: &Function, axis: usize) -> (u32, u32) {
    let limit = MAX_CTA_EXTENT[axis];
    let directive = |name: &str| {
        let entry = func.kind == FunctionKind::Entry;
        let found = func.directives.iter().find(|directive| directive.name == name).filter(|_| entry)?;
        // PTX ISA, "Performance-Tuning Directives": an extent that is not given is 1.
        let values = || found.values.iter().copied();
        Some((values().nth(axis).unwrap_or(1), values().fold(1, u64::saturating_mul)))
    };
    if let Some((exact, _)) = directive("reqntid") {
        let exact = u32::try_from(exact).unwrap_or(limit).clamp(1, limit);
        return (exact, exact);
    }
    // The directive limits the number of threads, however they are arranged.
    let threads = directive("maxntid").map_or(u64::from(MAX_THREADS_PER_CTA), |(_, threads)| threads);
    (1, u32::try_from(threads).unwrap_or(limit).clamp(1, limit))
}
