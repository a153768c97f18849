//! Products of matrices by four warps together, which run beside them.
//!
//! The machine names the sum of a product by its first register, so the words of a sum lie side by side, in registers
//! that the allocator places as one [`Bundle`]. Before selection [`gather`] finds the registers of PTX that are the
//! same word of the same sum in several products, and gives them one word of a bundle: then no copy comes between
//! products that add to the same sum. A product whose sum is not one works on a copy.
//!
//! **Invariant:** from a product to the wait that ends its group, nothing but products names its sum, and all words of
//! the sum are live. Where this does not hold, or a factor is in registers, the product is waited for at once.
//!
//! Registers that were written since the last fence of the warpgroup are fenced again before a product reads them, as
//! ptxas does.

use cranelift_entity::SecondaryMap;
use oriole_ir::ops::{
    BitProduct, FieldValue, Flags, GroupInner, GroupShape, LeftElement, NegateLeft, NegateRight, Opcode, RightElement,
    SatFinite, TransposeLeft, TransposeRight, Type,
};
use oriole_ir::{Block, Function, Inst, InstData, Modifiers, Operand, Reg, RegFile, RegInfo};
use oriole_pass::analysis::Cfg;

use super::emit::{marked, never};
use super::{Refusal, Select, Value};
use crate::allocate::live::Words;

/// Registers with places side by side, in this order.
pub type Bundle = Vec<Reg>;

/// The most bundles of a function that may be under way; more are waited for at once.
const MOST: usize = 64;

/// A function whose sums lie side by side.
pub(super) struct Gathered {
    pub func: Function,
    pub sums: Vec<Sum>,
}

/// A sum of products.
pub(super) struct Sum {
    pub bundle: Bundle,
    /// Its words, in order.
    words: Vec<Operand>,
    /// Whether its products are waited for at once.
    is_serial: bool,
}

/// The state of a block while products are selected.
#[derive(Default)]
pub(super) struct Progress {
    /// The block where registers are fenced, and none that products read was written since.
    fenced: Option<Block>,
    /// The last product of the group that is open.
    open: Option<(Block, Inst)>,
}

/// Whether an instruction of the machine is a product that runs beside the warp: it reads a factor in registers while
/// it writes the sum.
pub(crate) fn is_group_product(func: &Function, inst: Inst) -> bool {
    func.inst(inst).machine_row().is_some_and(|row| row.name.ends_with("GMMA"))
}

fn is_product(data: &InstData) -> bool {
    data.is(Flags::WARPGROUP) && data.is(Flags::ASYNC)
}

/// How many words each register of a bundle of so many has: what one operand can name.
fn each(count: usize) -> usize {
    match count {
        1 | 2 | 4 => count,
        8.. if count.is_multiple_of(4) => 4,
        _ => 1,
    }
}

/// New registers for so many words, and the words.
fn bundle(func: &mut Function, count: usize) -> (Bundle, Vec<Operand>) {
    let each = each(count);
    let bundle: Bundle = (0..count / each).map(|_| func.new_reg(RegInfo::words(each as u8))).collect();
    let word = |at: usize| match each {
        1 => Operand::Reg(bundle[at]),
        _ => Operand::Word(bundle[at / each], (at % each) as u8),
    };
    let words = (0..count).map(word).collect();
    (bundle, words)
}

/// Gives the sums of a function's products registers side by side; `None` where it has no products.
pub(super) fn gather(func: &Function) -> Option<Gathered> {
    let products: Vec<Inst> = func.layout_insts().filter(|inst| is_product(func.inst(*inst))).collect();
    if products.is_empty() {
        return None;
    }
    let mut made = func.clone();
    let mut classes = Classes::of(func, &products);
    let mut is_bad = classes.conflicts(func);
    let mut with_copies = Classes::of(func, &products);
    with_copies.take_copies(func);
    let is_bad_with = with_copies.conflicts(func);
    if func.regs().keys().all(|reg| is_bad[reg] || !is_bad_with[reg]) {
        (classes, is_bad) = (with_copies, is_bad_with);
    }
    let mut sums = Vec::new();
    let mut names: SecondaryMap<Reg, Option<Operand>> = SecondaryMap::new();
    for inst in &products {
        let roots: Option<Vec<Reg>> = func.dsts(*inst).iter().map(|dst| classes.of_sum(dst.whole_reg()?)).collect();
        let Some(roots) = roots else { continue };
        let is_free = |root: &Reg| !is_bad[*root] && names[*root].is_none();
        let mut apart = roots.clone();
        apart.sort_unstable();
        apart.dedup();
        if apart.len() != roots.len() || !roots.iter().all(is_free) {
            continue;
        }
        let (bundle, words) = bundle(&mut made, roots.len());
        roots.iter().zip(&words).for_each(|(root, word)| names[*root] = Some(*word));
        sums.push(Sum { bundle, words, is_serial: false });
    }
    let name = |operand: &mut Operand| {
        let root = operand.whole_reg().filter(|reg| classes.is_member[*reg]).map(|reg| classes.find(reg));
        if let Some(word) = root.and_then(|root| names[root]) {
            *operand = marked(word, operand.modifiers());
        }
    };
    for inst in func.layout_insts() {
        made.dsts_mut(inst).iter_mut().for_each(name);
        made.srcs_mut(inst).iter_mut().for_each(name);
    }
    find_serial(&made, &mut sums);
    Some(Gathered { func: made, sums })
}

/// Registers that are the same word of a sum.
struct Classes {
    parent: SecondaryMap<Reg, Option<Reg>>,
    is_member: SecondaryMap<Reg, bool>,
    /// By register of a sum: which word it is.
    place: SecondaryMap<Reg, usize>,
}

impl Classes {
    /// The word that a product adds to is of the result's class.
    fn of(func: &Function, products: &[Inst]) -> Classes {
        let mut classes =
            Classes { parent: SecondaryMap::new(), is_member: SecondaryMap::new(), place: SecondaryMap::new() };
        let is_word = |reg: &Reg| func.regs()[*reg] == RegInfo::words(1);
        for inst in products {
            for (at, (dst, src)) in func.dsts(*inst).iter().zip(func.srcs(*inst)).enumerate() {
                let Some(dst) = dst.whole_reg().filter(is_word) else { continue };
                (classes.is_member[dst], classes.place[dst]) = (true, at);
                if let Some(src) = src.whole_reg().filter(is_word) {
                    (classes.is_member[src], classes.place[src]) = (true, at);
                    classes.join(dst, src);
                }
            }
        }
        classes
    }

    fn find(&self, mut reg: Reg) -> Reg {
        while let Some(parent) = self.parent[reg] {
            reg = parent;
        }
        reg
    }

    fn join(&mut self, first: Reg, second: Reg) {
        let (first, second) = (self.find(first), self.find(second));
        if first != second {
            self.parent[first] = Some(second);
        }
    }

    /// The class of a register that a product writes or adds to.
    fn of_sum(&self, reg: Reg) -> Option<Reg> {
        self.is_member[reg].then(|| self.find(reg))
    }

    /// A copy of a word between sums makes one of both.
    fn take_copies(&mut self, func: &Function) {
        for inst in func.layout_insts().filter(|inst| func.inst(*inst).opcode == Opcode::Mov) {
            let [dst, src] = [func.dsts(inst)[0], func.srcs(inst)[0]].map(|operand| operand.whole_reg());
            if let (Some(dst), Some(src)) = (dst, src)
                && self.is_member[dst]
                && self.is_member[src]
                && self.place[dst] == self.place[src]
            {
                self.join(dst, src);
            }
        }
    }

    /// By class: whether one of its registers is written while another holds a value that is needed.
    fn conflicts(&self, func: &Function) -> SecondaryMap<Reg, bool> {
        let (cfg, mut is_bad) = (Cfg::new(func), SecondaryMap::new());
        let words = Words::of(func, &cfg);
        words.backward(func, &cfg, |inst, live| {
            let copied = if func.inst(inst).opcode == Opcode::Mov { func.srcs(inst)[0].whole_reg() } else { None };
            let written = func.dsts(inst).iter().filter_map(|dst| dst.whole_reg());
            let mut written: Vec<(Reg, Reg)> = written.filter_map(|reg| Some((self.of_sum(reg)?, reg))).collect();
            if written.is_empty() {
                return;
            }
            written.sort_unstable();
            for word in live.iter() {
                let other = words.reg(word);
                let Some(root) = self.of_sum(other) else { continue };
                let own = written.partition_point(|(own, _)| *own < root);
                let differs = |(own, reg): &&(Reg, Reg)| *own == root && *reg != other;
                if copied != Some(other)
                    && written[own..].iter().take_while(|(own, _)| *own == root).any(|w| differs(&w))
                {
                    is_bad[root] = true;
                }
            }
        });
        is_bad
    }
}

/// Finds the sums that something else names while a product is under way, or that are not live then.
fn find_serial(func: &Function, sums: &mut [Sum]) {
    if sums.len() > MOST || func.layout_insts().any(|inst| func.inst(inst).opcode == Opcode::Call) {
        sums.iter_mut().for_each(|sum| sum.is_serial = true);
        return;
    }
    let mut sum_of: SecondaryMap<Reg, Option<usize>> = SecondaryMap::new();
    for (at, sum) in sums.iter().enumerate() {
        sum.bundle.iter().for_each(|reg| sum_of[*reg] = Some(at));
    }
    let named = |operands: &[Operand]| {
        let sums = operands.iter().filter_map(|operand| sum_of[operand.reg()?]);
        sums.fold(0u64, |mask, sum| mask | 1 << sum)
    };
    let cfg = Cfg::new(func);
    let behind = |inst: Inst, under_way: u64| {
        let data = func.inst(inst);
        match data.opcode {
            _ if is_product(data) => under_way | named(func.dsts(inst)),
            Opcode::WgmmaWait if func.imm_bits(func.srcs(inst)[0]) == Some(0) => 0,
            _ => under_way,
        }
    };
    let mut at_start: SecondaryMap<Block, u64> = SecondaryMap::new();
    let mut changed = true;
    while changed {
        changed = false;
        for block in cfg.rpo() {
            let end = func.block_insts(*block).fold(at_start[*block], |under_way, inst| behind(inst, under_way));
            for next in cfg.successors(*block) {
                changed |= at_start[*next] | end != at_start[*next];
                at_start[*next] |= end;
            }
        }
    }
    let mut serial = 0u64;
    let mut under_way: SecondaryMap<Inst, u64> = SecondaryMap::new();
    for block in cfg.rpo() {
        let mut now = at_start[*block];
        for inst in func.block_insts(*block) {
            if !is_product(func.inst(inst)) {
                serial |= now & (named(func.dsts(inst)) | named(func.srcs(inst)));
            }
            now = behind(inst, now);
            under_way[inst] = now;
        }
    }
    let words = Words::of(func, &cfg);
    let sizes: Vec<usize> = sums.iter().map(|sum| sum.words.len()).collect();
    words.backward(func, &cfg, |inst, live| {
        if under_way[inst] == 0 {
            return;
        }
        let mut left = sizes.clone();
        live.iter().filter_map(|word| sum_of[words.reg(word)]).for_each(|sum| left[sum] -= 1);
        let is_short = |sum: &usize| under_way[inst] >> sum & 1 == 1 && left[*sum] > 0;
        (0..sizes.len()).filter(is_short).for_each(|sum| serial |= 1 << sum);
    });
    sums.iter_mut().enumerate().for_each(|(at, sum)| sum.is_serial = serial >> at & 1 == 1);
}

impl Select<'_> {
    /// Notes that an operation writes registers that products read.
    pub(super) fn note_writes(&mut self, inst: Inst) {
        let is_in = |reg: Reg| self.sums.iter().any(|sum| sum.bundle.contains(&reg));
        if self.progress.fenced.is_some() && self.func.dsts(inst).iter().filter_map(|dst| dst.reg()).any(is_in) {
            self.progress.fenced = None;
        }
    }

    /// An operation of this file.
    pub(super) fn warpgroup(&mut self, inst: Inst) -> Result<(), Refusal> {
        let data = *self.func.inst(inst);
        match data.opcode {
            Opcode::WgmmaFence => self.fence_registers(),
            Opcode::WgmmaCommit => self.commit(),
            Opcode::WgmmaWait => {
                let most = self.func.imm_bits(self.func.srcs(inst)[0]).unwrap_or(0);
                self.wait_for_products(most)
            }
            Opcode::Wgmma | Opcode::WgmmaRegisters => self.product_of_group(inst, &data),
            _ => Err(self.refused(inst)),
        }
    }

    fn fence_registers(&mut self) -> Result<(), Refusal> {
        self.emit.op("WARPGROUP.ARRIVE", &[], &[])?;
        self.progress.fenced = Some(self.emit.block);
        Ok(())
    }

    fn wait_for_products(&mut self, most: u64) -> Result<(), Refusal> {
        let most = self.emit.func.imm(most);
        self.emit.op("WARPGROUP.DEPBAR.LE", &[], &[most]).map(|_| ())
    }

    /// Closes a group: its last product counts. A group without one has a product of nothing.
    fn commit(&mut self) -> Result<(), Refusal> {
        let counts = self.emit.func.name("gsb0");
        let open =
            self.progress.open.take().filter(|(block, inst)| {
                *block == self.emit.block && self.emit.func.inst(*inst).guard == self.emit.guard
            });
        if let Some((_, last)) = open {
            self.emit.func.srcs_mut(last)[0] = counts;
            return Ok(());
        }
        let (nothing, matrices) = (Operand::wired(RegFile::R, 2), Operand::wired(RegFile::UR, 4));
        let srcs = [counts, matrices, nothing, no_sum()];
        self.emit.op("HGMMA.64x8x16.F16", &[nothing], &srcs).map(|_| ())
    }

    fn product_of_group(&mut self, inst: Inst, data: &InstData) -> Result<(), Refusal> {
        let (dsts, srcs) = (self.func.dsts(inst).to_vec(), self.func.srcs(inst).to_vec());
        let (addends, rest) = srcs.split_at(dsts.len());
        let [factors @ .., condition] = rest else { return Err(self.refused(inst)) };
        let own = self.sums.iter().find(|sum| sum.words == dsts);
        let is_nothing = |operand: &Operand| *operand == Operand::Undef || self.func.imm_bits(*operand) == Some(0);
        let is_new = addends.iter().all(is_nothing);
        let is_direct = own.is_some_and(|sum| is_new || sum.words == addends);
        let mut is_serial = !is_direct || own.is_some_and(|sum| sum.is_serial);
        let (bundle, words) = match own.filter(|_| is_direct) {
            Some(sum) => (sum.bundle.clone(), dsts.clone()),
            None => {
                let (bundle, words) = bundle(&mut self.emit.func, dsts.len());
                self.bundles.push(bundle.clone());
                if !is_new {
                    self.copy_words(addends, &words)?;
                }
                (bundle, words)
            }
        };
        let descriptor = |select: &mut Self, operand: Operand| -> Result<[Operand; 2], Refusal> {
            let reg = select.register_of(operand, 2)?;
            Ok([0, 1].map(|word| select.emit.word(reg, word)))
        };
        let (left, described) = match factors {
            [first, second] => (None, [descriptor(self, *first)?, descriptor(self, *second)?].concat()),
            [left @ .., second] => {
                let reg = Operand::Reg(self.emit.temp(left.len() as u8));
                let words: Vec<Operand> = (0..left.len() as u8).map(|at| self.emit.word(reg, at)).collect();
                self.copy_words(left, &words)?;
                is_serial = true;
                let second = descriptor(self, *second)?;
                let negated = data.field::<NegateLeft>() == Some(NegateLeft::Negate);
                let reg = if negated { marked(reg, Modifiers::NEGATE) } else { reg };
                (Some(reg), [second, second].concat())
            }
            _ => return Err(self.refused(inst)),
        };
        let matrices = self.emit.uniform(&described)?;
        let adds = self.adds(*condition, is_new)?;
        if self.progress.fenced != Some(self.emit.block) {
            self.fence_registers()?;
        }
        let sum: Vec<Operand> = bundle.iter().map(|reg| Operand::Reg(*reg)).collect();
        let zero = [Operand::wired(RegFile::R, if words.len() > 4 { 1 } else { words.len() as u8 })];
        let board = self.emit.func.name(if is_serial { "gsb0" } else { "" });
        let marks = self.marks(data, left.is_some());
        let addend = if is_new { &zero[..] } else { &sum[..] };
        let all: Vec<Operand> = [board]
            .into_iter()
            .chain(left)
            .chain([matrices])
            .chain(marks)
            .chain(addend.iter().copied())
            .chain([adds])
            .collect();
        let mnemonic = mnemonic(data).ok_or_else(|| self.refused(inst))?;
        let made = self.emit.first_of(&mnemonic, &[(&sum, &all)])?;
        self.progress.open = (!is_serial).then_some((self.emit.block, made));
        if is_serial {
            self.wait_for_products(0)?;
        }
        if !is_direct {
            for (dst, word) in dsts.iter().zip(&words) {
                self.emit.copy_word(*dst, *word);
            }
            self.note_writes(inst);
        }
        Ok(())
    }

    /// Copies values to words that a product reads.
    fn copy_words(&mut self, from: &[Operand], to: &[Operand]) -> Result<(), Refusal> {
        for (value, word) in from.iter().zip(to) {
            let value = self.source(*value, 1)?;
            let from = self.emit.value(value, super::table::Part::Whole, Modifiers::NONE, "MOV");
            self.emit.copy_word(*word, from);
        }
        self.progress.fenced = None;
        Ok(())
    }

    /// The uniform predicate that says whether the sum is added.
    fn adds(&mut self, condition: Operand, is_new: bool) -> Result<Operand, Refusal> {
        if is_new {
            return Ok(no_sum());
        }
        Ok(match self.source(condition, 0)? {
            Value::Imm(bits, _) if bits & 1 == 1 => Operand::wired(RegFile::UP, 1),
            Value::Imm(..) => no_sum(),
            value => {
                let condition = self.emit.value(value, super::table::Part::Whole, Modifiers::NONE, "VOTEU");
                let adds = Operand::Reg(self.emit.new_reg(RegInfo { file: RegFile::UP, words: 1 }));
                self.emit.op("VOTEU.ANY", &[Operand::wired(RegFile::UR, 1), adds], &[condition])?;
                adds
            }
        })
    }

    /// The names among the operands that say how factors are taken.
    fn marks(&mut self, data: &InstData, has_left: bool) -> Vec<Operand> {
        let all = [
            (!has_left && data.field::<NegateLeft>() == Some(NegateLeft::Negate), "negA"),
            (data.field::<NegateRight>() == Some(NegateRight::Negate), "negB"),
            (data.field::<TransposeLeft>() == Some(TransposeLeft::Transpose), "tnspA"),
            (data.field::<TransposeRight>() == Some(TransposeRight::Transpose), "tnspB"),
        ];
        all.into_iter().filter(|(is_there, _)| *is_there).map(|(_, name)| self.emit.func.name(name)).collect()
    }
}

/// No sum is added.
fn no_sum() -> Operand {
    Operand::Wired { file: RegFile::UP, words: 1, modifiers: never().modifiers() }
}

/// The mnemonic of a product, where it is not sparse.
fn mnemonic(data: &InstData) -> Option<String> {
    let (shape, inner) = (data.field::<GroupShape>()?, data.field::<GroupInner>()?);
    let (left, right) = (data.field::<LeftElement>()?, data.field::<RightElement>()?);
    let shape = format!("64x{}x{}", shape.columns(), inner.count());
    let sum = if data.ty() == Type::F16 { ".F16" } else { ".F32" };
    let elements = || format!(".{}.{}", left.name().to_uppercase(), right.name().to_uppercase());
    Some(match left {
        LeftElement::F16 => format!("HGMMA.{shape}{sum}"),
        LeftElement::Bf16 | LeftElement::Tf32 => format!("HGMMA.{shape}{sum}.{}", left.name().to_uppercase()),
        LeftElement::E4m3 | LeftElement::E5m2 => format!("QGMMA.{shape}{sum}{}", elements()),
        LeftElement::S8 | LeftElement::U8 => {
            let saturates = if data.field() == Some(SatFinite::SatFinite) { ".SAT" } else { "" };
            format!("IGMMA.{shape}{}{saturates}", elements())
        }
        LeftElement::B1 if data.field() == Some(BitProduct::And) => format!("BGMMA.{shape}.AND.POPC"),
        _ => return None,
    })
}
