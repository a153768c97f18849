//! Small kernels that read and write images; what they yield is worked out from the guide's formulas.

use oriole_ir::parse_module;

use crate::load::{Executable, LoadError, RunOptions, RunResult};
use crate::outcome::Outcome;
use oriole_launch::{Launch, LaunchError};

/// A kernel of one thread: `%d31` is the handle, `%d32` 64 bytes of output.
fn kernel(variables: &str, body: &str) -> String {
    format!(
        "{variables}entry @k {{\n  param $h: u64 param align 8\n  param $out: u64 param align 8\nbb0:\n  \
         %d31 = ld.param.u64 [$h]\n  %d32 = ld.param.u64 [$out]\n{body}  ret\n}}\n"
    )
}

fn launch(handle: &str, images: &str) -> Launch {
    let text = format!("grid = 1\nblock = 1\n[[arg]]\n{handle}\n[[arg]]\nzeroed = 64\n{images}");
    Launch::parse(&text, "test", |_, _| unreachable!()).unwrap_or_else(|error| panic!("{error}"))
}

fn run(text: &str, launch: &Launch) -> RunResult {
    let module = parse_module(text).unwrap_or_else(|error| panic!("{error}: {}", &text[error.span.offset()..]));
    Executable::new(&module).expect("it decodes").run(launch, &RunOptions::default()).expect("the launch fits")
}

fn words(result: &RunResult) -> Vec<u32> {
    assert_eq!(result.outcome, Outcome::Finished);
    let bytes = result.buffer(1).expect("the second argument is a buffer").data();
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
}

fn floats(result: &RunResult) -> Vec<f32> {
    words(result).into_iter().map(f32::from_bits).collect()
}

fn trap(text: &str, launch: &Launch) -> String {
    match run(text, launch).outcome {
        Outcome::Trapped { cause, .. } => cause.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Fetches by a row of these fields, and stores the four results.
fn fetch(row: &str, operands: &str) -> String {
    kernel(
        "",
        &format!(
            "  %r1, %r2, %r3, %r4, %p5 = {row} %d31, %d31, {operands}\n  st.global.v4.b32 [%d32], %r1, %r2, %r3, %r4\n"
        ),
    )
}

fn bits(value: f32) -> String {
    format!("{:#x}", value.to_bits())
}

const LINE: &str = "[[image]]\nname = \"i\"\nwidth = 4\ntype = \"f32\"\ndata = [0.0, 10.0, 20.0, 40.0]\n";

/// The first component of fetches from a line of four floats, at places.
fn along(settings: &str, places: &[f32]) -> Vec<f32> {
    let launch = launch("texture = \"i\"", &format!("{LINE}{settings}"));
    let one = |place: &f32| floats(&run(&fetch("tex.1d.v4.f32.f32", &format!("{}, 0", bits(*place))), &launch))[0];
    places.iter().map(one).collect()
}

#[test]
fn the_nearest_texel_is_the_floor() {
    assert_eq!(along("", &[0.0, 0.99, 1.0, 3.5, -7.0, 9.0, f32::NAN]), [0.0, 0.0, 10.0, 40.0, 0.0, 40.0, 0.0]);
    assert_eq!(along("normalized = true\n", &[0.0, 0.24, 0.25, 1.0]), [0.0, 0.0, 10.0, 40.0]);
}

/// "Linear Filtering": the texels beside the place less a half, weighted by its fraction in 256ths.
#[test]
fn linear_filters_weigh_in_256ths() {
    let linear = "filter = \"linear\"\n";
    assert_eq!(along(linear, &[0.5, 1.0, 1.25, 0.0, 4.0]), [0.0, 5.0, 7.5, 0.0, 40.0]);
    // 1/512 more than a half is 1/256; a little less is none.
    assert_eq!(along(linear, &[0.5 + 1.0 / 512.0, 0.5 + 0.9 / 512.0]), [10.0 / 256.0, 0.0]);
    // A fraction beyond 511/512 is one.
    assert_eq!(along(linear, &[1.5 - 1.0 / 1024.0]), [10.0]);
}

#[test]
fn address_modes_are_those_of_the_guide() {
    let places = [-0.3, -1.1, 1.1, 1.9];
    let with = |mode: &str| along(&format!("normalized = true\naddress = \"{mode}\"\n"), &places);
    // -0.3 is 0.7 in the same direction, and 0.3 mirrored.
    assert_eq!(with("wrap"), [20.0, 40.0, 0.0, 40.0]);
    assert_eq!(with("mirror"), [10.0, 40.0, 40.0, 0.0]);
    assert_eq!(with("clamp_to_edge"), [0.0, 0.0, 40.0, 40.0]);
    assert_eq!(with("clamp_to_border"), [0.0; 4]);
    assert_eq!(along("normalized = true\naddress = \"clamp_ogl\"\n", &places), [0.0, 0.0, 40.0, 40.0]);
    // Without normalized coordinates there is no wrapping.
    assert_eq!(along("address = \"wrap\"\n", &[5.0, -1.0]), [40.0, 0.0]);
    // The border is mixed in.
    assert_eq!(along("filter = \"linear\"\naddress = \"clamp_to_border\"\n", &[4.0]), [20.0]);
    assert_eq!(along("filter = \"linear\"\naddress = \"clamp_ogl\"\n", &[9.0]), [20.0]);
}

const PLANE: &str = "[[image]]\nname = \"i\"\nwidth = 2\nheight = 2\ntype = \"u8\"\nchannels = 4\nnormalized_float = true\n\
                     data = [0, 255, 51, 255, 255, 0, 51, 255, 102, 0, 51, 0, 0, 0, 51, 0]\n";

#[test]
fn four_texels_are_mixed_and_integers_become_ratios() {
    let launch = launch("texture = \"i\"", &format!("{PLANE}filter = \"linear\"\n"));
    let at =
        |x: f32, y: f32| floats(&run(&fetch("tex.2d.v4.f32.f32", &format!("{}, {}, 0, 0", bits(x), bits(y))), &launch));
    assert_eq!(at(0.5, 0.5)[..4], [0.0, 1.0, 51.0 / 255.0, 1.0]);
    // Bytes are numbers of 16 bits: 0.35 and 0.25 of 65535, and the upper one of what is as near.
    let of_sixteen = |number: f64| (number / 65535.0) as f32;
    let middle = at(1.0, 1.0);
    assert_eq!(middle[..2], [of_sixteen(22937.0), of_sixteen(16384.0)]);
    assert_eq!(middle[3], of_sixteen(32768.0));
    // 3/256 of each direction: the last texel counts for nothing, where the product of the two is less than a half.
    let near = 0.5 + 3.0 / 256.0;
    let [first, second, third] = [0.0, 255.0, 102.0].map(|byte| byte * 257.0);
    let sum: f64 = (first * 250.0 + second * 3.0 + third * 3.0) / 256.0;
    assert_eq!(at(near, near)[0], of_sixteen((sum + 0.5).floor()));
    // Offsets move by texels.
    let moved = fetch("tex.2d.v4.f32.f32", &format!("{0}, {0}, 1, 0", bits(0.5)));
    assert_eq!(floats(&run(&moved, &launch))[0], 1.0);
}

/// PTX ISA, "tld4": counter-clockwise from the lower left.
#[test]
fn gathers_go_against_the_clock() {
    let launch = launch("texture = \"i\"", PLANE);
    let gathered = run(&fetch("tld4.r.2d.v4.f32.f32", &format!("{0}, {0}, 0, 0", bits(1.0))), &launch);
    assert_eq!(floats(&gathered)[..4], [0.4, 0.0, 1.0, 0.0]);
}

#[test]
fn depths_are_compared_texel_by_texel() {
    let launch = launch("texture = \"i\"", &format!("{LINE}filter = \"linear\"\n"));
    // Of 10 and 20 one is at least 15; both weigh half.
    let compared = run(&fetch("tex.compare.1d.v4.f32.f32", &format!("{}, 0, {}", bits(2.0), bits(15.0))), &launch);
    assert_eq!(floats(&compared)[..4], [0.5, 0.0, 0.0, 1.0]);
}

const LEVELS: &str = "[[image]]\nname = \"i\"\nwidth = 4\nlevels = 3\ntype = \"f32\"\n\
                      data = [1.0, 1.0, 1.0, 1.0, 3.0, 3.0, 7.0]\n";

#[test]
fn levels_are_chosen_or_mixed() {
    let nearest = launch("texture = \"i\"", LEVELS);
    let mixed = launch("texture = \"i\"", &format!("{LEVELS}level_filter = \"linear\"\n"));
    let at = |launch: &Launch, level: f32| {
        floats(&run(&fetch("tex.level.1d.v4.f32.f32", &format!("{}, {}, 0", bits(0.0), bits(level))), launch))[0]
    };
    assert_eq!([0.4, 0.5, 1.2, 9.0, -1.0].map(|level| at(&nearest, level)), [1.0, 3.0, 3.0, 7.0, 1.0]);
    assert_eq!([0.5, 1.25].map(|level| at(&mixed, level)), [2.0, 4.0]);
    // Two texels a step are the second level, four the third.
    let steps = |x: f32| {
        let operands = format!("{}, {}, {}, 0", bits(0.0), bits(x), bits(0.5));
        floats(&run(&fetch("tex.grad.1d.v4.f32.f32", &operands), &nearest))[0]
    };
    assert_eq!([1.0, 2.0, 4.0].map(steps), [1.0, 3.0, 7.0]);
    // An integer names its level.
    assert_eq!(floats(&run(&fetch("tex.level.1d.v4.f32.s32", "1, 1, 0"), &nearest))[0], 3.0);
    assert_eq!(floats(&run(&fetch("tex.base.1d.v4.f32.f32", "0, 0"), &nearest))[0], 1.0);
}

#[test]
fn directions_meet_the_faces_of_a_cube() {
    let data: Vec<String> = (0..24).map(|texel| texel.to_string()).collect();
    let image = format!(
        "[[image]]\nname = \"i\"\nwidth = 2\nheight = 2\ncube = true\ntype = \"u32\"\ndata = [{}]\n",
        data.join(", ")
    );
    let launch = launch("texture = \"i\"", &image);
    let at = |direction: [f32; 3]| {
        let operands = direction.map(bits).join(", ");
        words(&run(&fetch("tex.cube.v4.u32.f32", &operands), &launch))[0]
    };
    // Texels of face f are 4f to 4f + 3; the first row is where the second coordinate is low.
    assert_eq!(at([1.0, 0.5, 0.5]), 0);
    assert_eq!(at([-1.0, -0.5, 0.5]), 4 + 3);
    assert_eq!(at([0.5, 1.0, 0.5]), 8 + 3);
    assert_eq!(at([0.5, -1.0, 0.5]), 12 + 1);
    assert_eq!(at([0.5, 0.5, 1.0]), 16 + 1);
    assert_eq!(at([0.5, 0.5, -1.0]), 20);
}

#[test]
fn layers_are_clamped_and_formats_extended() {
    let image = "[[image]]\nname = \"i\"\nwidth = 2\nlayers = 2\ntype = \"s16\"\nchannels = 2\n\
                 data = [1, -1, 2, -2, 3, -3, 4, -4]\n";
    let launch = launch("texture = \"i\"", image);
    let at = |operands: &str| words(&run(&fetch("tex.a1d.v4.s32.s32", operands), &launch))[..4].to_vec();
    assert_eq!(at("1, 0, 0"), [3, 0xFFFF_FFFD, 0, 1]);
    assert_eq!(at("9, 1, 0"), [4, 0xFFFF_FFFC, 0, 1]);
    assert_eq!(at("0, 0, 1"), [2, 0xFFFF_FFFE, 0, 1]);
}

#[test]
fn halves_are_rounded_and_packed() {
    let launch = launch(
        "texture = \"i\"",
        "[[image]]\nname = \"i\"\nwidth = 1\ntype = \"f16\"\nchannels = 2\ndata = [1.0, -2.0]\n",
    );
    let body = "  %r1, %r2, %p5 = tex.1d.v2.f16x2.s32 %d31, %d31, 0, 0\n  st.global.v2.b32 [%d32], %r1, %r2\n";
    assert_eq!(words(&run(&kernel("", body), &launch))[..2], [0xC000_3C00, 0x3C00_0000]);
}

#[test]
fn variables_lead_to_images_and_have_settings() {
    let variables = "global @i: texref global align 8 = 0x0200000002\nglobal @s: samplerref global align 8\n";
    let body = "  %r1, %r2, %r3, %r4, %p5 = tex.1d.v4.f32.f32 @i, @i, 0x3f000000, 0\n  st.global.b32 [%d32], %r1\n  \
                %r1, %r2, %r3, %r4, %p5 = tex.1d.v4.f32.f32 @i, @s, 0x3fc00000, 0\n  st.global.b32 [%d32+4], %r1\n  \
                %d33 = mov.b64 @i\n  %p16 = istypep.texref %d33\n  %p17 = istypep.surfref %d33\n  %p18 = istypep.texref %d32\n  \
                %r6 = selp.b32 1, 0, %p16\n  %r7 = selp.b32 1, 0, %p17\n  %r8 = selp.b32 1, 0, %p18\n  \
                st.global.v2.b32 [%d32+8], %r6, %r7\n  st.global.b32 [%d32+16], %r8\n";
    // The variable says that the filter is linear and coordinates are normalized; the sampler says neither.
    let launch = launch("null = true", &LINE.replace("type", "bind = [\"s\"]\ntype"));
    let text = kernel(variables, body);
    let result = match parse_module(&text) {
        Ok(_) => run(&text, &launch),
        Err(error) => panic!("{error}: {}", &text[error.span.offset()..]),
    };
    assert_eq!(floats(&result)[..2], [15.0, 10.0]);
    assert_eq!(words(&result)[2..5], [1, 0, 0]);
}

#[test]
fn questions_are_answered() {
    let launch =
        launch("texture = \"i\"", &format!("{PLANE}filter = \"linear\"\naddress = [\"wrap\", \"clamp_to_border\"]\n"));
    let ask = |query: &str| {
        let body = format!("  %r1 = txq.{query}.b32 %d31\n  st.global.b32 [%d32], %r1\n");
        words(&run(&kernel("", &body), &launch))[0]
    };
    let queries = ["width", "height", "depth", "array_size", "num_mipmap_levels", "normalized_coords", "filter_mode"];
    assert_eq!(queries.map(ask), [2, 2, 0, 0, 1, 0, 1]);
    assert_eq!(["channel_data_type", "channel_order", "addr_mode_0", "addr_mode_1"].map(ask), [0x10D2, 0x10B5, 0, 3]);
}

const SURFACE: &str = "[[image]]\nname = \"i\"\nwidth = 2\nheight = 2\ntype = \"u16\"\nchannels = 2\n\
                       data = [1, 2, 3, 4, 5, 6, 7, 8]\n";

#[test]
fn surfaces_are_loaded_by_bytes_within_their_borders() {
    let launch = launch("surface = \"i\"", SURFACE);
    let load = |mode: &str, coordinates: &str| {
        kernel("", &format!("  %r1 = suld.2d.b32.{mode} %d31, {coordinates}\n  st.global.b32 [%d32], %r1\n"))
    };
    let loaded = |mode: &str, coordinates: &str| words(&run(&load(mode, coordinates), &launch))[0];
    assert_eq!(loaded("trap", "4, 1"), 0x0008_0007);
    assert_eq!(loaded("clamp", "100, 0xffffffff"), 0x0004_0003);
    assert_eq!(loaded("zero", "8, 0"), 0);
    assert!(trap(&load("trap", "8, 0"), &launch).contains("surface"));
    assert!(trap(&load("clamp", "2, 0"), &launch).contains("misaligned"));
}

#[test]
fn surfaces_are_stored_to_and_reduced() {
    let launch = launch("surface = \"i\"", SURFACE);
    let after = |body: &str| {
        let result = run(&kernel("", body), &launch);
        assert_eq!(result.outcome, Outcome::Finished);
        let bytes = result.content(1).expect("the image comes behind the one buffer");
        (bytes.data().chunks(2).map(|two| u16::from_le_bytes([two[0], two[1]])).collect::<Vec<_>>(), bytes.clone())
    };
    assert_eq!(after("  sust.2d.b32.trap %d31, 4, 0, 0x90008\n").0, [1, 2, 8, 9, 5, 6, 7, 8]);
    assert_eq!(after("  sust.2d.b16.zero %d31, 8, 0, 0x9\n").0, [1, 2, 3, 4, 5, 6, 7, 8]);
    // A formatted store clamps to the format, and leaves open what it does not give.
    let (words, bytes) = after("  sust.p.2d.b32.trap %d31, 1, 1, 0x12345\n");
    assert_eq!(words[..7], [1, 2, 3, 4, 5, 6, 0xFFFF]);
    assert!(bytes.is_undefined(14) && !bytes.is_undefined(13));
    assert_eq!(after("  sured.add.2d.u32.trap %d31, 0, 1, 0x10002\n").0, [1, 2, 3, 4, 7, 7, 7, 8]);
    assert!(trap(&kernel("", "  sured.p.add.2d.b32.trap %d31, 0, 1, 1\n"), &launch).contains("no integers"));
}

/// Two threads change one texel.
#[test]
fn reductions_race_with_stores_and_not_with_each_other() {
    let launch = Launch { block: [2, 1, 1], ..launch("surface = \"i\"", SURFACE) };
    let races = |body: &str| {
        let module = parse_module(&kernel("", body)).unwrap_or_else(|error| panic!("{error}"));
        let options = RunOptions { races: true, ..RunOptions::default() };
        let result = Executable::new(&module).expect("it decodes").run(&launch, &options).expect("the launch fits");
        assert_eq!(result.outcome, Outcome::Finished);
        !result.races.is_empty()
    };
    let (reduce, store) = ("  sured.add.2d.u32.trap %d31, 0, 1, 3\n", "  sust.2d.b32.trap %d31, 0, 1, 3\n");
    assert!(!races(reduce) && races(store) && races(&format!("{reduce}{store}")));
}

#[test]
fn what_does_not_fit_traps_with_a_reason() {
    let texture = launch("texture = \"i\"", LINE);
    assert!(trap(&fetch("tex.2d.v4.f32.f32", "0, 0, 0, 0"), &texture).contains("another geometry"));
    let surface = launch("surface = \"i\"", LINE);
    assert!(trap(&fetch("tex.1d.v4.f32.f32", "0, 0"), &surface).contains("no texture"));
    let none = launch("null = true", "");
    assert!(trap(&fetch("tex.1d.v4.f32.f32", "0, 0"), &none).contains("nothing is bound to 0x0"));
}

#[test]
fn parameters_take_what_they_are_declared_as() {
    let text = "entry @k {\n  param $t: texref param align 8\n  param $out: u64 param align 8\nbb0:\n  \
                %d32 = ld.param.u64 [$out]\n  %r1, %r2, %r3, %r4, %p5 = tex.1d.v4.f32.s32 $t, $t, 1, 0\n  \
                st.global.b32 [%d32], %r1\n  ret\n}\n";
    assert_eq!(floats(&run(text, &launch("texture = \"i\"", LINE)))[0], 10.0);
    let module = parse_module(text).expect("the text is a module");
    let refused =
        Executable::new(&module).expect("it decodes").run(&launch("surface = \"i\"", LINE), &RunOptions::default());
    assert!(matches!(refused, Err(LoadError::Reference { wanted: "texture", .. })), "{refused:?}");
}

#[test]
fn images_that_there_cannot_be_are_refused() {
    let error = |image: &str| -> LaunchError {
        let text = format!("grid = 1\nblock = 1\n[[image]]\nname = \"i\"\n{image}");
        Launch::parse(&text, "test", |_, _| unreachable!()).expect_err("it is refused")
    };
    for (image, message) in [
        ("width = 2\ntype = \"f64\"\nzeroed = true\n", "one of u8 s8 u16"),
        ("width = 2\ntype = \"u8\"\nchannels = 3\nzeroed = true\n", "1, 2 or 4 channels"),
        ("width = 2\ntype = \"u8\"\nfilter = \"linear\"\nzeroed = true\n", "only floats are filtered"),
        ("width = 2\nheight = 3\ncube = true\ntype = \"u8\"\nzeroed = true\n", "are squares"),
        ("width = 4\nlevels = 4\ntype = \"u8\"\nzeroed = true\n", "last level"),
        ("width = 4\ntype = \"u8\"\ndata = [1]\n", "1 byte, the image has 4"),
        ("width = 4\ntype = \"u8\"\naddress = \"around\"\nzeroed = true\n", "`around` is no value of `address`"),
        ("width = 0\ntype = \"u8\"\nzeroed = true\n", "at least 1"),
        ("depth = 1\nwidth = 4\ntype = \"u8\"\nzeroed = true\n", "needs the key `height`"),
        ("width = 4\ntype = \"u8\"\n", "needs the key `buffer`"),
        ("width = 4\ntype = \"u8\"\nsize = 3\nzeroed = true\n", "unknown key `size`"),
    ] {
        let error = error(image);
        assert!(error.to_string().contains(message), "{error} is not {message}");
        assert!(error.location().is_some());
    }
    let text = "grid = 1\nblock = 1\n[[arg]]\ntexture = \"j\"\n";
    let error = Launch::parse(text, "test", |_, _| unreachable!()).expect_err("there is no image");
    assert!(error.to_string().contains("no image `j`"));
}
