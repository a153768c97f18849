//! Single words of code, executed by themselves, with values worked out by hand.

use oriole_interp::{Bytes, ClusterShape, GlobalMemory, Images, LaneOrder, MULTICAST_WINDOW};
use oriole_ir::InstBuilder;
use oriole_ir::ops::{Compare as FloatCompare, Ftz, Opcode, Type};
use oriole_launch::Launch;
use oriole_sass::{Table, text};

use super::arithmetic::{compare_floats, compare_lanes, table_of_masks};
use super::decode::{decode, meaning};
use super::doubles::DoubleOp;
use super::engine::quick;
use super::lanes::Lanes;
use super::launch::Banks;
use super::machine::{Cta, Machine, Stuck};
use super::program::*;
use super::run::{not_executed, unsettled};
use super::state::{Group, Wait, Warp};

const EXIT: u128 = 0x000f_ea00_0380_0000_0000_0000_0000_794d;

/// Where global memory begins, which holds the numbers from 1.
const GLOBAL: u32 = 0x1000;

/// The CTA of one warp after words that have these texts, where registers and shared memory held this before.
fn run(sm: u16, words: &[(u128, &str)], registers: &[(u16, u32)], shared: &[u64]) -> Cta {
    on_machine(sm, words, |machine, mut cta| {
        registers.iter().for_each(|(row, word)| cta.warps[0].rows[usize::from(*row)] = [*word; 32]);
        shared
            .iter()
            .enumerate()
            .for_each(|(at, word)| cta.shared[8 * at..8 * at + 8].copy_from_slice(&word.to_le_bytes()));
        if machine.turn(&mut cta).is_err() {
            panic!("it stops at {}", machine.executed);
        }
        cta
    })
}

/// What `act` makes of a CTA of one warp that is about to execute words which have these texts.
pub(crate) fn on_machine<T>(sm: u16, words: &[(u128, &str)], act: impl FnOnce(&mut Machine<'_>, Cta) -> T) -> T {
    let table = Table::of(sm).expect("the words are known");
    let mut code: Vec<u128> = Vec::new();
    for (word, expected) in words {
        let mut line = String::new();
        text::print(&mut line, &table.decode(*word).expect("it decodes"), 16 * code.len() as u64);
        assert_eq!(line, *expected);
        code.push(*word);
    }
    code.push(EXIT);
    let banks = Banks::new();
    let program = decode(table, &code, vec![(0, "k".to_owned())], Some(&banks));
    let launch = "kernel = \"k\"\ngrid = [1, 1, 1]\nblock = [32, 1, 1]\n";
    let launch = Launch::parse(launch, "k", |_, _| Ok(Vec::new())).expect("it is valid");
    let mut global = GlobalMemory::default();
    global.map_at(GLOBAL.into(), "numbers", Bytes::defined((1..=64).collect()));
    let mut machine = Machine {
        program: &program,
        externals: &[],
        literals: &program.literals,
        banks: &banks,
        launch: &launch,
        cluster: ClusterShape { extents: [1; 3], is_explicit: false },
        peers: Vec::new(),
        entry: 0,
        global,
        images: &Images::default(),
        shared: 1024,
        local: 0,
        slice: 64,
        order: LaneOrder::default(),
        has_orders: false,
        executed: 0,
        counts: None,
        budget: 64,
        hint: 0,
        watch: Vec::new(),
        writes: Vec::new(),
        trace: None,
    };
    let cta = machine.cta([0; 3], 0);
    act(&mut machine, cta)
}

/// A register of the first lane after one word.
fn one(sm: u16, word: (u128, &str), registers: &[(u16, u32)], result: u16) -> u32 {
    run(sm, &[word], registers, &[]).warps[0].rows[usize::from(result)][0]
}

/// The predicates say that the first word was chosen: of two equal ones, it is.
#[test]
fn extremes_say_which_half_was_chosen() {
    let of = |word: (u128, &str), a: u32, places: [usize; 2]| {
        let cta = run(90, &[word], &[(0, a), (5, 0x0009_0009)], &[]);
        (cta.warps[0].rows[0][0], places.map(|at| cta.warps[0].preds[at] == u32::MAX))
    };
    let least = (0x000f_c800_0382_0300_0000_0005_0000_7248, "VIMNMX.S16x2 R0, P1, P0, R0, R5, PT");
    assert_eq!(of(least, 0xfffe_0009, [1, 0]), (0xfffe_0009, [true, true]));
    assert_eq!(of(least, 0x000a_0008, [1, 0]), (0x0009_0008, [true, false]));
    let most = (0x000f_c800_0782_0200_0000_0005_0000_7248, "VIMNMX.U16x2 R0, P1, P0, R0, R5, !PT");
    assert_eq!(of(most, 0xfffe_0008, [1, 0]), (0xfffe_0009, [false, true]));
    // One predicate for both halves is that of the lower one.
    let both = (0x000f_c800_0380_0300_0000_0005_0000_7248, "VIMNMX.S16x2 R0, P0, P0, R0, R5, PT");
    assert_eq!(of(both, 0x000a_0008, [0, 0]), (0x0009_0008, [true, true]));
    let whole = (0x000f_c800_0380_0100_0000_0005_0000_7248, "VIMNMX R0, P0, P0, R0, R5, PT");
    assert_eq!(of(whole, 0x000a_0008, [0, 0]), (0x0009_0009, [false, false]));
    assert_eq!(of(whole, 0x8000_0000, [0, 0]), (0x8000_0000, [true, true]));
}

#[test]
fn extremes_of_three_words() {
    let word = (0x004f_ca00_0380_0100_0000_0005_0405_720f, "VIMNMX3 R5, R4, R5, R0, PT");
    let least = |third: u32| one(100, word, &[(4, 7), (5, 5), (0, third)], 5);
    assert_eq!([least(3), least(6), least(u32::MAX)], [3, 5, u32::MAX]);
    let word = (word.0 | 1 << 90, "VIMNMX3 R5, R4, R5, R0, !PT");
    let most = |third: u32| one(100, word, &[(4, 7), (5, 5), (0, third)], 5);
    assert_eq!([most(3), most(9), most(u32::MAX)], [7, 9, 7]);
}

/// Where every operand of an extreme but one is the result, that one is read last.
#[test]
fn extremes_of_three_floats_may_stand_in_an_operand() {
    let word = (0x000f_ca00_0780_0019_0000_0005_0419_7276, "FMNMX3 R25, R4, R5, R25, !PT");
    let most = |third: f32| {
        let registers = [(4, 2f32.to_bits()), (5, 3f32.to_bits()), (25, third.to_bits())];
        f32::from_bits(one(100, word, &registers, 25))
    };
    assert_eq!([most(1.0), most(5.0)], [3.0, 5.0]);
}

/// A factor in registers, negated, times one in shared memory, eight times each; and what it is added to, or not.
#[test]
fn products_of_warpgroups_read_what_a_descriptor_says() {
    let adds =
        (0x003f_de00_0f80_2918_0400_0004_1c18_7df0, "HGMMA.64x8x8.F32.TF32 R24, -R28, gdesc[UR4], R24, !UP0, gsb0");
    let two = 2f32.to_bits();
    // The second factor is twos: pieces of 16 bytes that follow each other from address 16 on.
    let shared = [u64::from(two) << 32 | u64::from(two); 64];
    let mut registers: Vec<(u16, u32)> = (28..32).map(|row| (row, 3f32.to_bits())).collect();
    registers.extend([(24, 5f32.to_bits()), (UNIFORM + 6, 1 | 8 << 16), (UNIFORM + 7, 8)]);
    let sum =
        |registers: &[(u16, u32)], word| f32::from_bits(run(90, &[word], registers, &shared).warps[0].rows[24][0]);
    assert_eq!(sum(&registers, adds), 5.0 - 8.0 * 3.0 * 2.0);
    // The first factor is described, too, and nothing is added.
    let described =
        (0x003f_de00_0c00_2818_0400_0000_0418_79f0, "HGMMA.64x8x8.F32.TF32 R24, gdesc[UR4], R24, !UPT, gsb0");
    registers.extend([(UNIFORM + 4, 1 | 8 << 16), (UNIFORM + 5, 8)]);
    assert_eq!(sum(&registers, described), 8.0 * 2.0 * 2.0);
}

/// 3 * 2, negated, four times, and 1.
#[test]
fn doubles_of_a_product_are_negated() {
    let word = (0x004e_2400_0000_0108_0000_0006_0404_723f, "DMMA.8x8x4 R4, -R4, R6, R8");
    let high = |value: f64| (value.to_bits() >> 32) as u32;
    let registers = [(5, high(3.0)), (7, high(2.0)), (9, high(1.0)), (11, high(1.0))];
    assert_eq!(one(90, word, &registers, 5), high(-23.0));
}

/// Sums of halves wrap before the extreme is taken; `.RELU` makes it at least zero.
#[test]
fn extremes_of_packed_sums() {
    let of = |word: (u128, &str), c: u32| {
        run(90, &[word], &[(5, 0x7fff_0001), (0, 0x0001_0002), (4, c)], &[]).warps[0].rows[6][0]
    };
    let most = (0x110f_e400_0780_0304_0000_0000_0506_7246, "VIADDMNMX.S16x2 R6, R5, R0, R4.reuse, !PT");
    assert_eq!(of(most, 0xffff_0009), 0xffff_0009);
    assert_eq!(of(most, 0x8000_0001), 0x8000_0003);
    let least = (0x110f_e400_0380_1304_0000_0000_0506_7246, "VIADDMNMX.S16x2.RELU R6, R5, R0, R4.reuse, PT");
    assert_eq!(of(least, 0xffff_0009), 0x0000_0003);
    let difference = (0x110f_e400_0780_0304_8000_0000_0506_7246, "VIADDMNMX.S16x2 R6, R5, -R0, R4.reuse, !PT");
    assert_eq!(of(difference, 0x0000_fffe), 0x7ffe_ffff);
}

/// The upper half of what is shifted is subtracted, not that of the negated word.
#[test]
fn the_upper_half_of_a_shifted_word_is_subtracted() {
    let word = (0x004f_ca00_078f_a9ff_0000_004d_0005_7811, "LEA.HI R5, -R0, 0x4d, RZ, 0x15");
    assert_eq!(
        [0, 1, 0x800, u32::MAX].map(|a| one(90, word, &[(0, a)], 5)),
        [77, 77, 76, 77u32.wrapping_sub(0x1f_ffff)]
    );
}

#[test]
fn a_shifted_word_is_negated_before_it_is_added() {
    let word = (0x000f_c400_078e_21ff_0000_0003_0004_7211, "LEA R4, -R0, R3, 0x4");
    assert_eq!(one(100, word, &[(0, 5), (3, 100)], 4), 100 - 5 * 16);
}

/// The address of a uniform register counts from the next word: what is there is passed over.
#[test]
fn branches_go_where_a_uniform_register_says() {
    let branch = (0x000f_e400_0b80_0000_0000_0000_0400_7958, "BRXU UR4");
    let passed = (0x000f_e200_0000_0f00_0000_0005_0004_7202, "MOV R4, R5");
    let word = |distance: u32| {
        let cta = run(90, &[branch, passed], &[(UNIFORM + 4, distance), (UNIFORM + 5, 0), (4, 1), (5, 2)], &[]);
        cta.warps[0].rows[4][0]
    };
    assert_eq!([word(0), word(16)], [2, 1]);
}

/// The first register has the upper half, also where the lower one takes the place of the address. Of a part, nothing
/// is executed.
#[test]
fn loads_of_32_bytes_fill_two_groups_of_registers() {
    let apart = (0x001e_a800_0810_1908_fe00_0004_0204_797e, "LDG.E.EFL2.256 R8, R4, desc[UR4][R2.64]");
    let over = (0x001e_a800_0810_1908_fe00_0004_0404_797e, "LDG.E.EFL2.256 R8, R4, desc[UR4][R4.64]");
    let part = (0x001e_a800_0810_1908_fc00_0004_0204_797e, "LDG.E.EFL2.256 R8, R4, desc[UR4][R2.64], 0xfe");
    let bytes = |first: u8| u32::from_le_bytes(std::array::from_fn(|at| first + at as u8));
    for (word, base) in [(apart, 2), (over, 4)] {
        let cta = run(100, &[word], &[(base, GLOBAL), (base + 1, 0)], &[]);
        let found: Vec<u32> = (4..12).map(|row: usize| cta.warps[0].rows[row][31]).collect();
        let expected: Vec<u32> = (0..8).map(|word| bytes(4 * word + 1)).collect();
        assert_eq!(found, expected, "{}", word.1);
    }
    let stops = on_machine(100, &[part], |machine, mut cta| machine.turn(&mut cta).is_err());
    assert!(stops);
}

#[test]
fn stores_of_32_bytes_take_two_groups_of_registers() {
    let word = (0x004f_e800_0f10_1804_f800_0004_0208_797f, "STG.E.EFL2.256 desc[UR4][R2.64], R4, R8");
    let stored = on_machine(100, &[word], |machine, mut cta| {
        (4..12).for_each(|row: usize| cta.warps[0].rows[row] = [row as u32; 32]);
        (cta.warps[0].rows[2], cta.warps[0].rows[3]) = ([GLOBAL; 32], [0; 32]);
        assert!(machine.turn(&mut cta).is_ok());
        let region = machine.global.find(0, GLOBAL.into(), 32).expect("it is mapped");
        machine.global.region(region).bytes.data()[..32].to_vec()
    });
    let expected: Vec<u8> = (4u32..12).flat_map(u32::to_le_bytes).collect();
    assert_eq!(stored, expected);
}

/// The first factor lies by columns: eight rows are in 16 bytes. Its elements are the numbers of their rows, 16 of
/// which are summed with ones.
#[test]
fn a_factor_of_a_warpgroup_may_lie_by_columns() {
    let word = (0x003f_de00_0c00_08ff_2000_0000_0418_79f0, "HGMMA.64x8x16.F32 R24, gdesc[UR4].tnspA, RZ, !UPT, gsb0");
    // A half of a number from 1 to 15: its highest bit is implicit.
    let half =
        |number: u64| number.checked_ilog2().map_or(0, |log| u64::from(log + 15) << 10 | number << (10 - log) & 0x3ff);
    let one = half(1);
    let mut shared = [one << 48 | one << 32 | one << 16 | one; 128];
    // From byte 16 on, columns follow each other; the next eight rows begin 256 bytes further.
    for (row, column) in (0..16).flat_map(|row| (0..16).map(move |column| (row, column))) {
        let byte = 16 + 16 * column + 256 * (row / 8) + 2 * (row % 8);
        let bits = half(row as u64);
        shared[byte / 8] = shared[byte / 8] & !(0xffff << (8 * (byte % 8))) | bits << (8 * (byte % 8));
    }
    // Ones from byte 640 on, and all strides of them are 16 bytes.
    let describe = |at: u32, leading: u32| at / 16 + ((leading / 16) << 16);
    let registers =
        [(UNIFORM + 4, describe(16, 128)), (UNIFORM + 5, 256 / 16), (UNIFORM + 6, describe(640, 16)), (UNIFORM + 7, 1)];
    let cta = run(90, &[word], &registers, &shared);
    for lane in 0..32 {
        let [upper, lower] = [24, 26].map(|row: usize| f32::from_bits(cta.warps[0].rows[row][lane]));
        assert_eq!([upper, lower], [16.0 * (lane / 4) as f32, 16.0 * (lane / 4 + 8) as f32], "lane {lane}");
    }
}

/// Nothing is executed where nothing describes the matrices, or the sum would go beyond the last register.
#[test]
fn products_of_warpgroups_that_no_register_holds_are_unknown() {
    let nowhere =
        (0x003f_de00_0f80_2918_0400_003f_1c18_7df0, "HGMMA.64x8x8.F32.TF32 R24, -R28, gdesc[URZ], R24, !UP0, gsb0");
    let beyond =
        (0x003f_de00_0f80_29fc_0400_0004_1cfc_7df0, "HGMMA.64x8x8.F32.TF32 R252, -R28, gdesc[UR4], R252, !UP0, gsb0");
    for word in [nowhere, beyond] {
        assert!(on_machine(90, &[word], |machine, mut cta| machine.turn(&mut cta).is_err()), "{}", word.1);
    }
}

#[test]
fn the_highest_bit_of_no_bits_is_none() {
    let word = (0x001e_2600_000e_0400_0000_0000_0005_7300, "FLO.U32.SH R5, R0");
    let shift = |bits: u32| one(90, word, &[(0, bits)], 5);
    assert_eq!([shift(0), shift(1), shift(0x8000_0001)], [u32::MAX, 31, 0]);
}

#[test]
fn halves_are_negated_by_themselves() {
    let plain = 0x0c0f_e200_0000_0200_0000_0015_0004_7236;
    let registers = &[(0, 0x0001_0003), (21, 0x0000_0002)];
    assert_eq!(one(120, (plain, "VIADD.16x2 R4, R0.reuse, R21.reuse"), registers, 4), 0x0001_0005);
    let negated = (plain | 1 << 72, "VIADD.16x2 R4, -R0.reuse, R21.reuse");
    assert_eq!(one(120, negated, registers, 4), 0xffff_ffff);
}

/// The halves of the second factor change places, and the one that becomes the lower is negated: 2 * 3 and -(5 * 7).
#[test]
fn halves_change_places_and_one_is_negated() {
    let word = (0x004f_ca00_0064_00ff_0000_0000_0207_7231, "HFMA2.BF16_V2 R7, R2, R0.H0_NH1, RZ.H0_H0");
    assert_eq!(one(90, word, &[(2, 0x4000_40a0), (0, 0x40e0_4040)], 7), 0x40c0_c20c);
}

/// 2^-4 and its hyperbolic tangent are one value in bf16; that of infinity is 1.
#[test]
fn functions_read_the_half_that_is_written() {
    let registers = &[(0, 0x7f80_3d80)];
    let lower = (0x004f_f000_0000_2600_0000_0000_0004_7308, "MUFU.TANH.BF16 R4, R0");
    assert_eq!(one(90, lower, registers, 4), 0x3d80);
    let upper = (0x000e_2400_0000_2600_1000_0000_0005_7308, "MUFU.TANH.BF16 R5, R0.H1");
    assert_eq!(one(90, upper, registers, 5), 0x3f80);
}

/// -5 saturates to 0 as an unsigned byte, 32 stays, and above is the third operand's upper half.
#[test]
fn bytes_are_put_below_the_half_that_is_written() {
    let word = (0x100f_e200_0000_0506_0000_0020_0d0d_7839, "I2IP.U8.S32.SAT R13, R13, 0x20, R6.reuse.H1");
    assert_eq!(one(90, word, &[(13, -5i32 as u32), (6, 0xabcd_1234)], 13), 0xabcd_0020);
}

#[test]
fn products_are_less_what_is_subtracted() {
    let word = (0x004f_ca00_078e_0a04_0000_0007_0604_7225, "IMAD.WIDE R4, R6, R7, -R4");
    let cta = run(90, &[word], &[(6, -3i32 as u32), (7, 5), (4, 1), (5, 1)], &[]);
    let difference = -15 - ((1i64 << 32) + 1);
    let rows = &cta.warps[0].rows;
    assert_eq!(u64::from(rows[5][0]) << 32 | u64::from(rows[4][0]), difference as u64);
}

/// A barrier for 32 arrivals, at which the 32 lanes arrive once, or with bytes.
#[test]
fn lanes_arrive_at_a_barrier_one_after_the_other() {
    const ARRIVE: (u128, &str) =
        (0x004e_a200_0810_0004_0000_00ff_ff0c_79a7, "SYNCS.ARRIVE.TRANS64.A1T0 R12, [UR4], RZ");
    const EXPECT: (u128, &str) = (0x0000_6200_0800_0004_0000_0015_ff02_79a7, "SYNCS.ARRIVE.TRANS64 R2, [UR4], R21");
    const COMPLETE: (u128, &str) =
        (0x0001_e200_0840_0404_0000_0015_ffff_79a7, "SYNCS.ARRIVE.TRANS64.RED.A0TX RZ, [UR4], R21");
    const IS_OVER: (u128, &str) = (0x000e_a200_0800_0044_0000_0007_ff00_75a7, "SYNCS.PHASECHK.TRANS64 P0, [UR4], R7");
    let count = (1u64 << 20) - 32;
    let made = count << 1 | count << 43;
    let barrier = |cta: &Cta| u64::from_le_bytes(cta.shared[64..72].try_into().expect("they are 8 bytes"));
    let shared = [0, 0, 0, 0, 0, 0, 0, 0, made];
    let registers = [(UNIFORM + 4, 64), (21, 16), (7, 0)];
    let arrived = run(90, &[ARRIVE, IS_OVER], &registers, &shared);
    assert_eq!(barrier(&arrived), made | 1 << 63, "the next phase waits for as many");
    // Each lane gets the object as it was before: the last one sees one pending arrival.
    let pending = |lane: usize| (1 << 20) - (arrived.warps[0].rows[13][lane] >> 11 & 0xf_ffff);
    assert_eq!([pending(0), pending(1), pending(31)], [32, 31, 1]);
    assert_eq!(arrived.warps[0].preds[0], u32::MAX);
    let waits = run(90, &[EXPECT, IS_OVER], &registers, &shared);
    assert_eq!((barrier(&waits) >> 63, waits.warps[0].preds[0]), (0, 0), "512 bytes are under way");
    let come = run(90, &[EXPECT, COMPLETE, IS_OVER], &registers, &shared);
    assert_eq!((barrier(&come), come.warps[0].preds[0]), (made | 1 << 63, u32::MAX));
}

/// -8200 lies between -8192 and -8224, which bf16 has.
#[test]
fn conversions_between_narrow_floats_round_as_they_say() {
    let to_minus_infinity = (0x004e_2400_0010_6000_0000_0000_0005_7304, "F2F.BF16.F16.RM R5, R0");
    assert_eq!(one(90, to_minus_infinity, &[(0, 0xf001)], 5) & 0xffff, 0xc601);
    let to_nearest = (0x004e_2400_0010_2000_0000_0000_0005_7304, "F2F.BF16.F16 R5, R0");
    assert_eq!(one(90, to_nearest, &[(0, 0xf001)], 5) & 0xffff, 0xc600);
}

/// Uniform registers are the warp's. Lanes that have parted from others keep what they wrote there when their slice
/// ends, and while they serve one lane after another.
#[test]
fn the_lanes_at_work_are_not_interrupted() {
    const NOP: (u128, &str) = (0x000f_e200_0000_0000_0000_0000_0000_7918, "NOP");
    const AGAIN: (u128, &str) = (0x000f_ea00_0393_ffff_ffff_fffd_00f4_0947, "@P0 BRA.U.ANY 0x0");
    const OTHERS: u32 = 0xffff;
    on_machine(90, &[NOP, NOP, AGAIN], |machine, mut cta| {
        machine.slice = 1;
        let warp = &mut cta.warps[0];
        warp.preds[0] = u32::MAX;
        let group = |pc, mask| Group { pc, mask, wait: Wait::Ready, turns: 0 };
        warp.groups = vec![group(0, OTHERS), group(1, !OTHERS)];
        let mut places = Vec::new();
        for _ in 0..4 {
            assert!(machine.run_group(&mut cta, 0, 1).is_ok());
            let next = cta.warps[0].next();
            assert_eq!(next, Some(1), "the others are further back, and have let others go first less often");
            places.push(cta.warps[0].groups[1].pc);
        }
        assert_eq!(places, [2, 0, 1, 2]);
    });
}

/// The lanes of the lower half add 4 to a uniform register, then all lanes copy it.
#[test]
fn the_order_of_lanes_shows_what_they_share() {
    let branch = (0x000f_ea00_0380_0000_0000_0000_0004_0947, "@P0 BRA 0x20");
    let sum = (0x000f_e400_0fff_e0ff_0000_0004_0606_7890, "UIADD3 UR6, UPT, UPT, UR6, 0x4, URZ");
    let nothing = (0x000f_e400_0fff_e0ff_0000_0000_0606_7890, "UIADD3 UR6, UPT, UPT, UR6, 0x0, URZ");
    let copy = (0x001f_ce00_0f8e_00ff_0000_0006_ff07_7e24, "IMAD.U32 R7, RZ, RZ, UR6");
    let copied = |order: LaneOrder, sum: (u128, &str), slice: u32| {
        on_machine(100, &[branch, sum, copy], |machine, mut cta| {
            (machine.slice, cta.warps[0].order, cta.warps[0].preds[0]) = (slice, order, 0xffff_0000);
            cta.warps[0].rows[usize::from(UNIFORM + 6)] = [1; 32];
            while machine.turn(&mut cta).is_ok_and(|moved| moved) {}
            let row = cta.warps[0].rows[7];
            assert!(row[..16] == [row[0]; 16] && row[16..] == [row[31]; 16]);
            ([row[0], row[31]], machine.has_orders)
        })
    };
    for slice in [1, 64] {
        assert_eq!(copied(LaneOrder::Turns, sum, slice), ([5, 5], true));
        assert_eq!(copied(LaneOrder::Straight, sum, slice), ([5, 5], true));
        assert_eq!(copied(LaneOrder::Branching, sum, slice), ([5, 1], true));
    }
    let chosen = (0..8).map(|seed| copied(LaneOrder::Chosen(seed), sum, 64).0[1]);
    assert!(chosen.clone().any(|last| last == 5) && chosen.clone().any(|last| last == 1));
    assert!(!copied(LaneOrder::Turns, nothing, 64).1, "the register keeps what it holds");
}

/// `cp.async [r7], [r4], 8, 3`: five of eight bytes are not read, and become zeros.
#[test]
fn the_address_of_a_copy_says_what_is_filled() {
    let word = (0x004f_e800_0b96_1a44_0000_0005_0407_7fae, "LDGSTS.E.64.ZFILL [R7], desc[UR4][R4.64+0x5]");
    let registers = [(7, 16), (4, GLOBAL + 8), (5, 0)];
    let cta = run(90, &[word], &registers, &[u64::MAX; 4]);
    assert_eq!(cta.shared[8..32], [[0xff; 8], [9, 10, 11, 0, 0, 0, 0, 0], [0xff; 8]].concat());
}

/// Each comparison of smaller, equal, larger and unordered floats, as the PTX ISA has them ("setp").
#[test]
fn floats_are_compared() {
    let (nan, tiny) = (f32::NAN, f32::from_bits(1));
    let row = |values: [f32; 4]| std::array::from_fn(|lane| values[lane % 4].to_bits());
    let (a, b) = (row([1.0, 2.0, 3.0, nan]), row([2.0, 2.0, 2.0, 2.0]));
    let holds = |compare| compare_floats(&a, &b, compare, false) & 0xf;
    use FloatCompare::*;
    assert_eq!([Lt, Eq, Le, Gt, Ne, Ge, Num].map(holds), [0b0001, 0b0010, 0b0011, 0b0100, 0b0101, 0b0110, 0b0111]);
    assert_eq!(
        [Ltu, Equ, Leu, Gtu, Neu, Geu, Nan].map(holds),
        [0b1001, 0b1010, 0b1011, 0b1100, 0b1101, 0b1110, 0b1000]
    );
    let (a, zero) = (row([tiny, -tiny, 0.0, -0.0]), row([0.0; 4]));
    assert_eq!(compare_floats(&a, &zero, Eq, false) & 0xf, 0b1100);
    assert_eq!(compare_floats(&a, &zero, Eq, true) & 0xf, 0b1111);
}

/// The first uniform predicate goes through a register; the warp's own predicates, which all are false, stay out of it.
#[test]
fn uniform_predicates_become_a_word_and_come_back() {
    let compared = (0x000f_c800_0bf0_6070_0000_0003_2800_788c, "UISETP.GE.U32.AND UP0, UPT, UR40, 0x3, UPT");
    let kept = (0x000f_c800_0800_0000_0000_0001_3f29_7883, "UP2UR UR41, UPR, URZ, 0x1");
    let word = |value: u32| {
        let cta = run(90, &[compared, kept], &[(UNIFORM + 40, value), (UNIFORM + 41, 7)], &[]);
        cta.warps[0].rows[usize::from(UNIFORM + 41)][0]
    };
    assert_eq!([word(2), word(3)], [0, 1]);
    let back = (0x003f_de00_0800_0000_0000_0001_3e00_7884, "UR2UP UPR, UR62, 0x1");
    let again = |value: u32| {
        let cta = run(90, &[back, kept], &[(UNIFORM + 62, value)], &[]);
        cta.warps[0].rows[usize::from(UNIFORM + 41)][0]
    };
    assert_eq!([again(6), again(3)], [0, 1]);
}

/// The masks of tiles of eight lanes, of which the last has eight lanes at the ends of the warp's halves.
fn tiles() -> Lanes {
    std::array::from_fn(|lane| match lane {
        0..4 | 28..32 => 0xf000_000f,
        4..12 => 0x0000_0ff0,
        12..20 => 0x000f_f000,
        _ => 0x0ff0_0000,
    })
}

/// A register of each lane after words, where the first one held the masks of tiles, and the first predicate was true
/// in every third lane.
fn of_tiles(sm: u16, words: &[(u128, &str)], result: u16) -> Lanes {
    on_machine(sm, words, |machine, mut cta| {
        cta.warps[0].rows[0] = tiles();
        cta.warps[0].preds[0] = THIRDS;
        cta.warps[0].rows[usize::from(result)] = [0; 32];
        assert!(machine.turn(&mut cta).is_ok());
        assert!(cta.warps[0].is_done(), "all lanes go on");
        cta.warps[0].rows[usize::from(result)]
    })
}

/// Every third lane.
const THIRDS: u32 = 0x4924_9249;
const BSSY: (u128, &str) = (0x000f_e200_0380_0000_0000_0040_0000_7945, "BSSY B0, 0x50");
const VOTE: (u128, &str) = (0x000f_ce00_000e_0100_0000_0000_0005_7806, "VOTE.ANY R5, PT, P0");
const BSYNC: (u128, &str) = (0x000f_ea00_0380_0000_0000_0000_0000_7941, "BSYNC B0");

#[test]
fn lanes_of_other_masks_do_not_vote_together() {
    let votes = tiles().map(|mask| mask & THIRDS);
    let exclusive = (0x000f_ea00_03a0_0000_0000_0000_0000_7348, "WARPSYNC.EXCLUSIVE R0");
    assert_eq!(of_tiles(90, &[BSSY, exclusive, VOTE, BSYNC], 5), votes);
    let collective = (0x003f_de00_03c0_0000_0000_0000_0008_7348, "WARPSYNC.COLLECTIVE R0, 0x40");
    let end = (0x003f_de00_0380_0000_0000_0000_0000_791b, "ENDCOLLECTIVE");
    assert_eq!(of_tiles(90, &[BSSY, collective, VOTE, end, BSYNC], 5), votes);
    // Without that mark lanes only wait, and all that are together stay so.
    let plain = (0x000f_ea00_0380_0000_0000_0000_0000_7348, "WARPSYNC R0");
    assert_eq!(of_tiles(90, &[BSSY, plain, VOTE, BSYNC], 5), [THIRDS; 32]);
}

/// As code before `sm_90` asks whether all lanes name all that are there: the guard says which lanes name what the
/// first does, and none chooses its own way.
#[test]
fn all_lanes_go_the_same_way_where_masks_differ() {
    const ALL: (u128, &str) = (0x000e_2200_0000_4000_0000_0000_0006_73c4, "REDUX.OR UR6, R0");
    const SAME: (u128, &str) = (0x000e_2200_0002_0000_0000_0000_003f_73c2, "R2UR P1, URZ, R0");
    let apart = (0x001f_d800_0b80_0000_0000_0012_0600_9947, "@!P1 BRA.DIV UR6, 0x40");
    let together = (0x001f_d800_0b80_0000_0000_0013_0600_9947, "@!P1 BRA.CONV UR6, 0x40");
    assert_eq!(of_tiles(80, &[ALL, SAME, apart, VOTE], 5), [0; 32]);
    assert_eq!(of_tiles(80, &[ALL, SAME, together, VOTE], 5), [THIRDS; 32]);
    let named_by_all = |members: u32, branch| {
        on_machine(80, &[ALL, SAME, branch, VOTE], |machine, mut cta| {
            cta.warps[0].rows[0] = [members; 32];
            cta.warps[0].preds[0] = THIRDS;
            cta.warps[0].rows[5] = [0; 32];
            cta.warps[0].end(0xff);
            assert!(machine.turn(&mut cta).is_ok());
            cta.warps[0].rows[5][31]
        })
    };
    assert_eq!(named_by_all(u32::MAX, apart), THIRDS & !0xff, "lanes that have ended are not missed");
    assert_eq!(named_by_all(u32::MAX, together), 0);
}

#[test]
fn lanes_are_missing_of_an_inverted_mask() {
    let branch = (0x001f_d800_0b80_0000_0000_0012_7f00_7947, "BRA.DIV ~URZ, 0x20");
    let votes = on_machine(80, &[branch, VOTE], |machine, mut cta| {
        cta.warps[0].preds[0] = THIRDS;
        cta.warps[0].rows[5] = [0; 32];
        let group = |pc, mask| Group { pc, mask, wait: Wait::Ready, turns: 0 };
        cta.warps[0].groups = vec![group(0, 0xffff), group(2, 0xffff_0000)];
        assert!(machine.turn(&mut cta).is_ok());
        cta.warps[0].rows[5]
    });
    assert_eq!(votes, [0; 32]);
}

/// The predicate that is beside the guard must hold in a lane.
#[test]
fn one_lane_takes_all_with_it() {
    let word = (0x003f_de00_0110_0000_0000_0001_0004_3947, "@P3 BRA.U.ANY P2, 0x20");
    let votes = |guards: u32| {
        on_machine(90, &[word, VOTE], |machine, mut cta| {
            let warp = &mut cta.warps[0];
            (warp.preds[0], warp.preds[2], warp.preds[3], warp.rows[5]) = (THIRDS, 0xf0, guards, [0; 32]);
            assert!(machine.turn(&mut cta).is_ok());
            cta.warps[0].rows[5]
        })
    };
    assert_eq!([votes(0x0f), votes(0x1f)], [[THIRDS; 32], [0; 32]]);
}

/// Of the lanes that the guard lets through, those leave a convergence barrier in which the second predicate holds.
#[test]
fn a_second_predicate_decides_who_leaves_a_barrier() {
    let word = (0x000f_ea00_0100_0000_0000_0000_0001_0942, "@P0 BREAK P2, B1");
    let masks = on_machine(90, &[word], |machine, mut cta| {
        cta.warps[0].preds[0] = 0x0000_00ff;
        cta.warps[0].preds[2] = 0x0000_0ff0;
        cta.warps[0].barriers[1] = [u32::MAX; 32];
        assert!(machine.turn(&mut cta).is_ok());
        cta.warps[0].barriers[1]
    });
    assert_eq!(masks, [0xffff_ff0f; 32]);
}

#[test]
fn words_with_a_predicate_that_is_not_understood_are_not_executed() {
    let stops = |word: (u128, &str)| {
        on_machine(90, &[word], |machine, mut cta| {
            cta.warps[0].after_collective = [1; 32];
            machine.turn(&mut cta).is_err()
        })
    };
    assert!(!stops((0x0003_ea00_0380_0000_0000_0000_0000_791b, "ENDCOLLECTIVE")));
    assert!(stops((0x0003_ea00_0100_0000_0000_0000_0000_791b, "ENDCOLLECTIVE P2")));
    assert!(!stops((0x0003_ea00_0100_0000_0000_0000_0000_7946, "YIELD P2")), "it changes nothing");
}

#[test]
fn lanes_that_wait_for_those_of_a_convergence_barrier_settle_nothing() {
    let stuck = |first: u32, pc: u32, mask: u32, wait: Wait| {
        let group = Group { pc, mask, wait, turns: 0 };
        Stuck { ctaid: [0; 3], first, group }
    };
    let held = stuck(0, 5, 0xf, Wait::Bsync(0));
    let all = stuck(0, 9, 0x10, Wait::Warp(u32::MAX));
    assert_eq!(unsettled(&[held, all]), Some(8));
    let held = || stuck(0, 5, 0xf, Wait::Bsync(0));
    assert_eq!(unsettled(&[held(), stuck(0, 9, 0x10, Wait::Warp(0xf0))]), None, "other lanes");
    assert_eq!(unsettled(&[held(), stuck(32, 9, 0x10, Wait::Warp(u32::MAX))]), None, "another warp");
    assert_eq!(unsettled(&[held(), stuck(0, 9, 0x10, Wait::Bsync(1))]), None);
}

/// Words on which arithmetic goes wrong: borders, signs, and some without a pattern.
const CORNERS: [u32; 8] = [0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX, 0xffff, 0x9e37_79b9, 0x1234_5678];

/// A warp whose registers 0 to 2 hold all triples of corners in turn, from a place on; register 3 holds a mark.
fn cornered(from: usize) -> Warp {
    let mut warp = Warp::new(0, 32, 0, Used::ALL);
    for lane in 0..32 {
        let at = from + lane;
        [at, at / 8, at / 64].into_iter().enumerate().for_each(|(row, at)| warp.rows[row][lane] = CORNERS[at % 8]);
        warp.rows[3][lane] = 0xdead;
    }
    warp
}

/// Executes an operation in the quick way and in another, on all triples of corners, in all lanes and in some.
fn agree(what: &str, kind: &Kind, general: impl Fn(&mut Warp, u32)) {
    for from in (0..512).step_by(32) {
        for active in [u32::MAX, 0x0f0f_1248] {
            let (mut one, mut other) = (cornered(from), cornered(from));
            assert!(quick(&mut one, &[], kind, active), "{what} is no quick one");
            general(&mut other, active);
            assert_eq!((&one.rows[..8], one.preds), (&other.rows[..8], other.preds), "{what} in {active:#x}");
        }
    }
}

#[test]
fn quick_sums_and_products_are_the_general_ones() {
    let marks = [Mark::Plain, Mark::Negate, Mark::Invert];
    for marks in marks.iter().flat_map(|a| marks.iter().map(move |b| [*a, *b, Mark::Plain])) {
        let srcs = [0, 1, 2].map(|at| Src { row: at, mark: marks[usize::from(at)] });
        let kind = Kind::Add3 { dst: 3, carries: [NOWHERE; 2], srcs, more: [None; 2] };
        agree(&format!("{marks:?}"), &kind, |warp, active| warp.sum(&[], &kind, active));
        let zero = Src { row: ZERO, mark: Mark::Plain };
        let [a, b, c] = srcs;
        for signed in [false, true] {
            let part = Part::Low;
            let srcs = [a, b, c, zero];
            let product = Product { dst: 3, carry: NOWHERE, srcs, part, signed, more: None, subtracts: false };
            let kind = Kind::Mad(product);
            agree(&format!("{marks:?}"), &kind, |warp, active| warp.sum(&[], &kind, active));
        }
    }
}

#[test]
fn quick_logic_is_what_the_table_says() {
    let srcs = [0, 1, 2].map(|row| Src { row, mark: Mark::Plain });
    for table in 0..=255 {
        let kind = Kind::Lop3 { dst: 3, srcs, table, test: None };
        agree(&format!("table {table:#x}"), &kind, |warp, active| {
            let [a, b, c] = [0, 1, 2].map(|row| warp.rows[row]);
            let result = std::array::from_fn(|lane| table_of_masks(a[lane], b[lane], c[lane], table));
            warp.write(3, &result, active);
        });
    }
}

#[test]
fn quick_comparisons_are_the_general_ones() {
    let srcs = [0, 1].map(|row| Src { row, mark: Mark::Plain });
    let all =
        [Compare::False, Compare::Lt, Compare::Eq, Compare::Le, Compare::Gt, Compare::Ne, Compare::Ge, Compare::True];
    for (compare, signed) in all.iter().flat_map(|compare| [(*compare, false), (*compare, true)]) {
        let combine = (Combine::Xor, Pred { at: TRUE, not: true });
        let kind = Kind::Compare { dsts: [1, 2], srcs, compare, signed, combine, lower: None };
        agree(&format!("{compare:?}"), &kind, |warp, active| {
            let holds = compare_lanes(&warp.rows[0], &warp.rows[1], compare, signed, None);
            warp.set_pred(1, holds, active);
            warp.set_pred(2, !holds, active);
        });
    }
}

/// Floats of a format on which arithmetic goes wrong: zeros, subnormals, the least normal, infinities, no numbers.
const SINGLES: [u32; 12] = [
    0,
    0x8000_0000,
    1,
    0x807f_ffff,
    0x0080_0000,
    0x8080_0001,
    0x3f00_0000,
    0x3f80_0001,
    0xbf7f_ffff,
    0x7f7f_ffff,
    0xff80_0000,
    0x7fc0_1234,
];

/// What an operation of PTX yields for one lane.
fn meant(builder: &InstBuilder, operands: [u64; 3]) -> u64 {
    let op = meaning(builder).expect("it is computed lane by lane");
    op.eval(&[operands[0], operands[1], operands[2], 0, 0]).value
}

#[test]
fn singles_that_flush_are_those_of_ptx() {
    let words = [
        (Opcode::FAdd, (0x000f_e200_0001_0000_0000_0000_0604_7221, "FADD.FTZ R4, R6, R0")),
        (Opcode::FMul, (0x000f_e200_0041_0000_0000_0000_0604_7220, "FMUL.FTZ R4, R6, R0")),
        (Opcode::FFma, (0x000f_e200_0001_0002_0000_0000_0604_7223, "FFMA.FTZ R4, R6, R0, R2")),
    ];
    for (opcode, word) in words {
        let builder = InstBuilder::new(opcode).field(Type::F32).field(Ftz::Ftz);
        for a in SINGLES {
            for (b, c) in SINGLES.iter().flat_map(|b| SINGLES.map(|c| (*b, c))) {
                let found = one(90, word, &[(6, a), (0, b), (2, c)], 4);
                let expected = meant(&builder, [a, b, c].map(u64::from)) as u32;
                assert_eq!(found, expected, "{opcode:?} of {a:#x}, {b:#x}, {c:#x}");
            }
        }
    }
}

#[test]
fn doubles_are_those_of_ptx() {
    let wide = SINGLES.map(|bits| f64::from(f32::from_bits(bits)).to_bits());
    let corners: Vec<u64> = wide.into_iter().chain([1, 0x8010_0000_0000_0000, 0x7fef_ffff_ffff_ffff]).collect();
    let pair = |row: u16| [row, row + 1].map(|row| Src { row, mark: Mark::Plain }).into();
    let put = |warp: &mut Warp, row: usize, value: u64| {
        (warp.rows[row], warp.rows[row + 1]) = ([value as u32; 32], [(value >> 32) as u32; 32]);
    };
    let ops = [(DoubleOp::Add, Opcode::FAdd), (DoubleOp::Mul, Opcode::FMul), (DoubleOp::Fma, Opcode::FFma)];
    for (a, b) in corners.iter().flat_map(|a| corners.iter().map(move |b| (*a, *b))) {
        let mut warp = Warp::new(0, 32, 0, Used::ALL);
        put(&mut warp, 0, a);
        put(&mut warp, 2, b);
        for (op, opcode) in ops {
            for c in &corners {
                put(&mut warp, 4, *c);
                warp.doubles(&[], op, 6, &[pair(0), pair(2), pair(4)], u32::MAX);
                let found = u64::from(warp.rows[7][5]) << 32 | u64::from(warp.rows[6][5]);
                let expected = meant(&InstBuilder::new(opcode).field(Type::F64), [a, b, *c]);
                assert_eq!(found, expected, "{op:?} of {a:#x}, {b:#x}, {c:#x}");
            }
        }
        for compare in [FloatCompare::Lt, FloatCompare::Neu, FloatCompare::Ge, FloatCompare::Nan] {
            let setp = InstBuilder::new(Opcode::SetP).field(Type::F64).field(compare);
            let found = warp.compare_doubles(&[], &[pair(0), pair(2)], compare);
            assert_eq!(u64::from(found & 1), meant(&setp, [a, b, 0]), "{compare:?} of {a:#x}, {b:#x}");
        }
    }
}

/// Code that reads what nobody has written must not find a zero there, nor what an earlier warp has left.
#[test]
fn unwritten_registers_hold_something_that_is_no_zero() {
    for _ in 0..2 {
        let mut warp = Warp::new(0, 32, 0, Used::ALL);
        assert!(warp.rows[0][0] != 0 && warp.rows[UNIFORM as usize][0] != 0);
        assert_ne!(warp.rows[8], warp.rows[9]);
        assert_ne!(warp.rows[9][3], 77);
        assert_eq!(warp.rows[usize::from(ZERO)], [0; 32]);
        assert_eq!([warp.preds[0], warp.preds[1]], [0, u32::MAX]);
        warp.rows[9] = [77; 32];
    }
}

#[test]
fn votes_on_equality_hold_where_all_lanes_say_the_same() {
    let word = (0x000f_c800_0400_0200_0000_0000_00ff_7806, "VOTE.EQ P0, !P0");
    let answer = |lanes: u32| {
        on_machine(90, &[word], |machine, mut cta| {
            cta.warps[0].preds[0] = lanes;
            assert!(machine.turn(&mut cta).is_ok());
            cta.warps[0].preds[0]
        })
    };
    assert_eq!([answer(0), answer(u32::MAX), answer(1)], [u32::MAX, u32::MAX, 0]);
}

/// A register that an operand may reach from the one it names counts, too; the constant ones do not.
#[test]
fn registers_that_are_named_are_used() {
    let word = (0x004f_ca00_078e_0a04_0000_0007_0604_7225, "IMAD.WIDE R4, R6, R7, -R4");
    let used = |word: (u128, &str)| on_machine(90, &[word], |machine, _| machine.program.used);
    assert_eq!(used(word), Used { general: 15, uniform: 0 });
    assert_eq!(used((0x000f_c800_0800_0000_0000_0001_3f29_7883, "UP2UR UR41, UPR, URZ, 0x1")).uniform, 49);
    let mut all = Used::default();
    [254, UNIFORM + 255].into_iter().for_each(|row| all.note(row));
    assert_eq!(all, Used::ALL);
}

/// 256 + 1 + 1 in bf16, where each sum rounds to 256, and rounded once: 258. The other elements are zero.
#[test]
fn replicas_are_summed_in_either_precision() {
    let sum = |word: (u128, &str)| {
        on_machine(90, &[word], |machine, mut cta| {
            let [most, one] = [[0x80, 0x43, 0, 0, 0, 0, 0, 0], [0x80, 0x3f, 0, 0, 0, 0, 0, 0]];
            let base = machine.global.map_replicas("replicas", Bytes::defined([most, one, one].concat()), 3);
            let address = MULTICAST_WINDOW + base;
            let rows = &mut cta.warps[0].rows;
            (rows[4], rows[5]) = ([address as u32; 32], [(address >> 32) as u32; 32]);
            assert!(machine.turn(&mut cta).is_ok());
            [4, 5].map(|row| cta.warps[0].rows[row][31])
        })
    };
    let [once, each] = [
        (0x0032_1e00_0b01_497f_0000_0000_0404_79a5, "LDGMC.E.F32ADD.BF16x4.RN.STRONG.SYS R4, [R4.64+URZ]"),
        (0x0032_1e00_0801_497f_0000_0000_0404_79a5, "LDGMC.E.ADD.BF16x4.RN.STRONG.SYS R4, [R4.64+URZ]"),
    ]
    .map(sum);
    assert_eq!((once, each), ([0x4381, 0], [0x4380, 0]));
}

/// A word of all replicas is loaded from a multicast address alone, and stored to each of them by a plain store.
#[test]
fn stores_reach_every_replica() {
    let store = (0x0043_e200_0c10_f908_0000_000d_0400_7986, "STG.E.STRONG.GPU desc[UR8][R4.64], R13");
    on_machine(90, &[store], |machine, mut cta| {
        let base = machine.global.map_replicas("replicas", Bytes::defined(vec![0; 12]), 3);
        let address = MULTICAST_WINDOW + base;
        let rows = &mut cta.warps[0].rows;
        (rows[4], rows[5], rows[13]) = ([address as u32; 32], [(address >> 32) as u32; 32], [77; 32]);
        assert!(machine.turn(&mut cta).is_ok());
        let (region, _) = machine.global.find_replicas(address, 4).expect("it is there");
        let bytes = machine.global.region(region).bytes.data().to_vec();
        assert_eq!([bytes[0], bytes[4], bytes[8]], [77; 3], "{bytes:x?}");
    });
    let load = (0x0032_1e00_0801_417f_0000_0000_0404_79a4, "LDGMC.E.ADD.32.STRONG.SYS R4, [R4.64+URZ]");
    on_machine(90, &[load], |machine, mut cta| {
        cta.warps[0].rows[4] = [GLOBAL; 32];
        assert!(machine.turn(&mut cta).is_err(), "it is no multicast address");
    });
}

/// Predicates 0 and 2, in the upper byte of a word whose other bytes stay, and out of it.
#[test]
fn predicates_stand_in_any_byte() {
    let save = (0x000f_c800_0800_3000_0000_00ff_3e3e_7883, "UP2UR.B3 UR62, UPR, UR62, 0xff");
    let load = (0x000f_e200_0800_3000_0000_00ff_3e00_7884, "UR2UP UPR, UR62.B3");
    let row = usize::from(UNIFORM) + 62;
    let uniform = usize::from(UNIFORM_PREDICATES);
    on_machine(90, &[save], |machine, mut cta| {
        let w = &mut cta.warps[0];
        w.rows[row] = [0x7f12_3456; 32];
        w.preds[uniform..uniform + 7].copy_from_slice(&[u32::MAX, 0, u32::MAX, 0, 0, 0, 0]);
        assert!(machine.turn(&mut cta).is_ok());
        assert_eq!(cta.warps[0].rows[row][0], 0x0512_3456);
    });
    on_machine(90, &[load], |machine, mut cta| {
        cta.warps[0].rows[row] = [0x0512_3456; 32];
        assert!(machine.turn(&mut cta).is_ok());
        let set = |at: usize| cta.warps[0].preds[uniform + at] & 1;
        assert_eq!([0, 1, 2, 3].map(set), [1, 0, 1, 0]);
    });
}

/// Bytes that are zero at least: each by itself.
#[test]
fn extremes_of_bytes_are_rectified_byte_by_byte() {
    let word = (0x000f_e200_07fe_1500_0000_00d4_aea0_7248, "VIMNMX.S8x4.RELU R160, R174, R212, !PT");
    assert_eq!(one(120, word, &[(174, 0x39bd_f045), (212, 0x0000_0102)], 160), 0x3900_0145);
}

/// Packed sums of which both operands are negated.
#[test]
fn both_operands_of_a_packed_sum_are_negated() {
    let word = (0x000f_e200_0000_0300_8000_0005_0400_7236, "VIADD.16x2 R0, -R4, -R5");
    assert_eq!(one(120, word, &[(4, 0x0001_0002), (5, 0x0003_ffff)], 0), 0xfffc_ffff);
}

/// Words whose text says something that no PTX means and that nobody has described.
#[test]
fn words_that_nobody_knows_are_refused() {
    let words: [(u16, u128, &str); 13] = [
        (80, 0x040f_e200_01c8_f200_82c2_9600_2400_762a, "DSETP.MAX.AND P4, P4, |R36|.reuse, -c[0xb][0xa58], P3"),
        (100, 0x000f_e200_0c81_927c_0000_00ff_3641_7e3e, "F2FP.E4M3.F16.UNPACK_B_MERGE_C.RZ R65, R124, URZ"),
        (90, 0x000f_e200_04a0_038f_0000_0000_1d48_743e, "F2FP.E5M2.F16.UNPACK_B_MERGE_C R72, R143, 0.H1"),
        (89, 0x000f_e200_009c_79ff_0000_0023_f6e0_723e, "F2FP.SATFINITE.RELU.E4M3.F32.MERGE_C R224, R35, RZ.H1"),
        (80, 0x000f_e200_0010_4800_8000_0070_0097_7305, "F2I.U16.F16.FLOOR R151, -R112"),
        (86, 0x000f_e200_0006_001c_0000_00b4_2fe8_7209, "FMNMX.NAN.XORSIGN R232, R47, R180, P0"),
        (90, 0x000f_e200_0000_4000_0000_0005_0400_7230, "HADD2.F32 R0, R4, R5"),
        (80, 0x040f_e200_020c_0aff_0000_0034_203e_7227, "IMAD.HI R62, P6, R32.reuse, R52, -RZ"),
        (120, 0x000f_e200_03be_e400_0000_0030_00a4_7817, "IMNMX.U64 PT, P3, R164, R0, 0x30, PT, PT"),
        (80, 0x000f_e200_0000_0c00_0000_00ff_0098_7202, "MOV R152, RZ, 0xc"),
        (103, 0x000f_e200_02fe_1000_0000_0093_faf0_7248, "VIMNMX.U32.RELU R240, PT, PT, R250, R147, P5"),
        (90, 0x000f_e200_003e_0300_0000_00fb_ffd8_7248, "VIMNMX.S16x2 R216, RZ, R251, P0"),
        (90, 0x000f_e200_0380_12cc_0000_0071_6fcd_7246, "VIADDMNMX.U16x2.RELU R205, R111, R113, R204, PT"),
    ];
    for (sm, word, expected) in words {
        let table = Table::of(sm).expect("the words are known");
        let mut line = String::new();
        text::print(&mut line, &table.decode(word).expect("it decodes"), 0);
        assert_eq!(line, expected);
        assert_eq!(not_executed(sm, &[word]).expect("a known SM").len(), 1, "{line}");
    }
}
