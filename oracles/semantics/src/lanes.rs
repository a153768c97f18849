//! The lanes of a warp.

/// Lanes of a warp.
pub const LANES: usize = 32;

/// One 32-bit word of each lane.
pub type Word = [u32; LANES];

/// A value for each lane. Unlike `std::array::from_fn` it becomes a loop within its caller, which is compiled for the
/// processor's vector width.
#[inline(always)]
pub fn by_lane<T: Copy + Default>(value: impl Fn(usize) -> T) -> [T; LANES] {
    let mut all = [T::default(); LANES];
    for (lane, place) in all.iter_mut().enumerate() {
        *place = value(lane);
    }
    all
}

/// The lanes of a mask, lowest first.
#[inline(always)]
pub fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        (lane < 32).then(|| {
            mask &= mask - 1;
            lane as usize
        })
    })
}
