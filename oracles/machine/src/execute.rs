//! What operations do to the state of a warp.

use oriole_interp::{Cause, LaneOrder};
use oriole_semantics::scalar;

use super::arithmetic::{compare_floats, compare_lanes, is_hard_quotient, lop3, prefers, shuffle, table_of_masks};
use super::engine::{Next, quick};
use super::lanes::{LANES, Lanes, blend, map, mask, set};
use super::machine::{Cta, Machine, Stop};
use super::program::*;
use super::state::{CODE, Group, Wait, Warp};
use super::tiles::Tile;

impl Machine<'_> {
    fn trap(&self, pc: u32, mask: u32, cause: Cause) -> Stop {
        Stop::Trap { pc, lane: mask.trailing_zeros(), cause }
    }

    /// Executes an operation of a group in some of its lanes.
    pub fn execute(
        &mut self,
        cta: &mut Cta,
        warp: usize,
        at: usize,
        group: Group,
        active: u32,
        kind: &Kind,
    ) -> Result<Next, Stop> {
        let w = &mut cta.warps[warp];
        let literals = self.literals;
        if quick(w, literals, kind, active) {
            return Ok(Next::Behind);
        }
        match kind {
            // The quick ones are all of these.
            Kind::Nop | Kind::One(..) | Kind::Two(..) | Kind::Three(..) | Kind::Select(..) => {}
            Kind::Lop3 { dst, srcs: [a, b, c], table, test } => {
                let mut marked = [[0; LANES]; 3];
                let [first, second, third] = &mut marked;
                let (a, b) = (w.operand(literals, *a, first), w.operand(literals, *b, second));
                let result = lop3(a, b, w.operand(literals, *c, third), *table);
                if let Some((pred, combined, all)) = test {
                    let nonzero = mask(|lane| result[lane] != 0);
                    let other = w.pred(*combined);
                    w.set_pred(*pred, if *all { nonzero & other } else { nonzero | other }, active);
                }
                w.write(*dst, &result, active);
            }
            Kind::Compare { dsts, srcs: [a, b], compare, signed, combine: (combine, with), lower } => {
                let mut marked = [[0; LANES]; 2];
                let [first, second] = &mut marked;
                let (a, b) = (w.operand(literals, *a, first), w.operand(literals, *b, second));
                let holds = compare_lanes(a, b, *compare, *signed, lower.map(|pred| w.pred(pred)));
                let with = w.pred(*with);
                w.set_pred(dsts[0], combine.of(holds, with), active);
                w.set_pred(dsts[1], combine.of(!holds, with), active);
            }
            Kind::CompareFloats { dsts, srcs: [a, b], compare, flushes, combine: (combine, with) } => {
                let mut marked = [[0; LANES]; 2];
                let [first, second] = &mut marked;
                let (a, b) = (w.operand(literals, *a, first), w.operand(literals, *b, second));
                let holds = compare_floats(a, b, *compare, *flushes);
                let with = w.pred(*with);
                w.set_pred(dsts[0], combine.of(holds, with), active);
                w.set_pred(dsts[1], combine.of(!holds, with), active);
            }
            Kind::Doubles(op, dst, srcs) => w.doubles(literals, *op, *dst, srcs, active),
            Kind::CompareDoubles { dsts, srcs, compare, combine: (combine, with) } => {
                let (holds, with) = (w.compare_doubles(literals, srcs, *compare), w.pred(*with));
                w.set_pred(dsts[0], combine.of(holds, with), active);
                w.set_pred(dsts[1], combine.of(!holds, with), active);
            }
            Kind::Pick { .. } | Kind::Pick3 { .. } => w.pick(literals, kind, active),
            Kind::Wide { .. } => w.wide(literals, kind, active),
            Kind::Add3 { .. } | Kind::Mad(_) | Kind::Lea { .. } => w.sum(literals, kind, active),
            Kind::Plop3(dsts, srcs, tables) => {
                let [a, b, c] = srcs.map(|side| match side {
                    Truth::Pred(pred) => w.pred(pred),
                    Truth::Sign(src) => {
                        let word = w.fetch(literals, src);
                        mask(|lane| word[lane] >> 31 == 1)
                    }
                });
                for (dst, table) in dsts.iter().zip(tables) {
                    w.set_pred(*dst, table_of_masks(a, b, c, *table), active);
                }
            }
            Kind::Either(pred, kinds) => {
                let holds = active & w.pred(*pred);
                if holds != 0 {
                    self.execute(cta, warp, at, group, holds, &kinds[0])?;
                }
                if active & !holds != 0 {
                    self.execute(cta, warp, at, group, active & !holds, &kinds[1])?;
                }
            }
            Kind::If(pred, kind) => {
                let holds = active & w.pred(*pred);
                if holds != 0 {
                    return self.execute(cta, warp, at, group, holds, kind);
                }
            }
            Kind::Sequence(kinds) => {
                for kind in kinds.iter() {
                    self.execute(cta, warp, at, group, active, kind)?;
                }
            }
            Kind::Scalar { op, dst: (dst, words), preds, values } => {
                let (mut low, mut high) = ([0; LANES], [0; LANES]);
                let mut holds = [0; 2];
                let operands = w.values(literals, values);
                for lane in set(active) {
                    let found = op.eval(&operands[lane]);
                    (low[lane], high[lane]) = (found.value as u32, (found.value >> 32) as u32);
                    holds[0] |= (found.value as u32 & 1) << lane;
                    holds[1] |= (found.second as u32 & 1) << lane;
                }
                match words {
                    0 => preds.iter().zip(holds).for_each(|(pred, holds)| w.set_pred(*pred, holds, active)),
                    1 => w.write(*dst, &low, active),
                    _ => {
                        w.write(*dst, &low, active);
                        w.write(*dst + 1, &high, active);
                    }
                }
            }
            Kind::Upper { op, dst, values } => {
                let mut result = [0; LANES];
                for lane in set(active) {
                    let found = op.eval(&values.map(|value| w.value(literals, value, lane)));
                    result[lane] = (found.value >> 32) as u32;
                }
                w.write(*dst, &result, active);
            }
            Kind::SetHalves { op, dst, values, one } => {
                let mut result = [0; LANES];
                for lane in set(active) {
                    let [a, b, c] = values.map(|value| w.value(literals, value, lane));
                    let found = op.eval(&[a, b, c, 0, 0]);
                    let half = |bit: u64| u32::from(*one) * (bit & 1) as u32;
                    result[lane] = half(found.second) << 16 | half(found.value);
                }
                w.write(*dst, &result, active);
            }
            Kind::Prefer { preds, srcs, min } => {
                let [a, a_high, b, b_high] = srcs.map(|src| w.fetch(literals, src));
                let double = |low: &Lanes, high: &Lanes, lane: usize| {
                    f64::from_bits(u64::from(high[lane]) << 32 | u64::from(low[lane]))
                };
                let first = mask(|lane| {
                    let (a, b) = (double(&a, &a_high, lane), double(&b, &b_high, lane));
                    prefers(a, b, *min)
                });
                let neither = mask(|lane| double(&a, &a_high, lane).is_nan() && double(&b, &b_high, lane).is_nan());
                w.set_pred(preds[0], first, active);
                w.set_pred(preds[1], neither, active);
            }
            Kind::CheckDivision(pred, srcs) => {
                let [a, b] = srcs.map(|src| w.fetch(literals, src));
                w.set_pred(*pred, mask(|lane| is_hard_quotient(a[lane], b[lane])), active);
            }
            Kind::PredsToReg(dst, src, which, first, byte) => {
                let base = w.fetch(literals, *src);
                let preds = &w.preds[usize::from(*first)..];
                let word = |lane: usize| (0..7).fold(0, |word, at| word | (preds[at] >> lane & 1) << at);
                let shift = 8 * u32::from(*byte);
                let result = std::array::from_fn(|lane| base[lane] & !(which << shift) | (word(lane) & which) << shift);
                w.write(*dst, &result, active);
            }
            Kind::RegToPreds(src, which, first, byte) => {
                let word = w.fetch(literals, *src);
                for at in (0..7u8).filter(|at| which >> at & 1 == 1) {
                    w.set_pred(first + at, mask(|lane| word[lane] >> (8 * byte + at) & 1 == 1), active);
                }
            }
            Kind::Special(dst, specials, words) => {
                for (i, special) in specials.iter().enumerate().take(usize::from(*words)) {
                    let result = self.special(cta, warp, *special);
                    cta.warps[warp].write(*dst + i as u16, &result, active);
                }
            }
            Kind::First { dst, src, differs, or } => {
                let words = w.fetch(literals, *src);
                let others = Warp::differing(&words, active);
                let before = if *or { w.preds[usize::from(*differs)] } else { 0 };
                w.set_pred(*differs, others | before, active);
                w.write(*dst, &words, active);
            }
            Kind::Shuffle { mode, in_range, dst, srcs } => {
                let [a, b, c] = srcs.map(|src| w.fetch(literals, src));
                let (result, within) = shuffle(*mode, &a, &b, &c);
                w.set_pred(*in_range, within, active);
                w.write(*dst, &result, active);
            }
            Kind::Vote { vote, dst, pred, src } => {
                let lanes = w.pred(*src) & active;
                let holds = match vote {
                    Vote::All => lanes == active,
                    Vote::Any => lanes != 0,
                    Vote::Equal => lanes == active || lanes == 0,
                };
                w.set_pred(*pred, if holds { u32::MAX } else { 0 }, active);
                w.write(*dst, &[lanes; LANES], active);
            }
            Kind::Match { dst, pred, srcs: (row, wide) } => {
                let (low, row) = (w.fetch_row(literals, *row), usize::from(*row));
                let high = if *wide && row != usize::from(ZERO) { w.rows[row + 1] } else { [0; LANES] };
                let same = |lane: usize| mask(|other| low[other] == low[lane] && high[other] == high[lane]) & active;
                let first = active.trailing_zeros() as usize;
                let result: Lanes = match pred {
                    None => std::array::from_fn(same),
                    Some(_) if same(first) == active => [active; LANES],
                    Some(_) => [0; LANES],
                };
                if let Some(pred) = pred {
                    w.set_pred(*pred, if same(first) == active { u32::MAX } else { 0 }, active);
                }
                w.write(*dst, &result, active);
            }
            Kind::Redux(dst, src, op, signed) => {
                let word = w.fetch(literals, *src);
                let ty = if *signed { oriole_ir::ops::Type::S32 } else { oriole_ir::ops::Type::U32 };
                let mut lanes = set(active).map(|lane| u64::from(word[lane]));
                let first = lanes.next().unwrap_or(0);
                let all = lanes.fold(first, |sum, word| scalar::reduce(*op, ty, sum, word));
                w.write(*dst, &[all as u32; LANES], active);
            }
            Kind::ReduxFloat(dst, src, extreme) => {
                let word = w.fetch(literals, *src);
                w.write(*dst, &[extreme.of(set(active).map(|lane| word[lane])); LANES], active);
            }
            Kind::Elect(pred, dst) => {
                let first = active.trailing_zeros();
                w.set_pred(*pred, 1 << first, active);
                w.write(*dst, &[first; LANES], active);
            }
            Kind::LoadConstant { .. }
            | Kind::Load { .. }
            | Kind::LoadCombined { .. }
            | Kind::Store { .. }
            | Kind::Atomic { .. }
            | Kind::CopyAsync { .. }
            | Kind::LoadTiles { .. }
            | Kind::StoreTiles { .. }
            | Kind::Window(..) => {
                w.note_access(kind);
                self.access(cta, warp, group.pc, active, kind)?;
            }
            Kind::Image(word) => {
                w.note_access(kind);
                self.image(cta, warp, group.pc, active, word)?;
            }
            Kind::Transpose(dst, src) => {
                let result = Tile::of(&w.fetch_row(literals, *src)).transposed().words();
                w.write(*dst, &result, active);
            }
            Kind::Multiply { product, dst, srcs, negated, metadata } => {
                if active != w.live {
                    return Err(self.trap(group.pc, active, lanes_are_missing()));
                }
                let mut sources: Vec<Lanes> = Vec::new();
                for ((row, negated), count) in srcs.iter().zip(negated).zip(product.words()) {
                    let word = |at: u16| w.fetch_row(literals, if *row == ZERO { ZERO } else { row + at });
                    let sign = |at: u16| if *negated && at % 2 == 1 { 1 << 31 } else { 0 };
                    sources.extend((0..count as u16).map(|at| word(at).map(|bits| bits ^ sign(at))));
                }
                sources.push(w.fetch_row(literals, *metadata));
                for (at, word) in (0..).zip(product.eval(&sources)) {
                    w.write(*dst + at, &word, active);
                }
            }
            Kind::GroupMultiply(product) => {
                if active != w.live {
                    return Err(self.trap(group.pc, active, lanes_are_missing()));
                }
                let done = self.multiply_in_group(cta, warp, product);
                done.map_err(|cause| self.trap(group.pc, active, cause))?;
            }
            Kind::Here(dst, address) => {
                let address = *address as u64;
                w.write(*dst, &[address as u32; LANES], active);
                w.write(*dst + 1, &[(address >> 32) as u32; LANES], active);
            }
            Kind::Branch(to, pred) => {
                let taken = active & w.pred(*pred);
                return Ok(w.split(at, group, &[(taken, *to)]));
            }
            // The loops that serve one lane after another have operands in uniform registers.
            Kind::BranchAny(to, condition) => {
                if active & w.pred(*condition) == 0 {
                    return Ok(Next::Behind);
                }
                w.groups[at].pc = *to;
                w.current = Some(group.mask);
                return Ok(Next::Elsewhere);
            }
            Kind::ClusterArrive => w.arrive_at_cluster(active),
            Kind::ClusterWait => {
                let early = w.early_at_cluster(active);
                if early != 0 {
                    return Ok(w.wait(at, group, early, Wait::Cluster));
                }
            }
            Kind::Sync(sync) => {
                w.note_access(kind);
                return self.synchronize(cta, warp, at, group, active, sync);
            }
            Kind::Bulk(bulk) => {
                w.note_access(kind);
                self.bulk(cta, warp, group.pc, active, bulk)?;
            }
            Kind::Remote(remote) => {
                w.note_access(kind);
                self.remote(cta, warp, group.pc, active, remote)?;
            }
            Kind::BranchDivergent { to, members, missing, there } => {
                let members = w.fetch(literals, *members)[0];
                let taken = (members & w.live & !(group.mask & w.pred(*there)) != 0) == *missing;
                return Ok(w.split(at, group, &[(if taken { group.mask } else { 0 }, *to)]));
            }
            Kind::Jump(row, base) => return self.jump(cta, warp, at, group, active, (*row, *base)),
            Kind::Call(to) => return self.go(cta, warp, at, group, active, [16 * u64::from(*to); LANES]),
            Kind::Exit(pred) => {
                let ended = active & w.pred(*pred);
                if ended == 0 {
                    return Ok(Next::Behind);
                }
                w.groups[at].pc = group.pc + 1;
                w.end(ended);
                return Ok(Next::Elsewhere);
            }
            Kind::Bssy(barrier) => {
                blend(&mut w.barriers[usize::from(*barrier)], &[active; LANES], active);
            }
            Kind::Bsync(barrier) => {
                let members = w.barriers[usize::from(*barrier)];
                return Ok(w.wait_alike(at, group, active, &members, |_| Wait::Bsync(*barrier)));
            }
            Kind::Break(barrier) => w.leave(*barrier, active),
            Kind::BarrierToReg(dst, barrier, clears) => {
                let held = w.barriers[usize::from(*barrier)];
                w.write(*dst, &held, active);
                if *clears {
                    blend(&mut w.barriers[usize::from(*barrier)], &[0; LANES], active);
                }
            }
            Kind::RegToBarrier(barrier, src) => {
                let word = w.fetch(literals, *src);
                blend(&mut w.barriers[usize::from(*barrier)], &word, active);
            }
            Kind::WarpSync { members, exclusive } => {
                let members = members.map_or([u32::MAX; LANES], |src| w.fetch(literals, src));
                let all = set(active).fold(0, |all, lane| all | members[lane]);
                if !exclusive && all & w.live & !active == 0 {
                    return Ok(Next::Behind);
                }
                return Ok(w.wait_alike(at, group, active, &members, Wait::Warp));
            }
            Kind::Collective(src, after) => {
                let members = src.map_or([u32::MAX; LANES], |src| w.fetch(literals, src));
                blend(&mut w.after_collective, &[*after; LANES], active);
                return Ok(w.wait_alike(at, group, active, &members, Wait::Collective));
            }
            Kind::EndCollective => {
                let mut targets: Vec<(u32, u32)> = Vec::new();
                for lane in set(active) {
                    let to = w.after_collective[lane];
                    send(&mut targets, lane, to);
                }
                return Ok(w.split(at, group, &targets));
            }
            Kind::Yield => {
                w.groups[at].pc = group.pc + 1;
                w.groups[at].turns += 1;
                return Ok(Next::Elsewhere);
            }
            Kind::Barrier(usage, number, count, pred) => {
                return self.barrier(cta, warp, at, group, active, (*usage, *number, *count, *pred));
            }
            Kind::BarrierResult(dst, pred) => {
                let result = w.reduced;
                w.set_pred(*pred, mask(|lane| result[lane] != 0), active);
                w.write(*dst, &result, active);
            }
            Kind::Trap => return Err(self.trap(group.pc, active, Cause::Trap)),
            Kind::Unknown(why) => return Err(Stop::Unknown { pc: group.pc, why: why.clone() }),
        }
        Ok(Next::Behind)
    }

    /// Goes to the address in a pair of registers, each lane to its own.
    fn jump(
        &mut self,
        cta: &mut Cta,
        warp: usize,
        at: usize,
        group: Group,
        active: u32,
        (row, base): (u16, i64),
    ) -> Result<Next, Stop> {
        let w = &cta.warps[warp];
        let low = w.fetch_row(self.literals, row);
        let high = if row == ZERO { low } else { w.rows[usize::from(row) + 1] };
        let pair = |lane: usize| u64::from(high[lane]) << 32 | u64::from(low[lane]);
        self.go(cta, warp, at, group, active, std::array::from_fn(|lane| pair(lane).wrapping_add_signed(base)))
    }

    /// Goes to addresses relative to the code, each lane to its own; a function of the driver returns at once.
    fn go(
        &mut self,
        cta: &mut Cta,
        warp: usize,
        at: usize,
        group: Group,
        active: u32,
        addresses: [u64; LANES],
    ) -> Result<Next, Stop> {
        let called = set(active).find_map(|lane| self.external_at(addresses[lane]));
        let addresses = match called {
            Some(name) => self.external(cta, warp, group.pc, active, name)?,
            None => addresses,
        };
        let w = &mut cta.warps[warp];
        let mut targets: Vec<(u32, u32)> = Vec::new();
        for lane in set(active) {
            let address = addresses[lane] as i64;
            let to = u32::try_from(address / 16).ok().filter(|to| (*to as usize) < self.program.ops.len());
            let Some(to) = to.filter(|_| address % 16 == 0) else {
                let what = format!("no code is at {:#x}", address.wrapping_add(CODE as i64));
                return Err(Stop::Trap { pc: group.pc, lane: lane as u32, cause: Cause::BadCall(what) });
            };
            send(&mut targets, lane, to);
        }
        Ok(w.split(at, group, &targets))
    }

    fn special(&self, cta: &Cta, warp: usize, special: Special) -> Lanes {
        let first = cta.warps[warp].first;
        let [width, height, _] = self.launch.block;
        std::array::from_fn(|lane| {
            let thread = first + lane as u32;
            let bit = 1u32 << lane;
            match special {
                Special::Tid(0) => thread % width,
                Special::Tid(1) => thread / width % height,
                Special::Tid(_) => thread / width / height,
                Special::Ctaid(axis) => cta.ctaid[usize::from(axis)],
                Special::Rank => cta.rank,
                Special::Lane => lane as u32,
                Special::Warp => first / LANES as u32,
                Special::LaneMask(Order::Eq) => bit,
                Special::LaneMask(Order::Lt) => bit - 1,
                Special::LaneMask(Order::Le) => bit | (bit - 1),
                Special::LaneMask(Order::Gt) => !(bit | (bit - 1)),
                Special::LaneMask(Order::Ge) => !(bit - 1),
                Special::Clock(false) => self.executed as u32,
                Special::Clock(true) => (self.executed >> 32) as u32,
                Special::SharedWindow => (oriole_interp::SHARED_WINDOW >> 32) as u32,
                Special::Constant(value) => value,
            }
        })
    }
}

/// Adds a lane to those that go to a place.
fn send(targets: &mut Vec<(u32, u32)>, lane: usize, to: u32) {
    match targets.iter_mut().find(|(_, known)| *known == to) {
        Some((lanes, _)) => *lanes |= 1 << lane,
        None => targets.push((1 << lane, to)),
    }
}

impl super::state::Warp {
    /// The lanes in which a predicate holds.
    #[inline(always)]
    pub fn pred(&self, pred: Pred) -> u32 {
        let held = self.preds[usize::from(pred.at)];
        if pred.not { !held } else { held }
    }

    /// Sets a predicate in the lanes of a mask; a uniform one in all.
    #[inline(always)]
    pub fn set_pred(&mut self, at: u8, value: u32, active: u32) {
        if at == NOWHERE {
            return;
        }
        let held = &mut self.preds[usize::from(at)];
        if at < UNIFORM_PREDICATES {
            *held = *held & !active | value & active;
        } else {
            let lane = active.trailing_zeros();
            let value = if value >> lane & 1 == 1 { u32::MAX } else { 0 };
            let has_changed = std::mem::replace(held, value) != value;
            self.note_uniform(has_changed);
        }
    }

    /// Writes a result: of a general register in the lanes of a mask, of a uniform one the word of the first of them.
    #[inline(always)]
    pub fn write(&mut self, row: u16, result: &Lanes, active: u32) {
        let to = &mut self.rows[usize::from(row)];
        if row < UNIFORM {
            blend(to, result, active);
        } else {
            let word = result[active.trailing_zeros() as usize & 31];
            let has_changed = to[0] != word;
            *to = [word; LANES];
            self.note_uniform(has_changed);
        }
    }

    #[inline(always)]
    pub fn fetch_row(&self, literals: &[Lanes], row: u16) -> Lanes {
        match row.checked_sub(LITERALS) {
            Some(literal) => literals[usize::from(literal)],
            None => self.rows[usize::from(row)],
        }
    }

    /// An operand in every lane.
    #[inline(always)]
    pub fn fetch(&self, literals: &[Lanes], src: Src) -> Lanes {
        let row = self.fetch_row(literals, src.row);
        match src.mark {
            Mark::Plain => row,
            Mark::Negate => map(&row, u32::wrapping_neg),
            Mark::Invert => map(&row, |word| !word),
            Mark::Bits { keep, flip } => map(&row, |word| word & keep ^ flip),
        }
    }

    /// An operand in every lane: the row itself, or what its mark makes of it, in a place for that.
    #[inline(always)]
    pub fn operand<'a>(&'a self, literals: &'a [Lanes], src: Src, room: &'a mut Lanes) -> &'a Lanes {
        let row = match src.row.checked_sub(LITERALS) {
            Some(literal) => &literals[usize::from(literal)],
            None => &self.rows[usize::from(src.row)],
        };
        *room = match src.mark {
            Mark::Plain => return row,
            Mark::Negate => map(row, u32::wrapping_neg),
            Mark::Invert => map(row, |word| !word),
            Mark::Bits { keep, flip } => map(row, |word| word & keep ^ flip),
        };
        room
    }

    /// The operands of an operation that is computed lane by lane, by lane.
    fn values(&self, literals: &[Lanes], values: &[Value; 5]) -> [[u64; 5]; LANES] {
        let mut found = [[0; 5]; LANES];
        for (at, value) in values.iter().enumerate() {
            let mut room = [0; LANES];
            match *value {
                Value::None => {}
                Value::Word(src) => {
                    let words = self.operand(literals, src, &mut room);
                    found.iter_mut().zip(words).for_each(|(to, word)| to[at] = (*word).into());
                }
                Value::Pair(low, high) => {
                    let low = self.operand(literals, low, &mut room);
                    found.iter_mut().zip(low).for_each(|(to, word)| to[at] = (*word).into());
                    let mut room = [0; LANES];
                    let high = self.operand(literals, high, &mut room);
                    found.iter_mut().zip(high).for_each(|(to, word)| to[at] |= u64::from(*word) << 32);
                }
                other => {
                    (0..LANES).for_each(|lane| found[lane][at] = self.value(literals, other, lane));
                }
            }
        }
        found
    }

    /// An operand of an operation that is computed lane by lane.
    fn value(&self, literals: &[Lanes], value: Value, lane: usize) -> u64 {
        let word = |src: Src| {
            let row = src.row;
            let word = match row.checked_sub(LITERALS) {
                Some(literal) => literals[usize::from(literal)][lane],
                None => self.rows[usize::from(row)][lane],
            };
            match src.mark {
                Mark::Plain => word,
                Mark::Negate => word.wrapping_neg(),
                Mark::Invert => !word,
                Mark::Bits { keep, flip } => word & keep ^ flip,
            }
        };
        let half = |word: u32, upper: bool| if upper { word >> 16 } else { word & 0xffff };
        match value {
            Value::None => 0,
            Value::Word(src) => word(src).into(),
            Value::Pair(low, high) => u64::from(word(high)) << 32 | u64::from(word(low)),
            Value::Half(src, upper) => half(word(src), upper).into(),
            Value::Byte(src, at) => (word(src) >> (8 * at) & 0xff).into(),
            Value::Packed(src, [low, high]) => {
                let word = word(src);
                (half(word, high) << 16 | half(word, low)).into()
            }
            Value::Pred(pred) => (self.pred(pred) >> lane & 1).into(),
        }
    }

    /// Sends lanes of a group elsewhere; the others continue behind the operation.
    fn split(&mut self, at: usize, group: Group, targets: &[(u32, u32)]) -> Next {
        let gone = targets.iter().fold(0, |mask, (lanes, _)| mask | lanes);
        if gone == 0 {
            return Next::Behind;
        }
        if let [(lanes, to)] = targets
            && *lanes == group.mask
        {
            self.groups[at].pc = *to;
            // A loop of one group gives way at times, so that others that it may wait for continue.
            self.groups[at].turns += u32::from(*to <= group.pc && self.groups.len() > 1);
            return Next::Elsewhere;
        }
        self.groups.remove(at);
        let part = |mask, pc| Group { pc, mask, ..group };
        let stays = Some(part(group.mask & !gone, group.pc + 1)).filter(|stays| stays.mask != 0);
        let gone = targets.iter().filter(|(lanes, _)| *lanes != 0).map(|(lanes, to)| part(*lanes, *to));
        // The group that came last goes first where groups do not take turns.
        match self.order {
            LaneOrder::Branching => self.groups.extend(stays.into_iter().chain(gone)),
            _ => self.groups.extend(gone.chain(stays)),
        }
        Next::Elsewhere
    }

    /// Has lanes of a group wait behind the operation; the others continue.
    pub fn wait(&mut self, at: usize, group: Group, active: u32, wait: Wait) -> Next {
        self.groups[at] = Group { pc: group.pc + 1, mask: active, wait, ..group };
        if group.mask & !active != 0 {
            self.groups.push(Group { pc: group.pc + 1, mask: group.mask & !active, wait: Wait::Ready, ..group });
        }
        Next::Elsewhere
    }

    /// Has lanes wait for others: those together that name the same ones.
    fn wait_alike(
        &mut self,
        at: usize,
        group: Group,
        active: u32,
        members: &Lanes,
        wait: impl Fn(u32) -> Wait,
    ) -> Next {
        let mut left = active;
        let mut next = Next::Behind;
        let mut place = at;
        let mut group = group;
        while left != 0 {
            let named = members[left.trailing_zeros() as usize];
            let alike = mask(|lane| members[lane] == named) & left;
            left &= !alike;
            next = self.wait(place, group, alike, wait(named));
            group.mask &= !alike;
            // What is left of the group is at its end.
            place = self.groups.len() - 1;
        }
        next
    }
}

fn lanes_are_missing() -> Cause {
    Cause::BadCollective("lanes are missing at a product of matrices".to_owned())
}
