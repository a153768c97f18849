//! The definition of constant expressions (`oriole_generate::spell::constant`), asked of the real ptxas, and the front
//! end held against it.

use std::process::Command;

use oriole_check::constants::misread;
use oriole_generate::Entropy;
use oriole_generate::spell::constant_expression;
use oriole_sass::cubin::Cubin;

use crate::common;

/// Numbers, each with an expression that denotes it.
fn expressions(seeds: std::ops::Range<u64>) -> Vec<(u64, String)> {
    let pair = |seed: u64| {
        let entropy = &mut Entropy::from_seed(seed);
        let number = entropy.bits() >> (8 * (seed % 8));
        (number, constant_expression(number, entropy))
    };
    seeds.map(pair).collect()
}

fn table(expressions: &[(u64, String)]) -> String {
    let list: Vec<&str> = expressions.iter().map(|(_, text)| text.as_str()).collect();
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .align 8 .u64 table[{}] = {{\n{}\n}};\n",
        list.len(),
        list.join(",\n")
    )
}

#[test]
fn ptxas_folds_constants_as_they_are_defined() {
    let Some(tool) = common::ptxas() else {
        println!("skipped: no ptxas");
        return;
    };
    let expressions = expressions(0..4000);
    let folder = tempfile::tempdir().expect("there is room for files");
    let (source, out) = (folder.path().join("table.ptx"), folder.path().join("table.cubin"));
    std::fs::write(&source, table(&expressions)).expect("it can be written");
    let done = Command::new(tool).arg("-arch=sm_80").arg(&source).arg("-o").arg(&out).output().expect("ptxas runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let cubin = Cubin::read(&std::fs::read(&out).expect("ptxas has made it")).expect("it is a cubin");
    let section = cubin.section(".nv.global.init").expect("the table is in it");
    let folded =
        cubin.bytes(section).chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes")));
    for ((wanted, text), found) in expressions.iter().zip(folded) {
        assert_eq!(*wanted, found, "{text}");
    }
}

#[test]
fn the_front_end_folds_constants_as_they_are_defined() {
    let expressions = expressions(4000..8000);
    let text = table(&expressions);
    let tree = oriole_ptx::parse(&text).expect("it parses");
    assert!(tree.expressions.len() > 3500, "{}", tree.expressions.len());
    assert_eq!(misread(&text, &tree), None);
    let module = oriole_ptx::read(&text).expect("it is read");
    let wanted: Vec<u8> = expressions.iter().flat_map(|(number, _)| number.to_le_bytes()).collect();
    let mut init = module.globals.values().next().expect("there is a table").init.clone();
    // Zeros at the end are left out.
    init.resize(wanted.len(), 0);
    assert_eq!(init, wanted);
}
