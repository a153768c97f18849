//! Records of checks, and the page of them in a real browser.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use serde_json::Value;

use crate::chromium::Chromium;

/// A text that tries all that the text of a kernel may try: to end its block, to be markup, to be a handler.
const HOSTILE: &str = "</script><script>window.injected = 1</script><img src=x onerror=\"window.injected = 1\">\
                       <!--\u{2028}'\"><a href=\"javascript:window.injected=1\">&lt;b&gt;${window.injected=1}";

fn oriole(args: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oriole")).args(args).current_dir(folder).output().expect("the command starts")
}

/// Runs a command that must end with one of 0 and 1.
#[track_caller]
fn good(args: &[&str], folder: &Path) -> Output {
    let output = oriole(args, folder);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{args:?}: {:?}\n{said}", output.status);
    output
}

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/kernels").join(name)
}

/// The page of a kernel of the corpus.
fn page_of(kernel: &str, options: &[&str], folder: &Path) -> PathBuf {
    let (kernel, page) = (corpus(kernel), folder.join("page.html"));
    let [kernel, output] = [&kernel, &page].map(|path| path.to_str().expect("it is UTF-8"));
    good(&[&["explain", kernel, "-o", output], options].concat(), folder);
    page
}

fn record(args: &[&str], folder: &Path) -> Value {
    good(&[&["check", "--record", "record.json"], args].concat(), folder);
    let text = std::fs::read(folder.join("record.json")).expect("it was written");
    serde_json::from_slice(&text).expect("it is JSON")
}

#[test]
fn a_record_has_what_each_step_left_and_reads_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let kernel = corpus("divergence.ptx");
    let record = record(&[kernel.to_str().expect("it is UTF-8")], here);
    let kernel = &record["kernels"][0];
    let programs = kernel["programs"].as_array().expect("programs");
    let changed: Vec<&Value> =
        kernel["steps"].as_array().into_iter().flatten().filter(|step| step["changed"] == true).collect();
    assert!(changed.len() >= 2, "{changed:?}");
    let kept = programs.iter().filter(|program| program["kept"] == true).count();
    assert_eq!(kept, changed.len() + 1, "a program for each step that changed something, and the first");
    assert!(programs.iter().all(|program| program["executed"].as_u64() > Some(0)));
    // Each change is listed with its rule, and the rule has a reason.
    for step in changed.iter().filter(|step| step["rewrites"].as_u64() > Some(0)) {
        assert_eq!(step["changes"].as_array().map(Vec::len), step["rewrites"].as_u64().map(|count| count as usize));
        let reasons = step["rules"].as_array().into_iter().flatten().map(|rule| &rule["reason"]);
        assert!(reasons.clone().count() > 0 && reasons.clone().all(|reason| reason != ""), "{step}");
    }
    let blocks = kernel["blocks"].as_array().expect("blocks");
    assert!(blocks.iter().any(|block| block["branch"] == "varying"), "lanes part in this kernel");
    assert!(blocks.iter().any(|block| block["header"].is_string()), "it has a loop");
    let from_kernel = good(&["explain", &kernel["name"].to_string().replace('"', "")], here).stdout;
    let from_record = good(&["explain", "record.json"], here).stdout;
    // Times differ.
    let without_times = |page: Vec<u8>| {
        let page = String::from_utf8(page).expect("it is UTF-8");
        let parts: Vec<&str> = page.split("\"microseconds\":").collect();
        parts.iter().map(|part| part.trim_start_matches(|digit: char| digit.is_ascii_digit())).collect::<String>()
    };
    assert!(without_times(from_kernel) == without_times(from_record), "both ways make the same page");
}

/// Behind the last phase are the instructions that are selected, the same with registers, and the words.
#[test]
fn a_record_of_our_code_ends_with_its_words() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kernel = corpus("saxpy.ptx");
    let kernel = kernel.to_str().expect("it is UTF-8");
    let record = record(&[kernel, "--compile", "sm_90", "--compile-level", "0,3"], folder.path());
    assert_eq!(record["kernels"].as_array().map(Vec::len), Some(2), "one for each way to compile");
    for kernel in record["kernels"].as_array().into_iter().flatten() {
        let programs = kernel["programs"].as_array().expect("programs");
        let titles: Vec<&str> = programs.iter().filter_map(|program| program["title"].as_str()).collect();
        assert!(titles.ends_with(&["selection", "allocation", "machine words"]), "{titles:?}");
        let words = &programs[programs.len() - 1];
        // 1,000 of 1,024 threads are within the bounds, and each executes its words once.
        let block = |at: &Value| &kernel["blocks"][at.as_u64().expect("a number") as usize];
        let blocks: Vec<&Value> = words["functions"][0]["blocks"].as_array().into_iter().flatten().map(block).collect();
        let threads = blocks.iter().filter_map(|block| block["threads"].as_array()).flatten();
        let counts: Vec<u64> = threads.filter_map(Value::as_u64).collect();
        assert!(counts.contains(&1024) && counts.contains(&1000), "{counts:?}");
        let is_noted =
            |block: &&Value| block["notes"].as_array().map(Vec::len) == block["instructions"].as_array().map(Vec::len);
        let count: usize = blocks.iter().filter_map(|block| block["notes"].as_array()).map(Vec::len).sum();
        let notes = blocks.iter().filter_map(|block| block["notes"].as_array()).flatten();
        let distinct: BTreeSet<u64> = notes.filter_map(Value::as_u64).collect();
        assert!(blocks.iter().all(is_noted), "each word has its bits beside it");
        assert_eq!(distinct.len(), count, "each word is there once: its address is beside it");
        assert!(blocks.iter().any(|block| block["lines"][0].as_u64() > Some(0)), "words have lines of PTX");
    }
}

#[test]
fn what_is_no_record_is_refused_with_its_place() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let kernel = corpus("saxpy.ptx");
    let record = record(&[kernel.to_str().expect("it is UTF-8")], here);
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut record = record.clone();
        change(&mut record);
        std::fs::write(here.join("wrong.json"), record.to_string()).expect("the folder is writable");
        let output = oriole(&["explain", "wrong.json", "-o", "wrong.html"], here);
        assert_eq!(output.status.code(), Some(2));
        assert!(!here.join("wrong.html").exists());
        String::from_utf8_lossy(&output.stderr).replace("\n  │", "").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let kernel = |record: &mut Value, field: &str| record["kernels"][0][field].take();
    assert!(refused(&|it| it["version"] = 9.into()).contains("a record of version 9, and version 1 is known"));
    assert!(refused(&|it| it["command"] = "run".into()).contains("it is the JSON of `run`"));
    assert!(refused(&|it| _ = kernel(it, "texts")).contains("invalid type: null"));
    assert!(refused(&|it| it["kernels"][0]["texts"] = Value::Array(Vec::new())).contains("has no text "));
    assert!(
        refused(&|it| it["kernels"][0]["programs"][0]["functions"][0]["blocks"][0] = 9999.into())
            .contains("has no block 9999")
    );
    assert!(
        refused(&|it| it["kernels"][0]["blocks"][0]["lines"] = serde_json::json!([1, 2]))
            .contains("another number of lines")
    );
    assert!(refused(&|it| it["kernels"][0]["programs"][1]["step"] = 9999.into()).contains("has no step 9999"));
}

#[test]
fn clicks_highlight_in_all_columns_and_keys_do_what_clicks_do() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = page_of("saxpy.ptx", &["--compile", "sm_90", "--compile-level", "3"], folder.path());
    let Some(browser) = Chromium::start(1280, 900) else { return };
    browser.open(&page);
    let columns = browser.value("[...document.querySelectorAll('.column .title')].map((title) => title.textContent)");
    let columns: Vec<&str> = columns.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    assert_eq!((columns[0], columns[1], columns[columns.len() - 1]), ("PTX", "as given", "machine words"));
    // A value that several columns have.
    browser.value("viewer.overview.setAttribute('hidden', '')");
    browser.value("viewer.reveal(viewer.views.find((view) => view.column.title === 'cgscc').column)");
    browser.wait_for("document.querySelector('.column.current .row.inst .value')");
    browser.click(".column.current .row.inst .value");
    browser.wait_for("document.querySelectorAll('.column .chosen').length > 0");
    let lit =
        "new Set([...document.querySelectorAll('.chosen')].map((part) => part.closest('.column').dataset.column)).size";
    assert!(browser.value(lit).as_u64() >= Some(2), "the value is highlighted in several columns");
    assert_eq!(
        browser.value("new Set([...document.querySelectorAll('.chosen')].map((part) => part.textContent)).size"),
        1
    );
    assert!(browser.value("document.querySelectorAll('.row.live').length").as_u64() > Some(0), "where it is live");
    // The same line of PTX, and what is known of it.
    assert!(
        browser
            .value("document.querySelector('.panel.open').textContent")
            .as_str()
            .is_some_and(|text| text.contains("of the PTX"))
    );
    browser.press("\u{e00c}");
    browser.wait_for("document.querySelectorAll('.chosen').length === 0");
    // By keyboard: down to an instruction, and Enter chooses its first name.
    browser.value("viewer.views[3].scroller.focus()");
    browser.press("\u{e015}\u{e015}\u{e015}\u{e015}\u{e015}\u{e015}\u{e015}\u{e007}");
    browser.wait_for("document.querySelectorAll('.chosen').length > 0");
    let before = browser.value("document.activeElement.closest('.column').dataset.column");
    browser.press("\u{e014}");
    assert_ne!(browser.value("document.activeElement.closest('.column').dataset.column"), before);
    assert!(browser.value("document.querySelectorAll('.row.cursor').length").as_u64() > Some(0));
    assert_eq!(browser.errors(), [""; 0]);
}

#[test]
fn search_finds_and_columns_are_compared() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = page_of("reduce_warp.ptx", &[], folder.path());
    let Some(browser) = Chromium::start(1280, 900) else { return };
    browser.open(&page);
    browser.press("/");
    browser.press("shfl");
    browser.wait_for("/^1 of [0-9]+$/.test(viewer.hits.textContent)");
    browser.press("\u{e007}");
    browser.wait_for("viewer.hits.textContent.startsWith('2 of')");
    browser.wait_for("document.querySelector('.row.found .code').textContent.includes('shfl')");
    browser.value("viewer.search.value = 'no such text', viewer.find()");
    assert_eq!(browser.value("viewer.hits.textContent"), "nothing found");
    browser.value("document.activeElement.blur()");
    browser.press("d");
    browser.wait_for("document.querySelector('dialog.difference').open");
    // The first two columns that differ: in between what is equal is folded.
    browser.value("viewer.difference.open(viewer.kernel.columns[2], viewer.kernel.columns[3])");
    assert!(browser.value("document.querySelectorAll('.pair .new, .pair .gone').length").as_u64() > Some(0));
    let shown = "viewer.difference.lines.flatMap((line) => line.fold ?? [line])";
    for (side, column) in [("left", 2), ("right", 3)] {
        let lines = format!("{shown}.map((line) => line.{side}?.text).filter((text) => text !== undefined).join()");
        let rows = format!("viewer.kernel.columns[{column}].rows.map((row) => row.text).join()");
        assert_eq!(browser.value(&lines), browser.value(&rows), "a difference has all lines of both sides");
    }
    let equal = format!("{shown}.every((line) => line.differs || line.left.text === line.right.text)");
    assert_eq!(browser.value(&equal), true);
    browser.press("\u{e00c}");
    // Graph and pressure.
    browser.value("viewer.showGraph(viewer.kernel.columns[3])");
    let nodes = browser.value("document.querySelectorAll('.graph .node').length").as_u64();
    assert_eq!(nodes, browser.value("viewer.kernel.columns[3].program.functions[0].blocks.length").as_u64());
    assert_eq!(browser.value("document.querySelectorAll('.curve .line').length"), 1);
    browser.click(".graph .node");
    assert_eq!(browser.errors(), [""; 0]);
}

/// A newcomer is told which step made the kernel slower, and gets there by one click.
#[test]
fn the_overview_names_the_step_that_made_a_kernel_slower() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = page_of("saxpy.ptx", &["--passes", "break-crit-edges,function(gvn)"], folder.path());
    let Some(browser) = Chromium::start(1280, 900) else { return };
    browser.open(&page);
    let sentence = browser.value("document.querySelector('.sentence').textContent");
    assert!(
        sentence.as_str().is_some_and(|text| text.contains("More is executed behind break-crit-edges (+0.1 %)")),
        "{sentence}"
    );
    browser.click(".sentence a");
    browser.wait_for("document.querySelector('.column.current .title').textContent === 'break-crit-edges'");
    browser.wait_for("document.querySelector('.column.current .row.new')");
    browser.click(".column.current .row.new .code");
    let panel = browser.value("document.querySelector('.panel.open').textContent");
    assert!(panel.as_str().is_some_and(|text| text.contains("split-edge")), "the change has its rule: {panel}");
}

/// A kernel of 10,000 instructions in 500 blocks, of which phases change many.
fn large() -> String {
    let mut text = String::from(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry large(.param .u64 out)\n{\n\
         .reg .pred %p<501>;\n.reg .b32 %r<4>;\n.reg .b64 %d<3>;\nld.param.u64 %d1, [out];\nmov.u32 %r1, %tid.x;\n\
         mul.wide.u32 %d2, %r1, 4;\nadd.u64 %d1, %d1, %d2;\n\
         mov.u32 %r2, 1;\n",
    );
    for block in 0..500 {
        let bit = block % 5;
        write!(text, "and.b32 %r3, %r1, {};\nsetp.eq.u32 %p{block}, %r3, 0;\n@%p{block} bra $L{block};\n", 1 << bit)
            .expect("a string grows");
        for at in 0..17 {
            let line = match at % 4 {
                0 => format!("mul.lo.u32 %r2, %r2, {};\n", if block % 3 == 0 { 8 } else { 2 * at + 3 }),
                1 => "add.u32 %r2, %r2, %r1;\n".to_owned(),
                2 => format!("xor.b32 %r2, %r2, {};\n", block * 31 + at),
                _ => "add.u32 %r2, %r2, 0;\n".to_owned(),
            };
            text += &line;
        }
        writeln!(text, "$L{block}:").expect("a string grows");
    }
    text + "st.global.u32 [%d1], %r2;\nret;\n}\n"
}

#[test]
fn ten_thousand_instructions_open_in_under_two_seconds() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    std::fs::write(here.join("large.ptx"), large()).expect("the folder is writable");
    std::fs::write(here.join("large.launch.toml"), "grid = 1\nblock = 32\n[[arg]]\nname = \"out\"\nzeroed = 128\n")
        .expect("the folder is writable");
    good(&["explain", "large.ptx", "-o", "large.html", "--randoms", "0"], here);
    let Some(browser) = Chromium::start(1280, 900) else { return };
    // Once for a browser that is just up, and then as a reader has it; other builds may run beside.
    let seconds: Vec<f64> = (0..3)
        .map(|_| {
            let start = Instant::now();
            browser.open(&here.join("large.html"));
            browser.wait_for("document.querySelectorAll('.column .row.inst').length > 20");
            start.elapsed().as_secs_f64()
        })
        .collect();
    let most = browser.value(
        "Math.max(...viewer.kernel.columns.filter((column) => column.program).map((column) => column.rows.length))",
    );
    assert!(most.as_u64() >= Some(10_000), "{most} rows");
    assert!(browser.value("viewer.kernel.columns.length").as_u64() >= Some(5));
    let best = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(best < 2.0, "it took {seconds:?} s");
    println!("{most} rows in the longest column, open in {best:.2} s");
    // Far down, and elsewhere.
    browser.value("viewer.views[2].scrollTo(9000)");
    browser.wait_for("[...viewer.views[2].list.children].some((row) => row.dataset.row === '9000')");
    assert!(
        browser.value("document.querySelectorAll('*').length").as_u64() < Some(20_000),
        "elements are made as they are seen"
    );
    browser.value("viewer.difference.open(viewer.kernel.columns[2], viewer.kernel.columns[3])");
    browser.wait_for("document.querySelectorAll('.row.pair').length > 10");
}

/// Every text of a record, as a hostile one has it.
fn poison(value: &mut Value, key: &str) {
    match value {
        Value::String(_) if ["notation", "command"].contains(&key) => {}
        Value::String(text) => *text = format!("{text}{HOSTILE}"),
        Value::Array(items) => items.iter_mut().for_each(|item| poison(item, key)),
        Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| poison(value, key)),
        _ => {}
    }
}

#[test]
fn nothing_is_loaded_and_nothing_that_a_kernel_says_is_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    // A file with a hostile name, a finding, and then a record of which every text is hostile.
    let name = "<img src=x onerror=window.injected=1>.ptx";
    std::fs::copy(corpus("saxpy.ptx"), here.join(name)).expect("it can be copied");
    for file in ["saxpy.x.bin", "saxpy.y.bin", "saxpy.y.expect.bin"] {
        std::fs::copy(corpus(file), here.join(file)).expect("it can be copied");
    }
    std::fs::copy(corpus("saxpy.launch.toml"), here.join(Path::new(name).with_extension("launch.toml")))
        .expect("it can be copied");
    let mut record = record(&[name, "--fault", "drop-store@GeneralOptimizeEarly"], here);
    assert!(record["kernels"][0]["findings"].as_array().is_some_and(|found| !found.is_empty()), "the fault is found");
    good(&["explain", "record.json", "-o", "named.html"], here);
    poison(&mut record, "");
    std::fs::write(here.join("hostile.json"), record.to_string()).expect("the folder is writable");
    good(&["explain", "hostile.json", "-o", "hostile.html"], here);
    let Some(browser) = Chromium::start(1280, 900) else { return };
    for page in ["named.html", "hostile.html"] {
        browser.open(&here.join(page));
        browser.wait_for("document.querySelectorAll('.column .row.inst').length > 3");
        // All that shows texts: titles, rows, the graph, a difference, what is skipped, search.
        browser.value("document.querySelectorAll('details').forEach((it) => { it.open = true; })");
        browser.value("viewer.kernel.columns.forEach((column) => { viewer.showStep(column); if (column.program) viewer.showGraph(column); })");
        browser.value("viewer.views.forEach((view) => { view.isNear = true; view.render(); for (const at of view.column.rows.keys()) viewer.showRow(view, at); })");
        browser.value("viewer.difference.open(viewer.kernel.columns[1], viewer.kernel.columns[3])");
        browser.value("viewer.difference.dialog.close()");
        browser.value("viewer.search.value = 'img', viewer.find()");
        let text = browser.value("document.body.textContent").to_string();
        assert!(text.contains("onerror"), "{page} shows the texts");
        assert_eq!(browser.value("window.injected ?? null"), Value::Null, "{page}");
        assert_eq!(
            browser.value("document.querySelectorAll('img, iframe, object, embed, link, b, base').length"),
            0,
            "{page}"
        );
        assert_eq!(browser.value("document.scripts.length"), 2, "{page}");
        let links =
            "[...document.querySelectorAll('a')].filter((link) => !link.getAttribute('href').startsWith('#')).length";
        assert_eq!(browser.value(links), 0, "{page}");
    }
    let outside: Vec<String> = browser.requests().into_iter().filter(|url| !url.ends_with(".html")).collect();
    assert_eq!(outside, [""; 0], "only the pages are loaded");
    assert_eq!(browser.errors(), [""; 0]);
}

/// The page of a finding shows the step that went wrong, and names files as `findings export` has them.
#[test]
fn a_finding_opens_as_a_page() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    good(&["fuzz", "--cases", "40", "--plant", "--corpus", "none", "--jobs", "2"], here);
    let list: Value =
        serde_json::from_slice(&good(&["findings", "list", "--format", "json"], here).stdout).expect("JSON");
    let id = list["findings"][0]["id"].as_str().expect("a finding").to_owned();
    let page = good(&["findings", "show", &id, "--html"], here).stdout;
    let page = String::from_utf8(page).expect("it is UTF-8");
    let data = page.split("type=\"application/json\">").nth(1).and_then(|rest| rest.split("</script>").next());
    let record: Value = serde_json::from_str(data.expect("it has data")).expect("it is JSON");
    let kernel = &record["kernels"][0];
    assert_eq!(
        (&kernel["findings"][0]["step"], kernel["name"].as_str()),
        (&"Canary".into(), Some(&*format!("{id}/reduced.ori")))
    );
    let wrong: Vec<&Value> =
        kernel["programs"].as_array().into_iter().flatten().filter(|program| program["title"] == "Canary").collect();
    assert_eq!((wrong.len(), &wrong[0]["kept"]), (1, &false.into()), "the program that the step left is there");
    let none = oriole(&["findings", "show", "0000000000", "--html"], here);
    assert_eq!((none.status.code(), none.stdout.len()), (Some(2), 0));
}

/// Reports of campaigns, judged code, rules and the self-test are pages, too.
#[test]
fn reports_are_pages() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let rules = "<img src=x onerror=window.injected=1>.rules";
    std::fs::write(here.join(rules), "rule half priority 20: imul.lo.u32(x, 8) => shl.b32(x, 2)\n").expect("writable");
    let kernel = corpus("half2_dot.ptx");
    let cubin = kernel.with_file_name("../cubins/half2_dot.sm_90.O3.cubin");
    let [kernel, cubin] = [&kernel, &cubin].map(|path| path.to_str().expect("it is UTF-8"));
    let campaign = ["fuzz", "--cases", "60", "--plant", "--corpus", "none", "--jobs", "2"];
    // Each with its command, and a text that its page shows.
    let reports: [(&[&str], &str); 5] = [
        (&campaign, "Canary"),
        (&["findings", "list"], "reduced from"),
        (&["judge", kernel, "--cubin", cubin], "equal"),
        (&["rules", "check", rules, "--no-solver"], "refuted"),
        (&["selftest", "--kind", "drop-store", "--phase", "GeneralOptimizeEarly", "--cases", "20"], "drop-store"),
    ];
    let browser = Chromium::start(1280, 900);
    for (command, shows) in reports {
        let page = good(&[command, &["--format", "html"]].concat(), here).stdout;
        std::fs::write(here.join("report.html"), &page).expect("the folder is writable");
        let Some(browser) = &browser else { continue };
        browser.open(&here.join("report.html"));
        let text = browser.value("document.body.textContent.slice(document.body.textContent.indexOf('oriole '))");
        assert!(text.as_str().is_some_and(|text| text.contains(shows)), "{command:?} shows no `{shows}`: {text}");
        assert_eq!(browser.value("document.querySelectorAll('img, iframe, link').length"), 0);
        assert_eq!(browser.value("window.injected ?? null"), Value::Null);
        assert_eq!(browser.value("document.documentElement.scrollWidth <= innerWidth"), true, "{command:?}");
        assert!(browser.value("document.querySelectorAll('section').length").as_u64() > Some(0), "{command:?}");
        assert_eq!(browser.errors(), [""; 0], "{command:?}");
        // Tables are sorted by their titles.
        if browser.value("document.querySelectorAll('th button').length").as_u64() > Some(0) {
            browser.click("th button");
        }
    }
    if let Some(browser) = browser {
        let outside: Vec<String> = browser.requests().into_iter().filter(|url| !url.ends_with(".html")).collect();
        assert_eq!(outside, [""; 0], "only the pages are loaded");
    }
    // Against a store that knows them, nothing is new.
    std::fs::copy(here.join("oriole-findings/findings.db"), here.join("known.db")).expect("there is a store");
    let again = [&campaign[..], &["--out", "again", "--format", "json"]].concat();
    let known = oriole(&[&again[..], &["--baseline", "known.db"]].concat(), here);
    let report: Value = serde_json::from_slice(&known.stdout).expect("it is JSON");
    assert_eq!((known.status.code(), &report["findings"]), (Some(0), &Value::Array(Vec::new())));
    assert!(report["samples"].as_array().is_some_and(|samples| !samples.is_empty()));
    let none = oriole(&["fuzz", "--case", "1", "--format", "html"], here);
    assert_eq!(none.status.code(), Some(2), "one case has no report");
}

#[test]
fn pages_are_readable_on_wide_and_narrow_screens() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = page_of("matmul_tiled.ptx", &[], folder.path());
    for (width, height) in [(1280, 800), (390, 844)] {
        let Some(browser) = Chromium::start(width, height) else { return };
        browser.open(&page);
        browser.wait_for("document.querySelectorAll('.column .row.inst').length > 3");
        assert_eq!(browser.value("innerWidth"), width);
        assert_eq!(browser.value("document.documentElement.scrollWidth <= innerWidth"), true, "at {width} pixels");
        let small = "[...document.querySelectorAll('.code, td, p')].filter((it) => parseFloat(getComputedStyle(it).fontSize) < 11).length";
        assert_eq!(browser.value(small), 0);
        let wide = "document.querySelector('.column').getBoundingClientRect().width";
        assert!(browser.value(wide).as_f64() > Some(340.0) && browser.value(wide).as_f64() <= Some(f64::from(width)));
        // Both colours have contrast between text and paper.
        for theme in ["light", "dark"] {
            let contrast = format!(
                "(document.documentElement.dataset.theme = '{theme}', \
                 [getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor].map((colour) => \
                 colour.match(/[0-9]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0)))"
            );
            let sums = browser.value(&contrast);
            let [ink, paper] = [&sums[0], &sums[1]].map(|sum| sum.as_f64().expect("a number"));
            assert!((ink - paper).abs() > 400.0 && (ink < paper) == (theme == "light"), "{theme}: {ink} on {paper}");
        }
    }
}
