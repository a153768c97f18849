//! The lane forms of [`super::vector`] against the meaning of [`super::scalar`]: every opcode and field combination
//! that decoding gives a lane form, over corner values and full and partial masks.

use oriole_ir::ops::{FieldValues, OpRow, Opcode, ROWS, Shape, UndefTransfer};
use oriole_ir::{Function, FunctionKind, InstBuilder, InstData, Module, Operand, RegInfo};

use super::access::{LocalMemory, Spaces};
use super::asynchronous::InFlight;
use super::cluster::{ClusterShape, Peers};
use super::engine::{Coordinates, Run, read_place, run, write_place};
use super::frame::Frame;
use super::memory::{Bytes, GlobalMemory};
use super::order::LaneOrder;
use super::partial::spread;
use super::program::{Kind, Place};
use oriole_semantics::lanes::{LANES, lanes};
use oriole_semantics::matrix::Results;
use oriole_semantics::scalar::ScalarOp;

const CORNERS: [u64; 16] = [
    0,
    1,
    2,
    31,
    32,
    63,
    64,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFF,
    0x7F80_0000_3F80_0000,
    0x7FF0_0000_7FC0_0001,
    0x8000_0000_0000_0001,
    0x0000_0001_0080_0000,
    0x7FFF_FFFF_FFFF_FFFF,
    0xFFFF_FFFF_FFFF_FF80,
];

/// Every legal combination of a row's field values.
fn combinations(row: &OpRow) -> Vec<FieldValues> {
    let mut all = vec![row.default_fields()];
    for (slot, spec) in row.fields.iter().enumerate() {
        let with = |fields: &FieldValues| {
            let fields = *fields;
            spec.values().map(move |value| {
                let mut fields = fields;
                fields.0[slot] = value;
                fields
            })
        };
        all = all.iter().flat_map(with).collect();
    }
    all.retain(|fields| row.broken_rule(fields).is_none());
    all
}

/// A function of one instruction whose operands are all registers (immediates where the row demands them).
fn single(row: &OpRow, fields: FieldValues) -> Option<Module> {
    let mut func = Function::new("f", FunctionKind::Entry);
    let block = func.new_block();
    let mut builder = InstBuilder::new(row.opcode).fields(fields);
    let probe = builder.create(&mut func);
    let data: InstData = *func.inst(probe);
    for shape in row.dsts {
        builder = builder.dst(func.new_reg(data.shape_info(*shape)?));
    }
    for shape in row.srcs {
        builder = match shape {
            Shape::Imm => builder.src(Operand::imm(0x96)),
            _ => builder.src(func.new_reg(data.shape_info(*shape)?)),
        };
    }
    builder.append(&mut func, block);
    InstBuilder::new(Opcode::Exit).append(&mut func, block);
    let mut module = Module::default();
    module.functions.push(func);
    Some(module)
}

/// The operand places of the instruction in its general form, from the lane form's slots.
fn places(data: &InstData, shapes: &[Shape], slots: &[u32]) -> Vec<Place> {
    let place = |(shape, slot): (&Shape, &u32)| match data.shape_info(*shape) {
        Some(info) if info.is_predicate() => Place::Pred(*slot),
        Some(RegInfo { words: 2, .. }) => Place::Pair(*slot),
        Some(_) => Place::Word(*slot),
        None => Place::None,
    };
    shapes.iter().zip(slots).map(place).collect()
}

fn check(row: &OpRow, fields: FieldValues) -> bool {
    let Some(module) = single(row, fields) else { return false };
    let program = super::decode::decode(&module, &Default::default(), 0).expect("one instruction decodes");
    let op = program.ops[0];
    if matches!(op.kind, Kind::Scalar) {
        return false;
    }
    let func = module.functions.values().next().expect("there is one");
    let data = *func.inst(func.inst_at(func.entry(), 0));
    let srcs = places(&data, row.srcs, &[op.a, op.b, op.c, 0]);
    let dst = places(&data, row.dsts, &[op.dst])[0];
    let scalar = ScalarOp::resolve(row.opcode, &fields).expect("a lane form has a general form");
    for (round, mask) in [(0, u32::MAX), (1, 0x8421_00FF), (7, u32::MAX)] {
        let mut frame = Frame::default();
        frame.enter(0, &program.functions[0], &[]);
        let mut inputs = [[0u64; 5]; LANES];
        for (lane, input) in inputs.iter_mut().enumerate() {
            for (i, place) in srcs.iter().enumerate() {
                let value = CORNERS[(lane * (i + 1) + i * round) % CORNERS.len()];
                write_place(&mut frame, *place, lane, value, false);
                input[i] = if row.srcs[i] == Shape::Imm { 0x96 } else { read_place(&frame, *place, lane).0 };
            }
        }
        let before = frame.clone();
        step(&program, &mut frame, mask);
        for (lane, input) in inputs.iter().enumerate() {
            let expected = match mask >> lane & 1 {
                1 => (scalar.eval(input).value, false),
                _ => read_place(&before, dst, lane),
            };
            let actual = read_place(&frame, dst, lane);
            assert_eq!(actual, expected, "{} {fields:?} lane {lane} {input:x?}", row.name);
        }
        undefined_inputs_show(&program, &before, &srcs, dst, mask, &data);
        undefined_bits_pass_as_the_row_says(&program, &before, &srcs, dst, &data);
    }
    true
}

/// An undefined operand makes the result undefined, in its lane alone (selections choose, and what only routes bits
/// may drop them).
fn undefined_inputs_show(
    program: &super::program::Program,
    frame: &Frame,
    srcs: &[Place],
    dst: Place,
    mask: u32,
    data: &InstData,
) {
    for place in srcs.iter().filter(|place| **place != Place::None) {
        let mut frame = frame.clone();
        let (value, _) = read_place(&frame, *place, 4);
        write_place(&mut frame, *place, 4, value, true);
        step(program, &mut frame, mask);
        let may_drop = data.opcode.row().undef_transfer(&data.fields) != UndefTransfer::Mixing;
        for lane in lanes(mask) {
            let undefined = read_place(&frame, dst, lane).1;
            assert!(undefined == (lane == 4) || (may_drop && lane == 4), "{:?} lane {lane}", data.opcode);
        }
    }
}

/// Of a word that is undefined in part, the result has at least the undefined bits that the row's column gives it, and
/// no others in the forms that keep bits apart.
fn undefined_bits_pass_as_the_row_says(
    program: &super::program::Program,
    frame: &Frame,
    srcs: &[Place],
    dst: Place,
    data: &InstData,
) {
    const LANE: usize = 4;
    let transfer = data.opcode.row().undef_transfer(&data.fields);
    let scalar = ScalarOp::resolve(data.opcode, &data.fields).expect("a lane form has a general form");
    let values = std::array::from_fn(|i| match srcs.get(i) {
        Some(Place::None) => 0x96,
        Some(place) => read_place(frame, *place, LANE).0,
        None => 0,
    });
    for (i, place) in srcs.iter().enumerate() {
        let (Place::Word(slot) | Place::Pair(slot)) = *place else { continue };
        for bits in [1u32, 0xF0, 0x8000_0001] {
            let mut frame = frame.clone();
            frame.put(slot, LANE, values[i] as u32, bits);
            step(program, &mut frame, 1 << LANE);
            let mut unknown = [0; 5];
            unknown[i] = bits.into();
            let wanted = spread(transfer, values, unknown, &|values| scalar.eval(&values).value);
            let (found, wanted) = match dst {
                Place::Word(slot) => (u64::from(frame.bits(slot, LANE)), wanted & u64::from(u32::MAX)),
                Place::Pair(slot) => {
                    (u64::from(frame.bits(slot, LANE)) | u64::from(frame.bits(slot + 1, LANE)) << 32, wanted)
                }
                Place::Pred(_) | Place::None => continue,
            };
            let apart = matches!(program.ops[0].kind, Kind::Un32(_) | Kind::Bin32(_) | Kind::Tri32(_) | Kind::Bin64(_));
            assert!(
                wanted & !found == 0 && (!apart || found == wanted),
                "{:?} {values:x?} {unknown:x?}: {found:x} and not {wanted:x}",
                data.opcode
            );
        }
    }
}

/// Executes the first operation. Returns the steps that it takes beside its own.
fn step(program: &super::program::Program, frame: &mut Frame, mask: u32) -> u64 {
    let (mut global, mut shared, mut local) = (GlobalMemory::default(), Bytes::default(), LocalMemory::default());
    let none = Bytes::default();
    let mut clock = 0;
    let mut one = Run {
        program,
        frame,
        spaces: Spaces {
            global: &mut global,
            constants: &none,
            images: &super::image::Images::default(),
            params: &none,
            shared: &mut shared,
            peers: Peers { rank: 0, own: 0, shared: &mut [], numbers: &[] },
            local: &mut local,
            hint: 0,
            order: LaneOrder::default(),
            watch: &[],
            written: Vec::new(),
            extra_steps: 0,
            in_flight: &mut InFlight::default(),
            results: &mut Results::default(),
            first_thread: 0,
            races: None,
            strong: None,
            pc: 0,
        },
        at: Coordinates {
            block: [32, 1, 1],
            grid: [1; 3],
            ctaid: [0; 3],
            cluster: ClusterShape { extents: [1; 3], is_explicit: false },
            first_thread: 0,
            dynamic_shared: 0,
            total_shared: 0,
        },
        mask,
        pc: 0,
        meeting: u32::MAX,
        budget: 1,
        clock: &mut clock,
        counts: None,
        trace: None,
    };
    run(&mut one);
    one.spaces.extra_steps
}

/// A step stands for 26 ns. Each operation here takes at least so many times that, as was measured in 2026-11; an
/// operation with a lane form is a step.
#[test]
fn what_takes_long_takes_more_steps() {
    for (inst, least) in [
        ("%r1 = iadd.u32 %r2, 3", 0),
        ("%d1 = idiv.u64 %d2, %d3", 8),
        ("%r1 = vadd.u32.u32.u32 %r2, %r3, 0, 0", 70),
        ("%r1 = ld.global.b32 [%d2]", 20),
        ("%r1, %r3, %r4, %r5 = ld.global.v4.b32 [%d2]", 100),
        ("st.global.v4.b32 [%d2], %r1, %r3, %r4, %r5", 180),
        ("st.local.v4.b32 [%d2], %r1, %r3, %r4, %r5", 180),
        ("%r1 = atom.global.add.u32 [%d2], %r3", 70),
        ("cp.async.cg.shared [%d2], [%d3], 16, 16", 140),
    ] {
        let text = format!("entry @f {{\nbb0:\n  {inst}\n  exit\n}}\n");
        let module = oriole_ir::parse_module(&text).unwrap_or_else(|e| panic!("{e} in\n{text}"));
        let program = super::decode::decode(&module, &Default::default(), 0).expect("one instruction decodes");
        let mut frame = Frame::default();
        frame.enter(0, &program.functions[0], &[]);
        let extra = step(&program, &mut frame, u32::MAX);
        assert!(extra >= least && (least > 0 || extra == 0), "{inst}: {extra}");
    }
}

#[test]
fn lane_forms_mean_what_the_general_forms_mean() {
    let mut lane_forms = 0;
    for row in ROWS {
        let register_only = |fields: &FieldValues| ScalarOp::resolve(row.opcode, fields).is_some();
        let fields = combinations(row).into_iter().filter(register_only);
        lane_forms += fields.filter(|fields| check(row, *fields)).count();
    }
    assert!(lane_forms > 100, "{lane_forms} combinations have a lane form");
}
