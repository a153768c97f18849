//! What runs the checks: campaigns, the bodies of fuzz targets, the self-test.

pub mod allocator;
#[cfg(feature = "campaigns")]
pub mod campaign;
pub mod hostile;
#[cfg(feature = "campaigns")]
pub mod selftest;
pub mod targets;
