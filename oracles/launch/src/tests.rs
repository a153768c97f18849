//! Launch files as texts: what they mean, and what every kind of mistake is told.

use std::path::Path;

use miette::Diagnostic;

use super::source::no_files;
use super::*;

/// A launch file around these lines of one argument.
fn with_arg(lines: &str) -> String {
    format!("grid = 1\nblock = 1\n[[arg]]\n{lines}\n")
}

fn parse(text: &str) -> Result<Launch, LaunchError> {
    Launch::parse(text, "t.launch.toml", no_files)
}

fn only_arg(lines: &str) -> ArgValue {
    let mut launch = parse(&with_arg(lines)).unwrap();
    assert_eq!(launch.args.len(), 1);
    launch.args.remove(0).value
}

/// Message, line, column and help of the error of `text`.
fn complaint(text: &str) -> (String, usize, usize, String) {
    let error = parse(text).err().unwrap_or_else(|| panic!("accepted: {text}"));
    let (name, line, column) = error.location().expect("errors of a text have a place");
    assert_eq!(name, "t.launch.toml");
    let help = error.help().map_or(String::new(), |help| help.to_string());
    (error.to_string(), line, column, help)
}

fn message(lines: &str) -> String {
    complaint(&with_arg(lines)).0
}

#[test]
fn a_full_launch_file_reads_as_documented() {
    let text = r#"
kernel = "saxpy"
grid = [4, 2]
block = 256
dynamic_shared = 1024
steps = 1_000_000
race_check = true
[[arg]]
name = "n"
type = "u32"
value = 1000
[[arg]]
type = "f32"
value = 2.5
[[arg]]
bytes = "0102 ff_00"
[[arg]]
data = [1.0, -2, 0x7f800000]
type = "f32"
expect_data = [1, 2, 3]
[[arg]]
random = { seed = 7, bytes = 12 }
[[arg]]
alias = { arg = 3, offset = 4 }
[[arg]]
null = true
"#;
    let launch = parse(text).unwrap();
    assert_eq!(launch.kernel.as_deref(), Some("saxpy"));
    assert_eq!((launch.grid, launch.block), ([4, 2, 1], [256, 1, 1]));
    assert_eq!((launch.dynamic_shared, launch.steps, launch.race_check), (1024, Some(1_000_000), true));
    assert_eq!(launch.threads(), 2048);
    assert_eq!((launch.arg_name(0), launch.arg_name(4)), ("n".to_owned(), "arg 4".to_owned()));
    let floats = |values: [f32; 3]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let data = Buffer {
        bytes: floats([1.0, -2.0, f32::INFINITY]),
        element: Some(ScalarType::F32),
        expect: Some(floats([1.0, 2.0, 3.0])),
        tolerance: None,
        replicas: 0,
    };
    let random = Buffer { bytes: random::bytes(7, 12), ..Buffer::default() };
    let values: Vec<ArgValue> = launch.args.into_iter().map(|arg| arg.value).collect();
    let expected = [
        ArgValue::Scalar(Scalar::from_bits(ScalarType::U32, 1000)),
        ArgValue::Scalar(Scalar::from_bits(ScalarType::F32, 0x4020_0000)),
        ArgValue::Bytes(vec![1, 2, 255, 0]),
        ArgValue::Buffer(data),
        ArgValue::Buffer(random),
        ArgValue::Alias { arg: 3, offset: 4 },
        ArgValue::Null,
    ];
    assert_eq!(values, expected);
}

#[test]
fn wide_integers_and_strings_are_numbers_too() {
    let scalar = |ty, bits| ArgValue::Scalar(Scalar::from_bits(ty, bits));
    assert_eq!(only_arg("type = 'u64'\nvalue = 18446744073709551615"), scalar(ScalarType::U64, u64::MAX));
    assert_eq!(
        only_arg("type = 'b64'\nvalue = '0xffff_0000_ffff_0000'"),
        scalar(ScalarType::B64, 0xffff_0000_ffff_0000)
    );
    assert_eq!(only_arg("type = 'f64'\nvalue = -inf"), scalar(ScalarType::F64, f64::NEG_INFINITY.to_bits()));
    assert_eq!(only_arg("type = 'f16'\nvalue = 1"), scalar(ScalarType::F16, 0x3c00));
}

#[test]
fn random_elements_respect_their_bounds() {
    let lines = "type = 'u32'\nrandom = { seed = 1, bytes = 400, min = 10, max = 12 }";
    let ArgValue::Buffer(buffer) = only_arg(lines) else { panic!("a random argument is a buffer") };
    assert!(buffer.bytes.chunks(4).all(|element| (10..=12).contains(&element[0]) && element[1..] == [0; 3]));
    assert!(message("type = 'u32'\nrandom = { seed = 1, bytes = 4, min = 2, max = 1 }").contains("no value lies"));
    assert!(message("type = 'f32'\nrandom = { seed = 1, bytes = 4, min = nan, max = 1 }").contains("no value lies"));
    assert!(message("random = { seed = 1, bytes = 4, min = 2, max = 3 }").contains("needs the key `type`"));
    assert!(message("random = { seed = 1, bytes = 4, max = 3 }").contains("needs the key `min`"));
}

#[test]
fn unknown_keys_get_a_suggestion_at_their_place() {
    let (text, line, column, help) = complaint("grid = 1\nblock = 1\n  dynamic_shard = 3\n");
    assert_eq!((text.as_str(), line, column), ("unknown key `dynamic_shard` in the launch file", 3, 3));
    assert_eq!(help, "did you mean `dynamic_shared`?");
    let (_, line, column, help) = complaint(&with_arg("zeroed = 4\nexpected = 'x'"));
    assert_eq!((line, column, help.as_str()), (5, 1, "did you mean `expect`?"));
    let (_, _, _, help) = complaint("grid = 1\nblock = 1\ntolerance = 1e-3");
    assert!(help.contains("[[arg]]"), "{help}");
    let (_, _, _, help) = complaint("grid = 1\nblock = 1\nelephant = 1");
    assert!(help.starts_with("known keys: kernel, grid"));
}

#[test]
fn limits_of_cuda_are_named() {
    let check = |grid: &str, block: &str, wanted: &str| {
        let (text, ..) = complaint(&format!("grid = {grid}\nblock = {block}"));
        assert_eq!(text, wanted);
    };
    check("0", "1", "grid.x is 0, but CUDA takes 1 to 2147483647");
    check("[1, 65536]", "1", "grid.y is 65536, but CUDA takes 1 to 65535");
    check("[1, 1, 65536]", "1", "grid.z is 65536, but CUDA takes 1 to 65535");
    check("2147483648", "1", "grid.x is 2147483648, but CUDA takes 1 to 2147483647");
    check("4294967297", "1", "grid is 4294967297, but CUDA's limits are far below");
    check("1", "1025", "block.x is 1025, but CUDA takes 1 to 1024");
    check("1", "[1, 1, 65]", "block.z is 65, but CUDA takes 1 to 64");
    check("1", "[32, 33]", "block.x * block.y * block.z is 1056, but a block has at most 1024 threads");
    check("[]", "1", "`grid` must be an integer or an array of one to three, not an array");
    check("[1,1,1,1]", "1", "`grid` must be an integer or an array of one to three, not an array");
    check("'4'", "1", "`grid` must be an integer or an array of one to three, not a string");
    check("-1", "1", "`grid` is -1, but it must lie between 0 and 18446744073709551615");
    assert!(parse("grid = [2147483647, 65535, 65535]\nblock = [16, 1, 64]").is_ok());
    let (text, line, column, _) = complaint("grid = 1\nblock = 1\ndynamic_shared = 232449");
    assert_eq!((text.as_str(), line, column), ("`dynamic_shared` is 232449, but the limit is 232448", 3, 18));
    assert_eq!(complaint("block = 1").0, "the launch file needs the key `grid`");
}

#[test]
fn arguments_say_what_they_lack_or_have_twice() {
    assert_eq!(message("name = 'x'"), "this argument has no content");
    assert_eq!(message("value = 1"), "[[arg]] needs the key `type`");
    assert_eq!(message("data = [1]"), "[[arg]] needs the key `type`");
    assert_eq!(message("zeroed = 4\nexpect_data = [1]"), "[[arg]] needs the key `type`");
    assert_eq!(message("zeroed = 4\nhex = '00'"), "`hex` and `zeroed` exclude each other");
    assert_eq!(message("zeroed = 1\nexpect = 'x'\nexpect_hex = '00'"), "`expect` and `expect_hex` exclude each other");
    assert_eq!(message("null = true\ntype = 'u32'"), "`type` does not go with `null`");
    assert_eq!(message("alias = {arg = 0}\nexpect = 'x'"), "`expect` does not go with `alias`");
    assert_eq!(message("type = 'u32'\nvalue = 1\nexpect_hex = ''"), "`expect_hex` does not go with `value`");
    assert_eq!(message("null = false"), "`null` must be true, not a boolean");
    assert_eq!(message("type = 'u33'\nvalue = 1"), "unknown type `u33`");
    assert_eq!(message("type = 'u8'\nvalue = 256"), "`256` is not a value of type u8");
    assert_eq!(message("type = 'u32'\nvalue = 1.5"), "`1.5` is not a value of type u32");
    assert_eq!(message("hex = '0'"), "not hexadecimal bytes");
    assert_eq!(message("bytes = ''"), "not hexadecimal bytes");
    assert_eq!(message("zeroed = 4\nexpect_hex = '00'"), "the expected content has 1 byte, the buffer has 4");
    assert_eq!(message("alias = {arg = 1}"), "argument 1 is not a buffer, so nothing can alias it");
    assert_eq!(message("null = true\npointers = []"), "`pointers` does not go with `null`");
    let structure = |pointer: &str| message(&format!("bytes = '{}'\npointers = [{pointer}]", "00".repeat(12)));
    assert_eq!(structure("{at = 0, arg = 1}"), "argument 1 is not a buffer, so nothing can alias it");
    assert_eq!(structure("{at = 5, arg = 1}"), "`at` is 5, but the structure has 12 bytes, and an address 8");
    assert_eq!(structure("{at = 0}"), "a pointer needs the key `arg`");
    assert_eq!(structure("7"), "`pointers` must be a table, not an integer");
    assert_eq!(message("alias = {arg = 0}"), "argument 0 is not a buffer, so nothing can alias it");
    assert_eq!(
        message("zeroed = 4\n[[arg]]\nalias = {arg = 0, offset = 5}"),
        "offset 5 is beyond the end of argument 0, which has 4 bytes"
    );
    assert_eq!(message("zeroed = 40\nreplicas = 2"), "40 bytes are not 2 replicas of equal size, in steps of 16 bytes");
    assert_eq!(message("zeroed = 32\nreplicas = 0"), "32 bytes are not 0 replicas of equal size, in steps of 16 bytes");
    assert_eq!(
        message("zeroed = 32\n[[arg]]\nmulticast = {arg = 0}"),
        "argument 0 is no buffer with replicas, so it has no multicast address"
    );
    assert_eq!(
        message("zeroed = 64\nreplicas = 2\n[[arg]]\nmulticast = {arg = 0, offset = 33}"),
        "offset 33 is beyond the end of a replica of argument 0, which has 32 bytes"
    );
    assert_eq!(message("multicast = {arg = 0}\nreplicas = 2"), "`replicas` does not go with `multicast`");
    assert!(message("zeroed = 32\nreplicas = 1000").contains("256"));
    assert!(message("bytes = '00'\n[[arg]]\nvalue = = 1").starts_with("not valid TOML"));
    assert!(complaint("grid = 1\nblock = 1\narg = 3").0.contains("[[arg]]"));
}

#[test]
fn sizes_are_checked_before_they_are_allocated() {
    for lines in [
        "zeroed = 18446744073709551615",
        "zeroed = 268435457",
        "random = { seed = 1, bytes = 9223372036854775807 }",
        "type = 'u8'\nrandom = { seed = 1, bytes = 99999999999, min = 0, max = 1 }",
        "zeroed = 268435456\n[[arg]]\nhex = '00'",
    ] {
        assert!(message(lines).contains("at most 268435456 bytes together"), "{lines}");
    }
    let large = format!("bytes = '{}'", "00".repeat(MAX_PARAMETER_BYTES + 1));
    assert!(message(&large).contains("CUDA takes at most 32764 bytes"));
    let error = parse(&"#".repeat(MAX_TEXT_BYTES + 1)).unwrap_err();
    assert_eq!(error.problem(), &Problem::TextTooLarge { limit: MAX_TEXT_BYTES });
}

#[test]
fn files_are_found_beside_the_launch_file_and_judged() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| std::fs::write(folder.path().join(name), content).unwrap();
    let load = |text: &str| {
        file("k.launch.toml", with_arg(text).as_bytes());
        Launch::load(&folder.path().join("k.launch.toml"))
    };
    file("in.bin", &[1, 2, 3]);
    file("out.bin", &[4, 5, 6]);
    file("long.bin", &[0; 9]);
    let launch = load("buffer = 'in.bin'\nexpect = 'out.bin'").unwrap();
    let (_, buffer) = launch.buffers().next().unwrap();
    assert_eq!((buffer.bytes.as_slice(), buffer.expect.as_deref()), (&[1, 2, 3][..], Some(&[4, 5, 6][..])));

    let error = load("buffer = 'in.bin'\nexpect = 'long.bin'").unwrap_err();
    assert_eq!(error.problem(), &Problem::ExpectLength { expected: 9, buffer: 3 });
    assert_eq!(error.location().map(|(_, line, column)| (line, column)), Some((5, 10)));
    let error = load("buffer = 'absent.bin'").unwrap_err();
    assert!(matches!(error.problem(), Problem::Read { path, .. } if path == Path::new("absent.bin")));
    let error = load("buffer = '.'").unwrap_err();
    assert!(error.to_string().contains("not a regular file"), "{error}");
    let sparse = std::fs::File::create(folder.path().join("huge.bin")).unwrap();
    sparse.set_len(MAX_BUFFER_BYTES + 1).unwrap();
    let error = load("buffer = 'huge.bin'").unwrap_err();
    assert!(error.to_string().contains("is 268435457, but the buffers"), "{error}");
    file("k.launch.toml", &[0xff, 0xfe]);
    let error = Launch::load(&folder.path().join("k.launch.toml")).unwrap_err();
    assert!(error.to_string().contains("text is UTF-8"), "{error}");
    assert!(Launch::load(&folder.path().join("none.toml")).is_err());
}

#[test]
fn the_rendered_error_shows_file_line_and_excerpt() {
    let error = parse("grid = 1\nblock = [32, 64]\n").unwrap_err();
    let mut rendered = String::new();
    let handler = miette::GraphicalReportHandler::new_themed(miette::GraphicalTheme::none());
    handler.render_report(&mut rendered, &error).unwrap();
    assert!(rendered.contains("t.launch.toml:2:9"), "{rendered}");
    assert!(rendered.contains("block = [32, 64]"), "{rendered}");
}

#[test]
fn launch_files_beside_a_kernel_come_in_order() {
    let folder = tempfile::tempdir().unwrap();
    for name in
        ["k.small.launch.toml", "k.launch.toml", "k.big.launch.toml", "kk.launch.toml", "k..launch.toml", "k.toml"]
    {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let found = launch_files_for(&folder.path().join("k.ptx"));
    let names: Vec<&str> = found.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["k.launch.toml", "k.big.launch.toml", "k.small.launch.toml"]);
    assert!(launch_files_for(Path::new("no/such/folder/k.ptx")).is_empty());
    assert!(launch_files_for(Path::new("")).is_empty());
}

#[test]
fn pieces_of_a_command_line_make_a_launch() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in:1.bin"), folder.path().join("out.bin"));
    std::fs::write(&input, [1, 2, 3, 4]).unwrap();
    std::fs::write(&output, [5, 6, 7, 8]).unwrap();
    let file = format!("file:{}:expect={}:type=u8:name=x", input.display(), output.display());
    let args = [
        "u32:1000",
        "f32:2.0",
        "zeroed:16:type=f32",
        "random:7:20",
        &file,
        "alias:4:2",
        "null",
        "hex:0a0b",
        "bytes:01",
    ];
    let launch = command_line::launch(Some("k"), "4,2", "16x4x2", &args.map(str::to_owned)).unwrap();
    assert_eq!((launch.grid, launch.block), ([4, 2, 1], [16, 4, 2]));
    let buffer =
        |bytes, element, expect| ArgValue::Buffer(Buffer { bytes, element, expect, tolerance: None, replicas: 0 });
    let values: Vec<ArgValue> = launch.args.iter().map(|arg| arg.value.clone()).collect();
    assert_eq!(values[0], ArgValue::Scalar(Scalar::from_bits(ScalarType::U32, 1000)));
    assert_eq!(values[2], buffer(vec![0; 16], Some(ScalarType::F32), None));
    assert_eq!(values[3], buffer(random::bytes(7, 20), None, None));
    assert_eq!(values[4], buffer(vec![1, 2, 3, 4], Some(ScalarType::U8), Some(vec![5, 6, 7, 8])));
    assert_eq!(launch.arg_name(4), "x");
    assert_eq!(values[5], ArgValue::Alias { arg: 4, offset: 2 });
    assert_eq!(values[7], buffer(vec![10, 11], None, None));
    assert_eq!(values[8], ArgValue::Bytes(vec![1]));
}

#[test]
fn wrong_pieces_are_told_apart() {
    let wrong = |piece: &str| command_line::launch(None, "1", "1", &[piece.to_owned()]).expect_err(piece).to_string();
    for piece in [
        "",
        "u33:1",
        "u32",
        "zeroed",
        "zeroed:",
        "zeroed:-1",
        "random:1",
        "file:",
        "file:/no/such",
        "hex:0",
        "bytes:",
        "alias:x:1",
        "alias:0:0",
        "null:1",
        "zeroed:4:type=x",
        "u32:1:type=u32",
        "null:expect=x",
        "zeroed:4:expect=/no/such",
        "zeroed:40:replicas=2",
        "zeroed:32:replicas=300",
        "multicast:0",
        "null:replicas=2",
    ] {
        assert!(!wrong(piece).is_empty());
    }
    assert_eq!(wrong("u33:1"), "`u33:1` does not describe an argument");
    assert_eq!(wrong("u8:300"), "`300` is not a value of type u8");
    assert!(wrong("zeroed:99999999999").contains("bytes together"));
    for (grid, wanted) in
        [("0", "grid.x is 0"), ("", "one to three"), ("1,1,1,1", "one to three"), ("-1", "one to three")]
    {
        let error = command_line::launch(None, grid, "1", &[]).unwrap_err();
        assert!(error.to_string().contains(wanted), "{grid}: {error}");
    }
}

#[test]
fn tolerances_are_read_and_written() {
    let argument = |tolerance: &str, ty: &str| {
        let arg = "[[arg]]\nhex = '0000803f'\nexpect_hex = '0100803f'\n";
        parse(&format!("grid = 1\nblock = 1\n{arg}type = '{ty}'\ntolerance = {tolerance}\n"))
    };
    for text in ["{ ulp = 3 }", "{ relative = 1e-3 }", "{ absolute = 0.5, relative = '0.25' }"] {
        let launch = argument(text, "f32").expect(text);
        let written = launch.to_toml("stem").text;
        assert_eq!(parse(&written).expect(&written), launch, "{written}");
        let buffer = launch.buffers().next().expect("a buffer").1.clone();
        assert!(buffer.tolerance.is_some() && buffer.accepts(&[0, 0, 0x80, 0x3f]));
        assert!(buffer.tolerated(&[0, 0, 0x80, 0x3f]).is_some_and(|tolerated| tolerated.ulp == 1));
    }
    // Programs may be compared with each other where nothing is expected.
    let alone = "grid = 1\nblock = 1\n[[arg]]\nzeroed = 4\ntype = 'f32'\ntolerance = { ulp = 3 }\n";
    let launch = parse(alone).expect("it is well-formed");
    let written = launch.to_toml("stem").text;
    assert_eq!(parse(&written).expect(&written), launch, "{written}");
    let message = |text: &str, ty: &str| argument(text, ty).expect_err(text).to_string();
    for (text, ty, part) in [
        ("{ ulp = 1, absolute = 1 }", "f32", "`ulp` and `absolute` exclude each other"),
        ("{}", "f32", "`ulp`"),
        ("{ near = 1 }", "f32", "`near`"),
        ("{ absolute = -1 }", "f32", "it must be finite and not negative"),
        ("{ ulp = 1 }", "u32", "a floating-point type"),
    ] {
        let message = message(text, ty);
        assert!(message.contains(part), "{message}");
    }
}
