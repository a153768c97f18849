//! Reducer maximality: what the reducer leaves can be reduced no further, and still is what was asked for.
//!
//! A generated kernel is reduced under a simple predicate: it holds an instruction of one opcode that it held before.
//! The result verifies, holds one, is no larger, and reducing it again, with every mutator anew, changes nothing.

use oriole_ir::Module;
use oriole_ir::ops::Opcode;
use oriole_ir::verify::verify_module;

use super::canary;
use oriole_check::reduce::{Options, reduce};
use oriole_check::report::Evidence;
use oriole_generate::{self, Config, Entropy};

/// Bytes in front of an input that choose the predicate.
const HEAD: usize = 4;

/// A generated kernel: whether the reducer came to an end.
pub fn reducer(data: &[u8]) -> bool {
    let (head, rest) = data.split_at(HEAD.min(data.len()));
    // Small kernels: the property is about the end of a reduction, not about the way there.
    let config = Config { instructions: [2, 12], functions: 1, ..Config::default() };
    let generated = oriole_check::kernels::from_bytes(rest, &config);
    let wanted = wanted(&generated.module, &mut Entropy::from_bytes(head));
    let holds = |evidence: &Evidence| opcodes(&evidence.module).any(|opcode| opcode == wanted);
    let launch = generated.launches.into_iter().next().map(|named| named.launch);
    let evidence = Evidence { module: generated.module, launch };
    let options = Options::default();
    let mut once = reduce(&evidence, &holds, &options);
    assert!(once.interesting, "the kernel holds `{}`", wanted.row().name);
    if !once.complete {
        return false;
    }
    if canary::planted() {
        once.evidence = evidence.clone();
    }
    let module = &once.evidence.module;
    if let Err(violations) = verify_module(module) {
        panic!("the reduced module is invalid: {}\n{module}", violations[0]);
    }
    assert!(holds(&once.evidence), "the reduced module does not hold `{}`:\n{module}", wanted.row().name);
    let twice = reduce(&once.evidence, &holds, &options);
    let again = &twice.evidence.module;
    assert!(twice.evidence == once.evidence, "what was reduced is reduced further:\n{module}\nbecomes\n{again}");
    true
}

fn opcodes(module: &Module) -> impl Iterator<Item = Opcode> + '_ {
    module.operations().map(|data| data.opcode)
}

fn wanted(module: &Module, entropy: &mut Entropy<'_>) -> Opcode {
    let all: Vec<Opcode> = opcodes(module).collect();
    entropy.choose(&all)
}
