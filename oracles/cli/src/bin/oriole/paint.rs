//! Colour on standard output: where that is a terminal, and `NO_COLOR` is not set.

use console::Style;

/// Verdicts that are good, as every command writes them.
const GOOD: &[&str] = &["ok", "equal", "refined", "clean", "proved", "exhaustive", "fixed"];
/// Verdicts about which nothing is known, or little.
const OPEN: &[&str] =
    &["tested", "unknown", "vacuous", "inconclusive", "not judged", "open", "closed", "known", "refused", "-", ""];

/// A verdict in its colour.
pub fn verdict(word: &str) -> String {
    style(word).apply_to(word).to_string()
}

fn style(word: &str) -> Style {
    let is_open = OPEN.contains(&word) || word.starts_with("original ") || word == "out of steps";
    match () {
        () if GOOD.contains(&word) => Style::new().green(),
        () if is_open => Style::new().yellow(),
        () => Style::new().red().bold(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_have_three_colours_and_a_pipe_has_none() {
        let shown = |word: &str| style(word).force_styling(true).apply_to(word).to_string();
        assert_eq!(shown("proved"), "\u{1b}[32mproved\u{1b}[0m");
        assert_eq!(shown("original traps"), "\u{1b}[33moriginal traps\u{1b}[0m");
        assert_eq!(shown("mismatch"), "\u{1b}[31m\u{1b}[1mmismatch\u{1b}[0m");
        assert_eq!(style("mismatch").force_styling(false).apply_to("mismatch").to_string(), "mismatch");
    }
}
