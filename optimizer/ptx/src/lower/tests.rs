//! Lowered text of small kernels, and what is said about faulty ones.

use crate::{line_column, lower, parse, read};

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

/// The lowered module's text, before SSA construction.
fn virtual_form(source: &str) -> String {
    let tree = parse(source).unwrap_or_else(|faults| panic!("{source}: {faults:#?}"));
    lower(&tree, source).unwrap_or_else(|faults| panic!("{source}: {faults:#?}")).to_string()
}

/// The instructions of the lowered kernel, without labels, lines and the final `ret`.
fn lowered(body: &str) -> Vec<String> {
    let source = kernel(body);
    let text = virtual_form(&source);
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
fn numbers_are_addresses_in_local_memory_alone() {
    let wrong = [
        "ld.param.b64 %d1, [0];",
        "ld.global.u32 %r1, [16];",
        "st.u32 [8], %r1;",
        "atom.shared.add.u32 %r1, [0], 1;",
        "prefetch.global.L1 [0];",
    ];
    for body in wrong {
        let (line, _, message, help) = fault(body);
        assert_eq!((line, message.as_str()), (1, "a number is an address in `.local` memory alone"), "{body}");
        assert!(help.contains("put it into a register"), "{help}");
    }
    assert!(lowered("ld.local.u32 %r1, [16];")[0].starts_with("%r0 = ld.local.u32 ["));
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
fn vector_registers_stand_for_their_components() {
    assert_eq!(
        lowered(".reg .v2 .b32 %v;\nld.global.v2.u32 %v, [%d1];\nmov.b32 %r1, %v.y;\nst.global.v2.u32 [%d1], %v;"),
        ["%r1, %r2 = ld.global.v2.u32 [%d0]", "%r3 = mov.b32 %r2", "st.global.v2.u32 [%d0], %r1, %r2"]
    );
    let (.., message, _) = fault(".reg .v4 .b32 %v;\nld.global.v2.u32 %v, [%d1];");
    assert_eq!(message, "a vector of 2 elements is needed here");
}

/// 32 bytes at once, as ptxas 13.0 takes them: to global memory, from `sm_100` on.
#[test]
fn the_widest_vectors_are_for_late_targets_and_global_memory() {
    let words = "{%r1, %r2, %r3, %r1, %r2, %r3, %r1, %r2}";
    let doubles = "{%d1, %d2, %d1, %d2}";
    let wide = kernel(&format!("st.global.v8.b32 [%d1], {words};\nst.v4.u64 [%d1], {doubles};"));
    assert!(read(&wide.replace("sm_90", "sm_100")).is_ok());
    let messages = |source: &str| -> Vec<String> {
        read(source).expect_err(source).into_iter().map(|fault| fault.message).collect()
    };
    let early = ["`st.global.v8.b32` needs sm_100 or later", "`st.v4.u64` needs sm_100 or later"];
    assert_eq!(messages(&wide), early);
    for (inst, message) in [
        (format!("st.shared.v8.b32 [%r1], {words};"), "`.shared` does not go with `.v8`: `st.shared.v8.b32`"),
        (format!("st.local.v4.b64 [%d1], {doubles};"), "`.local` does not go with `.v4`: `st.local.v4.b64`"),
        (format!("st.global.v8.b16 [%d1], {words};"), "`.b16` does not go with `.v8`: `st.global.v8.b16`"),
        (format!("ldu.global.v8.b32 {words}, [%d1];"), "`.v8` does not fit `ldu` here: `ldu.global.v8.b32`"),
    ] {
        assert_eq!(messages(&kernel(&inst).replace("sm_90", "sm_100")), [message]);
    }
}

/// One register of a matrix is written in braces where a list of them may be.
#[test]
fn matrices_are_lists_of_registers() {
    let insts = "ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%d1];\n\
                 ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r1, _}, [%r2+16];\n\
                 movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;\n\
                 stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r2], {%r1, 5};\nret;";
    let module = read(&kernel(insts)).expect("ptxas takes it");
    let printed = crate::emit(&module).expect("it can be printed");
    let lines = [
        "x1.b16 {%r1}, [%d0];",
        "{%r1, %r3}, [%r2+16];",
        "movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;",
        "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r2], {%r1, %xr0};",
    ];
    for line in lines {
        assert!(printed.contains(line), "{line} in\n{printed}");
    }
    let early = read(&kernel(insts).replace("sm_90", "sm_80")).expect_err("stmatrix is later");
    assert_eq!(early[0].message, "`stmatrix.sync.aligned.m8n8.x2.shared.b16` needs sm_90 or later");
    let (.., message, _) = fault("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1}, [%r2];");
    assert_eq!(message, "a vector of 2 elements is needed here");
    let (.., message, _) = fault("ldmatrix.sync.aligned.m8n8.x1.global.b16 {%r1}, [%d1];");
    assert!(message.starts_with("`.global` does not fit `ldmatrix` here"), "{message}");
    for bare in [
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 %r1, [%r2];",
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], %r1;",
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r1, %r2}, %r3, {%r1, %r2};",
        "wmma.load.a.sync.aligned.row.m8n8k32.shared.s4 %r1, [%r2], 32;",
    ] {
        let (.., message, help) = fault(bare);
        assert_eq!(message, "a list of one register is needed here", "{bare}");
        assert_eq!(help, "write it in braces, as in `{%r1}`");
    }
}

/// The selector chooses among the lanes that can give the metadata.
#[test]
fn sparse_products_have_metadata_and_a_selector() {
    let sparse = |kind: &str, rest: &str| {
        format!(
            "mma.{kind}.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16 {{%r1, %r2}}, {{%r1, %r2, %r3, %r4}}, \
                 {{%r1, %r2, %r3, %r4}}, {{%r5, %r6}}, {rest};"
        )
    };
    let ordered = sparse("sp::ordered_metadata", "%r7, 1");
    assert!(
        lowered(&ordered)[0].ends_with(
            "mma.sp.ordered.sync.m16n8k32.row.col.f16.f16.f16.f16 %r0, %r1, %r2, %r3, \
        %r0, %r1, %r2, %r3, %r4, %r5, %r6, 1"
        ),
        "{:?}",
        lowered(&ordered)
    );
    let printed = crate::emit(&read(&kernel(&format!("{}ret;", sparse("sp", "%r7, 0")))).expect("ptxas takes it"));
    assert!(printed.expect("it can be printed").contains("mma.sp.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16 {"));
    let (.., message, help) = fault(&sparse("sp", "%r7, 2"));
    assert_eq!((message.as_str(), help.as_str()), ("there is no such sparsity selector", "write a number from 0 to 1"));
    let (.., message, _) = fault(&sparse("sp", "%r7, %r1"));
    assert_eq!(message, "a constant is needed here");
}

/// PTX ISA 9.0, "Matrix Storage for WMMA": a stride that is not written is what a row, or column, has.
#[test]
fn whole_matrices_have_a_stride() {
    let stride = |load: &str| {
        let lines = lowered(&format!("wmma.load.{load};"));
        lines[0].rsplit(", ").next().map(str::to_owned)
    };
    for (load, wanted) in [
        ("a.sync.aligned.row.m8n32k16.shared.s8 {%r1}, [%r2]", "16"),
        ("a.sync.aligned.col.m8n32k16.shared.s8 {%r1}, [%r2]", "8"),
        ("b.sync.aligned.row.m32n8k16.shared.s8 {%r1}, [%r2]", "8"),
        ("b.sync.aligned.col.m32n8k16.shared.s8 {%r1}, [%r2]", "16"),
        ("c.sync.aligned.row.m32n8k16.f16 {%r1, %r2, %r3, %r4}, [%d1]", "8"),
        ("c.sync.aligned.col.m32n8k16.f16 {%r1, %r2, %r3, %r4}, [%d1]", "32"),
        ("a.sync.aligned.row.m8n8k128.global.b1 {%r1}, [%d1], 256", "256"),
        ("a.sync.aligned.row.m8n8k128.global.b1 {%r1}, [%d1], %r2", "%r1"),
    ] {
        assert_eq!(stride(load).as_deref(), Some(wanted), "{load}");
    }
    let bits = "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {%r1, %r2}, {%r3}, {%r4}, {%r5, %r6};";
    assert!(lowered(bits)[0].contains("wmma.mma.sync.row.col.m8n8k128.s32.b1.b1.s32.xor.popc"));
    let (.., message, _) = fault("wmma.load.a.sync.aligned.col.m8n8k32.shared.s4 {%r1}, [%r2];");
    assert!(message.starts_with("`.col` does not go with `.s4`"), "{message}");
}

/// An arrival may say how often; a wait may say how long, which is a hint.
#[test]
fn barriers_in_memory_are_read_and_printed() {
    let insts = "mbarrier.init.shared::cta.b64 [%r1], 32;\n\
                 mbarrier.arrive.shared.b64 _, [%r1];\n\
                 mbarrier.arrive.release.cta.b64 %d1, [%d2], 2;\n\
                 mbarrier.arrive.expect_tx.shared.b64 %d1, [%r1+8], %r2;\n\
                 mbarrier.arrive_drop.noComplete.shared.b64 %d1, [%r1], %r2;\n\
                 mbarrier.complete_tx.relaxed.cluster.shared.b64 [%r1], 16;\n\
                 mbarrier.try_wait.shared.b64 %p1, [%r1], %d1, 1000;\n\
                 mbarrier.test_wait.parity.acquire.cta.shared.b64 %p1, [%r1], %r2;\n\
                 mbarrier.pending_count.b64 %r2, %d1;\n\
                 cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];\n\
                 mbarrier.inval.shared.b64 [%r1];\nret;";
    let module = read(&kernel(insts)).expect("ptxas takes it");
    let printed = crate::emit(&module).expect("it can be printed");
    let lines = [
        "mbarrier.init.shared.b64 [%r0], 32;",
        "mbarrier.arrive.shared.b64 ",
        "mbarrier.arrive.release.cta.b64 ",
        "mbarrier.arrive.expect_tx.shared.b64 ",
        "mbarrier.arrive_drop.noComplete.shared.b64 ",
        "mbarrier.complete_tx.relaxed.cluster.shared.b64 [%r0], 16;",
        "mbarrier.try_wait.shared.b64 %p",
        "mbarrier.test_wait.parity.acquire.cta.shared.b64 %p",
        "mbarrier.pending_count.b64 ",
        "cp.async.mbarrier.arrive.noinc.shared.b64 [%r0];",
        "mbarrier.inval.shared.b64 [%r0];",
    ];
    for line in lines {
        assert!(printed.contains(line), "{line} in\n{printed}");
    }
    let early = read(&kernel("mbarrier.arrive.shared.b64 %d1, [%r1], 2;\nret;").replace("sm_90", "sm_80"));
    assert_eq!(early.expect_err("counts came later")[0].message, "`mbarrier.arrive.shared.b64` needs sm_90 or later");
    let (.., message, _) = fault("mbarrier.arrive.expect_tx.shared.b64 %d1, [%r1];");
    assert_eq!(message, "`mbarrier` takes 3 operands, and has 2");
    let (.., message, _) = fault("mbarrier.init.global.b64 [%d1], 2;");
    assert!(message.starts_with("`.global` does not fit `mbarrier` here"), "{message}");
}

/// Bulk copies and the like, to shared and global memory, with what waits for them.
#[test]
fn what_goes_on_beside_the_threads_is_read_and_printed() {
    let told = "mbarrier::complete_tx::bytes";
    let insts = [
        format!("cp.async.bulk.shared::cta.global.{told} [%r1], [%d1], 64, [%r2];"),
        format!("cp.async.bulk.shared::cluster.global.{told}.L2::cache_hint [%r1], [%d1+16], %r3, [%r2], %d2;"),
        format!("cp.async.bulk.shared::cluster.global.{told}.multicast::cluster [%r1], [%d1], 32, [%r2], %h1;"),
        format!("cp.async.bulk.shared::cluster.shared::cta.{told} [%r1], [tile], 32, [%r2];"),
        "cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r1], %r2;".into(),
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%d1], [%r1], 64;".into(),
        format!("cp.reduce.async.bulk.shared::cluster.shared::cta.{told}.inc.u32 [%r1], [%r3], 16, [%r2];"),
        "cp.async.bulk.commit_group;".into(),
        "cp.async.bulk.wait_group 2;".into(),
        "cp.async.bulk.wait_group.read 0;".into(),
        "cp.async.bulk.prefetch.L2.global [%d1], 48;".into(),
        format!("st.async.weak.shared::cluster.{told}.v2.b32 [%r1+8], {{%r2, 5}}, [%r3];"),
        format!("red.async.relaxed.cluster.shared::cluster.{told}.min.s32 [%r1], %r2, [%r3];"),
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];".into(),
        "mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%r1], 64;".into(),
    ];
    let module = read(&kernel(&format!("{}\nret;", insts.join("\n")))).expect("ptxas takes it");
    let printed = crate::emit(&module).expect("it can be printed");
    let lines = [
        format!("cp.async.bulk.shared::cta.global.{told} [%r0], [%d1], 64, [%r2];"),
        format!("cp.async.bulk.shared::cluster.global.{told} [%r0], [%d1+16], %r3, [%r2];"),
        format!("cp.async.bulk.shared::cluster.global.{told}.multicast::cluster [%r0], [%d1], 32, [%r2], "),
        format!("cp.async.bulk.shared::cluster.shared::cta.{told} [%r0], [tile], 32, [%r2];"),
        "cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r0], %r2;".into(),
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%d1], [%r0], 64;".into(),
        format!("cp.reduce.async.bulk.shared::cluster.shared::cta.{told}.inc.u32 [%r0], [%r3], 16, [%r2];"),
        "cp.async.bulk.commit_group;".into(),
        "cp.async.bulk.wait_group 2;".into(),
        "cp.async.bulk.wait_group.read 0;".into(),
        "cp.async.bulk.prefetch.L2.global [%d1], 48;".into(),
        format!("st.async.shared::cluster.{told}.v2.b32 [%r0+8], {{%r2, 5}}, [%r3];"),
        format!("red.async.relaxed.cluster.shared::cluster.{told}.min.s32 [%r0], %r2, [%r3];"),
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r0], 1;".into(),
        "mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%r0], 64;".into(),
    ];
    for line in lines {
        assert!(printed.contains(&line), "{line} in\n{printed}");
    }
    let (.., message, _) = fault("mbarrier.arrive.shared::cluster.b64 %d1, [%r1];");
    assert_eq!(message, "an arrival at a barrier of the cluster yields no state");
    let (.., message, _) =
        fault("cp.async.bulk.shared::cta.shared::cta.mbarrier::complete_tx::bytes [%r1], [%r2], 16, [%r3];");
    assert!(message.contains("shared::cta"), "{message}");
}

/// A size that constants have become, and that none may have, is in a register.
#[test]
fn ptxas_is_shown_no_size_that_it_refuses() {
    let module = read(&kernel("cp.async.bulk.prefetch.L2.global [%d1], 24;\nret;")).expect("it is read");
    let printed = crate::emit(&module).expect("it can be printed");
    assert!(printed.contains("mov.b32 %xr0, 0x18;") && printed.contains("[%d0], %xr0;"), "{printed}");
}

#[test]
fn branches_end_blocks() {
    let source = kernel("loop:\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra loop;\n@!%p1 exit;");
    let text = virtual_form(&source);
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
    let (.., message, help) = fault("tcgen05.wait::ld.sync.aligned;");
    assert_eq!(message, "`tcgen05.wait::ld.sync.aligned` needs sm_100a, or later with `a` or `f`");
    assert!(help.starts_with("write `.target sm_100a`"), "{help}");
}

#[test]
fn what_is_refused_again_for_the_same_reason_is_one_fault() {
    let source = kernel(
        "tcgen06.ld [%d1];\ntcgen06.st [%d1];\nadd.sat.u32 %r1, %r2, 3;\ntcgen06.ld [%d2];\nadd.sat.u32 %r2, %r1, 4;",
    );
    let faults = read(&source).expect_err("they are no instructions");
    let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
    let expected = [
        "`tcgen06` is not an instruction: `tcgen06.ld`",
        "`tcgen06` is not an instruction: `tcgen06.st`",
        "`.u32` does not go with `.sat`: `add.sat.u32`",
    ];
    assert_eq!(messages, expected);
}

#[test]
fn instructions_that_the_target_lacks_are_refused() {
    let source = kernel("add.s32 %r1, %r2, 1;\n@%p1 redux.sync.add.s32 %r1, %r2, -1;").replace("sm_90", "sm_75");
    let faults = read(&source).expect_err("`redux` comes with `sm_80`");
    let (line, column) = faults[0].line_column(&source);
    assert_eq!((faults.len(), line - PREAMBLE, column), (1, 2, 6));
    assert_eq!(faults[0].message, "`redux.sync.add.s32` needs sm_80 or later");
    assert_eq!(faults[0].help, "write `.target sm_80`, or what sm_75 has");
    let source = kernel("mov.b128 %q1, %q2;").replace("sm_90", "sm_60");
    assert_eq!(read(&source).expect_err("moves of 128 bits are later")[0].message, "`mov.b128` needs sm_70 or later");
}

#[test]
fn membar_is_written_where_the_target_has_no_fence() {
    let fences = [
        "fence.proxy.alias",
        "fence.proxy.async",
        "fence.proxy.async.global",
        "fence.proxy.async.shared::cta",
        "fence.proxy.async.shared::cluster",
        "fence.mbarrier_init.release.cluster",
        "fence.proxy.tensormap::generic.release.gpu",
        "fence.proxy.tensormap::generic.acquire.sys [%d1], 128",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
    ];
    for fence in fences {
        let printed = crate::emit(&read(&kernel(&format!("mov.b64 %d1, 0;{fence};"))).expect(fence)).expect(fence);
        assert!(printed.contains(fence.split(' ').next().unwrap_or(fence)), "{fence} became {printed}");
    }
    let old = read(&kernel("membar.proxy.alias;")).expect("valid");
    assert!(crate::emit(&old).expect("valid").contains("fence.proxy.alias;"));
    let source = kernel("membar.gl;").replace("sm_90", "sm_60");
    let module = read(&source).expect("`membar` is older than `fence`");
    assert!(module.to_string().contains("fence.sc.gpu"));
    assert!(crate::emit(&module).expect("it has a spelling").contains("membar.gl;"));
    assert!(crate::emit(&read(&kernel("membar.gl;")).expect("valid")).expect("valid").contains("fence.sc.gpu;"));
    let source = kernel("fence.acq_rel.gpu;").replace("sm_90", "sm_60");
    assert_eq!(read(&source).expect_err("too old")[0].message, "`fence.acq_rel.gpu` needs sm_70 or later");
}

#[test]
fn moves_pack_and_unpack_words() {
    assert_eq!(
        lowered("mov.b64 {%r1, %r2}, %d1;\nmov.b32 {%h1, %h2}, %r1;\nmov.b64 %d2, {%h1, %h2, %h1, 7};"),
        [
            "%r1 = mov.b32 %d0.0",
            "%r2 = mov.b32 %d0.1",
            "%r3 = mov.b32 %r1",
            "%r4 = shr.u32 %r1, 16",
            "%d5 = pack.b16 %r3, %r4, %r3, 7"
        ]
    );
    assert_eq!(
        lowered("mov.u32 %r1, %tid.x;\nmov.u64 %d1, tile+8;\nmov.b16 %h1, 0x3C00;")[0],
        "%r0 = s2r.b32 sr.tid.x"
    );
}

#[test]
fn carries_travel_in_one_predicate() {
    assert_eq!(
        lowered("add.cc.u32 %r1, %r2, %r3;\naddc.u32 %r4, 0, 0;"),
        ["%r2, %p3 = iadd.carry.u32 %r0, %r1, 0", "%r4, %p5 = iadd.carry.u32 0, 0, %p3"]
    );
}

#[test]
fn no_carry_travels_over_a_call() {
    let source = ".version 8.0\n.target sm_80\n.address_size 64\n.func f() { ret; }\n.visible .entry k() {\n\
                  .reg .pred %p<2>; .reg .b32 %r<4>;\nadd.cc.u32 %r1, %r2, %r3;\n@%p1 call f;\naddc.u32 %r1, %r1, 0;\nret;\n}\n";
    let text = virtual_form(source);
    let (_, behind) = text.split_once("call").expect("there is a call");
    let (forgotten, read) = (behind.find("%p3 = mov.pred undef"), behind.find("iadd.carry.u32 %r2, 0, %p3"));
    assert!(forgotten.is_some() && forgotten < read, "{text}");
    assert!(behind.contains("@%p4 %p3 = mov"), "where the call does not happen the carry stays: {text}");
}

#[test]
fn narrow_loads_extend_into_wide_registers() {
    assert_eq!(
        lowered("ld.global.s8 %d1, [%d2];\nst.global.u8 [%d2], %d1;"),
        ["%r2 = ld.global.s8 [%d0]", "%d1 = cvt.s64.s8 %r2", "st.global.u8 [%d0], %d1.0"]
    );
}

#[test]
fn two_results_and_negated_predicates_are_lowered() {
    assert_eq!(
        lowered("setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;"),
        ["%p3 = not.pred %p2", "%p4, %p5 = setp.bool.lt.and.s32 %r0, %r1, %p3"]
    );
    assert_eq!(
        lowered("@%p1 setp.eq.s32 %p1|%p2, %r1, 0;"),
        ["%p1 = mov.pred %p0", "@%p1 %p0, %p3 = setp.bool.eq.and.s32 %r2, 0, 1"]
    );
}

#[test]
fn variables_give_their_space_to_accesses() {
    assert_eq!(lowered("ld.u32 %r1, [table+4];"), ["%r0 = ld.global.u32 [@table+4]"]);
    let cluster = "ld.shared::cluster.u32";
    assert_eq!(lowered(&format!("{cluster} %r1, [tile];")), [format!("%r0 = {cluster} [@tile]")]);
    let (.., message, _) = fault("ld.shared.u32 %r1, [table];");
    assert_eq!(message, "this variable is in `.global`, the access in another space");
    // Parameters have no volatile accesses.
    let (.., message, _) = fault("ld.volatile.u32 %r1, [p];");
    assert_eq!(message, "this variable is in `.param`, the access in another space");
}

/// Printed again, such a module would say that its addresses have 64 bits.
#[test]
fn global_addresses_have_64_bits() {
    let faults = |header: &str, access: &str| {
        let source = format!(
            ".version 6.0\n.target sm_50\n{header}.entry k(.param .u32 p)\n{{\n.reg .b32 %r<3>;\n\
             ld.param.u32 %r1, [p];\n{access} %r2, [%r1];\n}}\n"
        );
        let found = read(&source).err().unwrap_or_default();
        found.iter().map(|fault| fault.message.clone()).collect::<Vec<_>>()
    };
    let narrow = ["modules with 32-bit addresses are not supported"];
    assert_eq!(faults(".address_size 32\n", "ld.global.u32"), narrow);
    assert_eq!(faults("", "ld.u32"), narrow);
    assert_eq!(faults(".address_size 64\n", "ld.u32"), ["an address of this space has 64 bits"]);
    assert_eq!(faults(".address_size 32\n", "ld.shared.u32"), [""; 0]);
}

#[test]
fn widths_and_constants_are_checked() {
    let (line, column, message, help) = fault("add.s32 %r1, %d2, 1;");
    assert_eq!((line, column), (1, 14));
    assert_eq!(message, "`%d2` is a `.b64` register, but the operand is `.s32`");
    assert_eq!(help, "use a register of 32 bits, or convert it with `cvt`");
    let (.., message, _) = fault("add.s32 %r1, %r2, 1.5;");
    assert_eq!(message, "this constant does not fit an operand of type `.s32`");
    let (.., message, _) = fault("bra nowhere;");
    assert_eq!(message, "label `nowhere` is not defined");
    let (.., message, _) = fault("frobnicate.b32 %r1, %r2;");
    assert_eq!(message, "`frobnicate` is not an instruction: `frobnicate.b32`");
}

#[test]
fn all_faults_come_at_once() {
    let source =
        kernel("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [table, {%r1}];\nadd.s32 %r1, %r8, 1;\nldmatrix.sync %r1;");
    let faults = read(&source).expect_err("three faults");
    assert_eq!(faults.len(), 3);
}

#[test]
fn huge_ranges_and_scopes_cost_nothing() {
    let body =
        format!(".reg .b32 %big<4000000000>;\nadd.s32 %big3999999999, %r1, 1;\n{}{}", "{".repeat(100), "}".repeat(100));
    assert_eq!(lowered(&body), ["%r1 = iadd.s32 %r0, 1"]);
    let (.., message, _) = fault(&format!("{}{}", "{".repeat(220), "}".repeat(220)));
    assert_eq!(message, "scopes are nested more than 200 deep");
}

#[test]
fn calls_pass_variables_as_large_as_the_parameters() {
    let text = ".version 9.0\n.target sm_90\n.address_size 64\n.func (.param .b32 r) f(.param .b32 x) { ret; }\n\
        .entry k() {\n.param .b64 a;\n.param .b32 b;\ncall (b), f, (a);\n}\n";
    let faults = crate::read(text).expect_err("the argument is too large");
    assert_eq!(faults[0].message, "this variable has 8 bytes, the function's parameter 4");
    assert_eq!(faults[0].line_column(text).0, 8);
    assert!(crate::read(&text.replace(".b64 a", ".b32 a")).is_ok());
}

/// The pragma is about the block that it begins, wherever its label stands; elsewhere it has no effect.
#[test]
fn loops_that_are_not_to_be_unrolled_stay_so() {
    let source = kernel(
        "\t.pragma \"nounroll\";\n\tmov.u32 %r1, 0;\n$L1:\n\t.pragma \"nounroll\";\n\tadd.u32 %r1, %r1, 1;\n\
         \t.pragma \"other\";\n\tsetp.lt.u32 %p1, %r1, 9;\n\t@%p1 bra $L1;\n$L2:\n\tmov.u32 %r2, %r1;\n\
         \t.pragma \"nounroll\";\n\tret;",
    );
    let module = read(&source).expect("it reads");
    let hints = |module: &oriole_ir::Module| -> Vec<bool> {
        let func = module.functions.values().next().expect("there is one");
        func.layout().iter().map(|block| func.is_nounroll(*block)).collect()
    };
    assert_eq!(hints(&module), [true, true, false]);
    let printed = crate::emit(&module).expect("PTX has words for it");
    assert_eq!(printed.matches(".pragma \"nounroll\";").count(), 2);
    assert_eq!(hints(&read(&printed).expect("it reads again")), [true, true, false]);
    let text = module.to_string();
    assert_eq!(hints(&oriole_ir::parse_module(&text).expect("the text form reads")), [true, true, false], "{text}");
}

/// A copy before the writes: an element may be both written and read.
#[test]
fn whole_vectors_move_at_once() {
    assert_eq!(
        lowered(".reg .v2 .u32 %v;\nmov.v2.u32 %v, {%r1, 3};\n@%p1 mov.v2.u32 {%r2, _}, {%v.y, %v.x};"),
        [
            "%r1 = mov.b32 %r0",
            "%r2 = mov.b32 3",
            "%r3 = mov.b32 %r1",
            "%r4 = mov.b32 %r2",
            "%r6 = mov.b32 %r4",
            "%r7 = mov.b32 %r3",
            "@%p5 %r8 = mov.b32 %r6"
        ]
    );
    let (.., message, _) = fault("mov.v4.u32 {%r1, %r2}, %tid;");
    assert_eq!(message, "a vector of 4 elements is needed here");
}

#[test]
fn the_fourth_component_of_indices_is_zero() {
    assert_eq!(
        lowered("mov.v4.u32 {%r1, _, _, %r2}, %ctaid;"),
        [
            "%r0 = s2r.b32 sr.ctaid.x",
            "%r1 = s2r.b32 sr.ctaid.y",
            "%r2 = s2r.b32 sr.ctaid.z",
            "%r3 = mov.b32 0",
            "%r4 = mov.b32 %r0",
            "%r5 = mov.b32 %r3"
        ]
    );
    assert_eq!(lowered("add.u32 %r1, %ntid.w, 5;"), ["%r0 = iadd.u32 0, 5"]);
    let (.., message, _) = fault("mov.u32 %r1, %laneid.w;");
    assert_eq!(message, "`%laneid.w` is not a register");
}

#[test]
fn integers_take_offsets_as_addresses_do() {
    assert_eq!(lowered("mov.u32 %r1, %r2+-4;"), ["%r1 = iadd.s32 %r0, 0xfffffffc", "%r2 = mov.b32 %r1"]);
    assert_eq!(
        lowered("add.u64 %d1, %d2+8, %d1;"),
        ["%d1 = iadd.s64 %d0, 8", "%d2 = iadd.u64 %d1, %d2"],
        "the sum has the operand's width"
    );
    let (_, column, message, _) = fault("mov.f32 %f1, %f2+4;");
    assert_eq!((column, message.as_str()), (14, "`%f2` takes no offset"));
}

#[test]
fn declarations_may_end_without_their_semicolon() {
    let text =
        |rest: &str| format!(".version 9.0\n.target sm_90\n.address_size 64\n.extern .func f (.param .b64 a){rest}");
    for rest in
        ["\n.visible .entry k() { ret; }", "\n.global .u32 x;", "\n.file 1 \"a.c\"", ".noreturn\n.func g\n{ ret; }", ""]
    {
        let module = read(&text(rest)).unwrap_or_else(|faults| panic!("{rest}: {faults:#?}"));
        assert!(module.function_named("f").is_some_and(|id| !module.functions[id].is_definition()), "{rest}");
    }
    let faults = read(&text("\n.maxntid 3\n.bogus")).expect_err("it is no directive");
    assert_eq!(faults[0].message, "`.bogus` is not a directive that can stand here");
    let entry = ".version 9.0\n.target sm_90\n.address_size 64\n.entry e ()\n.entry k() { ret; }";
    assert!(read(entry).is_err(), "an entry has a body, or its semicolon");
}

/// A function without one of its parameters would be full of names that nothing declares.
#[test]
fn a_refused_parameter_is_one_fault() {
    let text = ".version 9.0\n.target sm_90\n.address_size 64\n.func (.param .pred %p) f(.reg .b32 %x) { \
        setp.eq.u32 %p, %x, 0; ret; }\n.entry k() {\n.reg .pred %q;\n.reg .b32 %r;\ncall (%q), f, (%r);\n}\n";
    let faults = read(text).expect_err("no variable holds a predicate");
    assert_eq!(faults.len(), 1, "{faults:#?}");
    assert_eq!(faults[0].message, "`%p` is a predicate, which no variable holds");
    assert_eq!(faults[0].line_column(text), (4, 8));
}

#[test]
fn memory_of_threads_is_declared_in_functions() {
    let text = ".version 9.0\n.target sm_90\n.address_size 64\n.local .b32 a[4];\n.entry k() {\n\
        .reg .b32 %r;\nld.local.b32 %r, [a];\n}\n";
    let faults = read(text).expect_err("ptxas refuses it too");
    assert_eq!(faults.len(), 1, "what names it is not at fault: {faults:#?}");
    assert_eq!(faults[0].message, "`a` is declared in a space that a module does not have");
    assert_eq!(faults[0].line_column(text).0, 4);
}

/// What ptxas 13.0.88 takes of the oldest compilers: "Use of module scoped .local or .reg variable".
#[test]
fn registers_of_the_module_are_those_of_each_kernel() {
    let text = ".version 1.4\n.target sm_12\n.reg .u32 %rv<5>;\n.reg .f32 %fa;\n.entry k(.param .u64 p) {\n\
        .reg .u64 %d;\nld.param.u64 %d, [p];\nld.global.u32 %rv1, [%d];\nst.global.f32 [%d], %fa;\n\
        st.global.u32 [%d], %rv1;\nexit;\n}\n";
    let module = virtual_form(text);
    let stores: Vec<_> = module.lines().filter(|line| line.contains("st.global")).collect();
    assert!(stores[0].contains("[%d0], %r2") && stores[1].contains("[%d0], %r1"), "{module}");
    let called = text.replace(".entry", ".func f() { mov.u32 %rv1, 1; ret; }\n.entry");
    let faults = read(&called).expect_err("`f` may write what `k` reads");
    assert_eq!(faults.len(), 1, "one reason: {faults:#?}");
    assert_eq!(faults[0].message, "`%rv` is a register of the whole module");
    assert_eq!(faults[0].line_column(&called).0, 3);
}

/// PTX ISA, "Arrays as Operands", and what ptxas 13.0.88 makes of an index: 32 bits of it, extended with zeros.
#[test]
fn elements_of_arrays_are_places_in_memory() {
    assert_eq!(
        lowered("ld.global.u32 %r1, table[2];\nst.shared.u8 tile[3], %r1;\nld.global.u32 %r1, [table].unified;"),
        ["%r0 = ld.global.u32 [@table+8]", "st.shared.u8 [@tile+3], %r0", "%r0 = ld.global.u32 [@table]"]
    );
    assert_eq!(
        lowered("ld.global.u32 %r1, table[%r2+-1];"),
        [
            "%r1 = iadd.u32 %r0, 0xffffffff",
            "%r2 = imul.lo.u32 %r1, 4",
            "%d3 = cvt.u64.u32 %r2",
            "%d4 = mov.b64 @table",
            "%d5 = iadd.s64 %d4, %d3",
            "%r6 = ld.global.u32 [%d5]"
        ]
    );
    assert_eq!(
        lowered("mov.u64 %d1, table[%d2];"),
        [
            "%d0 = mov.b64 @table",
            "%d2 = iadd.u64 %d1, 0",
            "%d3 = imul.lo.u64 %d2, 4",
            "%d4 = iadd.s64 %d0, %d3",
            "%d5 = mov.b64 %d4"
        ]
    );
    let narrow = lowered("ld.global.u32 %r1, table[%h1];");
    assert_eq!(narrow[0], "%r1 = cvt.u32.u16 %r0", "16 bits count");
    let (.., message, _) = fault("ld.global.u32 %r1, table[{%r1}];");
    assert_eq!(message, "this is no index of an array");
    let (.., message, _) = fault("ld.global.u32 %r1, %r2[1];");
    assert_eq!(message, "`%r2` takes no offset");
}

#[test]
fn vector_registers_are_taken_apart_and_put_together_as_a_whole() {
    let declared = ".reg .v2 .b32 %v, %w;\n.reg .v4 .b16 %x;\n";
    let of = |body: &str| lowered(&format!("{declared}{body}"));
    assert_eq!(of("mov.b64 %d1, %v;"), ["%d0 = pack.b32 %r1, %r2"]);
    assert_eq!(lowered(".reg .v2 .b32 %v<3>;\nmov.b64 %d1, %v2;"), ["%d0 = pack.b32 %r1, %r2"], "a range of vectors");
    assert_eq!(of("mov.b64 %v, %d1;"), ["%r1 = mov.b32 %d0.0", "%r2 = mov.b32 %d0.1"]);
    let (.., message, _) = fault(&format!("{declared}mov.v2.u32 %v, 1.5;"));
    assert_eq!(message, "this constant does not fit an operand of type `.u32`");
    let (.., message, _) = fault(&format!("{declared}mov.b64 %v, %w;"));
    assert_eq!(message, "`mov` packs or unpacks, not both at once");
    assert_eq!(of("mov.b64 %x, %d1;").len(), 4);
    assert_eq!(of("mov.v2.b32 %v, 0x12345678;"), ["%r0 = mov.b32 22136", "%r1 = mov.b32 4660"]);
    let (.., message, _) = fault(&format!("{declared}mov.b32 %r1, %v;"));
    assert_eq!(message, "`%v` is a `.b32` register, but the operand is `.b16`");
}

/// ptxas 13.0.88 takes predicates and vectors of registers as parameters and results.
#[test]
fn functions_take_and_return_predicates_and_vectors() {
    let text = ".version 9.0\n.target sm_90\n.address_size 64\n\
        .func (.reg .v2 .b32 %v, .reg .pred %p) f(.reg .v2 .b32 %a, .reg .pred %q) {\n\
        mov.b32 %v.x, %a.y;\n@%q mov.b32 %v.y, %a.x;\nnot.pred %p, %q;\nret;\n}\n\
        .entry k() {\n.reg .v2 .b32 %x, %y;\n.reg .pred %p<3>;\ncall (%y, %p1), f, (%x, !%p2);\n}\n";
    let form = virtual_form(text);
    let lines: Vec<_> = form.lines().map(|line| line.trim().split(" !").next().unwrap_or("")).collect();
    for wanted in [
        "device @f {",
        "param $%a: b32[2] param align 8",
        "%r0 = ld.param.b32 [$%a]",
        "%r1 = ld.param.b32 [$%a+4]",
        "st.param.b32 [$%v+4], %r5",
        "st.param.b32 [$argument+4], %r1",
    ] {
        assert!(lines.contains(&wanted), "{wanted}: {form}");
    }
    assert_eq!(lines.iter().filter(|line| line.contains("= selp.b32 1, 0")).count(), 2, "{form}");
    assert_eq!(lines.iter().filter(|line| line.contains("= setp.ne.u32")).count(), 2, "{form}");
    let guarded = virtual_form(&text.replace("call (%y", "@%p2 call (%y"));
    assert_eq!(guarded.matches("  @%p").count(), 5, "the call, three results, and what `f` guards: {guarded}");
    let wrong = text.replace("(%x, !%p2)", "(%p1, !%p2)");
    let faults = read(&wrong).expect_err("a predicate is no vector");
    assert_eq!(faults[0].message, "the function has 2 elements in this place, not 1");
}

/// What ptxas 13.0.88 takes beyond what its manual spells out.
#[test]
fn rare_spellings_are_read() {
    assert_eq!(lowered("mov.f64 %d1, 0f3F800000;"), ["%d0 = mov.b64 0x3f800000"], "its bits, not its value");
    assert_eq!(lowered("vote.all.sync.pred %p1, %p2, -1;"), ["%p1 = vote.sync.all.pred %p0, 0xffffffff"]);
    assert_eq!(lowered("# 3 \"a.cu\"\nadd.s32 %r1, %r2, 1;\n#line 5 \"b.cu\"\n").len(), 1);
    let (.., message, _) = fault("cvt.rn.satfinite.e2m1x2.f32 %r1, %f1, %f2;");
    assert_eq!(message, "`cvt.rn.satfinite.e2m1x2.f32` needs sm_100a, or later with `a` or `f`");
}

/// LLVM's printer says what a handle leads to; it is an address of 64 bits.
#[test]
fn parameters_that_are_handles_are_read_as_addresses() {
    for kind in ["texref", "surfref", "samplerref"] {
        let text = format!(
            ".version 9.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 .ptr .{kind} t) {{\n.reg .u64 %d;\n\
             ld.param.u64 %d, [t];\nst.global.u64 [%d], %d;\n}}\n"
        );
        assert!(virtual_form(&text).contains("%d0 = ld.param.u64 [$t]"), "{kind}");
    }
}

/// PTX ISA, "call": the table of possible targets may be an array that holds their addresses.
#[test]
fn calls_may_name_an_array_of_functions() {
    let text = ".version 9.0\n.target sm_90\n.address_size 64\n.func f(.param .b32 a) { ret; }\n\
        .func g(.param .b32 a) { ret; }\n.global .u64 table[2] = {f, g};\n.entry k() {\n.reg .u64 %d;\n\
        ld.global.u64 %d, [table];\ncall %d, (7), table;\n}\n";
    let form = virtual_form(text);
    assert!(form.lines().any(|line| line.trim().starts_with("call %d0($argument)")), "{form}");
    let faults = read(&text.replace("{f, g}", "{1, 2}")).expect_err("no function stands there");
    assert_eq!(faults[0].message, "`table` is neither a prototype nor a table of functions");
}

/// PTX ISA, "div", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2": what they are in versions 1.0 to 1.3.
#[test]
fn the_oldest_modules_leave_out_how_precise_they_are() {
    let text = |version: &str| {
        format!(
            ".version {version}\n.target sm_13\n.entry k() {{\n.reg .f32 %f<4>;\n.reg .f64 %g<4>;\n\
             sin.f32 %f1, %f2;\ndiv.f32 %f1, %f1, %f2;\nrcp.f64 %g1, %g2;\nrsqrt.f64 %g1, %g1;\ndiv.f64 %g1, %g1, %g2;\n}}\n"
        )
    };
    let form = virtual_form(&text("1.3"));
    for wanted in ["fsin.approx.ftz.f32", "fdiv.approx.ftz.f32", "frcp.rn.f64", "frsqrt.approx.f64", "fdiv.rn.f64"] {
        assert!(form.contains(wanted), "{wanted}: {form}");
    }
    assert_eq!(read(&text("1.4")).expect_err("they have to say it").len(), 5);
}

/// PTX ISA, "Kernel Function Parameters", ".minnctapersm" and "wmma.load", about old versions.
#[test]
fn old_modules_have_parameters_in_bodies_and_imply_alignment() {
    let text = ".version 1.3\n.target sm_13\n.entry k .maxntid 64 .maxnctapersm 4 {\n.param .u64 p, q;\n.reg .u64 %d;\nld.param.u64 %d, [q];\n\
        st.global.u64 [%d], %d;\nexit;\n}\n";
    let module = read(text).unwrap_or_else(|faults| panic!("{faults:#?}"));
    let func = module.functions.values().next().expect("there is one");
    let names: Vec<_> = func.params.iter().map(|local| func.locals[*local].name.as_str()).collect();
    assert_eq!(names, ["p", "q"]);
    let printed = crate::emit(&module).unwrap_or_else(|error| panic!("{error}"));
    assert!(
        printed.contains(".entry k(.param .align 8 .u64 p,") && printed.matches(".param .align").count() == 2,
        "{printed}"
    );
    // Its name since PTX 2.0; ptxas refuses the old one.
    assert!(printed.contains("\n.minnctapersm 4\n"), "{printed}");
    let later = read(&text.replace("1.3", "2.0")).unwrap_or_else(|faults| panic!("{faults:#?}"));
    assert!(later.functions.values().all(|func| func.params.is_empty()), "a variable of the body");

    let text = |version: &str| {
        format!(
            ".version {version}\n.target sm_70\n.address_size 64\n.entry k() {{\n.reg .b32 %r<9>;\n.reg .b64 %d;\n\
             wmma.load.a.sync.row.m16n16k16.f16 {{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}}, [%d], %r8;\n}}\n"
        )
    };
    let module = read(&text("6.0")).unwrap_or_else(|faults| panic!("{faults:#?}"));
    let printed = crate::emit(&module).unwrap_or_else(|error| panic!("{error}"));
    assert!(printed.starts_with(".version 6.3\n") && printed.contains(".sync.aligned."), "{printed}");
    assert!(read(&text("6.3")).is_err(), "it has to say it");
}
