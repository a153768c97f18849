//! Tables of text: a heading, a rule, and rows whose columns line up.

use std::io::{self, Write};

use oriole_ir::diagnostics::escape::escaped;

use crate::paint;

/// Rows of cells under titles. Columns whose title begins with `>` are aligned to the right.
pub struct Table {
    titles: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(titles: &'static [&'static str]) -> Table {
        Table { titles, rows: Vec::new() }
    }

    /// Adds a row; it has a cell for each title. Names of files and rules are somebody else's, and may hold anything.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| escaped(&cell).into_owned()).collect());
    }

    /// Prints the table.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let titles: Vec<String> = self.titles.iter().map(|title| title.trim_start_matches('>').to_owned()).collect();
        let width = |column: usize| {
            let cells = self.rows.iter().chain([&titles]).filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..titles.len()).map(width).collect();
        self.print_row(out, &titles, &widths, false)?;
        let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        self.print_row(out, &rule, &widths, false)?;
        self.rows.iter().try_for_each(|row| self.print_row(out, row, &widths, true))
    }

    /// Verdicts have their colours where the row is no heading.
    fn print_row(&self, out: &mut dyn Write, cells: &[String], widths: &[usize], has_verdicts: bool) -> io::Result<()> {
        let mut line = String::new();
        for ((cell, width), title) in cells.iter().zip(widths).zip(self.titles) {
            let fill = " ".repeat(width - cell.chars().count().min(*width));
            line += if title.starts_with('>') { &fill } else { "" };
            line += &if has_verdicts && *title == "verdict" { paint::verdict(cell) } else { cell.clone() };
            line += if title.starts_with('>') { "" } else { &fill };
            line += "  ";
        }
        writeln!(out, "{}", line.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["name", ">count"]);
        table.row(["a".to_owned(), "1000".to_owned()]);
        table.row(["long name".to_owned(), "7".to_owned()]);
        let mut out = Vec::new();
        table.print(&mut out).expect("a vector takes everything");
        let text = "name       count\n---------  -----\na           1000\nlong name      7\n";
        assert_eq!(String::from_utf8_lossy(&out), text);
    }

    #[test]
    fn cells_hold_no_control_characters() {
        let mut table = Table::new(&["name"]);
        table.row(["a\u{1b}[31m".to_owned()]);
        let mut out = Vec::new();
        table.print(&mut out).expect("a vector takes everything");
        assert!(String::from_utf8_lossy(&out).ends_with("a\\u{1b}[31m\n"));
    }
}
