//! Small functions, each of which one constraint or one way of spilling decides.

use oriole_ir::ops::Opcode;
use oriole_ir::sm::Target;
use oriole_ir::{Guard, InstHead, Modifiers, Module, RegInfo};

use super::constraint::{Kind, Node, Target as Of};
use super::*;
use crate::select::never;
use crate::sketch::Sketch;

/// A number in a register.
fn number(made: &mut Sketch, number: u64) -> Operand {
    let (to, number) = (made.word(), made.func.imm(number));
    made.copy(to, number);
    to
}

fn places() -> Places {
    let target: Target = "sm_90".parse().expect("it has a row");
    let mut func = Function::new("f", FunctionKind::Entry);
    let block = func.new_block();
    let head = InstHead { opcode: Opcode::Ret, fields: Opcode::Ret.row().default_fields(), guard: None, line: 0 };
    let ret = func.new_inst(head, &[], &[], &[]);
    func.append_inst(block, ret);
    let mut module = Module { target: "sm_90".to_owned(), ..Module::default() };
    let id = module.functions.push(func);
    Places::of(&module, &module.functions[id], &[id], target).expect("it has no variables")
}

fn limits(general: u16) -> Limits {
    Limits { general, uniform: 63, soft_skip: Some(2) }
}

fn count(func: &Function, name: &str) -> usize {
    func.layout_insts().filter(|inst| func.mnemonic(*inst).is_some_and(|mnemonic| mnemonic == name)).count()
}

/// The constraints of a register, by the builder.
fn nodes(selected: &Selected, reg: Operand) -> Vec<Node> {
    let (cfg, places) = (Cfg::new(&selected.func), places());
    let spills = Spills::new(&places, None, true);
    let fixed = Candidates::of(&[]);
    let (kept, below) = (FxHashSet::default(), std::collections::BTreeMap::new());
    let allocator = Allocator::new(&selected.func, &cfg, limits(253), (&spills, &fixed, &[]), (kept, &below));
    allocator.nodes[reg.reg().expect("it is one")].clone()
}

fn has(nodes: &[Node], kind: Kind, target: Option<Operand>) -> bool {
    let is_target = |node: &Node| {
        target.is_none_or(|target| node.target == Of::Register(target.reg().expect("it is one").as_u32()))
    };
    nodes.iter().any(|node| node.kind == kind && is_target(node))
}

#[test]
fn three_sources_want_both_banks() {
    let mut made = Sketch::new();
    let [a, b, c] = [0, 4, 8].map(|at| made.loaded(at));
    let sum = made.word();
    let truth = Operand::wired(RegFile::P, 1);
    made.op("IADD3", &[sum, truth, truth], &[a, b, c, never(), never()]);
    made.store("", sum);
    let selected = made.end();
    let of_third = nodes(&selected, c);
    assert!(has(&of_third, Kind::OddParity, Some(a)) && has(&of_third, Kind::OddParity, Some(b)));
    assert!(!has(&nodes(&selected, sum), Kind::OddParity, None), "a sum of one source has no bank");
    let Allocation { func, .. } = allocate(selected, &places(), limits(253)).expect("there are enough");
    let sum = func.layout_insts().find(|inst| func.mnemonic(*inst).is_some_and(|name| name == "IADD3"));
    let numbers = func.srcs(sum.expect("it is there"))[..3].iter().filter_map(|src| PhysicalReg::of(src.reg()?));
    let odd = numbers.filter(|reg| reg.number % 2 == 1).count();
    assert!(odd == 1 || odd == 2, "{odd} of three are odd: they are in one bank");
}

#[test]
fn words_of_groups_want_their_parity_and_not_that_of_others() {
    let mut made = Sketch::new();
    let [even, odd, third, fourth] = [0, 4, 8, 12].map(|at| made.loaded(at));
    let group = made.func.new_reg(RegInfo::words(4));
    for (word, from) in (0..).zip([even, odd, third, fourth]) {
        made.copy(Operand::Word(group, word), from);
    }
    let at = made.func.imm(0);
    made.op("STS.128", &[], &[Operand::wired(RegFile::R, 1), at, Operand::Reg(group)]);
    [even, odd, third, fourth].into_iter().for_each(|value| made.store("", value));
    let selected = made.end();
    let (of_even, of_odd) = (nodes(&selected, even), nodes(&selected, odd));
    assert!(has(&of_even, Kind::ParityGroup, None) && has(&of_even, Kind::Extended, Some(Operand::Reg(group))));
    assert!(has(&of_odd, Kind::OddParity, None) && !has(&of_odd, Kind::ParityGroup, None));
    assert!(!has(&of_odd, Kind::Extended, None));
}

#[test]
fn phis_are_joined_and_long_ranges_go_first() {
    let mut made = Sketch::new();
    let (long, variable) = (made.loaded(0), made.word());
    let first = made.loaded(4);
    made.copy(variable, first);
    made.store("", variable);
    for at in 0..70 {
        let value = made.loaded(at);
        made.store("", value);
    }
    let second = made.loaded(8);
    made.copy(variable, second);
    made.store("", variable);
    made.store("", long);
    let selected = made.end();
    assert!(has(&nodes(&selected, first), Kind::PhiRelated, Some(variable)));
    assert!(has(&nodes(&selected, variable), Kind::PhiRelated, Some(second)));
    assert!(has(&nodes(&selected, long), Kind::Range, None));
    assert!(!has(&nodes(&selected, second), Kind::Range, None), "its range is short");
}

#[test]
fn pairs_that_are_live_together_are_one_constraint() {
    let mut made = Sketch::new();
    let [one, other] = [(); 2].map(|()| Operand::Reg(made.func.new_reg(RegInfo::words(2))));
    let at = made.func.imm(0);
    let zero = Operand::wired(RegFile::R, 1);
    for pair in [one, other] {
        made.op("LDS.64", &[pair], &[zero, at]);
    }
    for pair in [one, other] {
        made.op("STS.64", &[], &[zero, at, pair]);
    }
    let selected = made.end();
    let nodes = nodes(&selected, one);
    assert_eq!(nodes.len(), 1, "{nodes:?}");
    assert!(has(&nodes, Kind::AlignedPair, Some(other)));
}

/// The free half of a group whose other half is live is a place for a word.
#[test]
fn halves_of_groups_are_free_apart() {
    let mut made = Sketch::new();
    let pair = made.func.new_reg(RegInfo::words(2));
    let at = made.func.imm(0);
    made.op("LDS.64", &[Operand::Reg(pair)], &[Operand::wired(RegFile::R, 1), at]);
    made.store("", Operand::Word(pair, 0));
    let word = made.loaded(8);
    made.store("", word);
    made.store("", Operand::Word(pair, 1));
    let Allocation { registers, .. } = allocate(made.end(), &places(), limits(253)).expect("there are enough");
    assert_eq!(registers, 2, "the word is where the first half was");
}

/// No access of memory has three words: a group of three is kept word by word.
#[test]
fn groups_of_three_words_are_kept_word_by_word() {
    let mut made = Sketch::new();
    let group = made.func.new_reg(RegInfo::words(3));
    for word in 0..3 {
        let value = made.loaded(word);
        made.copy(Operand::Word(group, word as u8), value);
    }
    let values: Vec<Operand> = (0..12).map(|at| made.loaded(4 * at)).collect();
    values.iter().chain(&values).for_each(|value| made.store("", *value));
    (0..3).for_each(|word| made.store("", Operand::Word(group, word)));
    let Allocation { func, spilled, .. } = allocate(made.end(), &places(), limits(12)).expect("twelve are enough");
    let all = ["LDL", "STL"].map(|name| count(&func, name));
    let wide = ["LDL.64", "LDL.128", "STL.64", "STL.128"].map(|name| count(&func, name));
    assert!(spilled > 0 && all.iter().all(|count| *count >= 3), "{spilled} spilled, {all:?}");
    assert_eq!(wide, [0; 4]);
}

/// So many predicates that are live together, made and read by plain instructions; one is written under a guard.
fn with_predicates(many: u64) -> Selected {
    let mut made = Sketch::new();
    let (value, truth) = (made.loaded(0), Operand::wired(RegFile::P, 1));
    let predicates: Vec<Operand> = (0..many).map(|_| Operand::Reg(made.func.new_reg(RegInfo::PRED))).collect();
    for (at, predicate) in (0..).zip(&predicates) {
        let number = made.func.imm(at);
        made.op("ISETP.LT.AND", &[*predicate, truth], &[value, number, truth, truth]);
    }
    let last = made.func.imm(99);
    let guard = Guard::new(predicates[1].reg().expect("it is one"), false);
    made.guarded("ISETP.LT.AND", Some(guard), &[predicates[0], truth], &[value, last, truth, truth]);
    for predicate in &predicates {
        let (chosen, one) = (made.word(), made.func.imm(1));
        let reg = predicate.reg().expect("it is one");
        let inverted = Operand::Modified { reg, word: None, modifiers: Modifiers::INVERT };
        made.op("SEL", &[chosen], &[Operand::wired(RegFile::R, 1), one, inverted]);
        made.store("", chosen);
    }
    made.end()
}

#[test]
fn predicates_are_bits_of_one_register() {
    let before = with_predicates(12);
    let own = count(&before.func, "SEL");
    let Allocation { func, spilled, registers, .. } = allocate(before, &places(), limits(253)).expect("there are");
    assert!(count(&func, "R2P") > 0 && count(&func, "P2R") > count(&func, "R2P").min(1));
    assert_eq!((count(&func, "SEL"), spilled), (own, 0), "no predicate has a register of its own");
    assert!(registers <= 4, "{registers}");
    for inst in func.layout_insts() {
        let (Some(name), Some(mask)) = (func.mnemonic(inst), func.srcs(inst).last()) else { continue };
        let predicates = match &name[..] {
            "P2R" => &func.srcs(inst)[..func.srcs(inst).len() - 2],
            "R2P" => func.dsts(inst),
            _ => continue,
        };
        let named = predicates.iter().filter_map(|operand| PhysicalReg::of(operand.reg()?));
        let bits: u64 = named.map(|reg| 1u64 << reg.number).sum();
        assert_eq!(func.imm_bits(*mask), Some(bits), "`{name}` names the predicates of its mask");
    }
    let few = allocate(with_predicates(5), &places(), limits(253)).expect("there are enough");
    assert_eq!(count(&few.func, "P2R"), 0, "five have places");
}

#[test]
fn numbers_banks_and_special_registers_are_made_again() {
    let made_by = |make: &dyn Fn(&mut Sketch, u64) -> Operand| {
        let mut made = Sketch::new();
        let values: Vec<Operand> = (0..20).map(|at| make(&mut made, at)).collect();
        values.iter().for_each(|value| made.store("", *value));
        values.iter().for_each(|value| made.store("", *value));
        allocate(made.end(), &places(), limits(12)).expect("twelve are enough")
    };
    let number = |made: &mut Sketch, at: u64| number(made, at);
    let bank = |made: &mut Sketch, at: u64| {
        let value = made.word();
        let word = Operand::constant(0, 0x210 + 4 * at as u32);
        made.op("LDC", &[value], &[Operand::wired(RegFile::R, 1), word]);
        value
    };
    let special = |made: &mut Sketch, _: u64| {
        let (value, name) = (made.word(), made.func.name("SR_TID.X"));
        made.op("S2R", &[value], &[name]);
        value
    };
    for (make, name) in [(&number as &dyn Fn(&mut Sketch, u64) -> Operand, "MOV"), (&bank, "LDC"), (&special, "S2R")] {
        let Allocation { func, spilled, .. } = made_by(make);
        assert_eq!((spilled, count(&func, "STL"), count(&func, "LDL")), (0, 0, 0), "{name}");
        assert!(count(&func, name) > 20, "{name} is there again");
    }
    let loaded = |made: &mut Sketch, at: u64| made.loaded(at);
    let Allocation { func, spilled, .. } = made_by(&loaded);
    assert!(spilled > 0 && count(&func, "STL") > 0, "what another thread may change is kept");
}

#[test]
fn equal_functions_share_an_allocation_and_no_others() {
    let function = |number: u64, name: &str| {
        let mut made = Sketch::new();
        made.func.name = name.to_owned();
        let (one, two) = (made.loaded(0), self::number(&mut made, number));
        made.store("", one);
        made.store("", two);
        made.end()
    };
    let mut cache = cache::Cache::default();
    let mut made = |selected: Selected| cache.allocate(selected, &places(), limits(253)).expect("there are enough");
    let first = made(function(1, "first"));
    let second = made(function(1, "second"));
    assert_eq!((&first.func.name[..], &second.func.name[..]), ("first", "second"));
    let third = made(function(2, "third"));
    let words = |allocation: &Allocation| {
        let func = &allocation.func;
        func.layout_insts().map(|inst| oriole_ir::inst_to_string(func, inst, None)).collect::<Vec<_>>()
    };
    assert_eq!(words(&first), words(&second));
    assert_ne!(words(&first), words(&third), "it has its own number");
    assert_eq!(cache.hits, 1);
    // The fingerprint of functions that differ in a number alone is one, so it is not enough.
    let hash = |number: u64| cache::fingerprint(&function(number, "f").func);
    assert_eq!(hash(1), hash(2));
    assert_eq!(cache::accumulate(0, 1), 1025 ^ (1025 >> 6));
}
