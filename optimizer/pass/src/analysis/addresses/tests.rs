//! Small functions with the addresses worked out by hand.

use super::*;
use oriole_ir::parse_module;

/// A device function in SSA form with two variables in local memory; `%d0` is an unknown number.
fn of(body: &str) -> (Function, Addresses) {
    let text = format!(
        "target sm_90 ptx 9.0\nglobal @s: b8[16] shared align 4\ndevice @f ssa {{\n  local $a: b8[32] local align 8\n  \
         local $b: b8[16] local align 8\nbb0:\n  %d0 = ld.const.b64 [0]\n{body}}}\n"
    );
    let module = parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let func = module.functions.values().next().expect("there is one").clone();
    let addresses = Addresses::new(&func);
    (func, addresses)
}

fn at(found: &(Function, Addresses), reg: u32) -> Option<Pointer> {
    found.1.pointer(&found.0, Operand::Reg(oriole_ir::Reg::from_u32(reg)))
}

/// Of `$a` and `$b`: whether they are captured.
fn captured(found: &(Function, Addresses)) -> [bool; 2] {
    [0, 1].map(|local| found.1.is_captured(Local::from_u32(local)))
}

const BASE: &str = "  %d1 = cvta.local.u64 $a\n";

#[test]
fn sums_and_conversions_are_followed() {
    let found =
        of(&format!("{BASE}  %d2 = iadd.u64 %d1, 8\n  %d3 = isub.u64 %d2, 4\n  %d4 = iadd.u64 %d3, %d0\n  ret\n"));
    let a = Some(Variable::Local(Local::from_u32(0)));
    let pointer = |offset| Some(Pointer { space: Some(Space::Local), generic: true, variable: a, offset });
    assert_eq!(at(&found, 1), pointer(Some(0)));
    assert_eq!(at(&found, 3), pointer(Some(4)));
    assert_eq!(at(&found, 4), pointer(None));
    assert_eq!(at(&found, 0), None);
    assert_eq!(captured(&found), [false; 2]);
}

#[test]
fn what_is_not_followed_captures() {
    let ways = [
        "st.global.b64 [%d0], %d1",
        "%d2 = and.b64 %d1, 15",
        "%d2 = isub.u64 %d0, %d1",
        "%r2 = mov.b32 %d1.0",
        "call %d1() -> ()",
        "%d2 = iadd.u64 %d1, %d1",
        "st.local.b32 [$a+32], 1",
    ];
    for way in ways {
        let found = of(&format!("{BASE}  {way}\n  ret\n"));
        assert!(captured(&found)[0], "{way}");
    }
    for way in ["st.b32 [%d1], 1", "%r2 = ld.b32 [%d1+4]", "%p2 = setp.eq.u64 %d1, %d0", "%p2 = isspacep.local %d1"] {
        let found = of(&format!("{BASE}  {way}\n  ret\n"));
        assert_eq!(captured(&found), [false; 2], "{way}");
    }
}

#[test]
fn an_access_beyond_a_variable_may_meet_all() {
    let found = of("  st.local.b32 [$a+32], 1\n  ret\n");
    assert!(found.1.goes_beyond());
    assert_eq!(captured(&found), [true; 2]);
}

#[test]
fn pointers_are_followed_through_the_frame() {
    let keep = format!("{BASE}  st.local.b64 [$b+8], %d1\n");
    let load = "  %d2 = ld.local.b64 [$b+8]\n";
    let found = of(&format!("{keep}{load}  ret\n"));
    assert_eq!(at(&found, 2), at(&found, 1));
    assert_eq!(captured(&found), [false; 2]);
    // Each of these may change or read parts of the pointer, or lets others do so.
    let spoils = [
        "  st.local.b32 [$b+8], 1\n",
        "  st.local.b64 [$b+8], %d0\n",
        "  %r9 = ld.local.b32 [$b+12]\n",
        "  %d9 = cvta.local.u64 $b\n  %d10 = iadd.u64 %d9, %d0\n  st.b32 [%d10], 1\n",
        "  %d9 = mov.b64 $b\n  st.global.b64 [%d0], %d9\n",
    ];
    for spoil in spoils {
        let found = of(&format!("{keep}{spoil}{load}  ret\n"));
        assert!(captured(&found)[0], "{spoil}");
        assert_eq!(at(&found, 2), None, "{spoil}");
    }
}

#[test]
fn phis_keep_what_all_ways_agree_on() {
    let ways = |one: &str, other: &str| {
        of(&format!(
            "{BASE}  %d2 = cvta.local.u64 $b\n  %d3 = iadd.u64 %d1, 8\n  %d4 = cvta.shared.u64 @s\n  cbra undef, bb1, bb2\n\
             bb1:\n  bra bb2\nbb2:\n  %d5 = phi [bb0: {one}], [bb1: {other}]\n  st.b32 [%d5], 1\n  ret\n"
        ))
    };
    let same = ways("%d1", "%d1");
    assert_eq!(at(&same, 5), at(&same, 1));
    let near = ways("%d1", "%d3");
    assert_eq!(at(&near, 5).map(|pointer| pointer.offset), Some(None));
    assert_eq!(captured(&near), [false; 2]);
    let apart = ways("%d1", "%d2");
    assert_eq!(at(&apart, 5).map(|pointer| (pointer.space, pointer.variable)), Some((Some(Space::Local), None)));
    assert_eq!(captured(&apart), [true; 2]);
    for other in ["%d0", "%d4"] {
        let mixed = ways("%d1", other);
        assert_eq!((at(&mixed, 5), captured(&mixed)), (None, [true, false]), "{other}");
    }
    assert_eq!(at(&ways("%d1", "undef"), 5).and_then(|pointer| pointer.offset), Some(0));
}

/// A counter that steps through a variable has no known place, and stays in it.
#[test]
fn loops_lose_the_place_alone() {
    let found = of(&format!(
        "{BASE}  bra bb1\nbb1:\n  %d2 = phi [bb0: %d1], [bb1: %d3]\n  st.b32 [%d2], 1\n  %d3 = iadd.u64 %d2, 4\n  \
         cbra undef, bb1, bb2\nbb2:\n  ret\n"
    ));
    assert_eq!(at(&found, 2).map(|pointer| (pointer.variable.is_some(), pointer.offset)), Some((true, None)));
    assert_eq!(captured(&found), [false; 2]);
}
