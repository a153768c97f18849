//! Shapes of warps and addresses that compilers of C++ write and passes look for as a whole: butterfly reductions,
//! shuffles that move nothing, generic addresses that go back to their space, frames that are one variable.
//!
//! Left to chance, no two shuffles of a kernel belong together, and no address is taken to where it came from.

use oriole_ir::ops::{CvtaDirection, FieldValue, Opcode, Space, Type, Vector};
use oriole_ir::{Operand, RegInfo, Variable};

use super::builder::Builder;
use super::memory::{REGION, Region};
use super::template::spelled;

/// The operations by which lanes combine values; each takes the same value from both sides.
const COMBINED: [&str; 8] =
    ["iadd.u32", "iadd.s32", "imin.s32", "imin.u32", "imax.u32", "and.b32", "or.b32", "xor.b32"];

impl Builder<'_, '_> {
    /// A butterfly over all lanes, mostly one that is a reduction.
    pub(super) fn butterfly(&mut self) {
        let from = self.variable_word();
        let value = self.copy_of(from.into(), Type::B32);
        let mut distances = vec![1, 2, 4, 8, 16];
        let combine = self.entropy.choose(&COMBINED);
        // Near misses: a distance that is missing, one that comes twice, another operation, a value that is read.
        let miss = if self.entropy.percent(30) { self.entropy.between(1, 4) } else { 0 };
        let mut text = String::new();
        for at in 0..5 {
            let place = self.entropy.below(distances.len());
            let distance = if miss == 2 && at == 3 { distances[place] } else { distances.remove(place) };
            let other = if miss == 3 && at == 2 { self.entropy.choose(&COMBINED) } else { combine };
            if miss == 1 && at == 4 {
                break;
            }
            let (from, in_range) = (10 + 2 * at, 11 + 2 * at);
            let sources = if self.entropy.percent(50) { format!("%r0, %r{from}") } else { format!("%r{from}, %r0") };
            text += &format!("  %r{from}, %p{in_range} = shfl.sync.bfly.b32 %r0, {distance}, 31, 0xffffffff\n");
            text += &format!("  %r0 = {other} {sources}\n");
            if miss == 4 && at == 1 {
                text += "  %r1 = imad.lo.u32 %r1, 3, %r0\n";
            }
        }
        let read = self.copy_of(Operand::imm(0), Type::B32);
        self.template(text.trim_end(), &[value, read]);
        self.offer(value);
        if miss == 4 {
            self.offer(read);
        }
    }

    /// A shuffle by no distance, or of a value that all threads of the CTA have.
    pub(super) fn still(&mut self) {
        let is_uniform = self.entropy.percent(50);
        let own = self.variable_word();
        let from = match self.uniforms.first() {
            Some((word, _)) if is_uniform => *word,
            _ => own,
        };
        let mode = self.entropy.choose(&["up", "down", "bfly"]);
        let by = if is_uniform { self.entropy.between(0, 31) } else { 0 };
        // A lane that is out of range keeps what it has.
        let end = if mode == "up" { 0 } else { 31 };
        let result = self.destination(RegInfo::words(1), false);
        let text = format!("  %r1, %p9 = shfl.sync.{mode}.b32 %r0, {by}, {end}, 0xffffffff");
        self.template(&text, &[from, result]);
    }

    /// A generic address that is counted on and goes back to its space, with an access there; or one of a space that
    /// becomes generic, and the other way round again.
    pub(super) fn there_and_back(&mut self) {
        let fits =
            |region: &Region| region.writable && matches!(region.space, Space::Global | Space::Shared | Space::Local);
        let regions: Vec<Region> = self.regions.iter().copied().filter(fits).collect();
        if regions.is_empty() {
            return;
        }
        let region = self.entropy.choose(&regions);
        let generic = self.generic(region.space, region.base);
        let value = self.variable_word();
        let at = 4 * self.entropy.below(REGION as usize / 8);
        let behind = 4 * self.entropy.below(REGION as usize / 8);
        let space = region.space.name();
        let to = self.destination(RegInfo::words(1), false);
        let back = format!("  %d3 = iadd.u64 %d0, {at}\n  %d4 = cvta.to.{space}.u64 %d3\n");
        let again = format!("{back}  %d5 = cvta.{space}.u64 %d4\n");
        let (store, load) = (spelled("st", region.space), spelled("ld", region.space));
        let text = match self.entropy.below(3) {
            0 => format!("{back}  {store}.b32 [%d4+{behind}], %r1\n  %r2 = {load}.b32 [%d4+{behind}]"),
            1 => format!("{again}  st.b32 [%d5+{behind}], %r1\n  %r2 = {load}.b32 [%d4+{behind}]"),
            _ => format!("{again}  {store}.b32 [%d4+{behind}], %r1\n  %r2 = ld.b32 [%d5+{behind}]"),
        };
        self.template(&text, &[generic, value, to]);
    }

    /// A frame as nvcc lays it out without optimization: one variable for all that a function keeps in memory, its
    /// address generic, addresses of its parts stored in it, loaded again, and passed to calls.
    pub(super) fn depot(&mut self) {
        let name = format!("depot{}", self.func.locals.len());
        let depot = Variable { align: 16, ..Variable::new(name, Space::Local, Type::B8, Some(u64::from(3 * REGION))) };
        let depot = Operand::Local(self.func.locals.push(depot));
        let value = self.variable_word();
        self.clear(Space::Local, depot, value);
        let base = self.hidden(Self::typed(Opcode::Mov, Type::B64).src(depot), RegInfo::words(2));
        let convert = Self::typed(Opcode::Cvta, Type::U64).field(CvtaDirection::ToGeneric).field(Space::Local);
        let frame = self.hidden(convert.src(base), RegInfo::words(2));
        let [word, pointer] = [REGION, REGION + 16].map(|at| at + 4 * self.entropy.between(0, 1));
        let pointer = pointer.next_multiple_of(8);
        let part = 4 * self.entropy.below(REGION as usize / 4);
        let to = self.destination(RegInfo::words(1), false);
        let store = if self.entropy.percent(50) { "st.b32 [%d0+" } else { "st.local.b32 [%d1+" };
        // The address of a part lies in the frame, as that of an object does whose members are called.
        let text = format!(
            "  {store}{word}], %r2\n  %d4 = iadd.u64 %d0, {part}\n  st.b64 [%d0+{pointer}], %d4
  %d5 = ld.local.b64 [%d1+{pointer}]\n  %r6 = ld.b32 [%d5]\n  %r7 = ld.b32 [%d0+{word}]
  %r8 = iadd.u32 %r6, %r7\n  st.b32 [%d5], %r8\n  %r3 = xor.b32 %r8, %r7"
        );
        self.template(&text, &[frame, base, value, to]);
        if self.entropy.percent(40) {
            let within = self.entropy.choose(&[1, 3, 7]);
            let text = format!("  %r4 = and.b32 %r2, {within}\n  %d5 = imad.wide.u32 %r4, 4, %d0\n  st.b32 [%d5], %r2");
            self.template(&text, &[frame, base, value]);
        }
        if let Some(touching) = self.touching.filter(|_| self.entropy.percent(60)) {
            self.call_with(touching, [value.into(), frame.into()]);
        }
        let pair = [(); 2].map(|()| self.func.new_reg(RegInfo::words(2)));
        let load = Self::typed(Opcode::Ld, Type::B64).field(Space::Local).field(Vector::V2);
        let at = self.entropy.choose(&[0, 16]);
        self.push(&load.dst(pair[0]).dst(pair[1]).src(depot).src(u64::from(at as u32)));
        pair.into_iter().for_each(|reg| self.fold(reg));
    }
}
