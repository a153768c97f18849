//! Phases at the machine level: what instructions of the machine do their rows say, so dead code, copies and common
//! values go as at the virtual level. SSA form as text; physical form also on code that ptxas made without
//! optimization.

use std::path::Path;

use oriole_ir::sm::Target;
use oriole_ir::verify::verify_module;
use oriole_ir::{Module, parse_module};
use oriole_optimizer::pass::Element;
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::runner::{Options, run_passes};
use oriole_sass::cubin::{Cubin, SectionKind};
use oriole_sass::ori::{self, in_place};

fn module(text: &str) -> Module {
    ori::register();
    let module = parse_module(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(verify_module(&module), Ok(()), "{text}");
    module
}

fn run(elements: &[Element], module: &mut Module) -> usize {
    let options = Options { verify: true, ..Options::new(Target::portable(90).expect("a target")) };
    let report = run_passes(elements, module, &options, &mut ()).expect("the passes run");
    assert!(report.passes.iter().all(|pass| pass.skipped.is_none()), "a pass did not run");
    report.rewrites as usize
}

/// What passes make of the body of a kernel.
fn after(passes: &str, form: &str, body: &str) -> String {
    let head = format!("target sm_90 ptx 9.0\n\nentry @k machine {form} {{\nbb0:\n");
    let mut module = module(&format!("{head}{body}}}\n"));
    let passes: Pipeline = passes.parse().expect("a pipeline");
    run(&passes, &mut module);
    let text = module.to_string();
    text.strip_prefix(&head).and_then(|text| text.strip_suffix("}\n")).expect("a body").to_owned()
}

const SSA_DEAD: &str = "  %r1 = S2R 'SR_TID.X'\n  %r2 = MOV %r1, 15\n  %r3, %PT, %PT = IADD3 %r2, 7, %RZ, ~%PT, ~%PT\n  \
                        %r4 = S2R 'SR_CLOCKLO'\n  %r5 = LDG.E %r1, 0\n  %r6 = LDG.E.STRONG.SYS %r1, 0\n  \
                        STG.E %r1, 0, %r1\n  jump EXIT %PT\n";

#[test]
fn dead_instructions_of_the_machine_go() {
    // A clock is read in order, and a strong load synchronizes.
    let left = "  %r1 = S2R 'SR_TID.X'\n  %r4 = S2R 'SR_CLOCKLO'\n  %r6 = LDG.E.STRONG.SYS %r1, 0\n  \
                STG.E %r1, 0, %r1\n  jump EXIT %PT\n";
    assert_eq!(after("OriPerformLiveDeadFirst", "ssa", SSA_DEAD), left);
    assert_eq!(after("EarlyOriSimpleLiveDead", "ssa", SSA_DEAD), left);
}

#[test]
fn copies_of_the_machine_are_read_where_they_come_from() {
    let body = "  %r1 = S2R 'SR_TID.X'\n  %r2 = MOV %r1, 15\n  %r3 = MOV %r2, 15\n  %r4 = MOV %RZ, 15\n  \
                %r5, %PT, %PT = IADD3 -%r3, %r2.reuse, %r4, ~%PT, ~%PT\n  %r6 = MOV %r5, 3\n  \
                STG.E %r3, 0, %r4\n  STG.E %r6, 0, %r5\n  jump EXIT %PT\n";
    let left = "  %r1 = S2R 'SR_TID.X'\n  %r4 = MOV %RZ, 15\n  %r5, %PT, %PT = IADD3 -%r1, %r1, %RZ, ~%PT, ~%PT\n  \
                %r6 = MOV %r5, 3\n  STG.E %r1, 0, %r4\n  STG.E %r6, 0, %r5\n  jump EXIT %PT\n";
    assert_eq!(after("GeneralOptimizeEarly,OriPerformLiveDeadFirst", "ssa", body), left);
}

#[test]
fn equal_instructions_of_the_machine_become_one() {
    let body = "  %r1 = S2R 'SR_TID.X'\n  %r2 = S2R 'SR_TID.X'\n  %r3, %PT, %PT = IADD3 %r1, 7, %RZ, ~%PT, ~%PT\n  \
                %r4, %PT, %PT = IADD3 %r2, 7, %RZ, ~%PT, ~%PT\n  %r5, %PT, %PT = IADD3.X %r2, 7, %RZ, ~%PT, ~%PT\n  \
                %r6, %p7, %PT = IADD3 %r2, 7, %RZ, ~%PT, ~%PT\n  %r8 = SHFL.BFLY %r1, 1, 31\n  \
                %r9 = SHFL.BFLY %r1, 1, 31\n  STG.E %r3, 0, %r4\n  STG.E %r5, 0, %r6\n  @%p7 STG.E %r8, 0, %r9\n  \
                jump EXIT %PT\n";
    let left = "  %r1 = S2R 'SR_TID.X'\n  %r3, %PT, %PT = IADD3 %r1, 7, %RZ, ~%PT, ~%PT\n  \
                %r5, %PT, %PT = IADD3.X %r1, 7, %RZ, ~%PT, ~%PT\n  \
                %r6, %p7, %PT = IADD3 %r1, 7, %RZ, ~%PT, ~%PT\n  %r8 = SHFL.BFLY %r1, 1, 31\n  \
                %r9 = SHFL.BFLY %r1, 1, 31\n  STG.E %r3, 0, %r3\n  STG.E %r5, 0, %r6\n  @%p7 STG.E %r8, 0, %r9\n  \
                jump EXIT %PT\n";
    assert_eq!(after("GvnCse,GeneralOptimizeEarly,OriPerformLiveDeadFirst", "ssa", body), left);
}

/// A pair is dead only if both of its words are, and what a call may read is not.
#[test]
fn dead_registers_of_the_machine_are_dead_by_units() {
    let body = "  %R4x2 = IMAD.WIDE.U32 %R2, 4, %RZx2\n  %R6x2 = IMAD.WIDE.U32 %R2, 4, %RZx2\n  %R8 = MOV 1, 15\n  \
                %R8 = MOV 2, 15\n  STG.E %R5, 0, %R8\n  jump EXIT %PT\n";
    let left = "  %R4x2 = IMAD.WIDE.U32 %R2, 4, %RZx2\n  %R8 = MOV 2, 15\n  STG.E %R5, 0, %R8\n  jump EXIT %PT\n";
    assert_eq!(after("OriPerformLiveDeadFirst", "physical", body), left);
    let call = "  %R4 = MOV 1, 15\n  %R4 = MOV 2, 15\n  CALL.REL.NOINC %PT, @k\n  jump EXIT %PT\n";
    let left = "  %R4 = MOV 2, 15\n  CALL.REL.NOINC %PT, @k\n  jump EXIT %PT\n";
    assert_eq!(after("OriPerformLiveDeadFirst", "physical", call), left);
}

#[test]
fn copies_in_physical_form_are_read_where_they_come_from() {
    let after = |body: &str| {
        let head = "target sm_90 ptx 9.0\n\nentry @k machine physical {\nbb0:\n";
        let mut module = module(&format!("{head}{body}}}\n"));
        run(&Pipeline::machine(), &mut module);
        let text = module.to_string();
        text.strip_prefix(head).and_then(|text| text.strip_suffix("}\n")).expect("a body").to_owned()
    };
    // A pair is read where both of its words come from neighbours in order; a source that is overwritten, and a copy
    // under a guard, are none.
    let body = "  %R2x2 = LDC.64 %RZ, c[0][0x210]\n  %R4 = MOV %R2, 15\n  %R5 = MOV %R3, 15\n  %R6 = MOV %R3, 15\n  \
                %R7 = MOV %R2, 15\n  %R8 = MOV %RZ, 15\n  STG.E.64 %R4x2, 0, %R6x2\n  @%P0 %R9 = MOV %R2, 15\n  \
                %R10, %PT, %PT = IADD3 -%R8, %R9, %R4, ~%PT, ~%PT\n  %R2 = MOV 1, 15\n  STG.E.64 %R4x2, 0, %R10\n  \
                STS %R2, 0, %R2\n  jump EXIT %PT\n";
    let left = "  %R2x2 = LDC.64 %RZ, c[0][0x210]\n  %R4 = MOV %R2, 15\n  %R5 = MOV %R3, 15\n  %R6 = MOV %R3, 15\n  \
                %R7 = MOV %R2, 15\n  STG.E.64 %R2x2, 0, %R6x2\n  @%P0 %R9 = MOV %R2, 15\n  \
                %R10, %PT, %PT = IADD3 -%RZ, %R9, %R2, ~%PT, ~%PT\n  %R2 = MOV 1, 15\n  \
                STG.E.64 %R4x2, 0, %R10\n  STS %R2, 0, %R2\n  jump EXIT %PT\n";
    assert_eq!(after(body), left);
    let idle = "  %R2 = LDC %RZ, c[0][0x210]\n  %R4 = MOV %R2, 15\n  %R4 = MOV %R4, 15\n  %R2 = MOV %R4, 15\n  \
                CALL.REL.NOINC %PT, @k\n  STG.E %R4, 0, %R2\n  jump EXIT %PT\n";
    let left = "  %R2 = LDC %RZ, c[0][0x210]\n  %R4 = MOV %R2, 15\n  CALL.REL.NOINC %PT, @k\n  STG.E %R4, 0, %R2\n  \
                jump EXIT %PT\n";
    assert_eq!(after(idle), left);
}

/// In scheduled code a copy's source may be overwritten before an instruction that reads late has read it, and others
/// rely on barriers that are set.
#[test]
fn scheduled_code_keeps_what_waits_depend_on() {
    let after = |body: &str| {
        let head = "target sm_90 ptx 9.0\n\nentry @k machine physical {\nbb0:\n";
        let mut module = module(&format!("{head}{body}}}\n"));
        run(&Pipeline::machine(), &mut module);
        let text = module.to_string();
        text.strip_prefix(head).and_then(|text| text.strip_suffix("}\n")).expect("a body").to_owned()
    };
    let body = "  %R2 = S2R 'SR_TID.X' {stall 1 write 0}\n  %R3 = S2R 'SR_TID.X' {stall 2 write 0}\n  \
                %R4 = MOV %R2, 15 {stall 4 wait 0x1}\n  %R5, %PT, %PT = IADD3 %R4, 7, %RZ, ~%PT, ~%PT {stall 4}\n  \
                STS %R5, 0, %R4 {stall 1 read 1}\n  jump EXIT %PT {stall 5}\n";
    let left = body.replace("IADD3 %R4", "IADD3 %R2");
    assert_eq!(after(body), left, "what is stored is read later, and S2R sets a barrier that covers another one");
    let unscheduled = "  %R3 = S2R 'SR_TID.X'\n  %R2 = S2R 'SR_TID.X'\n  %R4 = MOV %R2, 15\n  STS %R4, 0, %R4\n  \
                       jump EXIT %PT\n";
    let left = "  %R2 = S2R 'SR_TID.X'\n  STS %R2, 0, %R2\n  jump EXIT %PT\n";
    assert_eq!(after(unscheduled), left, "whoever schedules it anew waits for what there is then");
}

/// The code that ptxas makes without optimization: the cubins of the corpus for an SM.
fn unoptimized(sm: &str) -> Vec<(String, Cubin)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/cubins");
    let list = std::fs::read_to_string(folder.join("text.txt")).expect("ci/cubins wrote the list");
    let names = list.lines().filter_map(|line| line.split(' ').next());
    let read = |name: &str| {
        let bytes = std::fs::read(folder.join(name)).expect("a file");
        (name.to_owned(), Cubin::read(&bytes).expect("a cubin"))
    };
    names.filter(|name| name.contains(&format!(".{sm}.O0."))).map(read).collect()
}

/// ptxas's `-O0` code copies each value that it computes. Of its words for `sm_90` dead code and copy propagation alone
/// remove so many in a hundred, with every other word in its place (2026-11).
#[test]
fn code_of_ptxas_without_optimization_shrinks_in_place() {
    let (mut words, mut removed) = (0, 0);
    for (name, cubin) in unoptimized("sm_90") {
        let mut module = in_place::lift(&cubin).expect("the corpus is known");
        run(&Pipeline::machine(), &mut module);
        assert_eq!(verify_module(&module), Ok(()), "{name}");
        let again = run(&Pipeline::machine(), &mut module.clone());
        let (bytes, counts) = in_place::write(&cubin, &module).unwrap_or_else(|error| panic!("{name}: {error}"));
        println!("{name}: {counts:?}, {again} changes more");
        words += counts.iter().map(|counts| counts.words).sum::<usize>();
        removed += counts.iter().map(|counts| counts.removed).sum::<usize>();
        let written = Cubin::read(&bytes).expect("a cubin");
        let is_code = |at: usize| {
            let mut sections = cubin.sections.iter().filter(|section| section.kind == SectionKind::Code);
            sections.any(|section| section.range.contains(&at))
        };
        let differs = (0..bytes.len()).find(|at| bytes[*at] != cubin.data()[*at] && !is_code(*at));
        assert_eq!((differs, bytes.len()), (None, cubin.data().len()), "{name}");
        assert_eq!(in_place::lift(&written).expect("it is code").functions.len(), cubin.functions.len());
    }
    let share = 100 * removed / words;
    println!("{removed} of {words} words removed: {share} %");
    assert!(share >= 30, "{share} % of {words} words are removed");
}
