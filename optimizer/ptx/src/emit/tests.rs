//! How operands come into registers that PTX takes.

use oriole_ir::ops::Opcode;
use oriole_ir::{Operand, parse_module};

/// The instructions of a kernel whose body these are, one a line, without declarations.
fn printed(body: &str) -> Vec<String> {
    let text = format!(
        "target sm_90 ptx 9.0\n\ndevice @f {{\nbb0:\n  ret\n}}\n\nentry @k visible {{\nbb0:\n{body}  ret\n}}\n"
    );
    let module = parse_module(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let printed = crate::emit(&module).unwrap_or_else(|error| panic!("{error}: {text}"));
    let (_, body) = printed.rsplit_once("$L_0:\n").expect("there is a body");
    body.lines().map(|line| line.trim().to_owned()).filter(|line| !matches!(line.as_str(), "ret;" | "}")).collect()
}

#[test]
fn registers_of_which_only_halves_are_used_have_sixteen_bits() {
    let narrow = "  %r1 = ld.local.u16 [8]\n  %r2 = ld.local.s8 [12]\n  %r3 = iadd.s16 %r1, %r2\n  \
                  st.local.b16 [16], %r3\n";
    let expected = ["ld.local.u16 %h1, [8];", "ld.local.s8 %h2, [12];", "add.s16 %h3, %h1, %h2;"];
    assert_eq!(printed(narrow)[..3], expected);
    // What reads all of one spoils it, and what it is copied to or from.
    let read = format!("{narrow}  %r4 = mov.b32 %r3\n  st.local.b32 [20], %r4\n");
    let lines = printed(&read);
    assert!(lines.contains(&"cvt.u32.u16 %r3, %xh0;".to_owned()), "{lines:?}");
    assert!(lines.contains(&"add.s16 %xh0, %h1, %h2;".to_owned()), "{lines:?}");
    // A copy that nothing else reads is one as well.
    let copied = format!("{narrow}  %r4 = mov.b32 %r3\n  %r5 = iadd.s16 %r4, 7\n  st.local.b16 [20], %r5\n");
    let lines = printed(&copied);
    assert!(lines.contains(&"mov.b16 %h4, %h3;".to_owned()), "{lines:?}");
}

/// What is stored to a surface may be in registers of either size, all of one vector in the same.
#[test]
fn surfaces_take_halves() {
    let sums =
        "  %d9 = ld.local.u64 [24]\n  %r1 = ld.local.u16 [8]\n  %r2 = iadd.s16 %r1, 1\n  %r3 = and.b16 %r2, 255\n";
    let store = |values: &str| printed(&format!("{sums}  sust.1d.v2.b8.trap %d9, 0, {values}\n")).pop();
    assert_eq!(store("%r2, %r3").as_deref(), Some("sust.b.1d.v2.b8.trap [%d9, {0}], {%h2, %h3};"));
    let mixed = store("%r2, 7").expect("it is printed");
    assert!(mixed.contains("{%r2, %x"), "{mixed}");
}

/// Copy propagation puts names where ptxas takes registers alone.
#[test]
fn the_space_of_a_name_is_asked_by_a_register() {
    let text = "target sm_90 ptx 9.0\nglobal @g: b8[8] global align 8\nentry @k visible {\nbb0:\n  \
                %p1 = isspacep.shared @g\n  %r2 = selp.b32 1, 0, %p1\n  st.global.b32 [@g], %r2\n  ret\n}\n";
    let module = parse_module(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let printed = crate::emit(&module).expect("it prints");
    assert!(printed.contains("mov.u64 %xd0, g;\n\tisspacep.shared %p1, %xd0;"), "{printed}");
}

#[test]
fn halves_of_words_are_taken_once() {
    let body = "  %r1 = ld.local.b32 [8]\n  %r2 = shr.u32 %r1, 16\n  %r3 = iadd.s16 %r1, %r2\n  \
                %r4 = imul.lo.s16 %r1, %r3\n  %r5 = pack.b16 %r3, %r4\n  st.local.b32 [12], %r5\n";
    let expected = [
        "ld.local.b32 %r1, [8];",
        "mov.b32 {_, %h2}, %r1;",
        "cvt.u16.u32 %xh0, %r1;",
        "add.s16 %h3, %xh0, %h2;",
        "mul.lo.s16 %h4, %xh0, %h3;",
        "mov.b32 %r5, {%h3, %h4};",
    ];
    assert_eq!(printed(body)[..6], expected);
    // A shift of 16 bits is none of a word, nor one that is read as a word.
    let shift = "  %r1 = ld.local.u16 [8]\n  %r2 = shr.u16 %r1, 16\n  st.local.b16 [12], %r2\n";
    assert_eq!(printed(shift)[1], "shr.u16 %h2, %h1, 16;");
    assert_eq!(printed(&body.replace("16\n  %r3", "15\n  %r3"))[1], "shr.u32 %r2, %r1, 15;");
    assert_eq!(printed(&format!("{body}  st.local.b32 [16], %r2\n"))[1], "shr.u32 %r2, %r1, 16;");
}

/// What has just been widened need not be narrowed again, unless the register may hold something else by then.
#[test]
fn widened_results_stay_at_hand() {
    let widened = |guard: &str, between: &str| {
        let body = format!(
            "  %r1 = ld.local.b32 [8]\n  %p2 = setp.lt.u32 %r1, 7\n  %r3 = mov.b32 %r1\n  \
             {guard}%r3 = iadd.s16 %r1, 5\n{between}  %r4 = imul.lo.s16 %r3, 3\n  st.local.b32 [12], %r3\n  \
             st.local.b16 [16], %r4\n"
        );
        printed(&body).into_iter().find(|line| line.starts_with("mul.lo.s16")).expect("there is a product")
    };
    assert_eq!(widened("", ""), "mul.lo.s16 %h4, %xh1, 3;");
    assert_eq!(widened("@%p2 ", ""), "mul.lo.s16 %h4, %xh2, 3;");
    assert_eq!(widened("", "  %r3 = mov.b32 %r1\n"), "mul.lo.s16 %h4, %xh2, 3;");
}

#[test]
fn constants_and_undefined_values_of_halves_have_sixteen_bits() {
    for (value, written) in [("7", "7"), ("undef", "0"), ("0xabcd0007", "7")] {
        let lines = printed(&format!("  %r1 = mov.b32 {value}\n  %r2 = iadd.s16 %r1, 1\n  st.local.b16 [8], %r2\n"));
        assert_eq!(lines[0], format!("mov.b16 %h1, {written};"));
    }
}

#[test]
fn what_a_uniform_register_copies_has_a_word() {
    let body = "  %r1 = ld.local.u16 [8]\n  %r2 = iadd.s16 %r1, 1\n  %ur3 = mov.b32 %r2\n  st.local.b16 [12], %ur3\n";
    let lines = printed(body);
    assert!(lines.contains(&"mov.b32 %r3, %r2;".to_owned()), "{lines:?}");
}

/// ptxas takes no vector of registers of several sizes, and a constant is in a word.
#[test]
fn vectors_have_registers_of_one_size() {
    let sum = "  %r1 = ld.local.u16 [8]\n  %r2 = iadd.s16 %r1, 3\n";
    let lines = printed(&format!("{sum}  st.local.v2.b16 [16], %r2, %r1\n"));
    assert!(lines.contains(&"st.local.v2.b16 [16], {%h2, %h1};".to_owned()), "{lines:?}");
    let lines = printed(&format!("{sum}  st.local.v2.b16 [16], %r2, %r1\n  st.local.b32 [20], %r1\n"));
    assert!(lines.contains(&"st.local.v2.b16 [16], {%r2, %r1};".to_owned()), "{lines:?}");
    let lines = printed(&format!("{sum}  st.local.v2.b16 [16], %r2, 5\n"));
    assert!(lines.last().is_some_and(|line| line.starts_with("st.local.v2.b16 [16], {%r2, %x")), "{lines:?}");
}

#[test]
fn wide_products_are_added_apart() {
    let wide = |factor: &str, sum: &str| {
        printed(&format!(
            "  %d1 = ld.local.b64 [8]\n  %r2 = ld.local.b32 [16]\n  {sum} = imad.wide.u32 %r2, {factor}, %d1\n"
        ))
    };
    assert_eq!(wide("8", "%d3")[2..], ["mul.wide.u32 %d3, %r2, 8;", "add.s64 %d3, %d3, %d1;"]);
    assert_eq!(wide("%r2", "%d3")[2..], ["mul.wide.u32 %d3, %r2, %r2;", "add.s64 %d3, %d3, %d1;"]);
    // The product would overwrite what it is added to.
    assert_eq!(wide("12", "%d1")[2..], ["mul.wide.u32 %xd0, %r2, 12;", "add.s64 %d1, %xd0, %d1;"]);
}

const CARRIES: &str = "  %r1 = ld.local.b32 [8]\n  %r2, %p3 = iadd.carry.u32 %r1, %r1, 0\n  \
                       %r4, %p5 = iadd.carry.u32 %r1, 7, %p3\n  st.local.b32 [12], %r2\n  st.local.b32 [16], %r4\n";

#[test]
fn a_carry_stays_in_the_flag_for_the_next_addition() {
    assert_eq!(printed(CARRIES)[1..3], ["add.cc.u32 %r2, %r1, %r1;", "addc.u32 %r4, %r1, 7;"]);
}

#[test]
fn a_carry_that_the_flag_does_not_bring_is_read_out_of_it() {
    let is_read_out = |text: &str| printed(text).iter().any(|line| line.starts_with("setp.ne.u32 %p3"));
    assert!(!is_read_out(CARRIES));
    // Something else reads it.
    assert!(is_read_out(&format!("{CARRIES}  %r6 = selp.b32 1, 2, %p3\n  st.local.b32 [20], %r6\n")));
    // It is written again, or a call comes in between.
    assert!(is_read_out(&CARRIES.replace("  %r4,", "  %p3 = setp.eq.u32 %r1, 0\n  %r4,")));
    assert!(is_read_out(&CARRIES.replace("  %r4,", "  call @f() -> ()\n  %r4,")));
    // The next one reads another, or is guarded, or subtracts.
    let between = CARRIES.replace("  %r4,", "  %r8, %p9 = iadd.carry.u32 %r1, 1, 0\n  %r4,");
    assert!(is_read_out(&between));
    assert!(is_read_out(&CARRIES.replace("  %r4, %p5", "  %p7 = setp.eq.u32 %r1, 0\n  @%p7 %r4, %p5")));
    assert!(is_read_out(&CARRIES.replace("%r4, %p5 = iadd", "%r4, %p5 = isub")));
}

#[test]
fn a_guarded_addition_replaces_the_carry_in_the_flag() {
    let body = |guarded: &str| CARRIES.replace("  %r4,", &format!("  %p7 = setp.eq.u32 %r1, 0\n  {guarded}\n  %r4,"));
    let stays = |text: &str| !printed(text).iter().any(|line| line.contains("setp.ne.u32 %p3"));
    let lines = printed(&body("@%p7 %r2, %p3 = iadd.carry.u32 %r1, 9, 0"));
    assert_eq!(lines[3..5], ["@%p7 add.cc.u32 %r2, %r1, 9;", "addc.u32 %r4, %r1, 7;"]);
    assert!(stays(&body("@%p7 %r2, %p3 = iadd.carry.u32 %r1, 9, 0\n  @!%p7 %r2, %p3 = iadd.carry.u32 %r1, 8, 0")));
    // It has a carry in, or another predicate, subtracts, or is no addition.
    assert!(!stays(&body("@%p7 %r2, %p3 = iadd.carry.u32 %r1, 9, %p7")));
    assert!(!stays(&body("@%p7 %r2, %p8 = iadd.carry.u32 %r1, 9, 0")));
    assert!(!stays(&body("@%p7 %r2, %p3 = isub.carry.u32 %r1, 9, 1")));
    assert!(!stays(&body("@%p7 %p3 = setp.eq.u32 %r1, 9")));
    // What it leaves where it does not happen is no carry in the flag.
    let alone = "  %r1 = ld.local.b32 [8]\n  %p3 = setp.eq.u32 %r1, 3\n  %p7 = setp.eq.u32 %r1, 0\n  \
                 @%p7 %r2, %p3 = iadd.carry.u32 %r1, 9, 0\n  %r4, %p5 = iadd.carry.u32 %r1, 7, %p3\n  \
                 st.local.b32 [16], %r4\n";
    assert!(!stays(alone));
}

#[test]
fn a_carry_that_becomes_a_number_is_added() {
    let counted = |selection: &str| {
        printed(&format!(
            "  %r1 = ld.local.b32 [8]\n  %d6 = ld.local.b64 [24]\n  %r2, %p3 = iadd.carry.u32 %r1, %r1, 0\n  \
             {selection}\n  st.local.b32 [12], %r2\n  st.local.b32 [16], %r4\n  st.local.b64 [24], %d6\n"
        ))
    };
    assert_eq!(counted("%r4 = selp.b32 1, 0, %p3")[2..4], ["add.cc.u32 %r2, %r1, %r1;", "addc.u32 %r4, 0, 0;"]);
    assert_eq!(counted("%d6 = selp.b64 1, 0, %p3")[3], "addc.u64 %d6, 0, 0;");
    let selections = [
        "%r4 = selp.b32 0, 1, %p3",
        "%r4 = selp.b32 1, 2, %p3",
        "%r4 = selp.b32 3, 0, %p3",
        "%p5 = setp.eq.u32 %r1, 0\n  %r4 = selp.b32 1, 0, %p5\n  %r4 = selp.b32 1, 0, %p3",
        "%p5 = setp.eq.u32 %r1, 0\n  @%p5 %r4 = selp.b32 1, 0, %p3",
        "%r4 = selp.b32 1, 0, %p3\n  @%p3 %r4 = mov.b32 7",
    ];
    for selection in selections {
        assert!(counted(selection).iter().any(|line| line.starts_with("setp.ne.u32 %p3")), "{selection}");
    }
    let guarded = CARRIES.replace("  %r4, %p5 = iadd", "  @%p3 %r4, %p5 = iadd");
    let guarded = printed(
        &format!("{guarded}  st.local.b32 [20], %r1\n")
            .replace("  st.local.b32 [12], %r2\n", "  %r6 = selp.b32 1, 0, %p5\n  st.local.b32 [12], %r6\n"),
    );
    assert!(guarded.iter().any(|line| line.starts_with("@%p3 setp.ne.u32 %p5")), "{guarded:?}");
}

#[test]
fn a_word_is_taken_out_once_until_its_register_changes() {
    let body = "  %d1 = ld.local.b64 [8]\n  st.local.b32 [16], %d1.1\n  st.local.b32 [20], %d1.1\n";
    let unpacked = |body: &str| printed(body).iter().filter(|line| line.starts_with("mov.b64 {_,")).count();
    assert_eq!(unpacked(body), 1);
    let changed = format!("{body}  %d1 = ld.local.b64 [24]\n  st.local.b32 [28], %d1.1\n");
    assert_eq!(unpacked(&changed), 2);
    let elsewhere = format!("{body}  bra bb1\nbb1:\n  st.local.b32 [28], %d1.1\n");
    assert_eq!(unpacked(&elsewhere), 2, "the other block may be reached on another way");
}

#[test]
fn constants_of_packed_types_come_from_registers() {
    let body = "  %r1 = ld.local.b32 [8]\n  %r2 = iadd.u16x2 %r1, 0x10001\n  %r3 = imax.s16x2 %r2, 0\n  \
                st.local.b32 [12], %r3\n";
    let expected =
        ["mov.b32 %xr0, 0x10001;", "add.u16x2 %r2, %r1, %xr0;", "mov.b32 %xr1, 0x0;", "max.s16x2 %r3, %r2, %xr1;"];
    assert_eq!(printed(body)[1..5], expected);
}

/// A constant is in one register for all places of an instruction, of sixteen bits where the operand is.
#[test]
fn a_constant_has_one_register_an_instruction() {
    let lines = printed("  %r1 = set.bool.eq.and.f16.f16 0, 0, 1\n  st.local.b32 [8], %r1\n");
    let expected = ["mov.b16 %xh0, 0x0;", "mov.pred %xp0, 1;", "set.eq.and.f16.f16 %xh1, %xh0, %xh0, %xp0;"];
    assert_eq!(lines[..3], expected);
    let lines = printed("  %d1 = pack.b16 0, 1, 0, 1\n  st.local.b64 [8], %d1\n");
    let expected = ["mov.b16 %xh0, 0x0;", "mov.b16 %xh1, 0x1;", "mov.b64 %d1, {%xh0, %xh1, %xh0, %xh1};"];
    assert_eq!(lines[..3], expected);
    // Another one has its own: it may stand where the first is not executed.
    let packs = "  %d1 = pack.b16 0, 0, 0, 0\n  %d2 = pack.b16 0, 0, 0, 0\n";
    assert_eq!(printed(packs).iter().filter(|line| line.starts_with("mov.b16")).count(), 2);
}

#[test]
fn extensions_to_double_words_and_their_low_halves_are_conversions() {
    let body = "  %r1 = ld.local.b32 [8]\n  %d2 = pack.b32 %r1, 0\n  %d3 = iadd.u64 %d2, 1\n  \
                %r4 = imul.lo.s16 %d3.0, %d3.0\n  st.local.b16 [12], %r4\n";
    let lines = printed(body);
    assert_eq!(lines[1..4], ["cvt.u64.u32 %d2, %r1;", "add.u64 %d3, %d2, 1;", "cvt.u16.u64 %xh0, %d3;"]);
    assert!(printed("  %r1 = ld.local.b32 [8]\n  %d2 = pack.b32 0, %r1\n")[1].starts_with("mov.b32 %xr0"));
}

#[test]
fn a_register_of_four_words_is_taken_apart_once() {
    let body = "  %q1 = ld.local.b128 [16]\n  st.local.b32 [8], %q1.0\n  st.local.b32 [12], %q1.1\n  \
                st.local.b32 [16], %q1.2\n";
    let halves = printed(body).iter().filter(|line| line.starts_with("mov.b128")).cloned().collect::<Vec<_>>();
    assert_eq!(halves, ["mov.b128 {%xd0, _}, %q1;", "mov.b128 {_, %xd1}, %q1;"]);
}

/// PTX gives comparisons of halves one result, and those of short integers two.
#[test]
fn comparisons_of_short_integers_have_both_results() {
    let compared = |ty: &str| {
        let body = format!(
            "  %r1 = ld.local.b16 [8]\n  %p2, %p3 = setp.bool.lt.and.{ty} %r1, %r1, 1\n  \
             %r4 = selp.b32 1, 2, %p2\n  %r5 = selp.b32 1, 2, %p3\n  st.local.v2.b32 [16], %r4, %r5\n"
        );
        printed(&body).into_iter().filter(|line| line.contains("setp") || line.contains(".pred")).collect::<Vec<_>>()
    };
    assert_eq!(compared("s16"), ["mov.pred %xp0, 1;", "setp.lt.and.s16 %p2|%p3, %h1, %h1, %xp0;"]);
    assert_eq!(compared("f16")[1], "setp.lt.f16 %xp1, %xh0, %xh0;");
}

/// The declaration that a variable is printed as.
fn declaration(variable: &str) -> String {
    let text = format!(".version 9.0\n.target sm_90\n.address_size 64\n.global .align 4 .b32 a[4];\n{variable}\n");
    let module = crate::read(&text).unwrap_or_else(|faults| panic!("{text}: {faults:#?}"));
    let printed = crate::emit(&module).expect("it is PTX");
    assert_eq!(crate::read(&printed).expect("it reads again").globals, module.globals, "{printed}");
    printed.lines().last().expect("the variable comes last").to_owned()
}

#[test]
fn offsets_of_initial_addresses_are_added() {
    let list = ".global .align 8 .u64 q[3] = {generic(a)+-4, a+8, a};";
    assert_eq!(declaration(list), list);
}

#[test]
fn bytes_of_initial_addresses_are_masked() {
    let masks = |address: &str, bytes: u32| -> String {
        (0..bytes).map(|byte| format!("{:#X}({address}), ", 0xFF_u64 << (8 * byte))).collect()
    };
    let packed = format!(".global .align 1 .u8 q[11] = {{7, {}{}9}};", masks("generic(a)+-4", 8), masks("a", 1));
    assert_eq!(declaration(&packed), packed);
    // The same symbol twice, and addresses that do not begin at a multiple of their size.
    let twice = format!(".global .align 1 .u8 q[5] = {{{}{}1}};", masks("a", 2), masks("a", 2));
    assert_eq!(declaration(&twice), twice);
    for wrong in ["0xFF00(a), 1", "0xFF(a), 0xFF0000(a)", "0xFF(a), 0xFF00(a+4)", "0xFF0(a), 1"] {
        let text = format!(
            ".version 9.0\n.target sm_90\n.address_size 64\n.global .b32 a[4];\n.global .u8 q[2] = {{{wrong}}};\n"
        );
        let faults = crate::read(&text).expect_err(wrong);
        assert_eq!(faults[0].message, "this is no byte of an address in its place", "{wrong}");
    }
}

/// A shift of the entry block and a sum of another block, with something in the entry block before and behind it.
fn shifted_elsewhere(before: &str, shift: &str, behind: &str, back_to: u32) -> Vec<String> {
    printed(&format!(
        "  %d1 = ld.local.b64 [8]\n{before}  {shift}\n  %p3 = setp.eq.u64 %d1, 0\n{behind}  cbra %p3, bb1, bb2\n\
         bb1:\n  %d4 = iadd.u64 %d1, %d2\n  st.local.b64 [16], %d4\n  bra bb{back_to}\nbb2:\n"
    ))
}

#[test]
fn a_shift_of_the_entry_block_stands_before_the_sum_that_takes_it() {
    let shift = "%d2 = shl.b64 %d1, 3";
    let again = |lines: Vec<String>| lines.contains(&"add.u64 %d4, %d1, %xd0;".to_owned());
    let lines = shifted_elsewhere("", shift, "", 2);
    assert!(lines.contains(&"shl.b64 %xd0, %d1, 3;".to_owned()), "{lines:?}");
    assert!(again(lines));
    // More than `LEA` shifts by, of a word, or not always.
    for other in ["%d2 = shl.b64 %d1, 32", "%d2 = shr.u64 %d1, 3", "@%p9 %d2 = shl.b64 %d1, 3"] {
        assert!(!again(shifted_elsewhere("  %p9 = setp.eq.u64 %d1, 1\n  %d2 = mov.b64 5\n", other, "", 2)), "{other}");
    }
    // The register, or what it is made from, is written again.
    assert!(!again(shifted_elsewhere("", shift, "  %d1 = mov.b64 7\n", 2)));
    assert!(!again(shifted_elsewhere("", shift, "  %d2 = mov.b64 7\n", 2)));
    // The entry block is executed again.
    assert!(!again(shifted_elsewhere("", shift, "", 0)));
}

/// The name of a parameter is an address in accesses to `.param` alone.
#[test]
fn a_parameter_in_local_memory_is_addressed_by_a_register() {
    let text = ".version 9.0\n.target sm_90\n.address_size 64\n.func (.param .b32 o) f(.param .align 4 .b8 a[16]) {\n\
        .reg .b64 %d<4>;\n.reg .b32 %r<4>;\nmov.b64 %d1, a;\nld.local.b32 %r1, [%d1+4];\n\
        ld.param.b32 %r2, [a+8];\ncvta.local.u64 %d2, %d1;\nadd.s32 %r1, %r1, %r2;\nst.b32 [%d2], %r1;\n\
        st.param.b32 [o], %r1;\nret;\n}\n";
    let mut module = crate::read(text).unwrap_or_else(|faults| panic!("{faults:?}"));
    let func = module.functions.values_mut().next().expect("there is one");
    let address = func.params[0];
    // What copy propagation makes of it.
    for inst in func.layout_insts().collect::<Vec<_>>() {
        let forward = |operand: Operand| match operand.whole_reg() {
            Some(reg) if reg.as_u32() == 0 => Operand::Local(address),
            _ => operand,
        };
        let srcs: Vec<_> = func.srcs(inst).iter().copied().map(forward).collect();
        func.set_srcs(inst, &srcs);
    }
    let printed = crate::emit(&module).unwrap_or_else(|error| panic!("{error}"));
    let lines: Vec<_> = printed.lines().map(str::trim).collect();
    assert!(lines.contains(&"ld.param.b32 %r2, [a+8];"), "{printed}");
    for (mov, access) in [("mov.u64 %xd0, a;", "[%xd0+4];"), ("mov.u64 %xd1, a;", ", %xd1;")] {
        let at = lines.iter().position(|line| *line == mov).unwrap_or_else(|| panic!("{printed}"));
        assert!(lines[at + 1].ends_with(access), "{printed}");
    }
}

/// Of constants that say where bits are eight bits count, and ptxas takes no more.
#[test]
fn places_of_bits_have_eight_bits() {
    let body = "  %r1 = bfe.u32 256, 259, 1032\n  %r2 = bfi.b32 %r1, %r1, 4095, %r1\n  st.local.b32 [8], %r2\n";
    assert_eq!(printed(body)[..2], ["bfe.u32 %r1, 256, 3, 8;", "bfi.b32 %r2, %r1, %r1, 255, %r1;"]);
}

/// Where a product reads its result's registers, others have to do: they are filled in front of a fence, and read when
/// the product is waited for.
#[test]
fn products_of_warpgroups_have_their_registers_to_themselves() {
    let text = |factor: &str| {
        format!(
            ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n.reg .b32 %r<9>;\n\
             .reg .b64 %d<2>;\nld.param.u64 %d1, [p];\nld.global.v4.u32 {{%r1, %r2, %r3, %r4}}, [%d1];\n\
             wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {{%r1, %r2, %r3, %r4}}, \
             {{{factor}}}, %d1, 1;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n\
             st.global.v4.u32 [%d1], {{%r1, %r2, %r3, %r4}};\nret;\n}}\n"
        )
    };
    let around = |factor: &str| {
        let module = crate::read(&text(factor)).expect("ptxas takes it");
        let printed = crate::emit(&module).unwrap_or_else(|error| panic!("{error}"));
        let lines = printed.lines().map(|line| line.trim().split([' ', ';']).next().unwrap_or_default().to_owned());
        let is_wanted = |line: &String| line.starts_with("wgmma.") || line == "mov.b32";
        let mut lines: Vec<String> = lines.filter(is_wanted).collect();
        lines.dedup();
        lines
    };
    let [fence, product, close, wait] = ["fence", "mma_async", "commit_group", "wait_group"].map(|name| match name {
        "mma_async" => "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8".to_owned(),
        name => format!("wgmma.{name}.sync.aligned"),
    });
    let copies = "mov.b32".to_owned();
    assert_eq!(around("%r5, %r6, %r7, %r8"), [&fence, &product, &close, &wait].map(Clone::clone));
    let expected = [&fence, &copies, &fence, &product, &close, &wait, &copies, &close, &wait];
    assert_eq!(around("%r4, %r3, %r2, %r1"), expected.map(Clone::clone));
}

/// What ptxas 13.0.88 says of several results in variables: "Multiple return parameters require .register state space".
#[test]
fn several_results_are_registers() {
    let text = ".version 9.0\n.target sm_90\n.address_size 64\n\
        .func (.reg .b32 a, .reg .u64 b, .reg .u16 c) f(.reg .b32 x) {\n\
        add.s32 a, x, 1;\n@!p mov.u64 b, 7;\ncvt.u16.u32 c, x;\nret;\n}\n\
        .entry k(.param .u64 p) {\n.reg .b32 r;\n.reg .u64 s;\n.reg .u16 t;\ncall (r, s, t), f, (r);\nret;\n}\n"
        .replace("@!p ", "");
    let module = crate::read(&text).unwrap_or_else(|faults| panic!("{faults:?}"));
    let printed = crate::emit(&module).unwrap_or_else(|error| panic!("{error}"));
    let lines: Vec<_> = printed.lines().map(str::trim).collect();
    let head = ".func (.reg .b32 %out0, .reg .b64 %out1, .reg .b16 %out2) f(.param .align 4 .b32 x)";
    for wanted in
        [head, "mov.b32 %out0, %r1;", "mov.b64 %out1, %d2;", "call (result, result_3, result_4), f, (argument);"]
    {
        assert!(lines.contains(&wanted), "{wanted}: {printed}");
    }
    assert!(lines.iter().any(|line| line.starts_with("mov.b16 %out2, ")), "{printed}");
    let again = crate::read(&printed).unwrap_or_else(|faults| panic!("{faults:?}"));
    assert!(crate::emit(&again).is_ok_and(|again| again.contains(head)), "what is printed is read");
    // A part of one is no register.
    let mut part = module.clone();
    let func = part.functions.values_mut().next().expect("there is one");
    let stores = |func: &oriole_ir::Function| func.layout_insts().find(|inst| func.inst(*inst).opcode == Opcode::St);
    let store = stores(func).expect("it stores its results");
    let srcs = [func.srcs(store)[0], Operand::imm(2), func.srcs(store)[2]];
    func.set_srcs(store, &srcs);
    let error = crate::emit(&part).expect_err("two bytes of it");
    assert!(error.to_string().contains("registers alone"), "{error}");
}

/// ptxas takes a symbol in a sum of `mov` alone, and an offset of 32 bits in brackets.
#[test]
fn far_places_of_variables_are_computed_in_registers() {
    let text = ".version 9.0\n.target sm_90\n.address_size 64\n.global .u32 g;\n.shared .u32 s;\n.entry k() {\n\
        .reg .b32 %r<3>;\nld.global.u32 %r1, [g+0x80000000];\nmapa.shared::cluster.u32 %r2, s+4, 1;\n\
        getctarank.shared::cluster.u32 %r1, %r2;\n}\n";
    let module = crate::read(text).unwrap_or_else(|faults| panic!("{faults:?}"));
    let printed = crate::emit(&module).unwrap_or_else(|error| panic!("{error}"));
    let lines: Vec<_> = printed.lines().map(str::trim).filter(|line| line.starts_with(['m', 'a', 'l', 'g'])).collect();
    let expected = [
        "mov.u64 %xd0, g;",
        "add.s64 %xd1, %xd0, 2147483648;",
        "ld.global.u32 %r0, [%xd1];",
        "mov.u32 %r1, s;",
        "add.s32 %r2, %r1, 4;",
        "mapa.shared::cluster.u32 %r3, %r2, 1;",
        "getctarank.shared::cluster.u32 %r0, %r3;",
    ];
    assert_eq!(lines, expected);
}

/// A kernel with a call would be read as one with two parameters more, did it say an old version.
#[test]
fn no_module_is_printed_in_a_version_without_what_is_written() {
    let text = "target sm_90 ptx 1.2\n\ndevice @f virtual {\n  param $a: u32 param align 4\nbb0:\n  ret\n}\n\n\
        entry @k visible virtual {\n  local $b: u32 param align 4\nbb0:\n  st.param.u32 [$b], 7\n  \
        call @f($b) -> ()\n  ret\n}\n";
    let module = parse_module(text).unwrap_or_else(|error| panic!("{error:?}"));
    let printed = crate::emit(&module).unwrap_or_else(|error| panic!("{error}"));
    assert!(printed.starts_with(".version 6.3\n"), "{printed}");
    let again = crate::read(&printed).unwrap_or_else(|faults| panic!("{faults:?}"));
    assert!(again.functions.values().filter(|func| func.name == "k").all(|func| func.params.is_empty()));
}

/// ptxas takes a number as an address in local memory alone.
#[test]
fn numbers_are_addresses_in_local_memory_alone() {
    for space in [".global", ".shared", ""] {
        let lines = printed(&format!("  %r1 = ld{space}.b32 [8]\n  st{space}.b32 [16], %r1\n"));
        assert!(lines[0].starts_with("mov.b64 %x") && lines[0].ends_with(", 0x8;"), "{lines:?}");
        assert!(lines[1].starts_with(&format!("ld{space}.b32 %r1, [%x")), "{lines:?}");
    }
    assert_eq!(printed("  %r1 = ld.local.b32 [8]\n")[0], "ld.local.b32 %r1, [8];");
}

/// Nobody has written the address, which has 32 bits all the same.
#[test]
fn undefined_addresses_are_as_wide_as_others() {
    let body = "  %r1 = mapa.shared::cluster.u32 undef, 1\n  %d2 = mapa.u64 undef, 1\n";
    let lines = printed(body);
    assert!(lines.contains(&"mapa.shared::cluster.u32 %r1, %xr0, 1;".to_owned()), "{lines:?}");
    assert!(lines.contains(&"mapa.u64 %d2, %xd0, 1;".to_owned()), "{lines:?}");
}

/// ptxas takes the name of an entry once it is declared.
#[test]
fn entries_are_declared_before_what_points_to_them() {
    let text = "target sm_90 ptx 9.0\nglobal @table: u64[1] global align 8 visible = 0x0000000000000000 address 0 8 @k+0\n\nentry @k visible {\n  \
                param $out: u64 param align 8\nbb0:\n  ret\n}\n\nentry @other visible {\nbb0:\n  ret\n}\n";
    let module = parse_module(text).unwrap_or_else(|error| panic!("{error}: {}", &text[error.span.offset()..]));
    let printed = crate::emit(&module).expect("it prints");
    let place = |part: &str| printed.find(part).unwrap_or_else(|| panic!("`{part}` is not in {printed}"));
    let (declared, table) = (place(".visible .entry k(.param .align 8 .u64 out);\n"), place(".u64 table[1] = {k};"));
    assert!(declared < table && !printed.contains("other();"), "{printed}");
    assert!(crate::read(&printed).is_ok());
}
