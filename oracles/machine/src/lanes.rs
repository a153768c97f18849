//! Operations over the 32 lanes of a warp, written so that the compiler makes vectors of them.

#[cfg(target_arch = "x86_64")]
use oriole_semantics::processor::{Vectors, vectors};

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

/// Functions over lanes, compiled once as the target has it and once for wider vectors, and chosen by the processor.
macro_rules! versions {
    ($($(#[$doc:meta])* $name:ident, $wide:ident, $body:ident: ($($arg:ident: $ty:ty),*; $f:ty) -> $result:ty;)*) => {
        $(
            $(#[$doc])*
            #[inline(always)]
            pub fn $name($($arg: $ty,)* f: $f) -> $result {
                #[cfg(target_arch = "x86_64")]
                if vectors() >= Vectors::Avx2 {
                    // SAFETY: the features that this version is compiled for have just been detected.
                    return unsafe { $wide($($arg,)* f) };
                }
                $body($($arg,)* f)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
            fn $wide($($arg: $ty,)* f: $f) -> $result {
                $body($($arg,)* f)
            }
        )*
    };
}

versions! {
    /// A function of each lane's word.
    map, map_wide, map_body: (a: &Lanes; impl Fn(u32) -> u32) -> Lanes;
    /// A function of two words of each lane.
    map2, map2_wide, map2_body: (a: &Lanes, b: &Lanes; impl Fn(u32, u32) -> u32) -> Lanes;
    /// A function of three words of each lane.
    map3, map3_wide, map3_body: (a: &Lanes, b: &Lanes, c: &Lanes; impl Fn(u32, u32, u32) -> u32) -> Lanes;
    /// A function of each lane's number.
    each, each_wide, each_body: (; impl Fn(usize) -> u32) -> Lanes;
    /// The mask of lanes of which something holds.
    mask, mask_wide, mask_body: (; impl Fn(usize) -> bool) -> u32;
}

#[inline(always)]
fn map_body(a: &Lanes, f: impl Fn(u32) -> u32) -> Lanes {
    each_body(|lane| f(a[lane]))
}

#[inline(always)]
fn map2_body(a: &Lanes, b: &Lanes, f: impl Fn(u32, u32) -> u32) -> Lanes {
    each_body(|lane| f(a[lane], b[lane]))
}

#[inline(always)]
fn map3_body(a: &Lanes, b: &Lanes, c: &Lanes, f: impl Fn(u32, u32, u32) -> u32) -> Lanes {
    each_body(|lane| f(a[lane], b[lane], c[lane]))
}

/// A plain loop: iterators of arrays are not always inlined into it, and then it becomes no vector.
#[inline(always)]
pub fn each_body(f: impl Fn(usize) -> u32) -> Lanes {
    let mut result = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        result[lane] = f(lane);
        lane += 1;
    }
    result
}

#[inline(always)]
pub fn mask_body(f: impl Fn(usize) -> bool) -> u32 {
    let mut result = 0;
    let mut lane = 0;
    while lane < LANES {
        result |= u32::from(f(lane)) << lane;
        lane += 1;
    }
    result
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
