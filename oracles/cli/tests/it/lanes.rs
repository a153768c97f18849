//! Lanes of a warp that name others, part and meet again, in code that the real ptxas makes: `oriole judge` on every
//! architecture and level.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use oriole_check::compiler::Ptxas;

/// Judges a kernel of one warp, which stores a word for each lane, on all levels of architectures; `None` without
/// ptxas.
fn judge(text: &str, archs: &str) -> Option<Output> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    if Ptxas::find(here).is_none() {
        eprintln!("skipped: there is no ptxas (ci/cuda-tools installs it)");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let ptx = folder.path().join("kernel.ptx");
    std::fs::write(&ptx, text).unwrap();
    let launch =
        "grid = 1\nblock = 32\n[[arg]]\ntype = \"u32\"\nrandom = { seed = 3, bytes = 4096, min = 0, max = 3 }\n";
    std::fs::write(ptx.with_extension("launch.toml"), launch).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.current_dir(here).arg("judge").arg(&ptx).args(["--sm", archs, "-O", "0,1,2,3", "--randoms", "0"]);
    Some(command.output().expect("the command starts"))
}

/// A kernel whose threads have their number in `%r1`, a word of the buffer in `%r2`, its address in `%d3` and that of
/// the buffer in `%d1`.
fn kernel(target: &str, body: &str) -> String {
    format!(
        ".version 8.8\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 data)\n{{\n\
         .reg .pred %p<9>;\n.reg .b32 %r<40>;\n.reg .b64 %d<9>;\nld.param.u64 %d1, [data];\nmov.u32 %r1, %tid.x;\n\
         mul.wide.u32 %d2, %r1, 4;\nadd.u64 %d3, %d1, %d2;\nld.global.u32 %r2, [%d3];\n{body}ret;\n}}\n"
    )
}

/// Collectives over the tiles of `%r5`; their results are mixed in `%r9`.
fn collectives(elects: bool) -> String {
    let mut body = String::from("mov.u32 %r9, 0;\nand.b32 %r6, %r2, 1;\nsetp.eq.u32 %p1, %r6, 1;\n");
    let mut add = |collective: &str| {
        let _ = write!(body, "{collective}\nmad.lo.u32 %r9, %r9, 5, %r7;\n");
    };
    add("vote.sync.ballot.b32 %r7, %p1, %r5;");
    add("vote.sync.any.pred %p2, %p1, %r5;\nselp.u32 %r7, 1, 2, %p2;");
    add("vote.sync.all.pred %p2, %p1, %r5;\nselp.u32 %r7, 1, 2, %p2;");
    add("vote.sync.uni.pred %p2, %p1, %r5;\nselp.u32 %r7, 1, 2, %p2;");
    add("match.any.sync.b32 %r7, %r2, %r5;");
    add("match.all.sync.b32 %r7|%p2, %r6, %r5;");
    add("shfl.sync.idx.b32 %r7|%p2, %r2, %r1, 31, %r5;");
    add("redux.sync.add.s32 %r7, %r2, %r5;");
    add("redux.sync.or.b32 %r7, %r2, %r5;");
    add("bar.warp.sync %r5;\nmov.u32 %r7, %r2;");
    if elects {
        add("elect.sync %r7|%p2, %r5;");
    }
    body + "st.global.u32 [%d3+512], %r9;\n"
}

/// Tiles as cooperative groups make them, and groups of lanes that have the same value, as a coalesced group is made.
#[test]
fn lanes_of_tiles_that_have_not_parted_see_their_own_tile() {
    const TILES: &[&str] = &[
        "and.b32 %r3, %r1, 24;\nmov.u32 %r4, 255;\nshl.b32 %r5, %r4, %r3;\n",
        "and.b32 %r3, %r1, 3;\nmov.u32 %r4, 0x11111111;\nshl.b32 %r5, %r4, %r3;\n",
        "match.any.sync.b32 %r5, %r2, -1;\n",
    ];
    for tiles in TILES {
        for (target, archs, elects) in [
            ("sm_80", "sm_80,sm_86,sm_89,sm_90,sm_100,sm_103,sm_120", false),
            ("sm_90", "sm_90,sm_100,sm_103,sm_120", true),
        ] {
            let text = kernel(target, &[tiles, &collectives(elects)[..]].concat());
            let Some(output) = judge(&text, archs) else { return };
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(output.status.code(), Some(0), "{tiles}{said}");
            let (equal, axes) = (said.matches(": equal").count(), 4 * archs.split(',').count());
            assert_eq!(equal, axes, "{tiles}{said}");
        }
    }
}
