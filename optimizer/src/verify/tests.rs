//! Each rule has functions that break it alone.
