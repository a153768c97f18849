//! What every target's glue has in common.

/// Calls a target's body; with the feature `canary`, with its fault planted.
pub fn run(body: fn(&[u8]) -> bool, data: &[u8]) {
    if cfg!(feature = "canary") {
        oriole_oracles::targets::canary::with(|| body(data));
    } else {
        body(data);
    }
}
