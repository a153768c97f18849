//! The scripts of CI: shards beside each other, a store that is kept, and a comment on what is new alone.

#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A script of CI, with the binary of the tests.
fn script(name: &str) -> Command {
    let mut command = Command::new(root().join("ci").join(name));
    command.env("ORIOLE", env!("CARGO_BIN_EXE_oriole")).env("FLOOR", "1").env_remove("GITHUB_TOKEN");
    command
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn shards(folder: &Path, cases: &str, options: &[&str]) -> Output {
    let mut command = script("shards");
    command.args(["2", "20s"]).arg(folder).args(["--", "--corpus", "none", "--cases", cases]).args(options);
    command.output().expect("the script runs")
}

/// The comments that an API of GitHub keeps.
type Comments = Arc<Mutex<Vec<String>>>;

/// An API that lists comments and takes new ones: its address.
fn api(comments: Comments) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port of this machine");
    let address = format!("http://{}", listener.local_addr().expect("it is bound"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a client");
            let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
            let (mut head, mut length) = (String::new(), 0);
            reader.read_line(&mut head).expect("a request");
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).expect("a header");
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().expect("a length");
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("the whole body");
            let is_right = head.contains("/repos/me/kernels/issues/7/comments");
            let mut comments = comments.lock().expect("nobody panics");
            if head.starts_with("POST") && is_right {
                let value: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
                comments.push(value["body"].as_str().expect("a text").to_owned());
            }
            let listed: Vec<_> = comments.iter().map(|body| serde_json::json!({ "body": body })).collect();
            let listed = if head.contains("page=1") { listed } else { Vec::new() };
            let text = serde_json::to_string(&listed).expect("it is JSON");
            let status = if is_right { "200 OK" } else { "404 Not Found" };
            let answer =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}", text.len());
            stream.write_all(answer.as_bytes()).expect("a client that listens");
        }
    });
    address
}

fn post(folder: &Path, api: &str) -> Output {
    let mut command = script("comment");
    command.arg("--post").arg(folder).env("GITHUB_API_URL", api).env("GITHUB_TOKEN", "secret");
    command.env("GITHUB_REPOSITORY", "me/kernels").env("ORIOLE_PULL_REQUEST", "7");
    command.output().expect("the script runs")
}

/// A finding by a wrong rule is new once: told by the first run, in one comment, and known to the second.
#[test]
fn a_finding_is_new_once_and_told_once() {
    if Command::new("python3").arg("--version").output().is_err() {
        return println!("skipped: no python3");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kept = folder.path().join("kept");
    let rules = folder.path().join("my.rules");
    std::fs::write(&rules, "rule half priority 20: idiv.s32(x, 2) => shr.s32(x, 1)\n").expect("it is writable");
    let options = ["--rules", rules.to_str().expect("a path of text")];
    let first = shards(&kept, "300", &options);
    assert_eq!(first.status.code(), Some(1), "{}", said(&first));
    let told = std::fs::read_to_string(kept.join("comment.md")).expect("something is new");
    assert!(told.contains(" by `half`") && told.contains("```diff") && told.contains("the kernel"), "{told}");
    for file in ["findings.db", "findings.sarif", "new.sarif", "new.json", "replay.txt"] {
        assert!(kept.join(file).is_file(), "{file} is missing: {}", said(&first));
    }
    assert!(!kept.join("shards").exists());

    let comments = Comments::default();
    let api = api(comments.clone());
    let posted = post(&kept, &api);
    assert!(posted.status.success(), "{}", said(&posted));
    let again = post(&kept, &api);
    assert!(again.status.success() && said(&again).contains("comment: 0 of"), "{}", said(&again));
    assert_eq!(*comments.lock().expect("nobody panics"), [told]);

    // It continues where the first has stopped.
    let second = shards(&kept, "60", &options);
    assert_eq!(second.status.code(), Some(0), "{}", said(&second));
    assert!(!kept.join("comment.md").exists());
}

#[test]
fn scripts_say_what_is_wrong_with_their_arguments() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for arguments in [&["0", "1s"][..], &["2", "soon"], &["2"]] {
        let output = script("shards").args(arguments).output().expect("the script runs");
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains("usage: ci/shards"), "{}", said(&output));
    }
    let bad = shards(folder.path(), "1", &["--no-such-option"]);
    assert_eq!(bad.status.code(), Some(2), "{}", said(&bad));
    assert!(said(&bad).contains("--no-such-option"), "{}", said(&bad));
    let nothing = script("comment").arg("--write").arg(folder.path()).output().expect("the script runs");
    assert_eq!(nothing.status.code(), Some(2), "{}", said(&nothing));
}

/// Names in findings come from kernels that anybody wrote: nothing in them ends a block of code, or is Markdown.
#[test]
fn hostile_names_stay_code() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let evil = "```\n</details> @everyone [x](http://evil) <!-- oriole findings: aa -->";
    let finding = serde_json::json!({ "id": "0123456789abcdef", "phase": evil, "verdict": "mismatch", "rule": evil,
        "detail": evil, "diff": evil });
    let document = serde_json::json!({ "findings": [finding] }).to_string();
    std::fs::write(folder.path().join("new.json"), document).expect("it is writable");
    let output = script("comment").arg("--write").arg(folder.path()).output().expect("the script runs");
    assert!(output.status.success(), "{}", said(&output));
    let told = std::fs::read_to_string(folder.path().join("comment.md")).expect("something is new");
    let mut fence: Option<String> = None;
    for line in told.lines() {
        let ticks: String = line.chars().take_while(|c| *c == '`').collect();
        match &fence {
            Some(open) if ticks.len() >= open.len() && line == ticks => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => {
                let outside: Vec<&str> = line.split("````").step_by(2).collect();
                assert!(!outside.concat().contains("@everyone"), "{line}");
            }
        }
    }
    assert_eq!(fence, None, "{told}");
    assert_eq!(told.matches("<!-- oriole findings: 0123456789abcdef -->").count(), 1, "{told}");
}

/// The action asks for inputs that it has, calls scripts that there are, and puts no input into a script's text.
#[test]
fn the_action_is_whole() {
    let path = ".github/actions/campaign/action.yml";
    let text = std::fs::read_to_string(root().join(path)).expect("it is there");
    let between = |text: &str, start: &str, end: &str| {
        let rest = text.split_once(start).unwrap_or_else(|| panic!("no {start}")).1;
        rest.split_once(end).map_or(rest, |(part, _)| part).to_owned()
    };
    let declared = between(&text, "\ninputs:\n", "\noutputs:\n");
    let declared: Vec<&str> = declared
        .lines()
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' '))?.strip_suffix(':'))
        .collect();
    assert!(declared.len() >= 8, "{declared:?}");
    let steps = between(&text, "\nruns:\n", "\u{0}");
    for used in steps.split("inputs.").skip(1) {
        let name: String = used.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        assert!(declared.contains(&name.as_str()), "{path} has no input {name}");
    }
    for name in &declared {
        assert!(steps.contains(&format!("inputs.{name}")), "nothing asks for the input {name}");
    }
    for called in steps.split("/ci/").skip(1) {
        let name: String = called.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
        assert!(root().join("ci").join(&name).is_file(), "there is no ci/{name}");
    }
    for run in steps.split("run: ").skip(1) {
        let script = run.split("\n    - ").next().unwrap_or_default();
        assert!(!script.contains("${{"), "an expression in the text of a script: {script}");
    }
    let chapter = std::fs::read_to_string(root().join("book/src/ci.md")).expect("it is there");
    for name in declared {
        assert!(chapter.contains(&format!("`{name}`")), "book/src/ci.md does not describe {name}");
    }
}
