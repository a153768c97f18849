//! Whether rules over instructions of the machine are right.
//!
//! A rule is spelled in words: each of its values is a register of its own, each constant a number that its guards
//! allow, and the words of its pattern are read as terms, one after the other ([`oriole_proof::machine`]). The word of
//! its result, read in the place of the root, must leave the same in what the root writes, for every content of all
//! registers. The terms are written apart from the machine interpreter and from the matcher. Nothing is undefined at
//! this level, so a rule is equal bit for bit or wrong.
//!
//! Constants are tried, not quantified: those at the edges, and some between them.

use std::collections::{BTreeMap, BTreeSet};

use oriole_ir::{Function, FunctionKind, Modifiers, Operand, PhysicalReg, RegFile};
use oriole_proof::machine::{Place, Results, State, meaning};
use oriole_proof::{Answer, Prover, Side, Term, Terms, equivalence, sampled};
use oriole_rules::language::ast::Relation;
use oriole_rules::machine::{Condition, Const, Inst, Instance, Kind, Rule};
use oriole_sass::{Table, ori};

/// Constants at the edges of what instructions tell apart.
const EDGES: [u64; 26] = [
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    15,
    16,
    24,
    31,
    32,
    33,
    63,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
];
/// How many combinations of constants are tried for one instance.
const MOST_CONSTANTS: usize = 160;
/// How many choices of files are tried for one instruction.
const MOST_FILES: usize = 3 * 3 * 3 * 3 * 3 * 3;
/// How many contents of the registers are tried where no solver is asked.
const SAMPLES: u64 = 1 << 12;

/// The verdict on a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Equal for so many spellings; of the second number it was proved for all contents, of the others it was tried.
    Right {
        /// How many spellings there are.
        spellings: usize,
        /// Those that are proved.
        proved: usize,
    },
    /// A spelling on which it is not.
    Wrong(String),
    /// An instruction has no meaning here, for this reason.
    NotModelled(String),
    /// Its instructions have no words on any SM that was asked.
    NoWords,
}

/// Holds a rule against the meaning of its words on an SM. A prover is asked where trying does not refute it.
pub fn judge(rule: &Rule, table: &'static Table, prover: Option<&Prover>) -> Verdict {
    let (mut spellings, mut proved, mut unmodelled) = (0, 0, None);
    for instance in &rule.instances {
        for spelling in spelled(instance, table) {
            match spelling.compare(prover) {
                Ok(true) => proved += 1,
                Ok(false) => {}
                Err(Fault::Differs(what)) => return Verdict::Wrong(what),
                Err(Fault::NotModelled(what)) => {
                    unmodelled = Some(what);
                    continue;
                }
            }
            spellings += 1;
        }
    }
    match (spellings, unmodelled) {
        (0, Some(what)) => Verdict::NotModelled(what),
        (0, None) => Verdict::NoWords,
        _ => Verdict::Right { spellings, proved },
    }
}

/// Why a spelling is not shown to be right.
enum Fault {
    Differs(String),
    NotModelled(String),
}

/// A rule in words.
struct Spelling {
    table: &'static Table,
    /// The instructions of the pattern; the root is the last.
    pattern: Vec<u128>,
    result: u128,
    /// Registers that hold constants: where the SM has no word with an immediate.
    constants: Vec<(Place, u64)>,
    /// Registers whose upper bits are zero, with the number of the others.
    narrow: Vec<(Place, u64)>,
    /// The places that the root writes.
    written: Vec<Place>,
}

/// All spellings of an instance on an SM.
fn spelled(instance: &Instance, table: &'static Table) -> Vec<Spelling> {
    let mut found = Vec::new();
    for marks in [Modifiers::NONE, Modifiers::NEGATE] {
        let has_any = |inst: &Inst| inst.operands.iter().any(|operand| operand.any_marks);
        if marks != Modifiers::NONE && !instance.pattern.iter().any(has_any) {
            continue;
        }
        let files = places(instance, table, marks);
        for constants in constants(instance) {
            let speller = files.as_ref().map(|registers| Speller { instance, table, registers, constants, marks });
            found.extend(speller.and_then(|speller| speller.spelling()));
        }
    }
    found
}

/// Numbers for the constants that the guards allow.
fn constants(instance: &Instance) -> Vec<Vec<Option<u64>>> {
    let count = instance.constants.len();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        state >> 33
    };
    let all = EDGES.len().saturating_pow(count as u32);
    let mut allowed = Vec::new();
    for number in 0..all.min(1 << 14) {
        let mut number = if all > 1 << 14 { next() as usize } else { number };
        let mut one = Vec::with_capacity(count);
        for _ in 0..count {
            one.push(Some(EDGES[number % EDGES.len()]));
            number /= EDGES.len();
        }
        if instance.conditions.iter().all(|condition| holds(condition, &one)) {
            allowed.push(one);
        }
    }
    let step = allowed.len().div_ceil(MOST_CONSTANTS).max(1);
    allowed.into_iter().step_by(step).collect()
}

/// Whether a condition on constants holds; written apart from the matcher.
fn holds(condition: &Condition, constants: &[Option<u64>]) -> bool {
    let value = |constant: &Const| constant.value(constants);
    match condition {
        Condition::Compare(relation, signed, left, right) => {
            let (Some(left), Some(right)) = (value(left), value(right)) else { return false };
            let order = match signed {
                true => (left as u32 as i32).cmp(&(right as u32 as i32)),
                false => left.cmp(&right),
            };
            match relation {
                Relation::Eq => order.is_eq(),
                Relation::Ne => order.is_ne(),
                Relation::Lt => order.is_lt(),
                Relation::Le => order.is_le(),
                Relation::Gt => order.is_gt(),
                Relation::Ge => order.is_ge(),
            }
        }
        Condition::IsPowerOfTwo(of) => value(of).is_some_and(|bits| bits.count_ones() == 1),
        Condition::IsMask(of) => value(of).is_some_and(|bits| bits != 0 && (bits + 1).count_ones() == 1),
        Condition::Uniform(_) | Condition::Narrow(..) => true,
        Condition::Not(inside) => !holds(inside, constants),
        Condition::Any(all) => all.iter().any(|condition| holds(condition, constants)),
    }
}

/// A register for each value. The files of those about which the rule says nothing are the first with which the
/// instruction that names them first has a word.
fn places(instance: &Instance, table: &'static Table, marks: Modifiers) -> Option<Vec<PhysicalReg>> {
    const FILES: [RegFile; 3] = [RegFile::R, RegFile::P, RegFile::UR];
    let mut files = annotations(instance);
    let constants = constants(instance);
    for inst in instance.pattern.iter().chain([&instance.result]) {
        let open: Vec<usize> = named(inst).filter(|value| files[*value].is_none()).collect();
        let choices = FILES.len().checked_pow(open.len().try_into().ok()?).filter(|choices| *choices <= MOST_FILES)?;
        let fits = (0..choices).find_map(|mut choice| {
            let mut tried = files.clone();
            for value in &open {
                tried[*value] = Some((FILES[choice % FILES.len()], 1));
                choice /= FILES.len();
            }
            let registers = registers(&tried)?;
            let has_word = constants.iter().any(|constants| {
                let constants = constants.clone();
                let speller = Speller { instance, table, registers: &registers, constants, marks };
                speller.word(inst, &mut Vec::new()).is_some()
            });
            has_word.then_some(tried)
        });
        files = fits?;
    }
    registers(&files)
}

/// The values that an instruction names, each once.
fn named(inst: &Inst) -> impl Iterator<Item = usize> {
    let operands = inst.results.iter().chain(&inst.operands);
    let values: BTreeSet<usize> = operands
        .filter_map(|operand| match operand.kind {
            Kind::Value(value, _) => Some(value),
            _ => None,
        })
        .collect();
    values.into_iter()
}

/// A register of its own for each value, whose files and widths these are; a general one where none is known.
fn registers(files: &[Option<(RegFile, u8)>]) -> Option<Vec<PhysicalReg>> {
    let mut next: BTreeMap<&str, u8> = BTreeMap::from([("general", 8), ("predicate", 0), ("uniform", 4)]);
    let register = |file: &Option<(RegFile, u8)>| {
        let (file, words) = file.unwrap_or((RegFile::R, 1));
        let (name, step) = match file {
            RegFile::P | RegFile::UP => ("predicate", 1),
            RegFile::UR => ("uniform", 4),
            _ => ("general", 4),
        };
        let number = next.get_mut(name)?;
        let reg = PhysicalReg { file, number: *number, words };
        *number = number.checked_add(step)?;
        Some(reg)
    };
    files.iter().map(register).collect()
}

/// The files and widths that a rule states of its values.
fn annotations(instance: &Instance) -> Vec<Option<(RegFile, u8)>> {
    let mut said = vec![None; instance.values.len()];
    for inst in &instance.pattern {
        for operand in inst.results.iter().chain(&inst.operands) {
            if let Kind::Value(value, Some(file)) = operand.kind {
                said[value] = Some(file);
            }
        }
    }
    said
}

struct Speller<'a> {
    instance: &'a Instance,
    table: &'static Table,
    registers: &'a [PhysicalReg],
    constants: Vec<Option<u64>>,
    marks: Modifiers,
}

impl Speller<'_> {
    fn spelling(&self) -> Option<Spelling> {
        let mut constants = Vec::new();
        let pattern = self.instance.pattern.iter().map(|inst| self.word(inst, &mut constants));
        let pattern = pattern.collect::<Option<_>>()?;
        let result = self.word(&self.instance.result, &mut Vec::new())?;
        let root = self.instance.root();
        let written = root.results.iter().filter_map(|result| match result.kind {
            Kind::Value(value, _) => Some(units(self.registers[value])),
            _ => None,
        });
        let narrow = self.instance.conditions.iter().filter_map(|condition| match condition {
            Condition::Narrow(value, bits) => {
                Some((*units(self.registers[*value]).first()?, bits.value(&self.constants)?))
            }
            _ => None,
        });
        let narrow = narrow.collect();
        Some(Spelling { table: self.table, pattern, result, constants, narrow, written: written.flatten().collect() })
    }

    /// The word of an instruction, with immediates where the SM has such a word, else with registers that hold the
    /// constants; and with a register that nothing else names where anything may be.
    fn word(&self, inst: &Inst, constants: &mut Vec<(Place, u64)>) -> Option<u128> {
        const ANY: [PhysicalReg; 2] = [
            PhysicalReg { file: RegFile::R, number: 100, words: 1 },
            PhysicalReg { file: RegFile::P, number: 6, words: 1 },
        ];
        let mnemonic = oriole_ir::machine::table()?.mnemonic(inst.id)?;
        [false, true].into_iter().flat_map(|in_registers| ANY.map(|any| (in_registers, any))).find_map(|(held, any)| {
            let mut func = Function::new("rule", FunctionKind::Entry);
            func.use_physical_registers();
            let mut own = Vec::new();
            let mut operand = |one: &oriole_rules::machine::Operand, is_source: bool| match &one.kind {
                Kind::Constant(constant) if held && is_source => {
                    let number = 200 + (constants.len() + own.len()) as u8;
                    own.push((Place::General(number), constant.value(&self.constants)?));
                    PhysicalReg { file: RegFile::R, number, words: 1 }.operand()?.with_modifiers(one.marks)
                }
                _ => self.operand(&mut func, one, any),
            };
            let dsts = inst.results.iter().map(|result| operand(result, false)).collect::<Option<Vec<_>>>()?;
            let srcs = inst.operands.iter().map(|source| operand(source, true)).collect::<Option<Vec<_>>>()?;
            let word = ori::encode(self.table, &func, &mnemonic, None, &dsts, &srcs)?;
            constants.extend(own);
            Some(word)
        })
    }

    fn operand(
        &self,
        func: &mut Function,
        operand: &oriole_rules::machine::Operand,
        any: PhysicalReg,
    ) -> Option<Operand> {
        let value = |constant: &Const| constant.value(&self.constants);
        let plain = match &operand.kind {
            Kind::Any => any.operand()?,
            Kind::Value(value, _) => self.registers[*value].operand()?,
            Kind::Wired(file, words) => Operand::wired(*file, *words),
            Kind::Register(reg) => reg.operand()?,
            Kind::Constant(constant) => func.imm(value(constant)?),
            Kind::Bank(bank, offset) => {
                Operand::constant(u8::try_from(value(bank)?).ok()?, u32::try_from(value(offset)?).ok()?)
            }
        };
        // Of a predicate, the mark in the place of a negation is an inversion.
        let is_predicate = match plain {
            Operand::Wired { file, .. } => matches!(file, RegFile::P | RegFile::UP),
            _ => func.operand_info(plain).is_some_and(|info| matches!(info.file, RegFile::P | RegFile::UP)),
        };
        let any = if is_predicate && self.marks == Modifiers::NEGATE { Modifiers::INVERT } else { self.marks };
        plain.with_modifiers(if operand.any_marks { any } else { operand.marks })
    }
}

/// The places of a register.
fn units(reg: PhysicalReg) -> Vec<Place> {
    let place = |number: u8| match reg.file {
        RegFile::R => Place::General(number),
        RegFile::UR => Place::Uniform(number),
        RegFile::P => Place::Predicate(number),
        _ => Place::UniformPredicate(number),
    };
    (0..reg.words).map(|word| place(reg.number + word)).collect()
}

impl Spelling {
    /// Whether the spelling is proved; trying alone does not refute it otherwise.
    fn compare(&self, prover: Option<&Prover>) -> Result<bool, Fault> {
        let (mut terms, mut state) = (Terms::new(), State::new());
        let (root, inner) = self.pattern.split_last().expect("a pattern has a root");
        let guard = terms.bit(true);
        for (place, value) in &self.constants {
            let values = vec![(*place, terms.constant((*value).into(), place.width()))];
            state.write(&mut terms, &Results { guard, values });
        }
        for (place, bits) in &self.narrow {
            let all = state.read(&mut terms, *place);
            let mask = terms.constant((1u128 << (*bits).min(32)) - 1, place.width());
            let values = vec![(*place, terms.and(all, mask))];
            state.write(&mut terms, &Results { guard, values });
        }
        for word in inner {
            self.step(&mut terms, &mut state, *word)?;
        }
        // Both sides read the same variables: what the root reads first is there before the two part.
        let mut probe = state.clone();
        self.step(&mut terms, &mut probe, *root)?;
        self.step(&mut terms, &mut probe, self.result)?;
        for (place, _) in probe.inputs().to_vec() {
            state.read(&mut terms, place);
        }
        let sides = [*root, self.result].map(|word| {
            let mut state = state.clone();
            self.step(&mut terms, &mut state, word)?;
            let values: Vec<Term> = self.written.iter().map(|place| state.read(&mut terms, *place)).collect();
            Ok(Side { values, defined: None })
        });
        let [before, after] = sides;
        let query = equivalence(&mut terms, &before?, &after?, &[]);
        if terms.value(query.goal) == Some(0) {
            return Ok(true);
        }
        let found = sampled(&terms, &query, &[], SAMPLES, 1).counterexample;
        let found = match (found, prover) {
            (Some(inputs), _) => Some(inputs),
            (None, Some(prover)) => match prover.ask(&terms, &query).map(|answered| answered.answer) {
                Ok(Answer::Proved) => return Ok(true),
                Ok(Answer::Refuted(inputs)) => Some(inputs),
                _ => None,
            },
            (None, None) => None,
        };
        match found {
            None => Ok(false),
            Some(inputs) => Err(Fault::Differs(format!("{}, with {inputs:x?}", self.text()))),
        }
    }

    fn step(&self, terms: &mut Terms, state: &mut State, word: u128) -> Result<(), Fault> {
        let not_modelled = |why: String| Fault::NotModelled(why);
        let inst = self.table.decode(word).map_err(|error| not_modelled(error.to_string()))?;
        let results = meaning(terms, &inst, state);
        let results =
            results.ok_or_else(|| not_modelled(format!("`{}` has no meaning as terms", inst.encoding.name)))?;
        state.write(terms, &results);
        Ok(())
    }

    fn text(&self) -> String {
        let text = |word: u128| {
            let mut text = String::new();
            match self.table.decode(word) {
                Ok(inst) => oriole_sass::text::print(&mut text, &inst, 0),
                Err(error) => text = error.to_string(),
            }
            text
        };
        let pattern: Vec<String> = self.pattern.iter().map(|word| text(*word)).collect();
        format!("{} => {}", pattern.join("; "), text(self.result))
    }
}

#[cfg(test)]
mod tests {
    use oriole_rules::machine::resolve;
    use oriole_rules::source::machine_sources;

    use super::*;

    fn table(rule: &Rule) -> &'static Table {
        Table::of(rule.only.first().copied().unwrap_or(90)).expect("the SM's words are known")
    }

    fn rules(text: &str) -> Vec<Rule> {
        ori::register();
        let (rules, faults) = resolve(text);
        assert!(faults.is_empty(), "{faults:?}");
        rules
    }

    /// Loads have no meaning as terms: the harness executes them.
    const NOT_MODELLED: [&str; 1] = ["constant-index"];

    #[test]
    fn the_rules_of_the_tree_are_right() {
        for source in machine_sources() {
            for rule in rules(&source.text) {
                match judge(&rule, table(&rule), None) {
                    Verdict::Right { spellings, proved } => {
                        println!("{}: {proved} of {spellings} spellings proved", rule.name);
                        assert!(spellings > 0 && !NOT_MODELLED.contains(&rule.name), "{}", rule.name);
                    }
                    Verdict::NotModelled(why) => assert!(NOT_MODELLED.contains(&rule.name), "{}: {why}", rule.name),
                    other => panic!("{}: {other:?}", rule.name),
                }
            }
        }
    }

    /// Guards without which a rule means the same. A shift beyond the word yields zero, and the sign where it is
    /// arithmetic, in words as in constants; `LEA` has no word with such an amount, and with zero it is a sum.
    /// Where a constant is zero, another rule has the instruction.
    const NOT_NEEDED: [(&str, usize); 25] = [
        ("shift-left-of-constant", 0),
        ("shift-right-of-constant", 0),
        ("sign-of-constant", 0),
        ("constant-addend", 0),
        ("constant-factor", 0),
        ("shift-add", 0),
        ("shift-add", 1),
        ("shift-add-second", 0),
        ("shift-add-second", 1),
        ("shift-left-twice", 2),
        ("shift-right-twice", 2),
        ("shift-add-carry", 0),
        ("shift-add-carry", 1),
        ("shift-add-carry-second", 0),
        ("shift-add-carry-second", 1),
        ("shift-add-high", 0),
        ("shift-add-high", 1),
        ("shift-add-high-second", 0),
        ("shift-add-high-second", 1),
        ("shift-add-high-signed", 0),
        ("shift-add-high-signed", 1),
        ("product-of-shift", 0),
        ("product-by-power", 1),
        ("narrow-mask", 1),
        ("shift-of-unsigned", 1),
    ];

    #[test]
    fn rules_of_the_tree_without_a_guard_are_refuted() {
        let (mut taken, mut right) = (0, Vec::new());
        for rule in machine_sources().iter().flat_map(|source| rules(&source.text)) {
            if NOT_MODELLED.contains(&rule.name) {
                continue;
            }
            let guards = rule.instances.iter().map(|instance| instance.conditions.len()).max().unwrap_or(0);
            for guard in 0..guards {
                let mut without = rule.clone();
                let guarded = without.instances.iter_mut().filter(|instance| guard < instance.conditions.len());
                guarded.for_each(|instance| _ = instance.conditions.remove(guard));
                let is_wrong = matches!(judge(&without, table(&rule), None), Verdict::Wrong(_));
                right.extend((!is_wrong).then_some((rule.name, guard)));
                taken += 1;
            }
        }
        assert_eq!(right, NOT_NEEDED, "what means the same without a guard");
        assert!(taken > NOT_NEEDED.len(), "{taken} guards were taken away");
    }

    /// Faults of ptxas's own peephole that were published: a negation that a minimum of three loses, one register for
    /// two values, an addend of 64 bits of which 32 are read, a distance that is read in 16 bits, a truncation that is
    /// dropped.
    const PUBLISHED: &str = "
machine rule lost-negation only sm_100:
    t = FMNMX x, -y, PT; d = FMNMX t, z, PT => d = FMNMX3 x, y, z, PT
machine rule one-register: d = SEL x, y, p => d = SEL x, x, p
machine rule lower-addend: d, PT = IMAD.HI.U32 x, y, z:Rx2, ~PT => d, PT = IMAD.HI.U32 x, y, RZx2, ~PT
machine rule short-distance:
    t, PT, PT = IADD3 x, C, RZ, ~PT, ~PT; d, PT, PT = IADD3 t, D, RZ, ~PT, ~PT
    => d, PT, PT = IADD3 x, C + D & 0xffff, RZ, ~PT, ~PT
machine rule dropped-truncation: d = PRMT x, 0x7710, RZ => d = MOV x, 0xf
";

    #[test]
    fn wrong_rules_are_refuted() {
        let wrong = "
machine rule other-sign: d, PT, PT = IADD3 RZ, -x, RZ, ~PT, ~PT => d = MOV x, 0xf
machine rule lost-addend:
    t, PT, PT = IADD3 x, y, z, ~PT, ~PT; d, PT, PT = IADD3 t, u, RZ, ~PT, ~PT => d, PT, PT = IADD3 x, y, u, ~PT, ~PT
machine rule no-guard: t = SHF.L.U32 x, C, RZ; d = SHF.L.U32 t, D, RZ => d = SHF.L.U32 x, C + D, RZ
machine rule wrong-byte: t = PRMT x, 0x7732, RZ; d = PRMT t, 0x7770, RZ => d = PRMT x, 0x7770, RZ
machine rule wrong-polarity:
    t = SEL RZ, 1, p; q, PT = ISETP.NE.AND t, RZ, PT, PT => q, PT = PLOP3.LUT p, PT, PT, 0x80, 0
machine rule zero-is-no-truth:
    t = SEL RZ, C, ~p; q, PT = ISETP.NE.AND t, RZ, PT, PT => q, PT = PLOP3.LUT p, PT, PT, 0x80, 0
machine rule wrong-scale:
    t = SHF.L.U32 x, C, RZ; d, PT, PT = IADD3 t, y:R, RZ, ~PT, ~PT => d, PT = LEA y, x, C, ~PT if C < 32, C > 0
machine rule dropped-carry:
    t, c, PT = IADD3 x, y, RZ, ~PT, ~PT; d, PT, PT = IADD3.X z, RZ, RZ, c, ~PT => d, PT, PT = IADD3 z, RZ, RZ, ~PT, ~PT
machine rule wide-is-narrow: d = PRMT x, 0x7770, RZ => d = MOV x, 0xf if narrow(x, 9)
machine rule signed-is-narrow: d = SHF.R.S32.HI _, C, x => d = SHF.R.U32.HI RZ, C, x if narrow(x, 32)
";
        for rule in rules(wrong).into_iter().chain(rules(PUBLISHED)) {
            let verdict = judge(&rule, table(&rule), None);
            assert!(matches!(verdict, Verdict::Wrong(_)), "{}: {verdict:?}", rule.name);
        }
    }
}
