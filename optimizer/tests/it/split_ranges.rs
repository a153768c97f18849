//! Splits of live ranges, from the phase to the end.

use oriole_ir::ops::Opcode;
use oriole_ir::{Function, Inst, Module, parse_module};
use oriole_optimizer::pipeline::runner::{Options, run as run_pipeline};
use oriole_optimizer::ssa;

/// `%r2` lives through the loop, which nothing can fold away.
const KERNEL: &str = "target sm_90 ptx 9.0

entry @k visible ssa {
  param $out: u64 param align 8
  param $n: u32 param align 4
bb0:
  %d0 = ld.param.u64 [$out]
  %r1 = ld.param.u32 [$n]
  %r2 = imul.lo.u32 %r1, %r1
  bra bb1
bb1:
  %r3 = phi [bb0: 1], [bb1: %r4]
  %r4 = imul.lo.u32 %r3, 3
  st.global.u32 [%d0], %r4
  %p5 = setp.lt.u32 %r4, %r1
  cbra %p5, bb1, bb2
bb2:
  %r6 = xor.b32 %r2, %r4
  st.global.u32 [%d0+4], %r6
  ret
}
";

fn splits(func: &Function) -> Vec<Inst> {
    func.layout_insts().filter(|inst| func.inst(*inst).opcode == Opcode::Split).collect()
}

/// The kernel behind the whole pipeline.
fn optimized(text: &str, knob: &str) -> Module {
    let mut module = parse_module(text).expect("the text is a module");
    let mut options = Options::new(module.target.parse().expect("the target is known"));
    options.verify = true;
    options.knobs.set(knob).expect("the knob exists");
    run_pipeline(&mut module, &options, &mut ()).expect("the phases run");
    module
}

#[test]
fn the_parts_stay_apart_to_the_end() {
    for (knob, count) in [("SplitLiveRangesBudget=4", 2), ("SplitLiveRangesBudget=250", 0), ("SplitLiveRanges=0", 0)] {
        let module = optimized(KERNEL, knob);
        let func = module.functions.values().next().expect("one function");
        assert_eq!(splits(func).len(), count, "{knob}");
        let outside = ssa::destructed(&module);
        let func = outside.functions.values().next().expect("one function");
        let kept = splits(func);
        assert_eq!(kept.len(), count, "{knob}");
        assert!(kept.iter().all(|split| func.srcs(*split) != func.dsts(*split)));
    }
}
