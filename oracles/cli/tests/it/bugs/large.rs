//! Large programs in which one place is wrong under the bug `ConstantOffByOne`: of independent pieces, of branches, of
//! one long chain, and of many functions.

use std::fmt::Write;

use oriole_check::input::NamedLaunch;
use oriole_check::report::{Evidence, Finding};
use oriole_check::{CheckOptions, check_module};
use oriole_ir::parse_module;
use oriole_launch::command_line;

/// A program of so many pieces, with its name.
type Program = (&'static str, fn(usize) -> String);

/// Programs by name, each of so many pieces of four to seven instructions.
pub const LARGE: &[Program] =
    &[("straight", straight), ("branchy", branchy), ("chain", chain), ("functions", functions)];

const HEAD: &str = "entry @k visible ssa {
  param $data: u64 param align 8
  param $out: u64 param align 8
";
const LOADED: &str = "bb0:
  %d0 = ld.param.u64 [$data]
  %d1 = ld.param.u64 [$out]
";

/// The constant of a piece, which the bug changes in one of them.
fn constant(piece: usize, pieces: usize) -> usize {
    if piece == pieces * 2 / 3 { 0x500 } else { (piece % 99) * 256 + 7 }
}

/// Pieces that have nothing to do with each other.
fn straight(pieces: usize) -> String {
    let mut text = format!("target sm_90 ptx 9.0\n\n{HEAD}{LOADED}");
    for piece in 0..pieces {
        let (load, sum, value) = (3 * piece + 2, 3 * piece + 3, 3 * piece + 4);
        let (from, to) = (4 * (piece % 8), 4 * piece);
        let _ = write!(
            text,
            "  %r{load} = ld.global.u32 [%d0+{from}]\n  %r{sum} = imul.lo.u32 %r{load}, 3\n  \
             %r{value} = xor.b32 %r{load}, {}\n  st.global.u32 [%d1+{to}], %r{value}\n",
            constant(piece, pieces)
        );
    }
    text + "  ret\n}\n"
}

/// The same, each with a condition of its own.
fn branchy(pieces: usize) -> String {
    let mut text = format!("target sm_90 ptx 9.0\n\n{HEAD}{LOADED}");
    for piece in 0..pieces {
        let (load, sum, value, tested) = (4 * piece + 2, 4 * piece + 3, 4 * piece + 4, 4 * piece + 5);
        let (side, join) = (2 * piece + 1, 2 * piece + 2);
        let (from, to) = (4 * (piece % 8), 4 * piece);
        let _ = write!(
            text,
            "  %r{load} = ld.global.u32 [%d0+{from}]\n  %p{tested} = setp.ge.u32 %r{load}, {}\n  \
             cbra %p{tested}, bb{side}, bb{join}\nbb{side}:\n  %r{sum} = xor.b32 %r{load}, {}\n  \
             st.global.u32 [%d1+{to}], %r{sum}\n  bra bb{join}\nbb{join}:\n  %r{value} = imul.lo.u32 %r{load}, 3\n",
            200 + piece % 50,
            constant(piece, pieces)
        );
    }
    text + "  ret\n}\n"
}

/// Pieces of which each needs the one before; all ends in one store.
fn chain(pieces: usize) -> String {
    let mut text = format!("target sm_90 ptx 9.0\n\n{HEAD}{LOADED}  %r2 = ld.global.u32 [%d0]\n");
    for piece in 0..pieces {
        let (last, load, value, sum) = (3 * piece + 2, 3 * piece + 3, 3 * piece + 4, 3 * piece + 5);
        let from = 4 * (piece % 8);
        let _ = write!(
            text,
            "  %r{load} = ld.global.u32 [%d0+{from}]\n  %r{value} = xor.b32 %r{last}, {}\n  \
             %r{sum} = iadd.u32 %r{value}, %r{load}\n",
            constant(piece, pieces)
        );
    }
    let last = 3 * pieces + 2;
    let _ = write!(text, "  st.global.u32 [%d1], %r{last}\n  ret\n}}\n");
    text
}

/// A function for each piece, which the kernel calls in turn, and kernels that nobody launches.
fn functions(pieces: usize) -> String {
    let mut text = "target sm_90 ptx 9.0\n\n".to_owned();
    for piece in 0..pieces {
        let _ = write!(
            text,
            "device @f{piece} ssa {{\n  return $r: u32 param align 4\n  param $x: u32 param align 4\nbb0:\n  \
             %r0 = ld.param.u32 [$x]\n  %r1 = xor.b32 %r0, {}\n  st.param.u32 [$r], %r1\n  ret\n}}\n\n\
             entry @other{piece} visible ssa {{\n  param $out: u64 param align 8\nbb0:\n  \
             %d0 = ld.param.u64 [$out]\n  st.global.u32 [%d0], {piece}\n  ret\n}}\n\n",
            constant(piece, pieces)
        );
    }
    text += HEAD;
    for piece in 0..pieces {
        let _ = write!(text, "  local $a{piece}: u32 param align 4\n  local $b{piece}: u32 param align 4\n");
    }
    text += LOADED;
    for piece in 0..pieces {
        let (load, value) = (2 * piece + 2, 2 * piece + 3);
        let (from, to) = (4 * (piece % 8), 4 * piece);
        let _ = write!(
            text,
            "  %r{load} = ld.global.u32 [%d0+{from}]\n  st.param.u32 [$a{piece}], %r{load}\n  \
             call @f{piece}($a{piece}) -> ($b{piece})\n  %r{value} = ld.param.u32 [$b{piece}]\n  \
             st.global.u32 [%d1+{to}], %r{value}\n"
        );
    }
    text + "  ret\n}\n"
}

/// A program with the launch that shows what the bug does to it.
pub fn evidence(program: fn(usize) -> String, pieces: usize) -> Evidence {
    let arguments = ["random:1:32".to_owned(), format!("zeroed:{}", 4 * pieces)];
    let launch = command_line::launch(Some("k"), "1", "1", &arguments).expect("the launch is well-formed");
    let module = parse_module(&program(pieces)).unwrap_or_else(|error| panic!("the program is well-formed: {error}"));
    Evidence { module, launch: Some(launch) }
}

/// What a check finds on it.
pub fn finding(evidence: &Evidence, options: &CheckOptions) -> Finding {
    let launch = evidence.launch.clone().expect("there is a launch");
    let launches = [NamedLaunch { name: "large".to_owned(), launch }];
    let report = check_module("large", &evidence.module, &launches, options).expect("it can be checked");
    report.findings.into_iter().next().expect("the bug shows")
}
