//! Matrices that a warp loads, multiplies and stores as a whole, as accesses of single lanes and products of 16 rows.
//!
//! PTX leaves open which lane holds which element. Here, as in the code of ptxas, a whole matrix is one or two matrices
//! of `mma`: the lanes of a group of four share a row of A, of C and of D, and a column of B. m16n16k16 is two products
//! that share the columns out, m32n8k16 two that share the rows; m8n32k16 is two products of the transposes. Factors of
//! f16 have more registers than elements, which repeat.
//!
//! Rows, columns and their places in memory are linear in the number of the group and in that of the lane in it, so one
//! address for each line and constant offsets from it are enough.

use std::fmt::Write as _;

use oriole_ir::ops::{
    Addend, BitProduct, FieldValue, LeftElement, MatrixShape, Opcode, RightElement, Rounding, SatFinite, Space, Type,
};
use oriole_ir::{Function, Inst, InstData, Operand};

/// A number that depends on the lane: so much for its group, for its place in the group, and in any case.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Linear {
    group: usize,
    place: usize,
    fixed: usize,
}

/// Row and column of an element.
type Place = (Linear, Linear);

/// Lanes of a group.
const GROUP: usize = 4;

/// The text of a function that does an operation, and the operands that it takes.
pub(super) fn body(func: &Function, inst: Inst) -> Option<(String, Vec<Operand>)> {
    let data = func.inst(inst);
    match data.opcode {
        Opcode::WmmaLoadA | Opcode::WmmaLoadB | Opcode::WmmaLoadC => Access::of(func, inst)?.load(),
        Opcode::WmmaStoreD => Access::of(func, inst)?.store(),
        Opcode::Wmma | Opcode::WmmaHalves => product(func, inst, data),
        _ => None,
    }
}

/// Which matrix of a product.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Left,
    Right,
    Sum,
}

/// A matrix in the registers of the lanes.
#[derive(Clone, Copy)]
struct Held {
    part: Part,
    rows: usize,
    columns: usize,
    /// Bits of an element.
    bits: usize,
}

impl Held {
    /// Elements of a register.
    fn each(&self) -> usize {
        (32 / self.bits).max(1)
    }

    /// Registers that do not repeat others.
    fn distinct(&self) -> usize {
        self.rows * self.columns / (32 * self.each())
    }

    /// Where an element of a register is.
    fn place(&self, register: usize, element: usize) -> Place {
        let each = self.each();
        let exchanged = |(row, column): Place| (column, row);
        match self.part {
            Part::Left => factor(self.rows, self.columns, each, register, element),
            Part::Right if self.columns == 32 => exchanged(factor(self.columns, self.rows, each, register, element)),
            Part::Right => {
                let tile = self.rows / (GROUP * each);
                let (mut column, k) = factor(8, self.rows, each, register % tile, element);
                column.fixed += 8 * (register / tile);
                (k, column)
            }
            Part::Sum if self.columns == 32 => exchanged(self.sum(register, element)),
            Part::Sum if self.columns == 16 => {
                let tile = GROUP / each;
                let (row, mut column) = self.sum(register % tile, element);
                column.fixed += 8 * (register / tile);
                (row, column)
            }
            Part::Sum => self.sum(register, element),
        }
    }

    /// Of a sum of eight columns.
    fn sum(&self, register: usize, element: usize) -> Place {
        let (below, beside) = if self.bits == 16 { (register, element) } else { (register / 2, register % 2) };
        (Linear { group: 1, place: 0, fixed: 8 * below }, Linear { group: 0, place: 2, fixed: beside })
    }
}

/// Row and column of an element of a factor whose rows the groups have.
fn factor(rows: usize, inner: usize, each: usize, register: usize, element: usize) -> Place {
    // The registers of 8 or 16 rows follow each other.
    let side = if rows.is_multiple_of(16) { 2 } else { 1 };
    let tile = side * inner / (GROUP * each);
    let row = 8 * (register % side) + 16 * (register / tile);
    let column = element + GROUP * each * (register % tile / side);
    (Linear { group: 1, place: 0, fixed: row }, Linear { group: 0, place: each, fixed: column })
}

/// A load or store of a matrix.
struct Access {
    held: Held,
    by_columns: bool,
    space: &'static str,
    /// Whether the address has two words.
    is_wide: bool,
    offset: i64,
    /// How many registers a lane has, repeated ones counted.
    registers: usize,
    /// The address, the stride, and the registers that are stored.
    inputs: Vec<Operand>,
}

/// The first number of the registers that a body makes for itself: those before are operands.
const OWN: usize = 64;

impl Access {
    fn of(func: &Function, inst: Inst) -> Option<Access> {
        let data = func.inst(inst);
        let [rows, columns, inner] = data.field::<MatrixShape>()?.extents();
        let left = data.field::<LeftElement>();
        let right = data.field::<RightElement>().map(LeftElement::from);
        let (part, extents, bits) = match data.opcode {
            Opcode::WmmaLoadA => (Part::Left, [rows, inner], left?.bits()),
            Opcode::WmmaLoadB => (Part::Right, [inner, columns], right?.bits()),
            _ => (Part::Sum, [rows, columns], data.ty().bits()),
        };
        let held = Held { part, rows: extents[0], columns: extents[1], bits: bits as usize };
        let srcs = func.srcs(inst);
        let space = data.field::<Space>();
        let (stride, values) = srcs[2..].split_last()?;
        Some(Access {
            held,
            by_columns: data.opcode.row().is_by_columns(&data.fields),
            space: match space {
                Some(Space::Shared) => ".shared",
                Some(Space::Global) => ".global",
                _ => "",
            },
            is_wide: func.operand_info(srcs[0]).map_or(space != Some(Space::Shared), |info| info.words == 2),
            offset: func.imm_bits(srcs[1]).unwrap_or(0) as i64,
            registers: if values.is_empty() { func.dsts(inst).len() } else { values.len() },
            inputs: [srcs[0], *stride].into_iter().chain(values.iter().copied()).collect(),
        })
    }

    /// The prefix of registers that hold elements.
    fn file(&self) -> &'static str {
        if self.held.bits == 64 { "d" } else { "r" }
    }

    /// The first lines: a line's address in a register of its own, for each line that a lane has elements of, and the
    /// numbers of these registers by the fixed part of the line.
    fn addresses(&self) -> (String, Vec<(usize, usize)>) {
        let file = if self.is_wide { "d" } else { "r" };
        let (line, at) = self.line(self.held.place(0, 0));
        let size = self.held.bits;
        let lane = |of: Linear| if of.group > 0 { ("%r65", of.group) } else { ("%r66", of.place) };
        let mut text = format!("device @f {{\nbb0:\n  %r{OWN} = s2r.b32 sr.laneid\n");
        text.push_str("  %r65 = shr.u32 %r64, 2\n  %r66 = and.b32 %r64, 3\n");
        // The stride in elements; those of less than a byte fill whole ones.
        let (unit, shift) = if size < 8 { (1, 3 - size.ilog2()) } else { (size / 8, 0) };
        let kind = if self.is_wide { "wide.u32" } else { "lo.u32" };
        let stride = if shift == 0 { "mov.b32 %r1".to_owned() } else { format!("shr.u32 %r1, {shift}") };
        let _ = writeln!(text, "  %r68 = {stride}");
        let ((of_line, by_line), (of_at, by_at)) = (lane(line), lane(at));
        let lines_before = match by_line * unit {
            1 => format!("mov.b32 {of_line}"),
            scale => format!("imul.lo.u32 {of_line}, {scale}"),
        };
        let _ = writeln!(text, "  %r69 = {lines_before}");
        let _ = writeln!(text, "  %{file}71 = imad.{kind} %r69, %r68, %{file}0");
        let _ = writeln!(text, "  %{file}73 = imad.{kind} {of_at}, {}, %{file}71", by_at * size / 8);
        let mut lines = vec![(0, 73)];
        for register in 0..self.held.distinct() {
            for element in 0..self.held.each() {
                let fixed = self.line(self.held.place(register, element)).0.fixed;
                if lines.iter().any(|(known, _)| *known == fixed) {
                    continue;
                }
                let own = 74 + lines.len();
                let _ = writeln!(text, "  %{file}{own} = imad.{kind} %r68, {}, %{file}73", fixed * unit);
                lines.push((fixed, own));
            }
        }
        (text, lines)
    }

    /// The line in memory, and the place in it.
    fn line(&self, (row, column): Place) -> (Linear, Linear) {
        if self.by_columns { (column, row) } else { (row, column) }
    }

    /// The operand of an access to an element.
    fn at(&self, lines: &[(usize, usize)], register: usize, element: usize) -> String {
        let (line, at) = self.line(self.held.place(register, element));
        let base = lines.iter().find(|(fixed, _)| *fixed == line.fixed).map_or(0, |(_, number)| *number);
        let file = if self.is_wide { "d" } else { "r" };
        match self.offset + (at.fixed * self.held.bits / 8) as i64 {
            0 => format!("[%{file}{base}]"),
            sum if sum < 0 => format!("[%{file}{base}-{}]", sum.unsigned_abs()),
            sum => format!("[%{file}{base}+{sum}]"),
        }
    }

    /// Whether the elements of a register lie beside each other in memory.
    fn is_beside(&self) -> bool {
        let (first, last) = (self.held.place(0, 0), self.held.place(0, self.held.each() - 1));
        self.line(first).0 == self.line(last).0
    }

    /// Whether the registers of a pair lie beside each other in memory.
    fn is_pair(&self, register: usize) -> bool {
        let is_even = register.is_multiple_of(2) && register + 1 < self.held.distinct();
        let of = |register| self.line(self.held.place(register, 0));
        let ((line, at), (other, next)) = (of(register), of(register + 1));
        // The first of the pair is at a multiple of the size of both.
        is_even
            && self.held.bits == 32
            && line == other
            && next.fixed == at.fixed + 1
            && at.place.is_multiple_of(2)
            && at.group.is_multiple_of(2)
            && at.fixed.is_multiple_of(2)
    }

    fn load(self) -> Option<(String, Vec<Operand>)> {
        let (mut text, lines) = self.addresses();
        let (file, space, bits) = (self.file(), self.space, self.held.bits);
        let (mut register, mut own) = (0, 96);
        while register < self.held.distinct() {
            let to = 2 + register;
            let from = self.at(&lines, register, 0);
            if self.is_pair(register) {
                let _ = writeln!(text, "  %r{to}, %r{} = ld{space}.v2.b32 {from}", to + 1);
                register += 2;
                continue;
            }
            if self.is_beside() {
                let _ = writeln!(text, "  %{file}{to} = ld{space}.b{} {from}", bits.max(32));
            } else {
                // Elements one by one, each put above those before.
                let _ = writeln!(text, "  %r{own} = ld{space}.u{bits} {from}");
                for element in 1..self.held.each() {
                    let from = self.at(&lines, register, element);
                    let _ = writeln!(text, "  %r{} = ld{space}.u{bits} {from}", own + 1);
                    let _ = writeln!(text, "  %r{} = shl.b32 %r{}, {}", own + 2, own + 1, bits * element);
                    let _ = writeln!(text, "  %r{} = or.b32 %r{own}, %r{}", own + 3, own + 2);
                    own += 3;
                }
                let _ = writeln!(text, "  %r{to} = mov.b32 %r{own}");
                own += 1;
            }
            register += 1;
        }
        for register in self.held.distinct()..self.registers {
            let from = 2 + register % self.held.distinct();
            let _ = writeln!(text, "  %r{} = mov.b32 %r{from}", 2 + register);
        }
        Some((text + "  ret\n}\n", self.inputs))
    }

    fn store(self) -> Option<(String, Vec<Operand>)> {
        let (mut text, lines) = self.addresses();
        let (file, space, bits) = (self.file(), self.space, self.held.bits);
        let (mut register, mut own) = (0, 96);
        while register < self.held.distinct() {
            let from = 2 + register;
            let to = self.at(&lines, register, 0);
            if self.is_pair(register) {
                let _ = writeln!(text, "  st{space}.v2.b32 {to}, %r{from}, %r{}", from + 1);
                register += 2;
                continue;
            }
            if self.is_beside() {
                let _ = writeln!(text, "  st{space}.b{} {to}, %{file}{from}", bits.max(32));
            } else {
                let _ = writeln!(text, "  st{space}.b{bits} {to}, %r{from}");
                for element in 1..self.held.each() {
                    let to = self.at(&lines, register, element);
                    let _ = writeln!(text, "  %r{own} = shr.u32 %r{from}, {}", bits * element);
                    let _ = writeln!(text, "  st{space}.b{bits} {to}, %r{own}");
                    own += 1;
                }
            }
            register += 1;
        }
        Some((text + "  ret\n}\n", self.inputs))
    }
}

/// A product of whole matrices: one of `mma` for each that it consists of.
fn product(func: &Function, inst: Inst, data: &InstData) -> Option<(String, Vec<Operand>)> {
    let [rows, columns, inner] = data.field::<MatrixShape>()?.extents();
    let left = data.field().unwrap_or(LeftElement::F16);
    let right = data.field::<RightElement>().map_or(LeftElement::F16, LeftElement::from);
    let addend = data.field::<Addend>().map_or(data.ty(), Addend::ty);
    let (srcs, results) = (func.srcs(inst).to_vec(), func.dsts(inst).len());
    // Of the factors with repeated registers the first ones are enough.
    let elements = |extent: usize, element: LeftElement| (extent * inner * element.bits() as usize).div_ceil(32 * 32);
    let words = if left == LeftElement::F64 { 2 } else { 1 };
    let [a, b] = [elements(rows, left) / words, elements(columns, right) / words];
    let sums = |ty: Type| rows * columns * ty.bits() as usize / 32 / ty.bits().max(32) as usize;
    let (c, d) = (sums(addend), sums(data.ty()));
    let given = |extent: usize, element| match element {
        LeftElement::F16 => 8,
        _ => elements(extent, element) / words,
    };
    let (given_a, given_b) = (given(rows, left), given(columns, right));
    if srcs.len() != given_a + given_b + c || results != d {
        return None;
    }
    let mut inputs: Vec<Operand> = srcs[..a].to_vec();
    inputs.extend(&srcs[given_a..given_a + b]);
    inputs.extend(&srcs[given_a + given_b..]);
    let file = if left == LeftElement::F64 { "d" } else { "r" };
    let named = |first: usize, count: usize| -> Vec<String> {
        (first..first + count).map(|number| format!("%{file}{number}")).collect()
    };
    let (of_a, of_b, of_c) = (named(0, a), named(a, b), named(a + b, c));
    let of_d = named(a + b + c, d);
    let mut body = Body { text: String::from("device @f {\nbb0:\n"), next: a + b + c + d };
    // A sum of floats is computed in the wider of both types.
    let wide = if addend == Type::F32 { Type::F32 } else { data.ty() };
    let of_c = body.converted(&of_c, addend, wide);
    let tiles = if rows * columns == 64 || rows * columns == 128 { 1 } else { 2 };
    let is_exchanged = columns == 32;
    let height = if is_exchanged || rows == 32 { 16 } else { rows };
    let factors = if is_exchanged { (right, left) } else { (left, right) };
    let suffix = suffix(data, factors, wide);
    let mut made = Vec::new();
    for tile in 0..tiles {
        let half = |all: &[String]| -> Vec<String> {
            let each = all.len() / tiles;
            all[tile * each..(tile + 1) * each].to_vec()
        };
        let (first, second) = match () {
            () if is_exchanged => (half(&of_b), of_a.clone()),
            () if rows == 32 => (half(&of_a), of_b.clone()),
            () => (of_a.clone(), half(&of_b)),
        };
        let addends = half(&of_c);
        let sums: Vec<String> = (0..addends.len()).map(|_| body.own(file)).collect();
        let operands = [first, second, addends].concat().join(", ");
        let _ = writeln!(body.text, "  {} = mma.sync.m{height}n8k{inner}{suffix} {operands}", sums.join(", "));
        made.extend(sums);
    }
    let made = body.converted(&made, wide, data.ty());
    let ty = if file == "d" { "b64" } else { "b32" };
    for (to, from) in of_d.iter().zip(&made) {
        let _ = writeln!(body.text, "  {to} = mov.{ty} {from}");
    }
    Some((body.text + "  ret\n}\n", inputs))
}

/// The name of a product behind its shape.
fn suffix(data: &InstData, (first, second): (LeftElement, LeftElement), ty: Type) -> String {
    let saturates = if data.field() == Some(SatFinite::SatFinite) { ".satfinite" } else { "" };
    let rounding = match data.field::<Rounding>() {
        None | Some(Rounding::Default) => String::new(),
        Some(rounding) => format!(".{}", rounding.name()),
    };
    let bits = match data.field::<BitProduct>() {
        None | Some(BitProduct::None) => String::new(),
        Some(bits) => format!(".{}", bits.name()),
    };
    let (ty, first, second) = (ty.name(), first.name(), second.name());
    format!(".row.col{saturates}{rounding}.{ty}.{first}.{second}.{ty}{bits}")
}

/// A text that grows, and the next register that nothing uses.
struct Body {
    text: String,
    next: usize,
}

impl Body {
    fn own(&mut self, file: &str) -> String {
        self.next += 1;
        format!("%{file}{}", self.next - 1)
    }

    /// Sums in registers of another type: two halves are in one register, as the two floats beside each other.
    fn converted(&mut self, words: &[String], from: Type, to: Type) -> Vec<String> {
        match (from, to) {
            (Type::F16, Type::F32) => {
                let mut made = Vec::new();
                for word in words {
                    let [high, first, second] = [(); 3].map(|()| self.own("r"));
                    let _ = writeln!(self.text, "  {first} = cvt.f32.f16 {word}\n  {high} = shr.u32 {word}, 16");
                    let _ = writeln!(self.text, "  {second} = cvt.f32.f16 {high}");
                    made.extend([first, second]);
                }
                made
            }
            (Type::F32, Type::F16) => {
                let mut made = Vec::new();
                for pair in words.chunks(2) {
                    let [low, high, above, both] = [(); 4].map(|()| self.own("r"));
                    let _ = writeln!(self.text, "  {low} = cvt.rn.f16.f32 {}", pair[0]);
                    let _ = writeln!(self.text, "  {high} = cvt.rn.f16.f32 {}", pair[1]);
                    let _ = writeln!(self.text, "  {above} = shl.b32 {high}, 16\n  {both} = or.b32 {low}, {above}");
                    made.push(both);
                }
                made
            }
            _ => words.to_vec(),
        }
    }
}
