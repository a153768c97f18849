//! What runs the checks: campaigns, the bodies of fuzz targets, the self-test.

pub mod campaign;
pub mod hostile;
pub mod selftest;
pub mod targets;
