//! Sums: like terms and constants gathered, common factors taken out, terms in canonical order.
//!
//! All is modulo 2^n, so every regrouping is exact, signed or not. The order is: what is added, what is subtracted,
//! products, the constant; each group by where its values are defined. What is added comes first so that additions
//! stand together, which SASS does two at a time, and each product then has a sum to be added to.

use super::common_factor::{Group, distribute};
use super::plan::{Plan, Src};
use super::tree::{Product, Ranks, Term, Tree, Value, mask, only_reader};
use super::{FOLD, LIKE_TERMS, Settings, chain};
use oriole_ir::ops::{Opcode, Type};
use oriole_ir::{Inst, InstBuilder, Operand, Rewriter};
use oriole_pass::fold::fold;
use rustc_hash::FxHashMap;

/// The plan of a sum.
pub(super) fn plan(func: &Rewriter<'_>, tree: &Tree, ranks: &Ranks, settings: &mut Settings) -> Plan {
    let mut sum = Sum::new(func, tree);
    sum.merge_like_terms();
    sum.fold(settings.large_constants);
    let groups = distribute(&mut sum, ranks, settings);
    // One operation by itself is what rules are for.
    if tree.is_single() && sum.plan.absorbed.is_empty() {
        return Sum::new(func, tree).write(ranks, &[]);
    }
    sum.write(ranks, &groups)
}

/// A sum on its way to a plan.
pub(super) struct Sum<'a> {
    pub(super) func: &'a Rewriter<'a>,
    pub(super) tree: &'a Tree,
    pub(super) terms: Vec<Term>,
    pub(super) plan: Plan,
    constants: Vec<u64>,
}

/// A term as a multiple of a value, and the operation below the tree that multiplies.
struct Multiple {
    of: Operand,
    by: u64,
    below: Option<Inst>,
}

impl<'a> Sum<'a> {
    fn new(func: &'a Rewriter<'a>, tree: &'a Tree) -> Sum<'a> {
        let (terms, constants) = (tree.terms.clone(), tree.constants.clone());
        Sum { func, tree, terms, constants, plan: Plan::default() }
    }

    pub(super) fn ty(&self) -> Type {
        let signed = self.func.inst(self.tree.root).ty().is_signed();
        Type::integer(self.tree.kind.bits, signed).expect("sums have 32 or 64 bits")
    }

    /// Gathers the multiples of each value: `a + 3a` is `4a`, `a - a` nothing.
    fn merge_like_terms(&mut self) {
        if self.terms.len() < 2 {
            return;
        }
        let multiples: Vec<Option<Multiple>> = self.terms.iter().map(|term| self.multiple(*term)).collect();
        let mut places: FxHashMap<Operand, usize> = FxHashMap::default();
        let mut values: Vec<(Operand, u64, u32)> = Vec::new();
        for Multiple { of, by, .. } in multiples.iter().flatten() {
            let place = *places.entry(*of).or_insert(values.len());
            if place == values.len() {
                values.push((*of, 0, 0));
            }
            let (_, sum, count) = &mut values[place];
            (*sum, *count) = (sum.wrapping_add(*by) & mask(self.tree.kind.bits), *count + 1);
        }
        let repeats = |of: &Operand| values[places[of]].2 > 1;
        if !values.iter().any(|(of, ..)| repeats(of)) {
            return;
        }
        self.plan.rule = Some(LIKE_TERMS);
        let mut terms = Vec::with_capacity(self.terms.len());
        for (term, multiple) in self.terms.iter().zip(&multiples) {
            match multiple.as_ref().filter(|multiple| repeats(&multiple.of)) {
                Some(multiple) => self.plan.absorbed.extend(multiple.below),
                None => terms.push(*term),
            }
        }
        let merged = values.iter().filter(|(of, ..)| repeats(of));
        terms.extend(merged.filter_map(|(of, by, _)| self.scaled(*of, *by)));
        self.terms = terms;
    }

    /// A term as a multiple: of what a shift or product that nothing else reads multiplies by a constant, or of itself.
    fn multiple(&self, term: Term) -> Option<Multiple> {
        let sign = |by: u64| if term.negative { by.wrapping_neg() } else { by } & mask(self.tree.kind.bits);
        let operand = match term.value {
            Value::Product(Product { opcode: Opcode::IMulLo, factors: [Src::Operand(of), Src::Imm(by)], .. }) => {
                return Some(Multiple { of, by: sign(by), below: None });
            }
            Value::Product(_) => return None,
            Value::Operand(operand) => operand,
        };
        let itself = Multiple { of: operand, by: sign(1), below: None };
        let Some(inst) = only_reader(self.func, self.tree.block, operand) else { return Some(itself) };
        let data = self.func.inst(inst);
        let [Operand::Reg(reg), Operand::Imm(constant)] = *self.func.srcs(inst) else { return Some(itself) };
        let (constant, bits) = (self.func.bits(constant), data.ty().bits());
        let by = match data.opcode {
            Opcode::Shl if constant < u64::from(bits) => 1 << constant,
            Opcode::IMulLo => constant,
            _ => return Some(itself),
        };
        let same = bits == self.tree.kind.bits;
        Some(if same { Multiple { of: reg.into(), by: sign(by), below: Some(inst) } } else { itself })
    }

    /// The term that adds so many times a value.
    fn scaled(&self, of: Operand, by: u64) -> Option<Term> {
        let minus_one = mask(self.tree.kind.bits);
        let product = Product { opcode: Opcode::IMulLo, ty: self.ty(), factors: [Src::Operand(of), Src::Imm(by)] };
        match by {
            0 => None,
            1 => Some(Term { value: Value::Operand(of), negative: false }),
            _ if by == minus_one => Some(Term { value: Value::Operand(of), negative: true }),
            _ => Some(Term { value: Value::Product(product), negative: false }),
        }
    }

    /// Adds the constants up. Unless `large` says otherwise, a 64-bit sum of constants that fit in 32 bits each must do
    /// so too.
    fn fold(&mut self, large: bool) {
        let fits = |bits: &u64| i32::try_from(*bits as i64).is_ok();
        let mut constants = self.constants.clone();
        let folded = fold_constants(Opcode::IAdd, self.ty(), &mut constants);
        let grows = constants.iter().any(|bits| !fits(bits)) && self.constants.iter().all(fits);
        if self.tree.kind.bits == 64 && grows && !large {
            return;
        }
        if folded {
            self.plan.rule = Some(FOLD);
        }
        constants.retain(|bits| *bits != 0);
        self.constants = constants;
    }

    /// Writes the operations: terms are added to a first value one after the other.
    fn write(mut self, ranks: &Ranks, groups: &[Group]) -> Plan {
        self.terms.sort_by_cached_key(|term| order(ranks, *term));
        let products = self.terms.iter().filter_map(|term| match term.value {
            Value::Product(product) => Some(product.sorted(ranks)),
            Value::Operand(_) => None,
        });
        let products: Vec<Product> = products.collect();
        let operands = |negative: bool| {
            let of_sign = self.terms.iter().filter(move |term| term.negative == negative);
            let sources = of_sign.filter_map(|term| match term.value {
                Value::Operand(operand) => Some(Src::Operand(operand)),
                Value::Product(_) => None,
            });
            sources.collect::<Vec<Src>>()
        };
        let (ty, copy) = (self.ty(), chain::copy_type(self.ty()));
        let (added, subtracted) = (operands(false), operands(true));
        let mut plan = self.plan;
        let factored = groups.iter().map(|group| group.write(&mut plan, ty)).collect::<Vec<Product>>();
        let mut writer = Writer { plan: &mut plan, ty, value: None };
        added.into_iter().for_each(|src| writer.add(src));
        let mut constants = self.constants.into_iter().map(Src::Imm);
        // Without a value to begin with the constant is one: no operation is needed for it then.
        if writer.value.is_none() {
            constants.next().into_iter().for_each(|src| writer.add(src));
        }
        let mut products = products.into_iter().chain(factored);
        if writer.value.is_none() {
            products.next().into_iter().for_each(|product| writer.multiply(product));
        }
        subtracted.into_iter().for_each(|src| writer.subtract(src));
        products.for_each(|product| writer.multiply(product));
        constants.for_each(|src| writer.add(src));
        let value = writer.value.unwrap_or(Src::Imm(0));
        plan.end(value, copy);
        plan
    }
}

/// Adds terms to a value.
pub(super) struct Writer<'a> {
    pub(super) plan: &'a mut Plan,
    pub(super) ty: Type,
    pub(super) value: Option<Src>,
}

impl Writer<'_> {
    pub(super) fn add(&mut self, src: Src) {
        self.value = Some(match self.value {
            Some(value) => self.plan.push(Opcode::IAdd, self.ty, [value, src]),
            None => src,
        });
    }

    pub(super) fn subtract(&mut self, src: Src) {
        let negation = || Type::integer(self.ty.bits(), true).expect("sums have 32 or 64 bits");
        self.value = Some(match self.value {
            Some(value) => self.plan.push(Opcode::ISub, self.ty, [value, src]),
            None => self.plan.push(Opcode::INeg, negation(), [src]),
        });
    }

    fn multiply(&mut self, Product { opcode, ty, factors: [a, b] }: Product) {
        let added = if opcode == Opcode::IMulWide { Opcode::IMadWide } else { Opcode::IMadLo };
        self.value = Some(match self.value {
            Some(value) => self.plan.push(added, ty, [a, b, value]),
            None => self.plan.push(opcode, ty, [a, b]),
        });
    }
}

impl Product {
    /// With its factors in canonical order, constants last.
    fn sorted(self, ranks: &Ranks) -> Product {
        let mut factors = self.factors;
        factors.sort_by_key(|factor| rank(ranks, *factor));
        Product { factors, ..self }
    }
}

/// Where a term is among those of its group: by the last definition among its values.
fn order(ranks: &Ranks, term: Term) -> (u64, u64) {
    match term.value {
        Value::Operand(operand) => (rank(ranks, Src::Operand(operand)), 0),
        Value::Product(Product { factors: [a, b], .. }) => {
            let (a, b) = (rank(ranks, a), rank(ranks, b));
            let latest = [a, b].into_iter().filter(|rank| *rank != u64::MAX).max().unwrap_or(0);
            (latest, a.min(b))
        }
    }
}

/// The value number by which leaves are sorted: constant banks by their offset, then values by where they are defined,
/// then immediates.
pub(super) fn rank(ranks: &Ranks, src: Src) -> u64 {
    match src {
        Src::Operand(Operand::Const { bank, offset, .. }) => u64::from(bank) << 32 | u64::from(offset),
        Src::Operand(Operand::Word(reg, word)) => 1 << 40 | u64::from(ranks[reg]) << 3 | (1 + u64::from(word)),
        Src::Operand(operand) => operand.reg().map_or(0, |reg| 1 << 40 | u64::from(ranks[reg]) << 3),
        Src::Imm(_) | Src::Result(_) => u64::MAX,
    }
}

/// Makes one constant of several; whether there were several.
pub(super) fn fold_constants(opcode: Opcode, ty: Type, constants: &mut Vec<u64>) -> bool {
    let fields = InstBuilder::new(opcode).field(ty).head().fields;
    let several = constants.len() > 1;
    let folded = |a: u64, b: u64| Some(fold(opcode, &fields, &[a, b])?.results[0]);
    let mut all = constants.iter().copied();
    let first = all.next();
    if let Some(one) = first.and_then(|first| all.try_fold(first, folded)).filter(|_| several) {
        *constants = vec![one];
    }
    several && constants.len() == 1
}
