//! Operations over the 32 lanes of a warp, written so that the compiler makes vectors of them.

/// A word of each lane.
pub type Lanes = [u32; 32];

/// How many lanes a warp has.
pub const LANES: usize = 32;

/// The lanes of a mask, lowest first.
pub fn set(mask: u32) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let lane = left.trailing_zeros();
        left &= left.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}

/// A function of each lane's word.
#[inline(always)]
pub fn map(a: &Lanes, f: impl Fn(u32) -> u32) -> Lanes {
    std::array::from_fn(|lane| f(a[lane]))
}

/// A function of two words of each lane.
#[inline(always)]
pub fn map2(a: &Lanes, b: &Lanes, f: impl Fn(u32, u32) -> u32) -> Lanes {
    std::array::from_fn(|lane| f(a[lane], b[lane]))
}

/// A function of three words of each lane.
#[inline(always)]
pub fn map3(a: &Lanes, b: &Lanes, c: &Lanes, f: impl Fn(u32, u32, u32) -> u32) -> Lanes {
    std::array::from_fn(|lane| f(a[lane], b[lane], c[lane]))
}

/// The mask of lanes of which something holds.
#[inline(always)]
pub fn mask(holds: impl Fn(usize) -> bool) -> u32 {
    (0..LANES).fold(0, |mask, lane| mask | u32::from(holds(lane)) << lane)
}

/// Writes the lanes of a mask.
#[inline(always)]
pub fn blend(to: &mut Lanes, from: &Lanes, mask: u32) {
    if mask == u32::MAX {
        *to = *from;
    } else {
        for lane in 0..LANES {
            let keep = (mask >> lane & 1).wrapping_sub(1);
            to[lane] = to[lane] & keep | from[lane] & !keep;
        }
    }
}
