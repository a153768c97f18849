//! Forms of instructions on textures and surfaces that ptxas 13.0 takes, and what is refused as it refuses it.

use crate::{emit, read};
use oriole_ir::{Module, inst_to_string};

/// A kernel of some lines, with variables in front of it and modes behind its target.
fn text(modes: &str, variables: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_75{modes}\n.address_size 64\n{variables}\n.visible .entry k(.param .u64 h)\n{{\n\
         .reg .b32 %r<9>; .reg .s32 %s<3>; .reg .f32 %f<9>; .reg .b64 %d<3>; .reg .pred %p<3>; .reg .b16 %h<5>;\n\
         .reg .v4 .f32 %v;\n{body}\nret;\n}}\n"
    )
}

fn module(modes: &str, variables: &str, body: &str) -> Module {
    let text = text(modes, variables, body);
    read(&text).unwrap_or_else(|faults| panic!("{}: {text}", faults[0].message))
}

const TEXTURE: &str = ".global .texref t;\n.global .surfref u;";

/// The one instruction on an image that a line becomes, from its name on.
fn lowered(body: &str) -> String {
    let module = module("", TEXTURE, body);
    let func = module.functions.values().next().expect("there is a kernel");
    let texts = func.layout_insts().map(|inst| inst_to_string(func, inst, Some(&module)));
    let image = texts.map(|text| text.split(" !").next().unwrap_or("").to_owned());
    let mut found: Vec<String> = image.filter(|text| !text.starts_with("ret") && !text.contains("mov.")).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    let text = found.remove(0);
    text.split_once(" = ").map_or(text.clone(), |(_, right)| right.to_owned())
}

fn refused(modes: &str, variables: &str, body: &str) -> String {
    read(&text(modes, variables, body)).expect_err("ptxas refuses it too")[0].message.clone()
}

#[test]
fn what_is_not_written_stands_for_itself() {
    let four = "{%f1, %f2, %f3, %f4}";
    // The texture has its own sampler, and nothing is added to coordinates.
    assert_eq!(lowered(&format!("tex.2d.v4.f32.s32 {four}, [t, {{3, 4}}];")), "tex.2d.v4.f32.s32 @t, @t, 3, 4, 0, 0");
    // Coordinates behind those that count are passed over, and one needs no braces.
    assert_eq!(lowered(&format!("tex.1d.v4.f32.s32 {four}, [t, {{3, 4, 5, 6}}];")), "tex.1d.v4.f32.s32 @t, @t, 3, 0");
    assert_eq!(lowered(&format!("tex.1d.v4.f32.s32 {four}, [t, 3];")), "tex.1d.v4.f32.s32 @t, @t, 3, 0");
    // A vector of registers is its elements.
    assert_eq!(lowered("tex.base.1d.v4.f32.s32 %v, [t, {3}], {1};"), "tex.base.1d.v4.f32.s32 @t, @t, 3, 1");
    assert_eq!(
        lowered(&format!("tex.level.a2d.v4.f32.s32 {four}, [t, {{1, 2, 3, 0}}], 7, {{-1, 2}};")),
        "tex.level.a2d.v4.f32.s32 @t, @t, 1, 2, 3, 7, 0xffffffff, 2"
    );
}

/// ptxas takes a lone number behind a fetch in one dimension for an offset if it is an integer, and else for a depth.
#[test]
fn a_lone_number_is_an_offset_or_a_depth() {
    let fetch =
        |rest: &str| lowered(&format!("tex.1d.v4.f32.f32 {{%f1, %f2, %f3, %f4}}, [t, {{0f00000000}}], {rest};"));
    assert!(fetch("5").starts_with("tex.1d") && fetch("{5}").ends_with(" 5"));
    assert!(fetch("%s1").starts_with("tex.1d"));
    assert!(fetch("0f3F800000").starts_with("tex.compare.1d") && fetch("%r1").starts_with("tex.compare.1d"));
    assert!(fetch("{5}, %f1").contains(" 5, %r"));
    let gather = "tld4.g.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {0f00000000, 0f00000000}], 0f3F800000;";
    assert_eq!(lowered(gather), "tld4.compare.g.2d.v4.f32.f32 @t, @t, 0, 0, 0, 0, 0x3f800000");
}

#[test]
fn surfaces_are_read() {
    assert_eq!(lowered("suld.b.2d.v2.b32.trap {%r1, %r2}, [u, {1, 2}];"), "suld.2d.v2.b32.trap @u, 1, 2");
    assert_eq!(lowered("sust.p.3d.b32.zero [u, {1, 2, 3, 3}], {7};"), "sust.p.3d.b32.zero @u, 1, 2, 3, 7");
    assert_eq!(lowered("sured.b.min.1d.s32.clamp [u, {4}], -1;"), "sured.min.1d.s32.clamp @u, 4, 0xffffffff");
    assert_eq!(lowered("suq.memory_layout.b32 %r1, [u];"), "suq.memory_layout.b32 @u");
    assert_eq!(lowered("txq.level.width.b32 %r1, [t], 2;"), "txq.level.width.b32 @t, 2");
}

/// What is printed reads back to the same.
fn round_trip(modes: &str, variables: &str, body: &str) -> String {
    let first = emit(&module(modes, variables, body)).expect("it can be printed");
    let again = read(&first).unwrap_or_else(|faults| panic!("{}: {first}", faults[0].message));
    assert_eq!(emit(&again).as_ref(), Ok(&first));
    first
}

#[test]
fn modules_keep_their_mode_and_settings() {
    let fetch = "tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}";
    let unified = round_trip(
        "",
        ".global .texref t = { addr_mode_0 = mirror, filter_mode = 1, width = 4 };",
        &format!("{fetch}|%p1, [t, {{%f5}}];\n@%p1 trap;"),
    );
    assert!(unified.contains(".texref t = { filter_mode = linear, addr_mode_0 = mirror };"), "{unified}");
    assert!(unified.contains("}|%p") && unified.contains("[t, {"), "{unified}");
    let samplers = ".global .texref t;\n.global .samplerref s = { force_unnormalized_coords = 1 };";
    let apart = round_trip(", texmode_independent", samplers, &format!("{fetch}, [t, s, {{%f5}}];"));
    assert!(apart.contains(".target sm_75, texmode_independent") && apart.contains("[t, s, {"), "{apart}");
    // Handles in registers do not show their mode, but two of them are a texture and a sampler.
    let bindless = round_trip(", texmode_independent", "", &format!("{fetch}, [%d1, %d2, {{%f5}}];"));
    assert!(bindless.contains("texmode_independent") && bindless.contains("[%d0, %d1, {"), "{bindless}");
}

#[test]
fn old_modules_declare_textures_in_a_space_of_their_own() {
    let text = ".version 1.4\n.target sm_13\n.tex .u32 t;\n.entry k() { .reg .f32 %f<5>; .reg .u32 %r;\n\
                tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, {%r, %r, %r, %r}];\nret; }\n";
    let printed = emit(&read(text).expect("ptxas takes it")).expect("it can be printed");
    assert!(printed.contains(".global .align 8 .texref t;"), "{printed}");
}

#[test]
fn what_ptxas_refuses_is_refused() {
    let four = "{%f1, %f2, %f3, %f4}";
    let plain = |body: &str| refused("", TEXTURE, body);
    assert_eq!(plain(&format!("tex.2d.v4.f32.f32 {four}, [u, {{%f1, %f2}}];")), "a texture is needed here");
    assert_eq!(plain(&format!("tex.2d.v4.f32.f32 {four}, [%r1, {{%f1, %f2}}];")), "a texture is needed here");
    assert_eq!(plain(&format!("tex.2d.v4.f32.f32 {four}, [t, {{%f1}}];")), "2 elements are needed here");
    assert_eq!(plain(&format!("tex.2d.v4.f32.f32 {four}, [t];")), "an access to an image needs coordinates");
    assert_eq!(
        plain(&format!("tex.3d.v4.f32.f32 {four}, [t, {{%f1, %f2, %f3, %f3}}], %f1;")),
        "this fetch compares with no depth"
    );
    assert_eq!(
        plain(&format!("tex.cube.v4.f32.f32 {four}, [t, {{%f1, %f2, %f3, %f3}}], {{1, 2}}, %f1;")),
        "this fetch has too many operands"
    );
    assert!(plain("suld.b.2d.v4.b64.trap {%d1, %d1, %d1, %d1}, [u, {%r1, %r2}];").contains("does not go with"));
    assert_eq!(plain("ld.global.u64 %d1, [t];"), "`t` has no bytes that an access reads");
    let message = refused(", texmode_independent", TEXTURE, &format!("tex.1d.v4.f32.f32 {four}, [t, {{%f1}}];"));
    assert_eq!(message, "a fetch names its sampler in a module of `texmode_independent`");
    assert_eq!(refused("", ".global .samplerref s;", ""), "textures have their own samplers in this module");
    assert_eq!(refused("", ".shared .texref t;", ""), "a variable of type `.texref` cannot stand here");
    assert_eq!(refused("", "", ".local .texref t;"), "a variable of type `.texref` cannot stand here");
    assert_eq!(
        refused("", ".global .surfref u = { filter_mode = linear };", ""),
        "a `.surfref` has no field `filter_mode`"
    );
    assert_eq!(refused("", ".global .texref t = { filter_mode = cubic };", ""), "`cubic` is no value of `filter_mode`");
}
