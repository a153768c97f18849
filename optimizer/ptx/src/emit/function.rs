//! A function's body: registers, variables, blocks, terminators.

use std::fmt::Write;

use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;

use super::halves::Halves;
use super::operand::HALF;
use super::shift::{Shift, entry_shifts};
use super::{EmitError, variable};
use oriole_ir::ops::{Flags, Opcode, Space, Type};
use oriole_ir::{Block, Function, Inst, Module, Operand, Reg, RegFile, inst_to_string};

/// Temporaries by kind: `%xb` 8 bits, `%xh` 16, `%xr` 32, `%xd` 64, `%xq` 128, `%xp` predicates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Temp {
    Byte,
    Half,
    Word,
    Double,
    Quad,
    Pred,
}

impl Temp {
    const NAMES: [(&'static str, &'static str); 6] =
        [("%xb", "b8"), ("%xh", "b16"), ("%xr", "b32"), ("%xd", "b64"), ("%xq", "b128"), ("%xp", "pred")];

    /// The kind that holds a type, 16-bit registers for 16-bit types, and words for bytes.
    pub(super) fn of(ty: Type) -> Temp {
        match ty.bits() {
            1 => Temp::Pred,
            16 => Temp::Half,
            ..=32 => Temp::Word,
            64 => Temp::Double,
            _ => Temp::Quad,
        }
    }
}

/// Writes one function.
pub(super) struct FunctionWriter<'a> {
    pub(super) module: &'a Module,
    pub(super) func: &'a Function,
    /// Whether fetches name their samplers.
    pub(super) independent_samplers: bool,
    out: &'a mut String,
    /// The body is written apart, since the registers precede it.
    pub(super) body: String,
    temps: [u32; Temp::NAMES.len()],
    tables: u32,
    /// The guard of the instruction at hand, as text with a space behind it.
    pub(super) guard: String,
    current: Option<Inst>,
    /// How often instructions read each register.
    reads: SecondaryMap<Reg, u32>,
    halves: Halves,
    /// The predicate that the carry flag brings to the next instruction with a carry, which is in the same block.
    pub(super) flag: Option<Reg>,
    /// The words of wider registers, and the halves of words, that are in temporaries.
    pub(super) words: FxHashMap<Reg, Vec<(u8, String)>>,
    /// The temporaries that hold constants of the instruction at hand.
    pub(super) constants: Vec<(u64, Temp, String)>,
    /// The temporaries from which the instruction at hand widens its results.
    pub(super) written_halves: Vec<(Reg, String)>,
    /// The instruction that the one before it was written with.
    pub(super) written: Option<Inst>,
    /// What the entry block shifts, by the register that it comes to.
    pub(super) entry_shifts: FxHashMap<Reg, Shift>,
    /// Names of blocks, where they are not called by their numbers.
    block_names: SecondaryMap<Block, Option<String>>,
}

impl<'a> FunctionWriter<'a> {
    pub(super) fn new(module: &'a Module, func: &'a Function, out: &'a mut String) -> Self {
        let mut reads = SecondaryMap::new();
        for inst in func.layout_insts() {
            func.uses(inst).for_each(|reg| reads[reg] += 1);
        }
        let mut writer = FunctionWriter {
            module,
            func,
            independent_samplers: false,
            out,
            body: String::new(),
            temps: [0; Temp::NAMES.len()],
            tables: 0,
            guard: String::new(),
            current: None,
            reads,
            halves: Halves::default(),
            flag: None,
            words: FxHashMap::default(),
            constants: Vec::new(),
            written_halves: Vec::new(),
            written: None,
            entry_shifts: entry_shifts(func),
            block_names: SecondaryMap::new(),
        };
        writer.halves = Halves::new(&writer);
        writer
    }

    pub(super) fn write(mut self) -> Result<(), EmitError> {
        for (i, block) in self.func.layout().iter().enumerate() {
            let next = self.func.layout().get(i + 1).copied();
            self.words.clear();
            let label = self.label(*block);
            let _ = writeln!(self.body, "{label}:");
            if self.func.is_nounroll(*block) {
                self.line(format_args!(".pragma \"nounroll\""));
            }
            for inst in self.func.block_insts(*block) {
                self.current = Some(inst);
                self.constants.clear();
                if self.written.take_if(|written| *written == inst).is_none() {
                    self.inst(inst, next)?;
                }
                for reg in self.func.defs(inst) {
                    self.words.remove(&reg);
                }
                for (reg, half) in std::mem::take(&mut self.written_halves) {
                    self.words.insert(reg, vec![(HALF, half)]);
                }
            }
        }
        self.out.push_str("\n{\n");
        self.declarations()?;
        self.out.push_str(&self.body);
        self.out.push_str("}\n");
        Ok(())
    }

    fn declarations(&mut self) -> Result<(), EmitError> {
        let mut widths = [false; 5];
        for (reg, info) in self.func.regs() {
            match info.file {
                RegFile::R | RegFile::UR if matches!(info.words, 1 | 2 | 4) => widths[info.words as usize] = true,
                RegFile::P | RegFile::UP => widths[0] = true,
                _ => {
                    let function = self.func.name.clone();
                    return Err(EmitError::Register {
                        function,
                        register: format!("%{}{}", info.prefix(), reg.as_u32()),
                    });
                }
            }
        }
        let count = self.func.regs().len();
        let kinds = [
            (widths[0], "%p", "pred"),
            (!self.halves.is_empty(), "%h", "b16"),
            (widths[1], "%r", "b32"),
            (widths[2], "%d", "b64"),
            (widths[4], "%q", "b128"),
        ];
        for (used, name, ty) in kinds {
            if used {
                let _ = writeln!(self.out, "\t.reg .{ty} {name}<{count}>;");
            }
        }
        for ((name, ty), count) in Temp::NAMES.iter().zip(self.temps) {
            if count > 0 {
                let _ = writeln!(self.out, "\t.reg .{ty} {name}<{count}>;");
            }
        }
        for (local, declared) in &self.func.locals {
            let outside = self.func.params.contains(&local) || self.func.returns.contains(&local);
            if !outside && variable::is_body_space(declared.space) {
                self.out.push('\t');
                variable::declare(self.out, declared, &declared.name);
                self.out.push_str(";\n");
            }
        }
        Ok(())
    }

    /// The error that the instruction at hand cannot be written.
    pub(super) fn refuse(&self, reason: &'static str) -> EmitError {
        let text = self.current.map(|inst| inst_to_string(self.func, inst, Some(self.module)));
        EmitError::Instruction { function: self.func.name.clone(), instruction: text.unwrap_or_default(), reason }
    }

    /// The state space that the instruction at hand names.
    pub(super) fn accessed_space(&self) -> Option<Space> {
        self.current.and_then(|inst| self.func.inst(inst).field::<Space>())
    }

    /// A new temporary.
    pub(super) fn temp(&mut self, kind: Temp) -> String {
        let number = &mut self.temps[kind as usize];
        let name = format!("{}{number}", Temp::NAMES[kind as usize].0);
        *number += 1;
        name
    }

    /// An instruction that always executes: it brings an operand into place.
    pub(super) fn line(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.body, "\t{text};");
    }

    /// An instruction under the guard of the one at hand.
    pub(super) fn guarded(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.body, "\t{}{text};", self.guard);
    }

    /// Whether any instruction reads what this operand is written with.
    pub(super) fn is_used(&self, operand: Operand) -> bool {
        operand.reg().is_some_and(|reg| self.reads[reg] > 0)
    }

    /// Whether one instruction reads the register, once.
    pub(super) fn is_read_once(&self, reg: Reg) -> bool {
        self.reads[reg] == 1
    }

    /// Whether the operand is a register of 16 bits in PTX.
    pub(super) fn is_half(&self, operand: Operand) -> bool {
        operand.reg().is_some_and(|reg| self.halves.contains(reg))
    }

    pub(super) fn reg(&self, reg: Reg) -> String {
        let info = self.func.regs()[reg];
        let prefix = match (info.is_predicate(), info.words) {
            (true, _) => "p",
            (_, 1) if self.halves.contains(reg) => "h",
            (_, 1) => "r",
            (_, 2) => "d",
            _ => "q",
        };
        format!("%{prefix}{}", reg.as_u32())
    }

    fn inst(&mut self, inst: Inst, next: Option<Block>) -> Result<(), EmitError> {
        let data = self.func.inst(inst);
        self.guard = data.guard.map_or_else(String::new, |guard| {
            format!("@{}{} ", if guard.negated() { "!" } else { "" }, self.reg(guard.reg()))
        });
        if data.is(Flags::TERMINATOR) {
            return self.terminator(inst, next);
        }
        self.instruction(inst)
    }

    fn terminator(&mut self, inst: Inst, next: Option<Block>) -> Result<(), EmitError> {
        match (self.func.inst(inst).opcode, self.func.srcs(inst)) {
            (Opcode::Bra, [Operand::Block(to)]) => self.goto("", *to, next),
            (Opcode::CBra, [condition, Operand::Block(yes), Operand::Block(no)]) => {
                let condition = self.source(*condition, Type::Pred)?;
                if Some(*yes) == next {
                    self.goto(&format!("@!{condition} "), *no, None);
                } else {
                    self.goto(&format!("@{condition} "), *yes, None);
                    self.goto("", *no, next);
                }
            }
            (Opcode::Brx, [index, targets @ ..]) => {
                let index = self.register(*index, Type::U32)?;
                let labels: Vec<_> =
                    targets.iter().filter_map(|target| target.block()).map(|block| self.label(block)).collect();
                let table = format!("$T_{}", self.tables);
                self.tables += 1;
                self.line(format_args!("{table}: .branchtargets {}", labels.join(", ")));
                self.line(format_args!("brx.idx {index}, {table}"));
            }
            (Opcode::Ret, _) => self.line(format_args!("ret")),
            (Opcode::Exit, _) => self.line(format_args!("exit")),
            _ => return Err(self.refuse("PTX has no such terminator")),
        }
        Ok(())
    }

    fn goto(&mut self, guard: &str, to: Block, next: Option<Block>) {
        if Some(to) != next {
            let label = self.label(to);
            self.line(format_args!("{guard}bra {label}"));
        }
    }

    /// Names blocks by the number of the function and their own, from 1.
    pub(super) fn name_blocks(&mut self, function: usize) {
        for (block, number) in self.func.layout().iter().zip(1_u32..) {
            self.block_names[*block] = Some(format!("F{function}_B{number}"));
        }
    }

    fn label(&self, block: Block) -> String {
        self.block_names[block].clone().unwrap_or_else(|| format!("$L_{}", block.as_u32()))
    }

    /// The name of a new call prototype.
    pub(super) fn prototype_name(&mut self) -> String {
        self.tables += 1;
        format!("$P_{}", self.tables - 1)
    }
}
