//! The verifier of allocations over kernels of the corpus: it takes what the allocator makes, and no planted fault.

use std::path::{Path, PathBuf};

use oriole_check::input::read_kernel;
use oriole_ir::{Function, Inst, Operand, PhysicalReg, RegFile};
use oriole_optimizer::codegen::compile::{Allocated, Options, compile};
use oriole_optimizer::ssa;
use oriole_reference::allocation::{Misplaced, Outside, Wrong, check};

fn kernels() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/kernels");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut kernels: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "ptx")).collect();
    kernels.sort();
    kernels
}

/// What the allocator makes of every fifth kernel, with all registers and with few.
fn allocations() -> Vec<Allocated> {
    allocations_of(kernels().iter().step_by(5))
}

fn allocations_of<'a>(kernels: impl Iterator<Item = &'a PathBuf>) -> Vec<Allocated> {
    let mut all = Vec::new();
    for kernel in kernels {
        let mut module = read_kernel(kernel).unwrap();
        if ssa::is_virtual(&module) {
            ssa::construct_module(&mut module);
        }
        let target = "sm_90".parse().unwrap();
        for max_registers in [None, Some(24)] {
            let options = Options { max_registers, keeps_allocations: true, ..Options::default() };
            all.extend(compile(&module, target, options).into_iter().flat_map(|output| output.allocations));
        }
    }
    all
}

fn wrong(own: &Allocated, after: &Function) -> Vec<Misplaced> {
    let sequences: Vec<_> = own.sequences.iter().map(|(id, func)| (*id, func)).collect();
    let (results, given, passed) = (&own.results[..], &own.given[..], &own.passed[..]);
    let outside = Outside { stack: own.stack, results, given, passed, sequences: &sequences };
    check(&own.before, after, outside, &|inst| own.origins[inst])
}

#[test]
fn what_the_allocator_makes_holds_what_is_read() {
    let (mut functions, mut added, mut gone) = (0, 0, 0);
    for own in allocations() {
        let found = wrong(&own, &own.after);
        let Allocated { before, after, origins, .. } = own;
        assert!(found.is_empty(), "{}: {}", before.name, found[0]);
        functions += 1;
        let new = after.layout_insts().filter(|inst| origins[*inst].is_none()).count();
        added += new;
        gone += before.inst_count() + new - after.inst_count();
    }
    assert!(functions > 20 && added > 50 && gone > 50, "{functions} functions, {added} added, {gone} gone");
}

/// The general registers of one word that an instruction reads, by the places of its sources.
fn read(func: &Function, inst: Inst) -> Vec<(usize, PhysicalReg)> {
    let sources = func.srcs(inst).iter().enumerate();
    let general = |operand: &Operand| match operand {
        Operand::Reg(reg) => PhysicalReg::of(*reg).filter(|reg| reg.file == RegFile::R && reg.words == 1),
        _ => None,
    };
    sources.filter_map(|(place, operand)| Some((place, general(operand)?))).collect()
}

/// Whether operands name a register of others.
fn meets(operands: &[Operand], others: &[Operand]) -> bool {
    let units = |operands: &[Operand]| -> Vec<_> {
        let named = operands.iter().filter_map(|operand| PhysicalReg::of(operand.reg()?));
        named.flat_map(|reg| reg.units().collect::<Vec<_>>()).collect()
    };
    let others = units(others);
    units(operands).iter().any(|unit| others.contains(unit))
}

/// Faults by kind: how many were planted, and how many found.
type Counts = [(usize, usize); 4];

#[test]
fn planted_faults_are_found() {
    let mut counts: Counts = Default::default();
    for own in allocations() {
        let Allocated { after, origins, .. } = &own;
        let insts: Vec<Inst> = after.layout_insts().collect();
        let mut plant = |kind: usize, change: &mut dyn FnMut(&mut Function)| {
            let mut faulty = after.clone();
            change(&mut faulty);
            counts[kind].0 += 1;
            counts[kind].1 += usize::from(!wrong(&own, &faulty).is_empty());
        };
        for inst in insts.iter().step_by(7).copied() {
            // Two registers exchanged.
            if let [(first, one), (second, other), ..] = read(after, inst)[..]
                && one != other
                && origins[inst].is_some()
            {
                plant(0, &mut |func| func.srcs_mut(inst).swap(first, second));
            }
        }
        let is = |inst: &Inst, name: &str| after.mnemonic(*inst).is_some_and(|mnemonic| mnemonic.starts_with(name));
        let is_added = |inst: &&Inst| origins[**inst].is_none();
        // A word of the frame that another value is kept in. What is loaded since a part of it is about to be written
        // may have no value yet.
        let is_read = |load: &&Inst| {
            let mut behind = insts.iter().skip_while(|inst| *inst != *load).skip(1);
            let reader = behind.find(|inst| origins[**inst].is_some());
            reader.is_some_and(|reader| meets(after.inputs(*reader), after.dsts(**load)))
        };
        for inst in insts.iter().filter(is_added).filter(|inst| is(inst, "LDL")).filter(is_read) {
            plant(1, &mut |func| {
                let offset = func.imm_bits(func.srcs(*inst)[1]).unwrap();
                let other = func.imm(offset.wrapping_sub(4) & 0xff_ffff);
                func.srcs_mut(*inst)[1] = other;
            });
        }
        // Copies, and what keeps values in the frame, that are gone.
        for inst in insts.iter().filter(|inst| is(inst, "MOV") && !read(after, **inst).is_empty()).step_by(5) {
            plant(2, &mut |func| func.remove_inst(*inst));
        }
        for inst in insts.iter().filter(is_added).filter(|inst| is(inst, "STL")) {
            plant(3, &mut |func| func.remove_inst(*inst));
        }
    }
    for (kind, (planted, found)) in ["exchanged", "other word", "copy gone", "store gone"].iter().zip(counts) {
        println!("{kind}: {found} of {planted}");
        // Some registers hold the same value; some words of the frame are never read again, or nothing has written the
        // value of which they hold a part.
        assert!(planted > 5 && found * 20 >= planted * 19, "{kind}: {found} of {planted} are found");
    }
}

/// Predicates that are bits of a register: one that was never put in, and a register that is written between.
#[test]
fn bits_of_predicates_have_faults_of_their_own() {
    let kernels = kernels();
    let names = ["sort_radix.ptx", "game_of_life.ptx", "scan_exclusive.ptx"];
    let with_bits = kernels.iter().filter(|path| names.iter().any(|name| path.ends_with(name)));
    let (mut patterns, mut bases) = ((0, 0), (0, 0));
    for own in allocations_of(with_bits) {
        let Allocated { after, origins, .. } = &own;
        let is = |inst: &Inst, name: &str| after.mnemonic(*inst).is_some_and(|mnemonic| mnemonic == name);
        let mask = |inst: &Inst| after.srcs(*inst).last().and_then(|mask| after.imm_bits(*mask));
        assert!(wrong(&own, after).is_empty());
        for load in after.layout_insts().filter(|inst| is(inst, "R2P")) {
            let mut faulty = after.clone();
            let saves = after.layout_insts().filter(|inst| is(inst, "P2R") && mask(inst) == mask(&load));
            saves.collect::<Vec<_>>().into_iter().for_each(|save| faulty.remove_inst(save));
            patterns.0 += 1;
            patterns.1 += usize::from(wrong(&own, &faulty).iter().any(|it| matches!(it.what, Wrong::Pattern(_))));
            // The last instruction before it that makes a word makes it in the register with the bits.
            let makes_word = |inst: &Inst| {
                let reg = after.dsts(*inst).first().and_then(|dst| PhysicalReg::of(dst.whole_reg()?));
                origins[*inst].is_some() && reg.is_some_and(|reg| reg.file == RegFile::R && reg.words == 1)
            };
            let before = std::iter::successors(after.prev_inst(load), |inst| after.prev_inst(*inst));
            let behind_saves = before.take_while(|inst| !is(inst, "P2R")).find(makes_word);
            if let Some(inst) = behind_saves {
                let mut faulty = after.clone();
                faulty.dsts_mut(inst)[0] = after.srcs(load)[0];
                bases.0 += 1;
                bases.1 += usize::from(wrong(&own, &faulty).iter().any(|it| matches!(it.what, Wrong::Base(_))));
            }
        }
    }
    println!("never put in: {patterns:?}, written between: {bases:?}");
    // A bit of a predicate that is undefined on the way is as good as any.
    assert!(patterns.0 > 10 && patterns.1 * 20 >= patterns.0 * 17, "{patterns:?}");
    assert!(bases.0 > 5 && bases.1 * 20 >= bases.0 * 17, "{bases:?}");
}

/// A function that is called gives back what its caller has in registers, and returns to where it was called.
#[test]
fn callers_find_their_registers_again() {
    let kernels = kernels();
    let called = kernels.iter().filter(|path| path.ends_with("recursion.ptx") || path.ends_with("quicksort.ptx"));
    let (mut restores, mut returns, mut barriers) = (0, 0, 0);
    for own in allocations_of(called) {
        let Allocated { after, origins, .. } = &own;
        let found = wrong(&own, after);
        assert!(found.is_empty(), "{}: {}", own.before.name, found[0]);
        let name = |inst: Inst| after.mnemonic(inst).unwrap_or_default();
        for block in after.layout() {
            let Some(last) = after.last_inst(*block).filter(|inst| name(*inst).starts_with("RET")) else { continue };
            let is_load = |inst: &Inst| origins[*inst].is_none() && name(*inst).starts_with("LDL");
            for inst in after.block_insts(*block).filter(is_load).collect::<Vec<_>>() {
                let mut faulty = after.clone();
                faulty.remove_inst(inst);
                let found = wrong(&own, &faulty);
                // One that is no restore loads the address.
                assert!(!found.is_empty(), "{}", own.before.name);
                restores += usize::from(found.iter().any(|found| matches!(found.what, Wrong::Kept(..))));
            }
            // A barrier is not put back.
            for inst in after.block_insts(*block).filter(|inst| name(*inst) == "BMOV.32").collect::<Vec<_>>() {
                let mut faulty = after.clone();
                let register = |number| PhysicalReg { file: RegFile::R, number, words: 1 }.reg().expect("there is one");
                let is_first = faulty.srcs(inst).first() == Some(&Operand::Reg(register(0)));
                let other = register(if is_first { 2 } else { 0 });
                faulty.srcs_mut(inst)[0] = Operand::Reg(other);
                assert!(!wrong(&own, &faulty).is_empty(), "{}", own.before.name);
                barriers += 1;
            }
            // The address is in a register that has been given back.
            let mut faulty = after.clone();
            let place = after.srcs(last).iter().position(|src| src.reg().is_some()).expect("it reads the address");
            let other = PhysicalReg { file: RegFile::R, number: 22, words: 2 }.reg().expect("there is one");
            faulty.srcs_mut(last)[place] = Operand::Reg(other);
            let found = wrong(&own, &faulty);
            assert!(found.iter().any(|found| matches!(found.what, Wrong::Value(..))), "{found:?}");
            returns += 1;
        }
    }
    assert!(
        restores > 20 && returns > 4 && barriers > 2,
        "{restores} restores, {returns} returns, {barriers} barriers"
    );
}

#[test]
fn pairs_begin_at_even_registers() {
    let mut seen = false;
    for own in allocations().into_iter().take(4) {
        let mut after = own.after.clone();
        let pair = |operand: &Operand| operand.whole_reg().and_then(PhysicalReg::of).filter(|reg| reg.words == 2);
        let find = |func: &Function| {
            func.layout_insts().find_map(|inst| {
                let place =
                    func.dsts(inst).iter().position(|dst| pair(dst).is_some_and(|reg| reg.file == RegFile::R))?;
                Some((inst, place))
            })
        };
        let Some((inst, place)) = find(&after) else { continue };
        let reg = pair(&after.dsts(inst)[place]).unwrap();
        let odd = PhysicalReg { number: reg.number + 1, ..reg }.reg().unwrap();
        after.dsts_mut(inst)[place] = Operand::Reg(odd);
        let found = wrong(&own, &after);
        assert!(found.iter().any(|found| found.what == Wrong::Alignment), "{found:?}");
        seen = true;
    }
    assert!(seen, "no kernel has a pair");
}
