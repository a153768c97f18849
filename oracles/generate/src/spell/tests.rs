use oriole_ir::{Module, Relocation};
use oriole_ptx as ptx;

use super::{Respelling, avoiding, respelled};
use crate::{Config, from_seed};

/// The texts of some generated kernels, as they are printed; those that have no PTX are left out.
fn printed(count: u64) -> Vec<String> {
    let config = Config::default();
    let texts = (0..count).filter_map(|seed| ptx::emit(&from_seed(seed, &config).module).ok());
    texts.collect()
}

fn read(text: &str) -> Module {
    ptx::read(text).unwrap_or_else(|faults| {
        let (line, _) = faults[0].line_column(text);
        panic!("{}: {}", faults[0].message, text.lines().nth(line - 1).unwrap_or_default())
    })
}

#[test]
fn other_spellings_are_read() {
    let texts = printed(150);
    assert!(texts.len() > 100);
    for text in &texts {
        let other = respelled(text);
        assert_ne!(*text, other);
        let (one, two) = (read(text), read(&other));
        let globals = |module: &Module| -> Vec<(String, u64, Vec<u8>, Vec<Relocation>)> {
            let known = |variable: &oriole_ir::Variable| {
                let bytes = variable.init.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                let init = variable.init[..bytes].to_vec();
                (variable.name.clone(), variable.size(), init, variable.relocations.clone())
            };
            module.globals.values().map(known).collect()
        };
        assert_eq!(globals(&one), globals(&two), "{other}");
    }
}

#[test]
fn every_way_of_spelling_comes_up() {
    let all: String = printed(600).iter().map(|text| respelled(text)).collect();
    let ways = [
        "0X",
        "0B",
        "U,",
        "U]",
        "? ",
        "(!",
        "0xFF00(generic(",
        "(~",
        "(-(",
        "((.s64)",
        "((.u64)",
        ") << ",
        ") >> ",
        "% ",
        " / ",
        " && ",
        " || ",
        " >= ",
        " == ",
        "WARP_SZ",
        "0F",
        "e0",
        "0D",
        ".reg .v2 ",
        ".reg .v4 ",
        ".x, ",
        ".g, ",
        "[1][",
        "][",
        "}, {",
        ".u64 table",
        ".u16 constants",
        "+(-",
        "not.pred",
        "@%hidden",
        "+-",
        "table[",
        "mov.b64 %hidden",
        "} }",
        "3, 3; @",
        "call (%r",
        "%r0, %r1",
        "//",
        "/*",
    ];
    let missing: Vec<&str> = ways.into_iter().filter(|way| !all.contains(way)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Tables of addresses read back to the same symbols and distances, in whichever spelling.
#[test]
fn addresses_in_initial_values_are_spelled() {
    let table = |number: u64| {
        let (near, far) = (4 * number, 1000 - number as i64 * 100);
        let addresses = format!("t{number}[3] = {{a+{near}, generic(b)+{far}, {number}}}");
        format!(".global .align 8 .u64 {addresses};\n.global .u64 s{number} = c+8;\n")
    };
    let tables: String = (0..60).map(table).collect();
    let head =
        ".version 9.0\n.target sm_90\n.address_size 64\n.global .b8 a[8];\n.global .b8 b[8];\n.shared .b8 c[16];\n";
    let module = read(&format!("{head}{tables}"));
    let printed = ptx::emit(&module).expect("it has words");
    let other = respelled(&printed);
    let relocations = |module: &Module| -> Vec<_> {
        module.globals.values().map(|global| (global.name.clone(), global.size(), global.relocations.clone())).collect()
    };
    let expected = relocations(&module);
    assert_eq!(expected, relocations(&read(&printed)));
    assert_eq!(expected, relocations(&read(&other)), "{other}");
    let bytes = [".u8 t", "0xFF00(a", "0xFF00000000000000(generic(b"];
    let ways = ["generic(b)+", "+(-", "+-", "+0x", "][3] = {{", "c+0"];
    for way in ways.into_iter().chain(bytes) {
        assert!(other.contains(way), "no `{way}` in {other}");
    }
    let changes = Respelling::of(&printed);
    assert!((0..changes.changes()).any(|change| changes.change(change).rule == "address"));
}

#[test]
fn a_line_is_spelled_alike_wherever_it_stands() {
    let text = printed(1).remove(0);
    let line = text.lines().find(|line| line.starts_with("\tmul.lo.u32")).expect("there is one");
    let alone = respelled(&format!("{{\n{line}\n}}\n"));
    let spelled = alone.strip_prefix('{').and_then(|rest| rest.trim_start().split('}').next());
    assert!(respelled(&text).contains(spelled.expect("it is there").trim_end()), "{alone}");
}

/// A handle of an image is no address: nothing can be added to it and taken away again.
#[test]
fn handles_get_no_offsets() {
    let rules = |instruction: &str| -> Vec<&'static str> {
        let lines: String = (0..200).map(|reg| format!("\t{instruction} %r1, [%d{reg}];\n")).collect();
        let text = format!("{{\n{lines}}}\n");
        let changes = Respelling::of(&text);
        (0..changes.changes()).map(|change| changes.change(change).rule).collect()
    };
    assert!(rules("ld.global.b32").contains(&"negative-offset"));
    for query in ["txq.width.b32", "suq.width.b32"] {
        let rules = rules(query);
        assert!(rules.contains(&"scope") && !rules.contains(&"negative-offset"), "{query}: {rules:?}");
    }
}

/// A place in a variable is named by an index as well, which a register may hold a part of.
#[test]
fn places_in_variables_are_spelled_as_elements() {
    let head = ".version 9.0\n.target sm_90\n.address_size 64\n.global .align 256 .b8 table[32];\n.entry k()\n{\n\
        \t.reg .b32 %r<2000>;\n";
    let lines: String = (0..2000).map(|at| format!("\tld.global.b32 %r{at}, [table+{}];\n", 8 * (at % 3))).collect();
    let text = format!("{head}{lines}\tret;\n}}\n");
    let other = respelled(&text);
    read(&other);
    assert!(
        other.contains(", table[%") && other.lines().any(|line| line.starts_with("\tld") && line.contains("table["))
    );
}

/// What a call leaves is looked for in an index, not in the whole body for each call.
#[test]
fn many_calls_take_little_time() {
    let call = "{\n\t.param .b32 a;\n\t.param .b32 r;\n\tst.param.b32 [a], %r1;\n\tcall (r), f, (a);\n\tld.param.b32 %r1, [r];\n";
    let text = format!("{{\n{}}}\n", call.trim_start_matches("{\n").repeat(40_000));
    let start = std::time::Instant::now();
    let other = respelled(&text);
    assert!(other.lines().count() > 100_000 && other.contains("call (%r1), f, (%r1)"));
    assert!(start.elapsed() < std::time::Duration::from_secs(5), "{:?}", start.elapsed());
}

/// Each change can be made without the others, and each simpler way of writing its line is PTX as well.
#[test]
fn changes_and_simpler_ways_are_read() {
    let mut rules = std::collections::BTreeSet::new();
    for text in printed(12) {
        let respelling = Respelling::of(&text);
        avoiding(&text).iter().for_each(|other| _ = read(&other.text));
        assert!(respelling.text(|_| false) == text && respelling.text(|_| true) == respelled(&text));
        for change in 0..respelling.changes() {
            let only = respelling.text(|other| other == change);
            assert_eq!(only, respelling.with(change, respelling.change(change)));
            read(&only);
            for way in respelling.simpler(change) {
                read(&respelling.with(change, &way));
                rules.insert(way.rule);
            }
        }
    }
    assert!(rules.len() >= 9, "{rules:?}");
}

/// A printed kernel that calls a function.
fn calling(stored: &str, ty: &str, load: &str) -> String {
    format!(
        "{{\n\t.reg .b32 %r<7>;\n\t.param .align 4 .{ty} argument;\n\t.param .align 4 .{ty} result;\n$L_0:\n\t\
         st.param.b32 [argument], {stored};\n\tcall (result), scale, (argument);\n\t{load}, [result];\n\tret;\n}}\n"
    )
}

/// What is in a parameter's place has its type: ptxas takes no integer for a float there, and no wider register.
#[test]
fn calls_pass_what_their_parameters_take() {
    let all = |stored: &str, ty: &str, load: &str| -> Vec<String> {
        let text = |register: u32| calling(stored, ty, &load.replace('7', &register.to_string()));
        (0..60).map(|register| respelled(&text(register))).filter(|text| !text.contains("st.param")).collect()
    };
    let floats = all("1084227584", "f32", "ld.param.b32 %r7");
    assert!(!floats.is_empty() && floats.iter().all(|text| text.contains("), scale, (0f40A00000)")), "{floats:?}");
    let words = all("1084227584", "b32", "ld.param.b32 %r7");
    assert!(!words.is_empty() && words.iter().all(|text| text.contains("), scale, (1084227584)")), "{words:?}");
    assert_eq!(all("%r1", "b32", "ld.param.b32 %d7"), Vec::<String>::new());
    assert_eq!(all("%d1", "b32", "ld.param.b32 %r7"), Vec::<String>::new());
    assert!(!all("%r1", "b32", "ld.param.b32 %r7").is_empty());
}

/// On Blackwell an operation on floats may be written as a pair of two, or an extreme as one of three.
#[test]
fn compounds_are_written_where_there_are_some() {
    let spelled = |sm: u32| {
        let line = |at: u32| format!("\tadd.rn.ftz.f32 %r{at}, %r1, %r2;\n\tmax.NaN.f32 %r{at}, %r3, %r4;\n");
        let lines: String = (5..300).map(line).collect();
        respelled(&format!(".target sm_{sm}\n{{\n{lines}}}\n"))
    };
    let (old, new) = (spelled(90), spelled(100));
    assert!(
        new.contains("add.rn.ftz.f32x2 ") && new.contains("{%r2, %r1}; mov.b64 ") && new.contains("{_, %r"),
        "{new}"
    );
    assert!(new.contains(", %r3, %r4, %r4;") || new.contains(", %r3, %r4, %r3;"), "{new}");
    assert!(!old.contains("f32x2") && !old.contains(", %r3, %r4, "), "{old}");
}

/// Zero is also what a special register has behind its three components.
#[test]
fn zeros_are_copied_from_fourth_components() {
    let lines: String = (0..600).map(|at| format!("\t@%p1 mov.b32 %r{at}, 0;\n\tmov.b32 %r{at}, 10;\n")).collect();
    let text = respelled(&format!("{{\n{lines}}}\n"));
    let written: Vec<&str> = text.lines().filter(|line| line.contains("id.w;")).collect();
    assert!(!written.is_empty() && written.iter().all(|line| line.contains("@%p1 mov.b32 %r")), "{text}");
}
