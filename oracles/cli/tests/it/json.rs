//! The JSON of every command is what `oriole schema` says of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const KERNEL: &str = "target sm_90 ptx 9.0

entry @k visible ssa {
  param $out: u64 param align 8
bb0:
  %d0 = ld.param.u64 [$out]
  %r1 = iadd.u32 3, 4
  st.global.u32 [%d0], %r1
  ret
}
";
const PTX: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %d<2>;
    ld.param.u64 %d1, [out];
    mov.u32 %r1, %ntid.x;
    add.u32 %r2, %r1, 0;
    mul.lo.u32 %r3, %r2, 8;
    st.global.u32 [%d1], %r3;
    ret;
}
";
const LAUNCH: &str = "grid = 1\nblock = 1\n[[arg]]\nzeroed = 4\n";
const WRONG: &str = "rule half priority 20: imul.lo.u32(x, 8) => shl.b32(x, 2)\n";

fn oriole(args: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oriole")).args(args).current_dir(folder).output().expect("the command starts")
}

fn json(args: &[&str], folder: &Path) -> Value {
    let output = oriole(args, folder);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{args:?}: {:?}\n{said}", output.status);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}\n{said}"))
}

/// A folder with kernels, a launch, rules, a cubin and a store.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("it is writable");
    std::fs::create_dir(folder.path().join("kernels")).expect("it is writable");
    write("k.ori", KERNEL);
    write("k.launch.toml", &format!("{LAUNCH}expect_hex = \"07000000\"\n"));
    write("kernels/p.ptx", PTX);
    write("kernels/p.launch.toml", LAUNCH);
    write("p.ptx", PTX);
    write("p.launch.toml", LAUNCH);
    write("wrong.rules", WRONG);
    let cubin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/cubins/half2_dot.sm_90.O3.cubin");
    std::fs::copy(cubin, folder.path().join("k.cubin")).expect("the corpus has cubins");
    let planted = oriole(&["fuzz", "--cases", "40", "--plant", "--corpus", "none", "--jobs", "2"], folder.path());
    assert_eq!(planted.status.code(), Some(1), "{}", String::from_utf8_lossy(&planted.stderr));
    let store = folder.path().join("oriole-findings/findings.db");
    std::fs::copy(store, folder.path().join("copy.db")).expect("there is a store");
    folder
}

/// What is wrong with a document, and where.
#[derive(Debug)]
struct Wrong(String);

/// A schema with what its references lead to.
struct Schema<'a> {
    root: &'a Value,
}

impl<'a> Schema<'a> {
    /// What a schema says itself, by a reference, or in one of several ways.
    fn parts(&self, schema: &'a Value) -> Vec<&'a Value> {
        let mut parts = vec![schema];
        if let Some(name) = schema["$ref"].as_str() {
            let name = name.strip_prefix("#/$defs/").expect("references lead to definitions");
            parts.extend(self.parts(&self.root["$defs"][name]));
        }
        parts
    }

    /// The alternatives of a schema; itself alone where it has none.
    fn alternatives(schema: &'a Value) -> Vec<&'a Value> {
        let all = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
        all.map_or(vec![], |all| all.iter().collect())
    }

    fn knows(&self, schema: &'a Value, field: &str) -> bool {
        self.parts(schema).into_iter().any(|part| {
            !part["properties"][field].is_null()
                || Schema::alternatives(part).into_iter().any(|other| self.knows(other, field))
        })
    }

    /// What is wrong with a value; fields that no schema knows are.
    fn check(&self, schema: &'a Value, value: &Value, at: &str) -> Result<(), Wrong> {
        self.check_known(schema, value, at)?;
        let is_map = self.parts(schema).iter().any(|part| !part["additionalProperties"].is_null());
        if is_map || !self.says_fields(schema) {
            return Ok(());
        }
        let fields = value.as_object().into_iter().flatten().map(|(name, _)| name);
        match fields.into_iter().find(|name| !self.knows(schema, name)) {
            Some(name) => Err(Wrong(format!("{at}: nothing is said of `{name}`"))),
            None => Ok(()),
        }
    }

    /// What is wrong with what the schema knows of a value: an alternative says nothing of the fields beside it.
    fn check_known(&self, schema: &'a Value, value: &Value, at: &str) -> Result<(), Wrong> {
        for part in self.parts(schema) {
            self.check_part(part, value, at)?;
            let others = Schema::alternatives(part);
            if !others.is_empty() && !others.iter().any(|other| self.check_known(other, value, at).is_ok()) {
                return Err(Wrong(format!("{at}: none of the alternatives takes {value}")));
            }
        }
        Ok(())
    }

    /// Whether a schema says which fields there are.
    fn says_fields(&self, schema: &'a Value) -> bool {
        self.parts(schema).into_iter().any(|part| {
            part["properties"].is_object()
                || Schema::alternatives(part).into_iter().any(|other| self.says_fields(other))
        })
    }

    fn check_part(&self, schema: &'a Value, value: &Value, at: &str) -> Result<(), Wrong> {
        let wrong = |what: &str| Err(Wrong(format!("{at}: {what}, not {value}")));
        let types: Vec<&str> = match &schema["type"] {
            Value::String(one) => vec![one],
            Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if !types.is_empty() && !types.iter().any(|ty| is_of(ty, value)) {
            return wrong(&types.join(" or "));
        }
        if !schema["const"].is_null() && schema["const"] != *value {
            return wrong(&schema["const"].to_string());
        }
        if schema["enum"].as_array().is_some_and(|all| !all.contains(value)) {
            return wrong(&schema["enum"].to_string());
        }
        if let (Some(required), Some(object)) = (schema["required"].as_array(), value.as_object())
            && let Some(missing) = required.iter().filter_map(Value::as_str).find(|name| !object.contains_key(*name))
        {
            return Err(Wrong(format!("{at}: `{missing}` is missing")));
        }
        for (name, value) in value.as_object().into_iter().flatten() {
            let own = &schema["properties"][name];
            let of = if own.is_null() { &schema["additionalProperties"] } else { own };
            if of.is_object() {
                self.check(of, value, &format!("{at}.{name}"))?;
            }
        }
        for (place, value) in value.as_array().into_iter().flatten().enumerate() {
            let own = &schema["prefixItems"][place];
            let of = if own.is_null() { &schema["items"] } else { own };
            if of.is_object() {
                self.check(of, value, &format!("{at}[{place}]"))?;
            }
        }
        Ok(())
    }
}

fn is_of(ty: &str, value: &Value) -> bool {
    match ty {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        ty => panic!("no type `{ty}`"),
    }
}

#[track_caller]
fn holds(schema: &Value, document: &Value, args: &[&str]) {
    let checked = Schema { root: schema }.check(schema, document, "");
    checked.unwrap_or_else(|Wrong(error)| panic!("{args:?}: {error}\n{document:#}"));
}

/// Commands that print each document at least once.
const COMMANDS: &[&[&str]] = &[
    &["run", "k.ori", "--stats", "--trace", "0", "--races"],
    &["run", "p.ptx"],
    &["launch", "p.ptx", "-o", "-"],
    &["check", "k.ori", "--costs"],
    &["check", "p.ptx", "--rules", "wrong.rules", "--phase", "GeneralOptimizeEarly"],
    &["compare", "k.ori", "p.ptx"],
    &["judge", "p.ptx", "--cubin", "k.cubin"],
    &["corpus", "minimize", "kernels"],
    &["fuzz", "--cases", "3", "--corpus", "none", "--target", "instructions", "--out", "other"],
    &["fuzz", "--case", "1", "--out", "other"],
    &["findings", "list"],
    &["findings", "export", "-o", "exported"],
    &["findings", "replay"],
    &["findings", "merge", "copy.db"],
    &["bisect", "p.ptx", "--rules", "wrong.rules"],
    &["bisect", "k.ori"],
    &["reduce", "p.ptx", "--rules", "wrong.rules"],
    &["selftest", "--kind", "drop-store", "--phase", "GeneralOptimizeEarly", "--cases", "20"],
    &["selftest", "--list"],
    &["rules", "check", "wrong.rules", "--no-solver"],
    &["rules", "list", "wrong.rules"],
    &["rules", "explain", "half", "wrong.rules"],
    &["opt", "p.ptx", "--time", "--explain"],
    &["opt", "p.ptx", "-o", "small.ptx"],
    &["phases"],
    &["phases", "--cicc"],
    &["knobs"],
    &["knobs", "--cicc"],
    &["ops"],
    &["ops", "iadd"],
];

#[test]
fn every_document_is_as_its_schema_says() {
    let folder = folder();
    let here = folder.path();
    let id = json(&["findings", "list", "--format", "json"], here)["findings"][0]["id"].clone();
    let id = id.as_str().expect("a finding");
    let cubin = ["sass", "k.cubin", "--json"];
    let more: [&[&str]; 3] = [&["findings", "show", id], &["findings", "close", id], &["findings", "reopen", id]];
    let listed = oriole(&["schema"], here);
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut missing: BTreeSet<&str> = listed.lines().skip(2).filter_map(|line| line.split("  ").next()).collect();
    assert!(missing.len() >= 25, "{listed}");
    let with_format: Vec<Vec<&str>> =
        COMMANDS.iter().chain(&more).map(|args| [args, &["--format", "json"][..]].concat()).collect();
    for args in with_format.iter().map(Vec::as_slice).chain([&cubin[..]]) {
        let document = json(args, here);
        let command = document["command"].as_str().unwrap_or_else(|| panic!("{args:?} does not say its command"));
        let words: Vec<&str> = ["schema"].into_iter().chain(command.split(' ')).collect();
        holds(&json(&words, here), &document, args);
        missing.retain(|name| *name != command);
    }
    // A record goes to a file, and beside it the report to standard output.
    let args = ["check", "p.ptx", "--rules", "wrong.rules", "--record", "record.json"];
    json(&[&args[..], &["--format", "json"]].concat(), here);
    let record = std::fs::read(here.join("record.json")).expect("it was written");
    let record: Value = serde_json::from_slice(&record).expect("it is JSON");
    holds(&json(&["schema", "record"], here), &record, &args);
    missing.remove("record");
    assert_eq!(missing, BTreeSet::new(), "no command prints these");
}

/// The check above finds what is wrong.
#[test]
fn a_document_that_is_not_as_its_schema_says_is_found() {
    let here = folder_of_one();
    let schema = json(&["schema", "run"], here.path());
    let good = json(&["run", "k.ori", "--format", "json"], here.path());
    let root = Schema { root: &schema };
    let wrong = |change: &dyn Fn(&mut Value)| {
        let mut document = good.clone();
        change(&mut document);
        root.check(&schema, &document, "").expect_err("it is wrong").0
    };
    holds(&schema, &good, &["run"]);
    assert_eq!(wrong(&|it| it["version"] = 7.into()), ".version: 1, not 7");
    assert_eq!(wrong(&|it| it["more"] = 7.into()), ": nothing is said of `more`");
    let of_launch = wrong(&|it| it["launches"][0]["more"] = 7.into());
    assert_eq!(of_launch, ".launches[0]: nothing is said of `more`");
    let without = wrong(&|it| _ = it["launches"][0].as_object_mut().map(|launch| launch.remove("good")));
    assert_eq!(without, ".launches[0]: `good` is missing");
    let text = wrong(&|it| it["launches"][0]["buffers"][0]["bytes"] = "four".into());
    assert_eq!(text, ".launches[0].buffers[0].bytes: integer, not \"four\"");
}

fn folder_of_one() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    std::fs::write(at("k.ori"), KERNEL).expect("it is writable");
    std::fs::write(at("k.launch.toml"), LAUNCH).expect("it is writable");
    folder
}
