//! Wrong passes over memory, planted behind a phase. Each ignores one thing that is between two accesses to the
//! same bytes, and generated kernels must show it soon: commoning of loads, forwarding of stores, removal of stores.

use crate::wrong_pass::{assert_found, first_finding};
use oriole_generate::Config;
use oriole_ir::ops::{Flags, Opcode, Order, Space, Type, Vector};
use oriole_ir::{Function, Inst, InstBuilder, Operand, RegInfo};
use oriole_optimizer::pass::{Changed, PhaseContext, PhaseFn};

/// Kernels on which passes without a bug must be clean.
const CLEAN: u64 = 4000;

/// Kernels with many accesses that meet. A campaign finds each bug as well, some after a hundred times as many cases.
fn config() -> Config {
    let mut config = Config { virtual_form: 0, ..Config::default() };
    (config.family.meeting, config.meeting.function) = (60, 60);
    config
}

#[track_caller]
fn shows(function: PhaseFn) {
    assert_found(function, &config());
}

/// An unguarded weak load or store of one register.
fn is_plain(func: &Function, inst: Inst, opcode: Opcode) -> bool {
    let data = func.inst(inst);
    let vector = data.field::<Vector>().unwrap_or(Vector::V1);
    data.opcode == opcode && data.guard.is_none() && data.field() == Some(Order::Weak) && vector == Vector::V1
}

/// The base, offset and space of an access.
fn address(func: &Function, inst: Inst) -> (Operand, i64, Option<Space>) {
    let [base, offset, ..] = *func.srcs(inst) else { panic!("an access has an address") };
    (base, func.imm_bits(offset).unwrap_or(0) as i64, func.inst(inst).field())
}

fn bytes(func: &Function, inst: Inst) -> i64 {
    i64::from(func.inst(inst).ty().bits() / 8)
}

/// Whether two accesses through one base surely have no byte in common.
fn apart(func: &Function, one: Inst, other: Inst) -> bool {
    let ((a, from, s), (b, start, t)) = (address(func, one), address(func, other));
    let vector = |inst: Inst| func.inst(inst).vector_len() as i64;
    let ends = [from + bytes(func, one) * vector(one), start + bytes(func, other) * vector(other)];
    a == b && s == t && (ends[0] <= start || ends[1] <= from)
}

/// Whether an instruction may change what a load reads. `forgives` says of what it wrongly takes for harmless.
fn changes(func: &Function, inst: Inst, load: Inst, forgives: &dyn Fn(&Function, Inst, Inst) -> bool) -> bool {
    let data = func.inst(inst);
    let writes = data.is(Flags::WRITES) || data.is(Flags::FENCE);
    let known = data.opcode == Opcode::St && apart(func, inst, load);
    writes && !known && !forgives(func, inst, load)
}

/// The type that copies a register.
fn copy_type(info: RegInfo) -> Option<Type> {
    [None, Some(Type::B32), Some(Type::B64)].get(usize::from(info.words)).copied().flatten()
}

/// Makes a change for each pair of plain instructions of a block that it is wanted for, given what is between them.
fn pairs(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    opcodes: [Opcode; 2],
    wanted: impl Fn(&Function, Inst, &[Inst], Inst) -> bool,
    change: impl Fn(&mut Function, Inst, Inst),
) -> Changed {
    let mut changed = Changed::No;
    for block in func.layout().to_vec() {
        let mut insts: Vec<Inst> = func.block_insts(block).collect();
        let mut first = 0;
        while first < insts.len() {
            let one = insts[first];
            let second = (first + 1..insts.len()).find(|second| {
                let (between, two) = (&insts[first + 1..*second], insts[*second]);
                let plain = is_plain(func, one, opcodes[0]) && is_plain(func, two, opcodes[1]);
                plain && wanted(func, one, between, two)
            });
            if let Some(second) = second.filter(|_| cx.rewrite("planted")) {
                change(func, one, insts[second]);
                insts = func.block_insts(block).collect();
                changed = Changed::Yes;
            }
            first += 1;
        }
    }
    changed
}

/// Puts a copy of an operand in the place of a load.
fn replace_by_copy(func: &mut Function, load: Inst, from: Operand) {
    let Some(to) = func.defs(load).next() else { return };
    let Some(ty) = copy_type(func.regs()[to]) else { return };
    InstBuilder::new(Opcode::Mov).field(ty).src(func.free(from)).dst(to).replace(func, load);
}

/// Whether the register of a load can be copied in one instruction.
fn is_copied(func: &Function, load: Inst) -> bool {
    func.defs(load).next().is_some_and(|reg| copy_type(func.regs()[reg]).is_some())
}

/// Commons loads of one place and type where nothing between them writes, but for what is forgiven.
fn common_loads(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    forgives: fn(&Function, Inst, Inst) -> bool,
) -> Changed {
    let wanted = |func: &Function, one: Inst, between: &[Inst], two: Inst| {
        let same = func.inst(one).head() == func.inst(two).head() && func.srcs(one) == func.srcs(two);
        same && is_copied(func, two) && !between.iter().any(|inst| changes(func, *inst, two, &forgives))
    };
    pairs(func, cx, [Opcode::Ld, Opcode::Ld], wanted, |func, one, two| replace_by_copy(func, two, func.dsts(one)[0]))
}

/// Forwards the value of a store to a load of the same place that it fits, as `fits` says of store and load.
fn forward(func: &mut Function, cx: &mut PhaseContext<'_>, fits: fn(&Function, Inst, Inst) -> bool) -> Changed {
    let wanted = |func: &Function, store: Inst, between: &[Inst], load: Inst| {
        let info = func.defs(load).next().map(|reg| func.regs()[reg]);
        let wide = func.srcs(store)[2].reg().is_some_and(|reg| Some(func.regs()[reg]) == info);
        let same = address(func, store) == address(func, load) && fits(func, store, load);
        let right = wide && same && is_copied(func, load);
        right && !between.iter().any(|inst| changes(func, *inst, load, &|_, _, _| false))
    };
    pairs(func, cx, [Opcode::St, Opcode::Ld], wanted, |func, store, load| {
        replace_by_copy(func, load, func.srcs(store)[2]);
    })
}

/// Removes a store that a later one overwrites, where nothing between them reads, but for what is forgiven.
fn remove_stores(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    forgives: fn(&Function, Inst, Inst) -> bool,
) -> Changed {
    let wanted = |func: &Function, one: Inst, between: &[Inst], two: Inst| {
        let over = address(func, one) == address(func, two) && bytes(func, one) <= bytes(func, two);
        let sees = |inst: Inst| {
            let data = func.inst(inst);
            let known = data.opcode == Opcode::Ld && apart(func, inst, one);
            (data.is(Flags::READS) || data.is(Flags::FENCE)) && !known && !forgives(func, inst, one)
        };
        over && !between.iter().any(|inst| sees(*inst))
    };
    pairs(func, cx, [Opcode::St, Opcode::St], wanted, |func, one, _| func.remove_inst(one))
}

fn is(opcode: Opcode) -> impl Fn(&Function, Inst) -> bool {
    move |func, inst| func.inst(inst).opcode == opcode
}

/// A call, or what fills and reads its parameters.
fn is_call(func: &Function, inst: Inst) -> bool {
    is(Opcode::Call)(func, inst) || func.inst(inst).field() == Some(Space::Param)
}

/// The same passes without a bug find nothing, so what is found is the bug.
#[test]
fn right_passes_are_clean() {
    assert_eq!(first_finding(|func, cx| common_loads(func, cx, |_, _, _| false), &config(), CLEAN), None);
    let whole: PhaseFn = |func, cx| {
        forward(func, cx, |func, store, load| bytes(func, store) == bytes(func, load) && bytes(func, load) >= 4)
    };
    assert_eq!(first_finding(whole, &config(), CLEAN), None);
    assert_eq!(first_finding(|func, cx| remove_stores(func, cx, |_, _, _| false), &config(), CLEAN), None);
}

#[test]
fn loads_commoned_across_a_store_of_another_type() {
    shows(|func, cx| {
        common_loads(func, cx, |func, inst, load| {
            is(Opcode::St)(func, inst) && func.inst(inst).ty() != func.inst(load).ty()
        })
    });
}

#[test]
fn loads_commoned_across_a_guarded_store() {
    shows(|func, cx| {
        common_loads(func, cx, |func, inst, _| is(Opcode::St)(func, inst) && func.inst(inst).guard.is_some())
    });
}

#[test]
fn loads_commoned_across_a_store_through_another_address() {
    shows(|func, cx| {
        common_loads(func, cx, |func, inst, load| {
            is(Opcode::St)(func, inst) && func.srcs(inst)[0] != func.srcs(load)[0]
        })
    });
}

#[test]
fn loads_commoned_across_a_call() {
    shows(|func, cx| common_loads(func, cx, |func, inst, _| is_call(func, inst)));
}

#[test]
fn loads_commoned_across_an_atomic() {
    shows(|func, cx| common_loads(func, cx, |func, inst, _| is(Opcode::Atom)(func, inst)));
}

/// The store of another thread comes in between. The thread's own, to another address, is no reason to load again.
#[test]
fn loads_commoned_across_a_barrier() {
    shows(|func, cx| {
        common_loads(func, cx, |func, inst, load| {
            let other = is(Opcode::St)(func, inst) && func.srcs(inst)[0] != func.srcs(load)[0];
            func.inst(inst).is(Flags::CTA_BARRIER) || other
        })
    });
}

#[test]
fn wider_stores_forwarded_without_truncation() {
    shows(|func, cx| forward(func, cx, |func, store, load| bytes(func, store) >= bytes(func, load)));
}

#[test]
fn narrower_stores_forwarded() {
    shows(|func, cx| forward(func, cx, |func, store, load| bytes(func, store) < bytes(func, load)));
}

#[test]
fn stores_removed_that_a_narrower_load_reads() {
    shows(|func, cx| {
        remove_stores(func, cx, |func, inst, store| {
            is(Opcode::Ld)(func, inst) && bytes(func, inst) < bytes(func, store)
        })
    });
}

#[test]
fn stores_removed_before_a_call_that_reads() {
    shows(|func, cx| remove_stores(func, cx, |func, inst, _| is_call(func, inst)));
}

/// Not every thread executes the store that overwrites.
#[test]
fn stores_removed_before_a_guarded_store() {
    shows(|func, cx| {
        let mut changed = Changed::No;
        for pair in func.layout_insts().collect::<Vec<Inst>>().windows(2) {
            let guarded = is(Opcode::St)(func, pair[1]) && func.inst(pair[1]).guard.is_some();
            let over =
                guarded && is_plain(func, pair[0], Opcode::St) && address(func, pair[0]) == address(func, pair[1]);
            if over && cx.rewrite("planted") {
                func.remove_inst(pair[0]);
                changed = Changed::Yes;
            }
        }
        changed
    });
}
