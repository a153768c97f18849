//! A program in C that confirms a finding on a GPU: by the CUDA driver API, with code, data and expected results in it.

use std::fmt::Write as _;

use oriole_gpu::{Job, Parameter};
use oriole_interp::{Bytes, RunResult};
use oriole_launch::Launch;

/// The driver's interface, which is in front of the data.
const DRIVER: &str = include_str!("driver.c");
/// What all programs do, behind it.
const COMMON: &str = include_str!("confirm.c");
/// Bytes in a line of an array.
const LINE: usize = 24;

/// What a program is made of.
pub struct Parts<'a> {
    /// A comment for its head, without the marks of one.
    pub head: &'a str,
    /// The text that was compiled.
    pub ptx: &'a str,
    /// The file that the compiler made.
    pub cubin: &'a [u8],
    /// The launch.
    pub launch: &'a Launch,
    /// The same as the driver takes it.
    pub job: &'a Job,
    /// What the PTX leaves behind.
    pub expected: &'a RunResult,
}

/// The program.
pub fn program(parts: &Parts<'_>) -> String {
    let Parts { head, ptx, cubin, launch, job, expected } = parts;
    let mut out = String::from("/*\n");
    for line in head.lines() {
        let line = format!(" * {}", line.replace("*/", "* /"));
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out += " */\n\n";
    out += DRIVER;
    out.push('\n');
    array(&mut out, "cubin", cubin);
    let _ = writeln!(out, "static const char ptx[] =");
    ptx.lines().for_each(|line| _ = writeln!(out, "    {}", quoted(&format!("{line}\n"))));
    let _ = writeln!(out, "    ;\n\nstatic const char entry[] = {};", quoted(&job.entry));
    // No CTA along an axis stands for no cluster.
    let cluster = job.cluster.unwrap_or_default();
    for (name, [x, y, z]) in [("grid", job.grid), ("block", job.block), ("cluster", cluster)] {
        let _ = writeln!(out, "static const unsigned {name}[3] = {{{x}, {y}, {z}}};");
    }
    let _ = writeln!(out, "static const unsigned dynamic_shared = {};\n", job.dynamic_shared);
    buffers(&mut out, launch, expected);
    parameters(&mut out, job);
    out + COMMON
}

/// The buffers, each with its content before and after.
fn buffers(out: &mut String, launch: &Launch, expected: &RunResult) {
    let mut rows = String::new();
    for (index, buffer) in launch.buffers() {
        let state = expected.memory.iter().find(|state| state.argument == Some(index));
        let after = state.map_or_else(|| Bytes::defined(buffer.bytes.clone()), |state| state.bytes.clone());
        let defined: Vec<u8> = (0..after.len()).map(|at| u8::from(!after.is_undefined(at))).collect();
        array(out, &format!("before{index}"), &buffer.bytes);
        array(out, &format!("after{index}"), after.data());
        array(out, &format!("defined{index}"), &defined);
        let (name, size) = (quoted(&launch.arg_name(index)), buffer.bytes.len());
        let _ = writeln!(rows, "    {{{name}, before{index}, after{index}, defined{index}, {size}, 0}},");
    }
    out.push_str("struct buffer {\n    const char *name;\n    const unsigned char *before, *after, *defined;\n");
    out.push_str("    size_t size;\n    CUdeviceptr address;\n};\n\n");
    let _ = writeln!(out, "#define BUFFERS {}", launch.buffers().count());
    // An array without elements is no C.
    let rows = if rows.is_empty() { "    {\"\", NULL, NULL, NULL, 0, 0},\n" } else { &rows };
    let _ = writeln!(out, "static struct buffer buffers[] = {{\n{rows}}};\n");
}

/// The parameters, of which the addresses are known once the buffers have theirs.
fn parameters(out: &mut String, job: &Job) {
    let mut addresses = String::new();
    let mut list = String::new();
    for (index, parameter) in job.parameters.iter().enumerate() {
        let (bytes, address) = match parameter {
            Parameter::Bytes(bytes) => (bytes.clone(), None),
            Parameter::Address { buffer, offset } => (vec![0; 8], Some((buffer, offset))),
        };
        let values = bytes.iter().map(|byte| format!("0x{byte:02x}")).collect::<Vec<_>>().join(", ");
        let size = bytes.len().max(1);
        let _ = writeln!(out, "static _Alignas(16) unsigned char parameter{index}[{size}] = {{{values}}};");
        if let Some((buffer, offset)) = address {
            let _ = writeln!(addresses, "    address = buffers[{buffer}].address + {offset};");
            let _ = writeln!(addresses, "    memcpy(parameter{index}, &address, sizeof address);");
        }
        let _ = write!(list, "parameter{index}, ");
    }
    let _ = writeln!(out, "static void *parameters[] = {{{list}NULL}};\n");
    let _ = writeln!(out, "static void set_addresses(void)\n{{\n    CUdeviceptr address = 0;\n    (void)address;");
    let _ = writeln!(out, "{addresses}}}\n");
}

fn array(out: &mut String, name: &str, bytes: &[u8]) {
    let _ = writeln!(out, "static const _Alignas(16) unsigned char {name}[{}] = {{", bytes.len().max(1));
    for line in bytes.chunks(LINE) {
        let line: Vec<String> = line.iter().map(u8::to_string).collect();
        let _ = writeln!(out, "    {},", line.join(", "));
    }
    out.push_str(if bytes.is_empty() { "    0,\n};\n" } else { "};\n" });
}

/// A text as C writes it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            // Three digits always, since a digit may follow; and no `??`, which may begin a trigraph.
            byte if !(0x20..0x7f).contains(&byte) || byte == b'?' => _ = write!(out, "\\{byte:03o}"),
            byte => out.push(char::from(byte)),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use oriole_interp::{Executable, RunOptions};
    use oriole_launch::{Arg, ArgValue, Buffer, Scalar, ScalarType};

    use super::*;
    use crate::judge::gpu::job;

    const TEXT: &str = ".version 9.0\n.target sm_90\n.address_size 64\n\
        .visible .entry k(.param .u64 p, .param .u32 n, .param .u64 q)\n{\n.reg .b64 %d<2>;\n.reg .b32 %r<2>;\n\
        ld.param.u64 %d1, [p];\nld.param.u32 %r1, [n];\nst.global.u32 [%d1+4], %r1;\nret;\n}\n";

    /// A program about a kernel that stores its second parameter.
    fn made() -> String {
        let module = crate::input::read_ptx(TEXT).unwrap_or_else(|faults| panic!("{faults:?}"));
        let buffer = Buffer { bytes: vec![7; 8], element: None, expect: None, tolerance: None, replicas: 0 };
        let mut launch = Launch::new(None);
        let values = [
            ArgValue::Buffer(buffer),
            ArgValue::Scalar(Scalar::from_bits(ScalarType::U32, 0x1234)),
            ArgValue::Alias { arg: 0, offset: 4 },
        ];
        launch.args.extend(values.into_iter().map(|value| Arg { name: None, value }));
        let original = Executable::new(&module).unwrap();
        let expected = original.run(&launch, &RunOptions::default()).unwrap();
        let job = Job { cluster: Some([1, 1, 1]), ..job(&original, &launch).unwrap() };
        let (head, cubin) = ("A head with */ in it,\nand \"two\" lines.", &[1, 2, 3][..]);
        program(&Parts { head, ptx: TEXT, cubin, launch: &launch, job: &job, expected: &expected })
    }

    #[test]
    fn a_program_has_data_expected_results_and_addresses() {
        let text = made();
        let line = |wanted: &str| assert!(text.lines().any(|line| line.trim() == wanted), "no `{wanted}` in {text}");
        line("7, 7, 7, 7, 7, 7, 7, 7,");
        line("7, 7, 7, 7, 52, 18, 0, 0,");
        line("static _Alignas(16) unsigned char parameter1[4] = {0x34, 0x12, 0x00, 0x00};");
        line("address = buffers[0].address + 4;");
        line("static const unsigned cluster[3] = {1, 1, 1};");
        line("static void *parameters[] = {parameter0, parameter1, parameter2, NULL};");
        assert!(text.contains("A head with * / in it"));
    }

    /// Compiles a program with these options in a folder; `None` without a C compiler.
    fn compile(folder: &Path, text: &str, options: &[&str]) -> Option<()> {
        let path = folder.join("confirm.c");
        std::fs::write(&path, text).unwrap();
        let mut compiler = Command::new("cc");
        compiler.current_dir(folder).args(["-std=c11", "-Wall", "-Wextra", "-Werror", "confirm.c"]).args(options);
        match compiler.output() {
            Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
            Err(error) => {
                eprintln!("skipped: there is no C compiler ({error})");
                return None;
            }
        }
        Some(())
    }

    #[test]
    fn a_program_needs_a_c_compiler_alone_and_says_where_the_driver_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let Some(()) = compile(folder.path(), &made(), &["-o", "confirm"]) else { return };
        let output = Command::new(folder.path().join("confirm")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("there is no CUDA driver") {
            assert_eq!(output.status.code(), Some(2), "{said}");
        } else {
            // Three bytes are no cubin.
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains("cu"), "{said}");
        }
    }

    /// The driver's interface, by the toolkit's own header.
    #[test]
    fn the_interface_is_that_of_the_toolkit() {
        let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/cuda-tools");
        let found = Command::new(tool).args(["--find", "nvcc"]).output().ok();
        let found = found.filter(|output| output.status.success()).map(|output| output.stdout).unwrap_or_default();
        let nvcc = String::from_utf8_lossy(&found).trim().to_owned();
        let header = Path::new(&nvcc).parent().and_then(Path::parent).map(|root| root.join("include/cuda.h"));
        let Some(header) = header.filter(|header| header.exists()) else {
            eprintln!("skipped: no cuda.h");
            return;
        };
        // The own names get a prefix, so that both can be in one file.
        let mut own = DRIVER.to_owned();
        let constants = [
            "CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES",
            "CU_JIT_OPTIMIZATION_LEVEL",
            "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES",
            "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED",
            "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION",
        ];
        for before in [" CU", "(CU", "*CU", " cu", "(cu"] {
            let (boundary, name) = before.split_at(1);
            own = own.replace(before, &format!("{boundary}own{name}"));
        }
        let mut text = format!("{own}\n#include \"{}\"\n", header.display());
        for name in constants {
            let _ = writeln!(text, "_Static_assert((int){name} == (int)own{name}, \"{name}\");");
        }
        for (what, member) in
            [("CUlaunchConfig", "attrs"), ("CUlaunchConfig", "numAttrs"), ("CUlaunchAttribute", "value")]
        {
            let _ = writeln!(text, "_Static_assert(sizeof({what}) == sizeof(own{what}), \"{what}\");");
            let _ = writeln!(text, "_Static_assert(__builtin_offsetof({what}, {member}) == \\");
            let _ = writeln!(text, "    __builtin_offsetof(own{what}, {member}), \"{member}\");");
        }
        let folder = tempfile::tempdir().unwrap();
        compile(folder.path(), &text, &["-fsyntax-only", "-Wno-unused"]);
    }
}
