use super::*;

#[test]
fn the_built_in_rules_are_right() {
    if let Err(error) = RuleSet::parse_all(&RuleSet::builtin_sources()) {
        panic!("\n{}", error.lines());
    }
}
