//! Instructions that PTX writes in a way of its own.

use super::EmitError;
use super::function::{FunctionWriter, Temp};
use super::halves::is_high_half;
use crate::lower::video::{is_video, lanes};
use crate::lower::warpgroup::is_group_product;
use crate::spelling::MEMBAR_LEVELS;
use oriole_ir::ops::video::{SimdSelectors, VideoPart, VideoSelectors};
use oriole_ir::ops::{
    Aligned, AsyncCache, BoolOp, Compare, FenceKind, FieldValue, Flags, Ftz, Opcode, PrefetchSize, Scope, SecondOp,
    Type,
};
use oriole_ir::{Inst, InstData, Local, Operand};

/// Prints one instruction in its own way.
pub(super) type Writer<'a> = fn(&mut FunctionWriter<'a>, Inst, &InstData) -> Result<(), EmitError>;

impl<'a> FunctionWriter<'a> {
    /// How the instruction is printed if it is one of these.
    pub(super) fn special(&self, inst: Inst) -> Option<Writer<'a>> {
        let data = self.func.inst(inst);
        Some(match data.opcode {
            Opcode::Mov | Opcode::Split => Self::mov,
            Opcode::S2r | Opcode::Cs2r => Self::read_special,
            Opcode::Pack => Self::pack,
            opcode if opcode.is(Flags::CARRY) => Self::carry,
            opcode if opcode.is(Flags::CTA_BARRIER) => Self::barrier,
            Opcode::Fence if self.module.sm().is_some_and(|target| !target.has_fences()) => Self::membar,
            Opcode::CpAsync => Self::async_copy,
            Opcode::MbarrierArriveRemote => Self::arrive_elsewhere,
            Opcode::BulkMulticast => Self::multicast,
            opcode if opcode.is(Flags::IMAGE) => Self::image,
            Opcode::Call => Self::call,
            Opcode::Opaque => Self::opaque,
            Opcode::Ld | Opcode::St if self.is_one_of_results(inst) => Self::access_result,
            opcode if is_group_product(opcode) => Self::group_product,
            opcode if is_video(opcode) => Self::video,
            Opcode::SetPBool if is_half_float(data.ty()) && self.is_used(self.func.dsts(inst)[1]) => {
                Self::half_comparison
            }
            Opcode::CvtPackInt => Self::pack_integers,
            Opcode::SetMaxNReg => Self::set_max_registers,
            Opcode::Shr if is_high_half(self.func, inst) && self.is_half(self.func.dsts(inst)[0]) => Self::high_half,
            Opcode::IMadWide if data.ty().bits() == 32 => Self::wide_sum,
            Opcode::IAdd if self.shifted_addend(inst).is_some() => Self::sum_of_shift,
            _ => return None,
        })
    }

    pub(super) fn destination(&mut self, inst: Inst) -> Result<String, EmitError> {
        match self.func.dsts(inst).first() {
            Some(Operand::Reg(reg)) => Ok(self.reg(*reg)),
            _ => Err(self.refuse("a destination is not a register")),
        }
    }

    /// `mul.wide d, a, b; add.s64 d, d, c`. Of `mad.wide` ptxas makes two instructions or three: it shifts and adds by
    /// words, or multiplies and then adds together with other sums. Of this it makes the one that does both, which no
    /// kernel of the corpus has more code by at any of its levels (13.0, 2026-11-24).
    fn wide_sum(&mut self, inst: Inst, data: &InstData) -> Result<(), EmitError> {
        let (to, ty) = (self.destination(inst)?, data.ty());
        let [a, b, addend] = self.func.srcs(inst).to_vec()[..] else {
            return Err(self.refuse("an operand is missing"));
        };
        let is_overwritten = self.func.dsts(inst).first() == Some(&addend);
        let product = if is_overwritten { self.temp(Temp::Double) } else { to.clone() };
        let (a, b, addend) = (self.source(a, ty)?, self.source(b, ty)?, self.source(addend, Type::S64)?);
        self.guarded(format_args!("mul.wide.{} {product}, {a}, {b}", ty.name()));
        self.guarded(format_args!("add.s64 {to}, {product}, {addend}"));
        Ok(())
    }

    fn first_source(&self, inst: Inst) -> Operand {
        self.func.srcs(inst).first().copied().unwrap_or(Operand::Undef)
    }

    fn mov(&mut self, inst: Inst, data: &InstData) -> Result<(), EmitError> {
        let (to, ty) = (self.destination(inst)?, data.ty());
        let from = match self.first_source(inst) {
            symbol @ (Operand::Global(_) | Operand::Local(_) | Operand::Func(_)) => {
                let name = self.symbol(symbol);
                self.guarded(format_args!("mov.u{} {to}, {name}", ty.bits()));
                return Ok(());
            }
            other if self.is_half(self.func.dsts(inst)[0]) => {
                let from = match other {
                    Operand::Undef => "0".to_owned(),
                    other => self.source(other, Type::B16)?,
                };
                self.guarded(format_args!("mov.b16 {to}, {from}"));
                return Ok(());
            }
            Operand::Imm(imm) if ty == Type::Pred => (self.func.bits(imm) & 1).to_string(),
            Operand::Undef if ty.bits() < 128 => "0".to_owned(),
            other => self.source(other, ty)?,
        };
        self.guarded(format_args!("mov.{} {to}, {from}", ty.name()));
        Ok(())
    }

    /// The upper half of a word into a register of 16 bits.
    fn high_half(&mut self, inst: Inst, _: &InstData) -> Result<(), EmitError> {
        let (to, from) = (self.destination(inst)?, self.register(self.first_source(inst), Type::B32)?);
        self.guarded(format_args!("mov.b32 {{_, {to}}}, {from}"));
        Ok(())
    }

    fn read_special(&mut self, inst: Inst, data: &InstData) -> Result<(), EmitError> {
        let to = self.destination(inst)?;
        let Operand::Special(special) = self.first_source(inst) else {
            return Err(self.refuse("the operand is not a special register"));
        };
        let ty = match data.ty() {
            Type::Pred => "pred".to_owned(),
            ty => format!("u{}", ty.bits()),
        };
        self.guarded(format_args!("mov.{ty} {to}, %{}", special.name()));
        Ok(())
    }

    fn pack(&mut self, inst: Inst, data: &InstData) -> Result<(), EmitError> {
        let to = self.destination(inst)?;
        let parts = self.func.srcs(inst).to_vec();
        if let (&[word, high], 32) = (parts.as_slice(), data.ty().bits())
            && self.func.imm_bits(high) == Some(0)
        {
            let word = self.register(word, Type::B32)?;
            self.guarded(format_args!("cvt.u64.u32 {to}, {word}"));
            return Ok(());
        }
        let total = data.ty().bits() as usize * parts.len();
        let list = match data.ty() {
            Type::B8 => self.words_of_bytes(&parts)?,
            ty => {
                let mut list = Vec::with_capacity(parts.len());
                for part in &parts {
                    list.push(self.register(*part, ty)?);
                }
                list
            }
        };
        let list = if total == 128 && list.len() > 2 { self.doubles(&list) } else { list };
        match list.as_slice() {
            [one] => self.guarded(format_args!("mov.b32 {to}, {one}")),
            _ if matches!(total, 32 | 64 | 128) => {
                self.guarded(format_args!("mov.b{total} {to}, {{{}}}", list.join(", ")))
            }
            _ => return Err(self.refuse("PTX packs 32, 64 or 128 bits")),
        }
        Ok(())
    }

    /// Bytes gathered into words.
    fn words_of_bytes(&mut self, parts: &[Operand]) -> Result<Vec<String>, EmitError> {
        let mut words = Vec::new();
        for chunk in parts.chunks(4) {
            let mut word = self.temp(Temp::Word);
            self.line(format_args!("mov.b32 {word}, 0"));
            for (i, part) in chunk.iter().enumerate() {
                let byte = self.wide_register(*part, Type::B32)?;
                let next = self.temp(Temp::Word);
                self.line(format_args!("bfi.b32 {next}, {byte}, {word}, {}, 8", 8 * i));
                word = next;
            }
            words.push(word);
        }
        Ok(words)
    }

    /// Parts of 128 bits gathered into two 64-bit registers.
    fn doubles(&mut self, parts: &[String]) -> Vec<String> {
        let halves = parts.chunks(parts.len() / 2);
        halves
            .map(|half| {
                let double = self.temp(Temp::Double);
                self.line(format_args!("mov.b64 {double}, {{{}}}", half.join(", ")));
                double
            })
            .collect()
    }

    /// `barrier.sync.aligned a{, b}`; zero threads mean all and are not written.
    fn barrier(&mut self, inst: Inst, data: &InstData) -> Result<(), EmitError> {
        let srcs = self.func.srcs(inst).to_vec();
        let aligned = if data.field::<Aligned>() == Some(Aligned::Aligned) { ".aligned" } else { "" };
        let name = match data.opcode {
            Opcode::BarSync => format!("barrier.sync{aligned}"),
            Opcode::BarArrive => format!("barrier.arrive{aligned}"),
            Opcode::BarRedPopc => format!("barrier.red.popc{aligned}.u32"),
            _ => format!("barrier.red.{}{aligned}.pred", data.field::<BoolOp>().map_or("and", BoolOp::name)),
        };
        let mut texts = vec![self.source(srcs[0], Type::U32)?];
        if srcs[1] != Operand::imm(0) {
            texts.push(self.source(srcs[1], Type::U32)?);
        }
        if let Some(predicate) = srcs.get(2) {
            texts.push(self.source(*predicate, Type::Pred)?);
        }
        self.with_results(inst, data, &name, &texts)
    }

    fn async_copy(&mut self, inst: Inst, data: &InstData) -> Result<(), EmitError> {
        let srcs = self.func.srcs(inst).to_vec();
        let [to, to_offset, from, from_offset, size, read] = srcs.as_slice() else {
            return Err(self.refuse("an operand is missing"));
        };
        let cache = data.field::<AsyncCache>().map_or("ca", AsyncCache::name);
        let prefetch = data.field::<PrefetchSize>().unwrap_or(PrefetchSize::None);
        let dot = if prefetch == PrefetchSize::None { "" } else { "." };
        let mut texts = vec![self.address(*to, *to_offset)?, self.address(*from, *from_offset)?];
        texts.push(self.func.imm_bits(*size).unwrap_or(0).to_string());
        if read != size {
            texts.push(self.source(*read, Type::U32)?);
        }
        let name = format!("cp.async.{cache}.shared.global{dot}{}", prefetch.name());
        self.with_results(inst, data, &name, &texts)
    }

    /// `mbarrier.arrive… _, [barrier], count`.
    fn arrive_elsewhere(&mut self, inst: Inst, data: &InstData) -> Result<(), EmitError> {
        let &[base, offset, count] = self.func.srcs(inst) else {
            return Err(self.refuse("an operand is missing"));
        };
        let Some(name) = self.mnemonic(data) else { return Err(self.refuse("PTX has no such instruction")) };
        let texts = ["_".to_owned(), self.address(base, offset)?, self.source(count, Type::U32)?];
        self.with_results(inst, data, &name, &texts)
    }

    /// A bulk copy to several CTAs, whose mask has 16 bits.
    fn multicast(&mut self, inst: Inst, data: &InstData) -> Result<(), EmitError> {
        let &[to, to_at, from, from_at, size, barrier, barrier_at, mask] = self.func.srcs(inst) else {
            return Err(self.refuse("an operand is missing"));
        };
        let Some(name) = self.mnemonic(data) else { return Err(self.refuse("PTX has no such instruction")) };
        let texts = [
            self.address(to, to_at)?,
            self.address(from, from_at)?,
            self.bulk_size(size)?,
            self.address(barrier, barrier_at)?,
            self.source(mask, Type::U16)?,
        ];
        self.with_results(inst, data, &name, &texts)
    }

    /// A half comparison has one result in PTX; both come from the plain comparison here.
    fn half_comparison(&mut self, inst: Inst, data: &InstData) -> Result<(), EmitError> {
        let srcs = self.func.srcs(inst).to_vec();
        let ([Operand::Reg(yes), Operand::Reg(no)], [a, b, c]) = (self.func.dsts(inst), srcs.as_slice()) else {
            return Err(self.refuse("an operand is missing"));
        };
        let (yes, no, ty) = (self.reg(*yes), self.reg(*no), data.ty());
        let (a, b, c) = (self.register(*a, ty)?, self.register(*b, ty)?, self.register(*c, Type::Pred)?);
        let (holds, fails) = (self.temp(Temp::Pred), self.temp(Temp::Pred));
        let compare = data.field::<Compare>().map_or("eq", Compare::name);
        let ftz = if data.field::<Ftz>() == Some(Ftz::Ftz) { ".ftz" } else { "" };
        let combine = data.field::<BoolOp>().map_or("and", BoolOp::name);
        self.line(format_args!("setp.{compare}{ftz}.{} {holds}, {a}, {b}", ty.name()));
        self.line(format_args!("not.pred {fails}, {holds}"));
        let third = self.temp(Temp::Pred);
        self.line(format_args!("mov.pred {third}, {c}"));
        let mut results = [(yes, holds), (no, fails)];
        // Outside SSA form a result may be the guard itself, which both instructions read; it is written last.
        if data.guard.is_some_and(|guard| self.func.defs(inst).next() == Some(guard.reg())) {
            results.reverse();
        }
        for (to, from) in results {
            self.guarded(format_args!("{combine}.pred {to}, {from}, {third}"));
        }
        Ok(())
    }

    /// `cvt.pack.sat.u8.s32.b32 d, a, b, c`; 16-bit types leave no room for `c`.
    fn pack_integers(&mut self, inst: Inst, data: &InstData) -> Result<(), EmitError> {
        let srcs = self.func.srcs(inst).to_vec();
        let wide = data.ty().bits() == 16;
        let mut texts = Vec::new();
        for operand in srcs.iter().take(if wide { 2 } else { 3 }) {
            texts.push(self.source(*operand, Type::S32)?);
        }
        let name = format!("cvt.pack.sat.{}.s32{}", data.ty().name(), if wide { "" } else { ".b32" });
        self.with_results(inst, data, &name, &texts)
    }

    /// `vadd.u32.u32.u32 d.sel, a.sel, b.sel, c`: the selectors of the last source go back to the operands.
    fn video(&mut self, inst: Inst, data: &InstData) -> Result<(), EmitError> {
        let srcs = self.func.srcs(inst).to_vec();
        let [a, b, c, Operand::Imm(packed)] = srcs.as_slice() else {
            return Err(self.refuse("an operand is missing"));
        };
        let Some(name) = self.mnemonic(data) else { return Err(self.refuse("PTX has no such instruction")) };
        let (to, lanes) = (self.destination(inst)?, lanes(data.opcode));
        let packed = self.func.bits(*packed) as u32;
        let [dst_part, a_part, b_part] = selector_texts(packed, lanes);
        let negate = if lanes == 1 { VideoSelectors::unpack(packed).negate } else { [false; 3] };
        let (a, b) = (self.register(*a, Type::B32)?, self.register(*b, Type::B32)?);
        let sign = |negate: bool| if negate { "-" } else { "" };
        let mut text = format!("{name} {to}{dst_part}, {}{a}{a_part}, {}{b}{b_part}", sign(negate[0]), sign(negate[1]));
        let second = data.field::<SecondOp>().is_some_and(|op| op != SecondOp::None);
        let third = lanes > 1 || second || !dst_part.is_empty() || data.opcode == Opcode::VMad;
        if third || *c != Operand::imm(0) {
            let c = self.register(*c, Type::B32)?;
            text = format!("{text}, {}{c}", sign(negate[2]));
        }
        self.guarded(format_args!("{text}"));
        Ok(())
    }

    /// What `fence` is on targets that do not have it.
    fn membar(&mut self, _: Inst, data: &InstData) -> Result<(), EmitError> {
        let (kind, scope) = (data.field::<FenceKind>(), data.field::<Scope>());
        let level = MEMBAR_LEVELS.iter().find(|(_, level)| kind == Some(FenceKind::Sc) && scope == Some(*level));
        let Some((level, _)) = level else { return Err(self.refuse("the target has no such fence")) };
        self.guarded(format_args!("membar.{level}"));
        Ok(())
    }

    fn set_max_registers(&mut self, inst: Inst, data: &InstData) -> Result<(), EmitError> {
        use oriole_ir::ops::MaxNReg;
        let count = self.func.imm_bits(self.first_source(inst)).unwrap_or(0);
        let direction = data.field::<MaxNReg>().map_or("dec", MaxNReg::name);
        self.guarded(format_args!("setmaxnreg.{direction}.sync.aligned.u32 {count}"));
        Ok(())
    }

    /// `call (results), callee, (arguments){, prototype};`
    fn call(&mut self, inst: Inst, _: &InstData) -> Result<(), EmitError> {
        let srcs = self.func.srcs(inst).to_vec();
        let [callee, Operand::Imm(results), params @ ..] = srcs.as_slice() else {
            return Err(self.refuse("an operand is missing"));
        };
        let locals: Vec<Local> = params
            .iter()
            .filter_map(|param| match param {
                Operand::Local(local) => Some(*local),
                _ => None,
            })
            .collect();
        let results = self.func.bits(*results) as usize;
        let (results, arguments) = locals.split_at(results.min(locals.len()));
        let (callee, prototype) = match callee {
            Operand::Func(_) => (self.symbol(*callee), String::new()),
            register => {
                let register = self.register(*register, Type::B64)?;
                (register, self.prototype(results, arguments))
            }
        };
        let names = |list: &[Local]| -> String {
            list.iter().map(|local| self.func.locals[*local].name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let mut parts = Vec::new();
        if !results.is_empty() {
            parts.push(format!("({})", names(results)));
        }
        parts.push(callee);
        if !arguments.is_empty() || !prototype.is_empty() {
            parts.push(format!("({})", names(arguments)));
        }
        if !prototype.is_empty() {
            parts.push(prototype);
        }
        self.guarded(format_args!("call {}", parts.join(", ")));
        Ok(())
    }

    /// Declares the prototype of an indirect call from the variables that it passes.
    fn prototype(&mut self, results: &[Local], arguments: &[Local]) -> String {
        let declare = |list: &[Local]| {
            let mut text = String::from("(");
            for (i, local) in list.iter().enumerate() {
                text.push_str(if i > 0 { ", " } else { "" });
                super::variable::declare(&mut text, &self.func.locals[*local], "_");
            }
            text + ")"
        };
        let results = if results.is_empty() { String::new() } else { declare(results) + " " };
        let arguments = declare(arguments);
        let name = self.prototype_name();
        self.line(format_args!("{name}: .callprototype {results}_ {arguments}"));
        name
    }
}

fn is_half_float(ty: Type) -> bool {
    ty.is_float() && ty.bits() == 16
}

/// The selectors of result, first and second source, with their dots; empty where PTX implies them.
fn selector_texts(packed: u32, lanes: usize) -> [String; 3] {
    if lanes == 1 {
        let VideoSelectors { dst, a, b, .. } = VideoSelectors::unpack(packed);
        return [dst, a, b]
            .map(|part| if part == VideoPart::Word { String::new() } else { format!(".{}", part.name()) });
    }
    let implied = if lanes == 2 { SimdSelectors::HALVES } else { SimdSelectors::BYTES };
    let selectors = SimdSelectors::unpack(packed);
    let letter = if lanes == 2 { 'h' } else { 'b' };
    let text = |digits: &mut dyn Iterator<Item = u8>| -> String {
        digits.fold(format!(".{letter}"), |text, digit| text + &digit.to_string())
    };
    let sources = |sources: [u8; 4], implied: [u8; 4]| match sources[..lanes] == implied[..lanes] {
        true => String::new(),
        false => text(&mut sources[..lanes].iter().rev().copied()),
    };
    let mask = match selectors.mask == implied.mask {
        true => String::new(),
        false => text(&mut (0..lanes as u8).rev().filter(|lane| selectors.mask >> lane & 1 == 1)),
    };
    [mask, sources(selectors.a, implied.a), sources(selectors.b, implied.b)]
}
