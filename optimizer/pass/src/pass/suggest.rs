//! Near matches for a misspelt name: what an "unknown knob" or "unknown phase" message offers instead.
//!
//! Case is ignored. A candidate is near when it contains the name, is contained in it, or lies within an edit
//! distance of a third of the name's length. Cost: candidates × length², on the error path only.

/// At most this many names are offered.
const OFFERED: usize = 4;

/// No name in any table is nearly this long; a longer one gets no suggestions rather than quadratic work.
const LONGEST: usize = 96;

/// The candidates nearest to `name`, nearest first, ties in the order given.
pub fn near(name: &str, candidates: impl IntoIterator<Item = &'static str>) -> Vec<&'static str> {
    if name.len() > LONGEST {
        return Vec::new();
    }
    let name = name.to_ascii_lowercase();
    let mut ranked: Vec<(usize, &'static str)> =
        candidates.into_iter().filter_map(|c| Some((rank(&name, &c.to_ascii_lowercase())?, c))).collect();
    ranked.sort_by_key(|&(rank, _)| rank);
    ranked.dedup();
    ranked.truncate(OFFERED);
    ranked.into_iter().map(|(_, c)| c).collect()
}

/// The tail of a message: ` (did you mean a, b?)`, or nothing.
pub fn hint(suggestions: &[&str]) -> String {
    if suggestions.is_empty() {
        return String::new();
    }
    format!(" (did you mean {}?)", suggestions.join(", "))
}

/// How far apart two lower-case names are, or `None` when they are not near at all.
fn rank(name: &str, candidate: &str) -> Option<usize> {
    let distance = edit_distance(name.as_bytes(), candidate.as_bytes());
    let contained = name.len() >= 4 && (candidate.contains(name) || name.contains(candidate));
    (distance <= (name.len() / 3).max(1) || contained).then_some(distance)
}

/// Levenshtein distance, with one row of the table kept.
fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance_counts_single_edits() {
        assert_eq!(edit_distance(b"kitten", b"sitting"), 3);
        assert_eq!(edit_distance(b"", b"abc"), 3);
        assert_eq!(edit_distance(b"abc", b"abc"), 0);
    }

    #[test]
    fn nearest_name_comes_first_and_strangers_stay_out() {
        let names = ["CopyPropBudget", "BackCopyPropBudget", "ForceLateCommoning"];
        assert_eq!(near("copypropbudgt", names), ["CopyPropBudget"]);
        assert_eq!(near("CopyPropBudget", names), ["CopyPropBudget", "BackCopyPropBudget"]);
        assert!(near("zzz", names).is_empty());
    }

    #[test]
    fn an_overlong_name_is_answered_without_work() {
        assert!(near(&"CopyProp".repeat(1000), ["CopyPropBudget"]).is_empty());
    }

    #[test]
    fn the_hint_is_empty_without_suggestions() {
        assert_eq!(hint(&[]), "");
        assert_eq!(hint(&["a", "b"]), " (did you mean a, b?)");
    }
}
