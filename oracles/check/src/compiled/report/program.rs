//! A program in C that confirms a finding on a GPU: by the CUDA driver API, with code, data and expected results in it.

use std::fmt::Write as _;

use oriole_gpu::{Job, Parameter};
use oriole_interp::launch::Launch;
use oriole_interp::{Bytes, RunResult};

/// What all programs have.
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
    out += " */\n\n#include <cuda.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n";
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
    use std::process::Command;

    use oriole_interp::launch::{Arg, ArgValue, Buffer, Scalar, ScalarType};
    use oriole_interp::{Executable, RunOptions};

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

    /// A header with what the programs use of the driver API, for machines without CUDA.
    const HEADER: &str = "#include <stddef.h>\ntypedef int CUresult, CUdevice;\ntypedef struct c *CUcontext;\n\
        typedef struct m *CUmodule;\ntypedef struct f *CUfunction;\ntypedef unsigned long long CUdeviceptr;\n\
        typedef struct s *CUstream;\ntypedef enum { CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_ERROR_LOG_BUFFER, \
        CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES } CUjit_option;\n\
        typedef enum { CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4 } CUlaunchAttributeID;\n\
        typedef struct { CUlaunchAttributeID id; union { struct { unsigned x, y, z; } clusterDim; } value; } \
        CUlaunchAttribute;\n\
        typedef struct { unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes; \
        CUstream hStream; CUlaunchAttribute *attrs; unsigned numAttrs; } CUlaunchConfig;\n\
        enum { CUDA_SUCCESS, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, \
        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED };\n\
        CUresult cuInit(unsigned), cuDeviceGet(CUdevice *, int), cuGetErrorString(CUresult, const char **),\n\
        cuDevicePrimaryCtxRetain(CUcontext *, CUdevice), cuCtxSetCurrent(CUcontext), cuCtxSynchronize(void),\n\
        cuModuleLoadData(CUmodule *, const void *), cuFuncSetAttribute(CUfunction, int, int),\n\
        cuModuleLoadDataEx(CUmodule *, const void *, unsigned, CUjit_option *, void **),\n\
        cuModuleGetFunction(CUfunction *, CUmodule, const char *), cuMemAlloc(CUdeviceptr *, size_t),\n\
        cuMemcpyHtoD(CUdeviceptr, const void *, size_t), cuMemcpyDtoH(void *, CUdeviceptr, size_t),\n\
        cuLaunchKernelEx(const CUlaunchConfig *, CUfunction, void **, void **);\n";

    #[test]
    fn a_program_is_c() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("cuda.h"), HEADER).unwrap();
        let path = folder.path().join("confirm.c");
        std::fs::write(&path, made()).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"]).arg(folder.path()).arg(&path);
        match compiler.output() {
            Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
            Err(error) => eprintln!("skipped: there is no C compiler ({error})"),
        }
    }
}
