//! Tests over the whole table: every register-only row resolves and runs.
