//! Multicast memory: some kernels have a buffer of replicas, the multicast address of it, and the addresses of two
//! replicas.
//!
//! Each thread has a region of its own in every replica, as it has of other memory, so accesses never race, whichever
//! address they go by. A GPU wants `fence.proxy.alias` between accesses by one address and by another. Kernels go
//! without, since behind a fence no phase would be tempted, and no launch with replicas goes to a GPU.

use oriole_ir::ops::{Opcode, Shape, Space, Type};
use oriole_ir::{Function, Module};
use oriole_ir::{InstBuilder, Local, Operand, Reg, RegInfo, Variable};

use super::builder::Builder;
use super::entropy::Entropy;
use super::kernel::bytes;
use super::memory::{REGION, Region, access_bytes};
use oriole_launch::{Arg, ArgValue, Buffer};

/// The parameters that such a kernel has beside others: the first replica, the second one, and the multicast address.
const NAMES: [&str; 3] = ["replica0", "replica1", "multicast"];
/// The last replica has no address of its own.
const REPLICAS: u32 = 3;
/// Percentage of accesses between two loads of a word that they may change.
const WATCHED: u32 = 50;

/// The thread's region of multicast memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Multicast {
    /// Its multicast address.
    all: Reg,
    /// Its addresses in two replicas.
    replicas: [Reg; 2],
}

/// Adds the parameters to a kernel.
pub(super) fn declare(func: &mut Function) -> [Local; 3] {
    NAMES.map(|name| {
        let local = func.locals.push(Variable::new(name, Space::Param, Type::U64, None));
        func.params.push(local);
        local
    })
}

/// Whether the kernel of a module has them.
pub(super) fn is_in(module: &Module) -> bool {
    let has = |func: &Function| func.params.iter().any(|local| func.locals[*local].name == NAMES[0]);
    module.functions.values().any(has)
}

/// What a launch of so many threads passes to them behind so many other arguments.
pub(super) fn arguments(before: usize, entropy: &mut Entropy<'_>, threads: u32) -> Vec<Arg> {
    let replica = REGION * threads;
    let content = bytes(entropy, (REPLICAS * replica) as usize);
    let values = [
        ArgValue::Buffer(Buffer { bytes: content, replicas: REPLICAS, ..Buffer::default() }),
        ArgValue::Alias { arg: before, offset: replica.into() },
        ArgValue::Multicast { arg: before, offset: 0 },
    ];
    values.into_iter().map(|value| Arg { name: None, value }).collect()
}

impl Builder<'_, '_> {
    /// Reads the parameters. Accesses to memory go to a replica too.
    pub(super) fn read_multicast(&mut self, params: [Local; 3], number: Reg) {
        let own = params.map(|param| {
            let base = self.read_param(param, Type::B64);
            let at = Self::typed(Opcode::IMadWide, Type::U32).src(number).src(u64::from(REGION)).src(base);
            self.hidden(at, RegInfo::words(2))
        });
        let [first, second, all] = own;
        self.multicast = Some(Multicast { all, replicas: [first, second] });
        self.regions.push(region(first));
        // Few kernels have such memory, so each accesses it.
        let opcode = self.entropy.choose(&[Opcode::MultimemLoad, Opcode::MultimemStore, Opcode::MultimemRed]);
        if self.config.makes(opcode) {
            self.access_multicast(opcode);
        }
    }

    /// An access to multicast memory, in a kernel that has some; often between two loads of what it may change.
    pub(super) fn access_multicast(&mut self, opcode: Opcode) {
        let Some(Multicast { all, replicas }) = self.multicast else { return };
        let row = opcode.row();
        let Some(fields) = self.fields(opcode, &[]) else { return };
        let watched = self.entropy.percent(WATCHED).then(|| {
            let word = 4 * self.entropy.below(REGION as usize / 4) as u64;
            (self.entropy.choose(&replicas), word)
        });
        self.look_at(watched);
        let (base, offset) = self.address(region(all), access_bytes(row, &fields));
        let count = row.registers(&fields, Shape::V);
        let ty = row.value::<Type>(&fields).unwrap_or(Type::B32);
        let guard = self.guard();
        let mut inst = InstBuilder::new(opcode).fields(fields).src(base).src(offset).guard(guard);
        if row.dsts.is_empty() {
            for _ in 0..count {
                inst = inst.src(self.value(ty));
            }
        } else {
            inst = self.results(inst, RegInfo::of(ty), count, guard.is_some(), &mut Vec::new());
        }
        self.push(&inst);
        self.look_at(watched);
    }

    /// Loads a word of a replica.
    fn look_at(&mut self, watched: Option<(Reg, u64)>) {
        let Some((replica, word)) = watched else { return };
        let to = self.destination(RegInfo::words(1), false);
        self.push(&Self::typed(Opcode::Ld, Type::B32).field(Space::Global).src(replica).src(word).dst(to));
    }
}

/// The region of a thread at an address.
fn region(at: Reg) -> Region {
    Region { space: Space::Global, base: Operand::Reg(at), generic: Some(at), writable: true, constant: false }
}
