//! Lowered text of small kernels, and what is said about faulty ones.

use crate::ptx::{line_column, read};

/// A kernel with registers of every kind around `body`.
fn kernel(body: &str) -> String {
    format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.global .align 4 .b32 table[4];\n.shared .align 4 .b8 tile[64];\n\
         .visible .entry k(.param .u64 p, .param .u32 n)\n{{\n.reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<8>;\n\
         .reg .b64 %d<8>;\n.reg .b128 %q<4>;\n.reg .f32 %f<8>;\n{body}\n}}\n"
    )
}

/// Lines before the body.
const PREAMBLE: usize = 13;

/// The instructions of the lowered kernel, without labels, lines and the final `ret`.
fn lowered(body: &str) -> Vec<String> {
    let source = kernel(body);
    let module = read(&source).unwrap_or_else(|faults| panic!("{body}: {faults:#?}"));
    let text = module.to_string();
    let body = text.lines().skip_while(|line| !line.starts_with("bb")).filter(|line| line.starts_with(' '));
    let mut out: Vec<_> = body.map(|line| line.trim().split(" !").next().unwrap_or("").to_owned()).collect();
    assert_eq!(out.pop().as_deref(), Some("ret"));
    out
}

/// Line, column and message of the first fault, with its help.
fn fault(body: &str) -> (usize, usize, String, String) {
    let source = kernel(body);
    let faults = read(&source).expect_err(body);
    let (line, column) = faults[0].line_column(&source);
    assert_eq!((line, column), line_column(&source, faults[0].span.offset()));
    (line - PREAMBLE, column, faults[0].message.clone(), faults[0].help.clone())
}

#[test]
fn ordinary_instructions_follow_their_rows() {
    assert_eq!(
        lowered("ld.param.u64 %d1, [p];\nadd.s32 %r1, %r2, -1;\nfma.rn.f32 %f1, %f2, 0f3F800000, %f3;"),
        ["%d0 = ld.param.u64 [$p]", "%r2 = iadd.s32 %r1, 0xffffffff", "%r5 = ffma.rn.f32 %r3, 0x3f800000, %r4"]
    );
    assert_eq!(
        lowered("st.global.v2.u32 [%d1+8], {%r1, %r2};\n@!%p1 mul.wide.u32 %d2, %r1, 4;"),
        ["st.global.v2.u32 [%d0+8], %r1, %r2", "@!%p3 %d4 = imul.wide.u32 %r1, 4"]
    );
}

#[test]
fn branches_end_blocks() {
    let source = kernel("loop:\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra loop;\n@!%p1 exit;");
    let text = read(&source).expect("lowers").to_string();
    let body = &text[text.find("bb0").expect("blocks")..];
    let expected = "bb0:\n  bra bb1 !7\nbb1:\n  %p1 = setp.ne.u32 %r0, 0 !15\n  cbra %p1, bb1, bb2 !16\nbb2:\n  \
                    cbra %p1, bb4, bb3 !17\nbb3:\n  exit !17\nbb4:\n  ret !17\n}\n";
    assert_eq!(body, expected);
}

#[test]
fn faults_name_instruction_place_and_remedy() {
    let (line, column, message, help) = fault("add.s32 %r1, %r2, 1;\nadd.sat.u32 %r1, %r2, 3;");
    assert_eq!((line, column), (2, 1));
    assert_eq!(message, "`.u32` does not go with `.sat`: `add.sat.u32`");
    assert_eq!(help, "with `.sat` the type may be `.s32`");
    let (_, column, message, _) = fault("add.s32 %r1, %r9, 1;");
    assert_eq!((column, message.as_str()), (14, "`%r9` is not declared"));
    let (.., message, help) = fault("wgmma.fence.sync.aligned;");
    assert_eq!(message, "`wgmma` is not supported yet: `wgmma.fence.sync.aligned`");
    assert!(help.starts_with("warp-group matrix instructions"), "{help}");
}
