//! Campaigns as users run them: killed and resumed, in shards that are merged, and what `oriole findings` says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A campaign with a planted fault, of one thread.
const FUZZ: &[&str] =
    &["fuzz", "--plant", "--jobs", "1", "--target", "kernels", "--corpus", "none", "--format", "json"];

fn oriole(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.args(args).current_dir(folder);
    command
}

fn output(folder: &Path, args: &[&str]) -> Output {
    oriole(folder, args).output().expect("the command starts")
}

#[track_caller]
fn assert_ends(output: &Output, code: i32, stderr: &str) {
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{}\n{err}", String::from_utf8_lossy(&output.stdout));
    assert!(err.contains(stderr), "no `{stderr}` in\n{err}");
    assert!(!err.contains("panicked"), "{err}");
}

#[track_caller]
fn json(output: &Output) -> Value {
    let fault = |error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).map_err(fault).expect("the output is JSON")
}

/// Findings by identifier, with how often each was met; what is only recognised may be counted for another one.
fn findings(report: &Value) -> (Vec<String>, u64) {
    let findings = report["findings"].as_array().expect("a list");
    let mut ids: Vec<String> = findings.iter().filter_map(|f| f["id"].as_str()).map(str::to_owned).collect();
    ids.sort();
    let count = |finding: &Value, kind: &str| finding["hits"][kind].as_u64().expect("a count");
    (ids, findings.iter().map(|finding| count(finding, "bisected") + count(finding, "recognised")).sum())
}

#[test]
fn a_campaign_that_is_killed_goes_on_without_loss() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cases = ["--cases", "120"];
    let whole = output(folder.path(), &[FUZZ, &cases, &["--out", "whole"]].concat());
    assert_ends(&whole, 1, "");
    let whole = json(&whole);
    let args = [FUZZ, &cases, &["--out", "killed", "--resume"]].concat();
    let mut kills = 0;
    for round in 0..6u64 {
        let mut child =
            oriole(folder.path(), &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        // Each time a little later, so that some kills meet the making of the store and others a commit.
        let until = Instant::now() + Duration::from_millis(100 + 250 * round);
        while Instant::now() < until && child.try_wait().expect("a child").is_none() {
            std::thread::sleep(Duration::from_millis(10));
        }
        kills += u32::from(child.try_wait().expect("a child").is_none());
        child.kill().expect("a child that may have ended");
        child.wait().expect("a child");
    }
    assert!(kills >= 2, "only {kills} of six kills met a running campaign");
    let last = output(folder.path(), &args);
    assert_ends(&last, 1, "");
    let last = json(&last);
    for field in ["cases", "targets", "phases", "coverage", "mean_instructions", "silent"] {
        assert_eq!(last[field], whole[field], "{field}");
    }
    assert_eq!(last["cases"], 120);
    // A variant whose reduction a kill has cut off is met again some other time; its family is not lost.
    let families = |report: &Value| {
        let (ids, hits) = findings(report);
        (ids.iter().map(|id| id[..10].to_owned()).collect::<BTreeSet<String>>(), hits)
    };
    assert_eq!(families(&last), families(&whole));
    for finding in last["findings"].as_array().expect("a list") {
        assert!(finding["reduction"]["done"].is_object(), "{finding:#}");
    }
}

#[test]
fn shards_merge_into_the_whole_and_findings_replay() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let run = |shard: &str, out: &str| {
        let run = output(here, &[FUZZ, &["--cases", "60", "--shard", shard, "--out", out]].concat());
        assert_ends(&run, 1, "");
        json(&run)
    };
    let (whole, parts) = (run("0/1", "whole"), [run("0/2", "a"), run("1/2", "b")]);
    let merge = ["findings", "merge", "a/findings.db", "b/findings.db", "--store", "all/findings.db"];
    assert_ends(&output(here, &merge), 0, "");
    assert_ends(&output(here, &merge), 0, "");
    let list = json(&output(here, &["findings", "list", "--format", "json", "--store", "all/findings.db"]));
    assert_eq!(findings(&list), findings(&whole));
    assert_eq!(parts.iter().map(|part| findings(part).1).sum::<u64>(), findings(&whole).1);

    let id = list["findings"][0]["id"].as_str().expect("an identifier");
    let show = output(here, &["findings", "show", &id[..8], "--store", "all/findings.db"]);
    let text = String::from_utf8_lossy(&show.stdout).into_owned();
    assert!(text.contains("add-to-subtract") && text.contains("reduced from") && text.contains("isub.u32"), "{text}");
    let export = output(here, &["findings", "export", id, "-o", "out", "--store", "all/findings.db"]);
    assert_ends(&export, 0, "");
    let replay = String::from_utf8_lossy(&export.stdout).trim().to_owned();
    let words: Vec<&str> = replay.split(' ').collect();
    let again = output(here, &words[1..]);
    assert_ends(&again, 1, "");
    assert!(String::from_utf8_lossy(&again.stdout).contains("mismatch in Canary"), "{replay}");
}

/// What is wrong before the first phase or behind the last one is reduced in the form in which it shows, and replays.
#[test]
fn findings_outside_of_the_phases_replay() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    for (fault, step) in [
        ("off-by-one@ssa-construction:3", "SSA construction"),
        ("undefined-operand@ssa-construction:3", "SSA construction"),
        ("off-by-one@ssa-destruction:3", "SSA destruction"),
        ("off-by-one@ptx-round-trip:3", "PTX round trip"),
    ] {
        let args = ["fuzz", "--jobs", "1", "--corpus", "none", "--cases", "80", "--format", "json", "--fault", fault];
        let fuzz = output(here, &[&args[..], &["--seed", "3", "--out", fault]].concat());
        assert_ends(&fuzz, 1, "");
        let found = &json(&fuzz)["findings"][0];
        assert_eq!(found["phase"], step, "{found:#}");
        // The fault has a place of its own in every candidate, so what it needs around it is more than the least.
        let [from, to] = ["from", "to"].map(|end| found["reduction"]["done"][end].as_u64().expect("it was reduced"));
        assert!(to * 4 <= from, "{found:#}");
        let store = format!("{fault}/findings.db");
        let id = found["id"].as_str().expect("an identifier");
        let export = output(here, &["findings", "export", id, "-o", "out", "--store", &store]);
        let replay = String::from_utf8_lossy(&export.stdout).trim().to_owned();
        let words: Vec<&str> = replay.split(' ').collect();
        let again = output(here, &words[1..]);
        assert_ends(&again, 1, "");
        assert!(String::from_utf8_lossy(&again.stdout).contains(step), "{replay}");
        // Without the fault nothing is wrong: it is the fault that replays.
        let right: Vec<&str> = words[1..].iter().copied().take_while(|word| *word != "--fault").collect();
        assert_ends(&output(here, &right), 0, "");
        let file = words[2].replace("reduced", "original");
        for command in ["reduce", "bisect"] {
            let run = output(here, &[command, &file, words[3], words[4], "--fault", fault]);
            let text = String::from_utf8_lossy(&run.stdout).into_owned();
            assert!(text.contains(&format!("in {step}")), "{command}: {text}");
        }
        let reduced = std::fs::read_to_string(here.join("original-reduced.ori")).expect("it was written");
        assert_eq!(reduced.contains(" ssa {"), step != "SSA construction", "{reduced}");
    }
}

/// A phase that never ends is a finding, the campaign does all its cases, and reducing keeps the phase from ending.
#[test]
fn a_phase_that_does_not_end_is_a_finding_and_no_end_of_the_campaign() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    for kind in ["endless-phase", "endless-rewrites"] {
        let fault = format!("{kind}@GeneralOptimizeEarly:1");
        let fuzz = ["fuzz", "--jobs", "1", "--corpus", "none", "--target", "kernels", "--cases", "40"];
        let options = ["--format", "json", "--hang-after", "500ms", "--fault", &fault, "--out", kind];
        let fuzz = output(here, &[&fuzz[..], &options].concat());
        assert_ends(&fuzz, 1, "");
        let fuzz = json(&fuzz);
        let found = fuzz["findings"].as_array().expect("a list");
        assert_eq!((found.len(), &fuzz["cases"]), (1, &Value::from(40)), "{fuzz:#}");
        assert_eq!((&found[0]["verdict"], &found[0]["phase"]), (&"hang".into(), &"GeneralOptimizeEarly".into()));
        let export = output(here, &["findings", "export", "-o", kind, "--store", &format!("{kind}/findings.db")]);
        let replay = String::from_utf8_lossy(&export.stdout).trim().to_owned();
        let words: Vec<&str> = replay.split(' ').collect();
        let again = output(here, &words[1..]);
        assert_ends(&again, 1, "");
        assert!(String::from_utf8_lossy(&again.stdout).contains("hang in GeneralOptimizeEarly"), "{replay}");
        let file = words[2].replace("reduced", "original");
        let reduce = ["reduce", &file, "--phase", "GeneralOptimizeEarly", "--predicate", "hang", "--limit", "300ms"];
        let reduce = output(here, &[&reduce[..], &["--fault", &fault, "-o", "small.ori"]].concat());
        assert_ends(&reduce, 0, "");
        let text = std::fs::read_to_string(here.join("small.ori")).expect("it was written");
        assert!(text.contains("brx") && text.lines().count() < 20, "{text}");
    }
}

/// Threads of phases that do not end cannot be had back, nor what they hold, so a phase that hardly ever ends is left
/// out after a while. The campaign continues without it.
#[test]
fn a_phase_that_hardly_ever_ends_does_not_take_the_campaign_with_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    // Memory takes its time to be filled on a machine that has other things to do.
    for (kind, verdict, limit) in [("endless-phase", "hang", "500ms"), ("endless-memory", "out of memory", "60s")] {
        let fault = format!("{kind}@GeneralOptimizeEarly");
        let fuzz = ["fuzz", "--jobs", "2", "--corpus", "none", "--target", "kernels", "--cases", "300", "--format"];
        let rest = ["json", "--hang-after", limit, "--fault", &fault, "--out", kind];
        let fuzz = output(here, &[&fuzz[..], &rest].concat());
        assert_ends(&fuzz, 1, "GeneralOptimizeEarly did not end, or took memory without end, too often");
        let report = json(&fuzz);
        let found = report["findings"].as_array().expect("a list");
        assert_eq!((found.len(), &report["cases"]), (1, &Value::from(300)), "{report:#}");
        assert_eq!((&found[0]["verdict"], &found[0]["phase"]), (&verdict.into(), &"GeneralOptimizeEarly".into()));
        // The finding replays, and is no end of the process there either.
        let export = output(here, &["findings", "export", "-o", kind, "--store", &format!("{kind}/findings.db")]);
        let replay = String::from_utf8_lossy(&export.stdout).trim().to_owned();
        let words: Vec<&str> = replay.split(' ').collect();
        let again = output(here, &words[1..]);
        assert_ends(&again, 1, "");
        assert!(String::from_utf8_lossy(&again.stdout).contains(verdict), "{replay}");
    }
}

/// The command that a finding names makes the case again, whatever kinds of cases the campaign had.
#[test]
fn the_case_of_a_finding_is_made_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let args = ["fuzz", "--plant", "--jobs", "1", "--corpus", "none", "--cases", "30", "--format", "json"];
    assert_ends(&output(here, &args), 1, "");
    let list = json(&output(here, &["findings", "list", "--format", "json"]));
    for finding in list["findings"].as_array().expect("a list") {
        let command = finding["first"]["command"].as_str().expect("a command");
        assert!(command.contains(" --target "), "{command}");
        let words: Vec<&str> = command.split(' ').collect();
        let again = output(here, &words[1..]);
        assert_ends(&again, 1, "");
        assert!(String::from_utf8_lossy(&again.stdout).contains("mismatch in Canary"), "{command}");
    }
}

/// Every property that the SARIF 2.1.0 schema requires of what we write, and those that code hosts need.
#[test]
fn sarif_has_what_the_schema_requires() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    assert_ends(&output(folder.path(), &[FUZZ, &["--cases", "30"]].concat()), 1, "");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.to_str().expect("a path of plain letters");
    let sarif = json(&output(folder.path(), &["findings", "list", "--format", "sarif", "--root", root]));
    assert_eq!(sarif["version"], "2.1.0");
    assert!(sarif["$schema"].as_str().is_some_and(|schema| schema.ends_with("sarif-2.1.0.json")));
    let run = &sarif["runs"][0];
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "oriole");
    let rules = driver["rules"].as_array().expect("rules");
    let ids: BTreeMap<usize, &str> =
        rules.iter().enumerate().map(|(at, rule)| (at, rule["id"].as_str().expect("an id"))).collect();
    let results = run["results"].as_array().expect("results");
    assert!(!results.is_empty());
    for result in results {
        assert!(result["message"]["text"].as_str().is_some_and(|text| text.contains("oriole check")), "{result:#}");
        assert_eq!(result["level"], "error");
        let index = result["ruleIndex"].as_u64().expect("an index") as usize;
        assert_eq!(result["ruleId"].as_str(), ids.get(&index).copied());
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().expect("a place");
        assert!(!uri.starts_with('/') && !uri.contains(".."), "{uri}");
        assert!(place["region"]["startLine"].as_u64().is_some_and(|line| line >= 1), "{place:#}");
        assert!(result["partialFingerprints"]["oriole/v1"].is_string());
    }
}

#[test]
fn what_is_no_store_is_an_error_and_stays() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    std::fs::create_dir(here.join("notes")).expect("the folder is writable");
    let path = here.join("notes/findings.db");
    std::fs::write(&path, "my notes").expect("the folder is writable");
    assert_ends(&output(here, &[FUZZ, &["--cases", "1", "--out", "notes"]].concat()), 2, "is not a findings store");
    assert_ends(&output(here, &["findings", "list", "--store", "notes/findings.db"]), 2, "is not a findings store");
    assert_ends(&output(here, &["findings", "merge", "notes/findings.db"]), 2, "is not a findings store");
    assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), Some("my notes"));
    assert_ends(&output(here, &["findings", "list"]), 2, "there is no findings store");
}

#[test]
fn floors_and_canaries_end_with_three() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let fuzz = ["fuzz", "--jobs", "1", "--corpus", "none", "--target", "kernels", "--cases", "20"];
    assert_ends(&output(here, &[&fuzz[..], &["--floor", "20", "--canary"]].concat()), 0, "found and blamed");
    assert_ends(&output(here, &[&fuzz[..], &["--floor", "21"]].concat()), 3, "at least 21 are demanded");
    let resumed = [&fuzz[..], &["--floor", "1", "--resume"]].concat();
    assert_ends(&output(here, &resumed), 3, "0 cases were executed");
    let named = output(here, &[&fuzz[..], &["--phases", "GeneralOptimizeEarly", "--format", "json"]].concat());
    assert_ends(&named, 0, "");
    let phases =
        json(&named)["phases"].as_array().map(|phases| phases.iter().map(|p| p[0].clone()).collect::<Vec<_>>());
    // Cases in virtual form are brought into SSA form whatever phases run.
    let ran = ["GeneralOptimizeEarly", "SSA construction"].map(Value::from);
    assert_eq!(phases, Some(ran.to_vec()));
    assert_ends(&output(here, &[&fuzz[..], &["--phases", "GeneralOptimise"]].concat()), 2, "did you mean");
}

/// A finding that a replay does not show is fixed; one that is back is a regression; a closed one counts no more.
#[test]
fn findings_are_fixed_come_back_and_are_closed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let rules = |ty: &str| {
        let text = format!("rule mine priority 20: idiv.{ty}(x, 4) => shr.{ty}(x, 2)\n");
        std::fs::write(here.join("mine.rules"), text).expect("the folder is writable");
    };
    let fuzz = ["fuzz", "--target", "kernels", "--cases", "300", "--jobs", "1", "--corpus", "none"];
    let fuzz = [&fuzz[..], &["--rules", "mine.rules", "--format", "json"]].concat();
    let replay = || output(here, &["findings", "replay"]);
    let says = |output: &Output, text: &str| {
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(out.contains(text), "no `{text}` in\n{out}");
    };
    rules("s32");
    let found = output(here, &fuzz);
    assert_ends(&found, 1, "");
    let life = &json(&found)["findings"][0]["life"];
    assert_eq!((&life["state"], &life["first"]["build"]), (&"open".into(), &life["last"]["build"]));
    assert!(life["first"]["build"].as_str().is_some_and(|build| build.starts_with(env!("CARGO_PKG_VERSION"))));
    let still = replay();
    assert_ends(&still, 1, "");
    says(&still, "still shows");
    // Of numbers without sign the rule is right.
    rules("u32");
    let fixed = replay();
    assert_ends(&fixed, 0, "");
    says(&fixed, "fixed");
    says(&output(here, &["findings", "list"]), "fixed");
    let results = || {
        let sarif = json(&output(here, &["findings", "list", "--format", "sarif"]));
        sarif["runs"][0]["results"].as_array().expect("results").clone()
    };
    assert!(results().is_empty(), "a fixed finding is no result");
    says(&output(here, &["findings", "list", "--open"]), "0 findings");
    rules("s32");
    let back = output(here, &[&fuzz[..9], &["--rules", "mine.rules", "--anew"]].concat());
    assert_ends(&back, 1, "");
    says(&back, "REGRESSION");
    let list = json(&output(here, &["findings", "list", "--format", "json"]));
    let ids: Vec<&str> = list["findings"].as_array().expect("a list").iter().filter_map(|f| f["id"].as_str()).collect();
    assert_eq!(list["findings"][0]["life"]["state"], "regressed");
    assert_ends(&output(here, &[&["findings", "close"], &ids[..]].concat()), 0, "");
    assert_ends(&output(here, &fuzz), 0, "");
    assert_ends(&replay(), 0, "");
    // Named, it is executed, and is still no finding.
    let named = output(here, &["findings", "replay", ids[0]]);
    assert_ends(&named, 0, "");
    says(&named, "still shows; it stays closed");
    assert!(results().iter().all(|result| result["suppressions"][0]["kind"] == "external"), "{:?}", results());
    let exported = output(here, &["findings", "export", "--open"]);
    assert!(exported.status.success() && exported.stdout.is_empty() && results().len() == ids.len());
    assert_ends(&output(here, &["findings", "reopen", ids[0]]), 0, "");
    assert_eq!(results().iter().filter(|result| result["suppressions"] == Value::Array(Vec::new())).count(), 1);
    assert_ends(&replay(), 1, "");
    // What cannot be executed says nothing.
    std::fs::remove_file(here.join("mine.rules")).expect("it was written");
    let gone = replay();
    assert_ends(&gone, 2, "");
    says(&gone, "cannot be executed");
    assert_eq!(json(&output(here, &["findings", "list", "--format", "json"]))["findings"][0]["life"]["state"], "open");
}

/// What CI keeps can be read where nobody may write; root may write everywhere, so it becomes somebody else first.
#[cfg(unix)]
#[test]
fn read_only_stores_are_read() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    assert_ends(&output(here, &[FUZZ, &["--cases", "30"]].concat()), 1, "");
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is our own");
    };
    let store = here.join("oriole-findings");
    mode(here, 0o755);
    mode(&store.join("findings.db"), 0o444);
    mode(&store, 0o555);
    let mut list = oriole(here, &["findings", "list", "--format", "json"]);
    // SAFETY: asks for an id.
    if unsafe { libc::geteuid() } == 0 {
        // The binary may lie where only root can look.
        let copy = here.join("oriole");
        std::fs::copy(env!("CARGO_BIN_EXE_oriole"), &copy).expect("the folder is writable");
        list = Command::new(copy);
        list.args(["findings", "list", "--format", "json"]).current_dir(here).uid(65534).gid(65534);
    }
    let listed = list.output().expect("it starts");
    mode(&store, 0o755);
    assert_ends(&listed, 0, "");
    assert!(!findings(&json(&listed)).0.is_empty());
}

/// One process works on a campaign at a time, and what one was interrupted in is not thrown away by accident.
#[cfg(unix)]
#[test]
fn campaigns_are_not_shared_and_not_discarded() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let fuzz = ["fuzz", "--jobs", "1", "--target", "kernels", "--corpus", "none", "--time", "60s"];
    let mut first = oriole(here, &fuzz).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let until = Instant::now() + Duration::from_secs(60);
    let is_known = || {
        let list = output(here, &["findings", "list"]);
        list.status.success()
            && std::fs::read_dir(here.join("oriole-findings")).is_ok_and(|dir| {
                dir.filter_map(Result::ok).any(|entry| entry.file_name().to_string_lossy().ends_with(".lock"))
            })
    };
    while Instant::now() < until && !is_known() {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_ends(&output(here, &fuzz), 2, "another process works on this campaign");
    std::thread::sleep(Duration::from_secs(3));
    first.kill().expect("it runs");
    first.wait().expect("a child");
    assert_ends(&output(here, &fuzz), 2, "was interrupted after");
    let short = [&fuzz[..7], &["--cases", "1"]].concat();
    assert_ends(&output(here, &[&short[..], &["--anew"]].concat()), 0, "");
    // One that came to its end begins anew without being asked.
    assert_ends(&output(here, &short), 0, "");
}
