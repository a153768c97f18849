//! Pages: one file of HTML each, with its data, its style and its script, which loads nothing.
//!
//! Names and texts come from kernels, which are anybody's. They are in the page as JSON in a block that no script runs,
//! without a character that ends the block, and the script makes elements of them by `textContent` alone. A policy in
//! the page forbids to load anything, and to run any other script than those of the page, whose number it names.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use crate::record::Record;

/// The style of all pages.
const STYLE: &str = include_str!("page/style.css");

/// The parts of the viewer's script, in the order in which they need each other.
const VIEWER: [&str; 7] = [
    include_str!("page/dom.js"),
    include_str!("page/model.js"),
    include_str!("page/column.js"),
    include_str!("page/graph.js"),
    include_str!("page/difference.js"),
    include_str!("page/overview.js"),
    include_str!("page/viewer.js"),
];

/// The scripts of the page of a report.
const REPORT: [&str; 2] = [include_str!("page/dom.js"), include_str!("page/report.js")];

/// The page of the JSON of a command: a campaign, a list of findings, judged code, rules, a self-test. `kernels` has
/// the texts of reduced kernels by the identifiers of findings.
///
/// # Errors
///
/// A document that has no JSON.
pub fn report(
    command: &str,
    document: &impl Serialize,
    kernels: &BTreeMap<String, String>,
) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Data<'a, D> {
        report: &'a D,
        kernels: &'a BTreeMap<String, String>,
    }
    page(&format!("oriole {command}"), &Data { report: document, kernels }, &REPORT)
}

/// The page of a record.
///
/// # Errors
///
/// None that a record can cause: all of its values have JSON.
pub fn viewer(record: &Record) -> Result<String, serde_json::Error> {
    let name = record.kernels.first().map_or("no kernel", |kernel| &kernel.name);
    page(&format!("{name} · oriole explain"), record, &VIEWER)
}

/// A page with data and the scripts that show it.
fn page(title: &str, data: &impl Serialize, scripts: &[&str]) -> Result<String, serde_json::Error> {
    let data = in_script(&serde_json::to_string(data)?);
    let script = scripts.join("\n");
    let mut page = String::with_capacity(data.len() + script.len() + STYLE.len() + 1024);
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
    let head = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    let viewport = "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    let title = in_text(title);
    let policy = format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n");
    let written = write!(
        page,
        "{head}{policy}{viewport}<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <noscript>This page needs its own script; it loads nothing.</noscript>\n\
         <script id=\"data\" type=\"application/json\">{data}</script>\n<script>\n{script}</script>\n</body>\n</html>\n"
    );
    written.expect("writing to a string succeeds");
    Ok(page)
}

/// JSON as a script block may hold it: no character of it ends the block or begins a comment, and none is a line break
/// in one language alone.
fn in_script(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => write!(out, "\\u{:04x}", c as u32).expect("a string grows"),
            c => out.push(c),
        }
    }
    out
}

/// Text as HTML shows it.
fn in_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Kernel;

    #[test]
    fn hostile_names_end_no_block_and_read_back() {
        let hostile = "</script><script>alert(1)</script><!--\u{2028}&\"'";
        let kernel = Kernel { name: hostile.to_owned(), ..Kernel::default() };
        let record = Record { kernels: vec![kernel] };
        let page = viewer(&record).expect("it has JSON");
        let data = page.split("type=\"application/json\">").nth(1).expect("it has a block of data");
        let data = data.split("</script>").next().expect("the block ends");
        assert_eq!(serde_json::from_str::<Record>(data).expect("it is JSON"), record);
        assert_eq!(page.matches("alert(1)").count(), 2, "in the title and in the data");
        assert_eq!(page.matches("<script").count(), 2);
    }
}
