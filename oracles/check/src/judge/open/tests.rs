//! What is open in small kernels, and what is not.

use oriole_launch::{Arg, ArgValue, Buffer};

use super::*;

/// The words of two that are open where a kernel of one thread fills them.
fn open_words(body: &str, registers: &str) -> Vec<bool> {
    let open = open_of(body, registers);
    assert!(!open.everything);
    open.words.concat()
}

fn open_of(body: &str, registers: &str) -> Open {
    let head = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n";
    let text = format!("{head}.reg .b64 %d<4>;\n{registers}ld.param.u64 %d1, [p];\n{body}ret;\n}}\n");
    let module = crate::input::read_ptx(&text).unwrap_or_else(|faults| panic!("{faults:?}"));
    let bytes = vec![0xff; 8];
    let buffer = Buffer { bytes, element: None, expect: None, tolerance: None, replicas: 0 };
    // A whole warp, which products take; all lanes store the same.
    let mut launch = Launch { block: [32, 1, 1], ..Launch::new(None) };
    launch.args.push(Arg { name: None, value: ArgValue::Buffer(buffer) });
    let run = Executable::new(&module).unwrap().run(&launch, &RunOptions::default()).unwrap();
    assert_eq!(run.outcome, Outcome::Finished);
    let open = Open::of(&module, &launch, &run);
    assert!(open.covers(&run, &run));
    open
}

#[test]
fn nans_are_open_and_what_they_do_not_reach_is_not() {
    let registers = ".reg .f32 %f<4>;\n.reg .b32 %r<4>;\n";
    // The second word is a number in every choice; the first one tells the payload.
    let body = "ld.global.f32 %f1, [%d1];\nadd.f32 %f2, %f1, 0f3f800000;\nmov.b32 %r1, %f2;\n\
        shr.u32 %r1, %r1, 2;\nst.global.u32 [%d1], %r1;\nmin.f32 %f3, %f2, 0f40000000;\n\
        st.global.f32 [%d1+4], %f3;\n";
    assert_eq!(open_words(body, registers), [true, false]);
    let number = body.replace("ld.global.f32 %f1, [%d1]", "mov.f32 %f1, 0f3f800000");
    assert_eq!(open_words(&number, registers), [false, false]);
    let twice = "ld.global.f32 %f1, [%d1];\nneg.f32 %f2, %f1;\nneg.f32 %f3, %f2;\nst.global.f32 [%d1], %f3;\n\
        st.global.u32 [%d1+4], 7;\n";
    assert_eq!(open_words(twice, registers), [true, false], "the second one does not undo the first");
    let packed = "ld.global.b32 %r1, [%d1];\nneg.f16x2 %r2, %r1;\nand.b32 %r3, %r2, 0xf;\n\
        st.global.u32 [%d1], %r3;\nst.global.u32 [%d1+4], 7;\n";
    assert_eq!(open_words(packed, registers), [true, false]);
}

#[test]
fn each_low_bit_of_a_nan_and_of_an_approximation_is_open() {
    let registers = ".reg .f32 %f<4>;\n.reg .b32 %r<4>;\n";
    for function in ["cos.approx.f32 %f1, 0f40000000", "mul.f32 %f1, 0f7fc00000, 0f40000000"] {
        for bit in 0..6 {
            let body = format!(
                "{function};\nmov.b32 %r1, %f1;\nand.b32 %r1, %r1, {};\nst.global.u32 [%d1], %r1;\n\
                 st.global.u32 [%d1+4], 7;\n",
                1 << bit
            );
            assert_eq!(open_words(&body, registers), [true, false], "bit {bit} of {function}");
        }
    }
}

#[test]
fn approximations_and_registers_of_the_machine_are_open() {
    let registers = ".reg .f32 %f<4>;\n.reg .b32 %r<4>;\n";
    let body = "sin.approx.f32 %f1, 0f3f800000;\ncvt.rzi.s32.f32 %r1, %f1;\nst.global.f32 [%d1], %f1;\n\
        st.global.u32 [%d1+4], %r1;\n";
    assert_eq!(open_words(body, registers), [true, false]);
    let body = body.replace("sin.approx.f32 %f1, 0f3f800000", "sqrt.rn.f32 %f1, 0f40400000");
    assert_eq!(open_words(&body, registers), [false, false]);
    let body = "mov.u32 %r1, %smid;\nst.global.u32 [%d1], %r1;\nmov.u32 %r2, %ntid.x;\nst.global.u32 [%d1+4], %r2;\n";
    assert_eq!(open_words(body, registers), [true, false]);
    // Close to zero the error is absolute, so that even the sign is open.
    let body = "cos.approx.f32 %f1, 0f3fc90fdb;\nsetp.lt.f32 %p1, %f1, 0f00000000;\nselp.u32 %r1, 1, 2, %p1;\n\
        st.global.u32 [%d1], %r1;\nst.global.u32 [%d1+4], 0;\n";
    assert_eq!(open_words(body, &format!("{registers}.reg .pred %p<2>;\n")), [true, false]);
}

#[test]
fn sines_of_large_angles_are_open() {
    let registers = ".reg .f32 %f<4>;\n.reg .b32 %r<4>;\n";
    let upper = |angle: &str| {
        let body = format!(
            "mov.f32 %f1, {angle};\nsin.approx.f32 %f1, %f1;\nmov.b32 %r1, %f1;\nand.b32 %r1, %r1, 0x80000000;\n\
             st.global.u32 [%d1], %r1;\nst.global.u32 [%d1+4], 7;\n"
        );
        open_words(&body, registers)
    };
    assert_eq!(upper("0f43a00000"), [true, false], "320");
    assert_eq!(upper("0fC3a00000"), [true, false], "-320");
    assert_eq!(upper("0f439C0000"), [false, false], "312");
    // 2^29, whose sine is nearly zero by chance: what is subtracted from it would hide small changes.
    let body = "sin.approx.f32 %f1, 0f4E000000;\nsub.f32 %f1, %f1, 0f20000000;\nst.global.f32 [%d1], %f1;\n\
        st.global.u32 [%d1+4], 7;\n";
    assert_eq!(open_words(body, registers), [true, false]);
}

#[test]
fn small_results_of_approximations_may_be_zero() {
    let registers = ".reg .f32 %f<4>;\n.reg .b32 %r<4>;\n.reg .pred %p<2>;\n";
    let body = "sin.approx.f32 %f1, 0f00000800;\nmov.b32 %r1, %f1;\nsetp.eq.u32 %p1, %r1, 0;\n\
        selp.u32 %r2, 1, 2, %p1;\nst.global.u32 [%d1], %r2;\nst.global.u32 [%d1+4], 7;\n";
    assert_eq!(open_words(body, registers), [true, false]);
}

#[test]
fn whether_the_least_normal_number_is_flushed_is_open() {
    let registers = ".reg .f32 %f<4>;\n";
    let product = |flush: &str, factor: &str| {
        let body = format!(
            "mov.f32 %f1, {factor};\nmul{flush}.f32 %f2, %f1, 0f3f800000;\nst.global.f32 [%d1], %f2;\n\
             st.global.u32 [%d1+4], 7;\n"
        );
        open_words(&body, registers)
    };
    assert_eq!(product(".ftz", "0f80800000"), [true, false]);
    assert_eq!(product(".ftz", "0f80800001"), [false, false]);
    assert_eq!(product("", "0f80800000"), [false, false]);
}

#[test]
fn the_pending_count_of_no_barrier_opens_everything() {
    let count = |state: &str| {
        let body = format!(
            "mov.u64 %d2, 5;\nmbarrier.pending_count.b64 %r1, {state};\nst.global.u32 [%d1], %r1;\n\
             st.global.u32 [%d1+4], 7;\n"
        );
        open_of(&body, ".reg .b32 %r<2>;\n").everything
    };
    assert_eq!([count("0"), count("%d2")], [true, false]);
}

#[test]
fn addresses_of_locals_are_open() {
    let registers = ".reg .b32 %r<4>;\n.reg .b64 %a<3>;\n.local .align 4 .b8 spare[4];\n\
        .local .align 4 .b8 array[8];\n";
    let body = "mov.u64 %a1, array;\ncvt.u32.u64 %r1, %a1;\nst.global.u32 [%d1], %r1;\nmov.u32 %r2, 5;\n\
        st.local.u32 [array], %r2;\nld.local.u32 %r3, [array];\nst.global.u32 [%d1+4], %r3;\n";
    assert_eq!(open_words(body, registers), [true, false]);
    let alone = registers.replace(".local .align 4 .b8 spare[4];\n", "");
    assert_eq!(open_words(body, &alone), [true, false], "the first one");
    let apart = "mov.u64 %a1, array;\nmov.u64 %a2, spare;\nsub.u64 %a1, %a1, %a2;\ncvt.u32.u64 %r1, %a1;\n\
        st.global.u32 [%d1], %r1;\nst.global.u32 [%d1+4], 7;\n";
    assert_eq!(open_words(apart, registers), [true, false], "how far two are apart");
}

/// Whatever is made of an address, several other ones are tried.
#[test]
fn bits_of_addresses_are_open() {
    for (space, bits) in [("local", 4..=7), ("local", 10..=13), ("shared", 10..=12)] {
        for bit in bits {
            let registers = format!(".reg .b32 %r<4>;\n.{space} .align 4 .b8 array[8];\n");
            let body = format!(
                "mov.u32 %r1, array;\nand.b32 %r1, %r1, {};\nst.global.u32 [%d1], %r1;\nst.global.u32 [%d1+4], 7;\n",
                1 << bit
            );
            assert_eq!(open_words(&body, &registers), [true, false], "{space}, bit {bit}");
        }
    }
}

#[test]
fn addresses_of_shared_variables_are_open() {
    let registers = ".reg .b32 %r<4>;\n.shared .align 4 .b8 array[8];\n";
    let body = "mov.u32 %r1, array;\nst.global.u32 [%d1], %r1;\nst.shared.u32 [array], 5;\n\
        ld.shared.u32 %r3, [array];\nst.global.u32 [%d1+4], %r3;\n";
    assert_eq!(open_words(body, registers), [true, false]);
    // Zero is where the variable lies by chance.
    let body = "st.shared.u32 [array], 5;\nmov.u32 %r2, 0;\nld.shared.u32 %r3, [%r2];\n\
        st.global.u32 [%d1], %r3;\nst.global.u32 [%d1+4], 0;\n";
    assert_eq!(open_words(body, registers), [true, false]);
}

#[test]
fn fragments_taken_for_numbers_are_open() {
    let registers = ".reg .b32 %r<4>;\n.reg .s32 %s<9>;\n.shared .align 32 .b8 tile[1024];\n";
    let product = |left: &str, last: &str| {
        let body = format!(
            "mov.u32 %r1, %laneid;\nwmma.load.a.sync.aligned.row.m16n16k16.shared.s8 {{%r2, %r3}}, [tile];\n\
             st.global.u32 [%d1+4], 7;\nwmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 \
             {{%s1, %s2, %s3, %s4, %s5, %s6, %s7, %s8}}, {left}, {{1, 1}}, {{0, 0, 0, 0, 0, 0, 0, 0}};\n{last}"
        );
        open_words(&body, registers)
    };
    let number = "and.b32 %s1, %s1, 0xff;\nst.global.u32 [%d1], %s1;\n";
    assert_eq!(product("{%r1, %r1}", number), [true, false]);
    assert_eq!(product("{1, 1}", number), [false, false], "all lanes and elements are alike");
    // All lanes are alike, and the registers of a fragment are not.
    assert_eq!(product("{0, 1}", number), [true, false]);
    // Nothing else is open here.
    let alone = "mov.u32 %r1, %laneid;\nwmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 {%s1, %s2, %s3, %s4, \
        %s5, %s6, %s7, %s8}, {%r1, %r1}, {1, 1}, {0, 0, 0, 0, 0, 0, 0, 0};\nst.global.u32 [%d1], %s1;\n\
        st.global.u32 [%d1+4], 7;\n";
    assert_eq!(open_words(alone, ".reg .b32 %r<4>;\n.reg .s32 %s<9>;\n"), [true, false]);
}

#[test]
fn fragments_that_are_nothing_else_are_not_open() {
    let registers = ".reg .b32 %r<8>;\n.reg .s32 %s<9>;\n.shared .align 32 .b8 tile[1024];\n";
    let eight = "{%s1, %s2, %s3, %s4, %s5, %s6, %s7, %s8}";
    let body = format!(
        "mov.u32 %r1, %laneid;\nmul.lo.u32 %r2, %r1, 77;\nmov.u32 %r3, tile;\nmad.lo.u32 %r3, %r1, 8, %r3;\n\
         st.shared.v2.u32 [%r3], {{%r1, %r2}};\nbar.warp.sync 0xffffffff;\n\
         wmma.load.a.sync.aligned.row.m16n16k16.shared.s8 {{%r4, %r5}}, [tile];\n\
         wmma.load.b.sync.aligned.col.m16n16k16.shared.s8 {{%r6, %r7}}, [tile];\n\
         wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 {eight}, {{%r4, %r5}}, {{%r6, %r7}}, \
         {{0, 0, 0, 0, 0, 0, 0, 0}};\n\
         wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 {eight}, {{%r4, %r5}}, {{%r6, %r7}}, {eight};\n\
         wmma.store.d.sync.aligned.row.m16n16k16.shared.s32 [tile], {eight};\nld.shared.u32 %r1, [tile+72];\n\
         st.global.u32 [%d1], %r1;\nld.shared.u32 %r1, [tile+516];\nst.global.u32 [%d1+4], %r1;\n"
    );
    assert_eq!(open_words(&body, registers), [false, false]);
}

#[test]
fn what_is_loaded_for_a_sum_is_no_sum() {
    let registers = ".reg .f32 %f<9>;\n.reg .b32 %r<4>;\n.shared .align 32 .b8 tile[1024];\n";
    let eight = "{%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}";
    let body = format!(
        "mov.u32 %r1, %laneid;\nmov.u32 %r2, tile;\nshl.b32 %r1, %r1, 2;\nadd.u32 %r1, %r1, %r2;\n\
         st.shared.f32 [%r1], 0f3f800000;\nbar.warp.sync 0xffffffff;\n\
         wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {eight}, [tile];\n\
         wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [tile], {eight};\n\
         ld.shared.f32 %f1, [tile];\nst.global.f32 [%d1], %f1;\nst.global.u32 [%d1+4], 7;\n"
    );
    assert_eq!(open_words(&body, registers), [false, false]);
}

#[test]
fn all_is_open_where_an_approximation_is_an_address() {
    let registers = ".reg .f32 %f<4>;\n.reg .b32 %r<4>;\n";
    let at = |function: &str| {
        let body = format!(
            "{function}.f32 %f1, 0f40400000;\nmov.b32 %r1, %f1;\nand.b32 %r1, %r1, 4;\ncvt.u64.u32 %d2, %r1;\n\
             add.u64 %d2, %d2, %d1;\nst.global.u32 [%d2], 7;\n"
        );
        open_of(&body, registers).everything
    };
    assert!(at("sin.approx"));
    assert!(!at("sqrt.rn"));
}

#[test]
fn all_is_open_behind_a_breakpoint() {
    let stores = "st.global.u32 [%d1], 1;\nst.global.u32 [%d1+4], 7;\n";
    assert!(open_of(&format!("brkpt;\n{stores}"), "").everything);
    let registers = ".reg .pred %p<2>;\n";
    let passed = format!("setp.eq.u64 %p1, %d1, 0;\n@%p1 brkpt;\n{stores}");
    assert_eq!(open_words(&passed, registers), [false, false]);
}

#[test]
fn every_bit_of_a_pending_count_is_open() {
    let body = |bit: u32| {
        format!(
            "mbarrier.pending_count.b64 %r1, %d1;\nand.b32 %r1, %r1, {};\nst.global.u32 [%d1], %r1;\n\
             st.global.u32 [%d1+4], 7;\n",
            1u32 << bit
        )
    };
    for bit in [0, 9, 10, 19, 31] {
        assert_eq!(open_words(&body(bit), ".reg .b32 %r<4>;\n"), [true, false], "bit {bit}");
    }
    let bytes = "mbarrier.pending_count.b64 %r1, %d1;\nshr.u32 %r2, %r1, 16;\nsub.u32 %r1, %r1, %r2;\n\
        and.b32 %r1, %r1, 0xff;\nst.global.u32 [%d1], %r1;\nst.global.u32 [%d1+4], 7;\n";
    assert_eq!(open_words(bytes, ".reg .b32 %r<4>;\n"), [true, false], "the difference of two bytes");
}

/// Only of the current phase and the one before PTX says whether it is over.
#[test]
fn what_a_barrier_says_of_a_phase_long_ago_is_open() {
    let registers = ".reg .b32 %r<4>;\n.reg .pred %p<2>;\n.shared .align 8 .b64 barriers[32];\n";
    let body = |more: &str| {
        format!(
            "mov.u32 %r1, %tid.x;\nshl.b32 %r1, %r1, 3;\nmov.u32 %r2, barriers;\nadd.u32 %r1, %r1, %r2;\n\
             mbarrier.init.shared.b64 [%r1], 1;\nmbarrier.arrive.shared.b64 %d2, [%r1];\n{more}\
             mbarrier.test_wait.shared.b64 %p1, [%r1], %d2;\nselp.u32 %r1, 1, 2, %p1;\n\
             st.global.u32 [%d1], %r1;\nst.global.u32 [%d1+4], 7;\n"
        )
    };
    assert_eq!(open_words(&body(""), registers), [false, false], "the phase before");
    let arrive = "mbarrier.arrive.shared.b64 %d3, [%r1];\n";
    assert_eq!(open_words(&body(arrive), registers), [true, false], "the phase before that");
}

#[test]
fn what_is_no_handle_or_address_is_of_any_kind() {
    let registers = ".reg .b32 %r<4>;\n.reg .pred %p<2>;\n";
    for question in ["istypep.texref", "isspacep.shared"] {
        let body = format!(
            "{question} %p1, 0x123456789;\nselp.u32 %r1, 1, 2, %p1;\nst.global.u32 [%d1], %r1;\n\
             st.global.u32 [%d1+4], 7;\n"
        );
        assert_eq!(open_words(&body, registers), [true, false], "{question}");
    }
}

#[test]
fn sums_of_matrix_products_are_open_where_they_are_floats() {
    let product = |kind: &str, ty: &str| {
        let registers = format!(".reg .b32 %r<4>;\n.reg {ty} %s<5>;\n");
        let zero = if ty == ".f32" { "0f00000000" } else { "0" };
        let body = format!(
            "mov.b32 %r1, 0x3c003c00;\nmov.b32 %r2, 1;\nmma.sync.aligned.{kind} {{%s1, %s2, %s3, %s4}}, \
             {{%r1, %r1}}, {{%r1}}, {{{zero}, {zero}, {zero}, {zero}}};\nst.global.b32 [%d1], %s1;\n\
             st.global.u32 [%d1+4], 7;\n"
        );
        open_words(&body, &registers)
    };
    assert_eq!(product("m16n8k8.row.col.f32.f16.f16.f32", ".f32"), [true, false]);
    let halves = "mov.b32 %r1, 0x3c003c00;\nmma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r2, %r3}, {%r1, %r1}, \
        {%r1}, {0, 0};\nshr.u32 %r2, %r2, 16;\nst.global.b32 [%d1], %r2;\nst.global.u32 [%d1+4], 7;\n";
    assert_eq!(open_words(halves, ".reg .b32 %r<4>;\n"), [true, false], "the upper one of two");
    assert_eq!(product("m16n8k16.row.col.s32.s8.s8.s32", ".s32"), [false, false]);
}
