//! Kernels have what phases go wrong on, and few would have by chance.

use std::collections::{BTreeSet, HashSet};

use oriole_generate::config::{OpcodeName, TableLevel};
use oriole_generate::{Config, Entropy, from_seed, single};
use oriole_interp::{Executable, Outcome, RunOptions};
use oriole_ir::ops::{
    AtomOp, Compare, CopyFrom, Flags, NonCoherent, Opcode, Order, Saturate, Space, SpecialReg, SrcType, Type,
};
use oriole_ir::{Form, FuncId, Function, FunctionKind, Global, Inst, InstData, Module, Operand, Reg, RegFile};
use oriole_launch::NamedLaunch;
use oriole_reference::{Graph, NestedLoop, loops};

/// Kernels in virtual form, as they are made.
fn modules(count: u64) -> Vec<Module> {
    modules_by(&Config::default(), count)
}

fn modules_by(config: &Config, count: u64) -> Vec<Module> {
    let module = |seed| from_seed(seed, config).module;
    let modules: Vec<Module> = (0..count).map(module).collect();
    assert!(modules.iter().flat_map(|module| module.functions.values()).all(|func| func.form == Form::Virtual));
    modules
}

fn count<T>(items: &[T], holds: impl Fn(&T) -> bool) -> usize {
    items.iter().filter(|item| holds(item)).count()
}

fn kernel(module: &Module) -> &Function {
    module.functions.values().find(|func| func.kind == FunctionKind::Entry).expect("there is a kernel")
}

#[test]
fn loops_begin_at_the_entry_behind_it_and_deep_inside() {
    let modules = modules(600);
    let entry = |module: &Module| {
        let graph = Graph::of(kernel(module));
        graph.successors.iter().any(|successors| successors.contains(&0))
    };
    let behind = |module: &Module| {
        let graph = Graph::of(kernel(module));
        loops(&graph).iter().any(|one| one.header != 0 && graph.successors[0].contains(&one.header))
    };
    let deep = |module: &Module| {
        let found = loops(&Graph::of(kernel(module)));
        found.iter().any(|one| one.depth >= 4)
    };
    let found = [count(&modules, entry), count(&modules, behind), count(&modules, deep)];
    println!("{found:?} of 600 kernels have a loop at the entry, one behind it, and four in each other");
    assert!(found[0] >= 9 && found[1] >= 20 && found[2] >= 4, "{found:?}");
}

/// What is uniform differs between the blocks of a grid: most grids have two, and in the second one the word that
/// decides where warps go is inverted, which kernels of one block do without.
#[test]
fn two_blocks_go_both_ways() {
    let config = Config { cluster: 0, ..Config::default() };
    let all: Vec<_> = (0..600).map(|seed| from_seed(seed, &config)).collect();
    let (two, one): (Vec<_>, Vec<_>) = all.iter().partition(|generated| generated.launches[0].launch.grid[0] == 2);
    assert!(two.len() > 2 * one.len(), "{} kernels of two blocks, {} of one", two.len(), one.len());
    // `word ^ (0 - block)`
    let turns = |module: &Module| {
        has(module, |func, inst| {
            let subtracted = func.srcs(inst).get(1).and_then(|operand| definition(func, Some(operand)));
            let from_zero = subtracted.filter(|made| {
                func.inst(*made).opcode == Opcode::ISub && func.imm_bits(func.srcs(*made)[0]) == Some(0)
            });
            let block = from_zero.and_then(|made| definition(func, func.srcs(made).get(1)));
            func.inst(inst).opcode == Opcode::Xor
                && block.is_some_and(|s2r| func.srcs(s2r) == [Operand::Special(SpecialReg::CtaidX)])
        })
    };
    let found = count(&two, |generated| turns(&generated.module));
    println!("{found} of {} kernels of two blocks turn", two.len());
    // Where nothing reads it, it is not there.
    assert!(6 * found > two.len(), "{found} of {}", two.len());
    assert!(!one.iter().any(|generated| turns(&generated.module)));
}

/// Words that a called function makes of a small argument are less than zero for half of all arguments.
#[test]
fn functions_have_negative_words_of_small_arguments() {
    let factors = |func: &Function| -> Vec<u64> {
        let products = func.layout_insts().filter(|inst| func.inst(*inst).opcode == Opcode::IMulLo);
        products.filter_map(|inst| func.imm_bits(func.srcs(inst)[1])).collect()
    };
    let modules = modules(200);
    let functions = modules.iter().flat_map(|module| module.functions.values());
    let called: Vec<&Function> = functions.filter(|func| func.name.starts_with("device")).collect();
    let negative = |func: &&Function| factors(func).iter().any(|factor| factor % 2 == 1 && factor >> 31 == 1);
    let found = called.iter().filter(|func| negative(func)).count();
    assert!(called.len() > 40 && 2 * found > called.len(), "{found} of {}", called.len());
}

/// Whether some path from the entry to a reading instruction of the kernel meets no definition of what it reads.
fn reads_without(func: &Function, is_meant: impl Fn(&Function, Inst) -> bool) -> bool {
    let graph = Graph::of(func);
    let place = |block| graph.blocks.iter().position(|other| *other == block);
    let defined_in = |reg: Reg| -> HashSet<usize> {
        let insts = func.layout_insts().filter(|inst| func.inst(*inst).guard.is_none());
        insts
            .filter(|inst| func.defs(*inst).any(|def| def == reg))
            .filter_map(|inst| place(func.block_of(inst)?))
            .collect()
    };
    func.layout_insts().filter(|inst| is_meant(func, *inst)).any(|inst| {
        let Some(at) = func.block_of(inst).and_then(place) else { return false };
        func.uses(inst).any(|reg| {
            let defined = defined_in(reg);
            let (mut seen, mut work) = (HashSet::new(), vec![0]);
            while let Some(block) = work.pop().filter(|block| !defined.contains(block)) {
                if block == at {
                    return true;
                }
                work.extend(graph.successors[block].iter().copied().filter(|next| seen.insert(*next)));
            }
            false
        })
    })
}

#[test]
fn values_exist_under_a_predicate_alone() {
    let modules = modules(1200);
    // Nothing else makes a guarded product of what may be undefined.
    let guarded = |func: &Function, inst: Inst| {
        func.inst(inst).guard.is_some() && func.inst(inst).opcode == Opcode::IMulLo && func.dsts(inst).len() == 1
    };
    let found = count(&modules, |module| reads_without(kernel(module), guarded));
    println!("{found} of 1200 kernels read under a guard what no definition dominates");
    assert!(found >= 8, "{found}");
}

fn calls(func: &Function) -> impl Iterator<Item = Inst> + '_ {
    func.layout_insts().filter(|inst| func.inst(*inst).opcode == Opcode::Call)
}

fn names(func: &Function, callee: FuncId) -> bool {
    func.layout_insts().any(|inst| func.srcs(inst).contains(&Operand::Func(callee)))
}

#[test]
fn functions_have_frames_and_call_themselves() {
    let modules = modules(400);
    let functions = |holds: &dyn Fn(FuncId, &Function) -> bool| {
        let all = modules.iter().flat_map(|module| module.functions.iter());
        all.filter(|(id, func)| func.kind == FunctionKind::Device && holds(*id, func)).count()
    };
    let frame = |func: &Function| func.locals.values().any(|local| local.space == Space::Local);
    let (frames, recursive) = (functions(&|_, func| frame(func)), functions(&|id, func| names(func, id)));
    let both = functions(&|id, func| frame(func) && names(func, id));
    println!("{frames} functions of 400 kernels have a frame, {recursive} call themselves, {both} do both");
    assert!(frames >= 40 && recursive >= 20 && both >= 5);
}

#[test]
fn calls_share_parameter_variables() {
    let modules = modules(600);
    let shares = |func: &Function| {
        let mut seen = HashSet::new();
        calls(func).any(|call| {
            func.srcs(call).iter().any(|operand| match operand {
                Operand::Local(local) => !seen.insert(*local),
                _ => false,
            })
        })
    };
    let found = count(&modules, |module| module.functions.values().any(shares));
    println!("{found} of 600 kernels call twice through the same variables");
    assert!(found >= 20, "{found}");
}

#[test]
fn instructions_have_a_dead_and_a_live_result() {
    let modules = modules(400);
    let half_dead = |func: &Function| {
        let read: HashSet<Reg> = func.layout_insts().flat_map(|inst| func.uses(inst).collect::<Vec<_>>()).collect();
        func.layout_insts().any(|inst| {
            let data = func.inst(inst);
            let removable = data.is(Flags::PURE) || data.opcode == Opcode::Ld;
            let live = func.defs(inst).filter(|reg| read.contains(reg)).count();
            removable && live > 0 && live < func.defs(inst).count()
        })
    };
    let found = count(&modules, |module| module.functions.values().any(half_dead));
    println!("{found} of 400 kernels have an instruction of which one result is dead and another is not");
    assert!(found >= 12, "{found}");
}

/// Whether the kernel loads what an initial value says of where a variable lies, from a variable in this space.
fn loads_addresses(module: &Module, space: Space) -> bool {
    let meant = |global: Global| {
        let variable = &module.globals[global];
        variable.space == space && !variable.relocations.is_empty()
    };
    let func = kernel(module);
    func.layout_insts().any(|inst| {
        let symbol = |operand: &Operand| matches!(operand, Operand::Global(of) if meant(*of));
        func.inst(inst).opcode == Opcode::Ld && func.srcs(inst).iter().any(symbol)
    })
}

#[test]
fn a_quarter_of_kernels_load_addresses_from_initial_values() {
    // Others need not keep what nothing reads.
    let modules = modules_by(&Config { unused: 100, ..Config::default() }, 400);
    let found = [Space::Const, Space::Global].map(|space| count(&modules, |module| loads_addresses(module, space)));
    println!("{found:?} of 400 kernels load addresses from constants, from variables");
    assert!(found.iter().all(|found| (30..=70).contains(found)), "{found:?}");
}

/// All of it together still ends, whatever it is made of.
#[test]
fn kernels_of_nothing_else_finish() {
    let mut config = Config { again: 100, frame: 100, recursive: 100, functions: 3, ..Config::default() };
    (config.flow.nest, config.flow.apart, config.flow.call) = (20, 20, 20);
    config.operand.dead_result = 100;
    for seed in 0..200 {
        let generated = from_seed(seed, &config);
        let executable = Executable::new(&generated.module).expect("it decodes");
        for named in &generated.launches {
            let result = executable.run(&named.launch, &RunOptions::default()).expect("it fits its launch");
            assert_eq!(result.outcome, Outcome::Finished, "seed {seed}");
        }
    }
}

#[test]
fn opcodes_that_are_left_out_are_not_made() {
    const LEFT_OUT: [Opcode; 4] = [Opcode::VSub, Opcode::VAdd, Opcode::VMin, Opcode::MatchAny];
    let without = LEFT_OUT.map(OpcodeName).to_vec();
    let made = |config: &Config| {
        let modules: Vec<Module> = (0..600).map(|seed| from_seed(seed, config).module).collect();
        modules.iter().flat_map(Module::operations).filter(|data| LEFT_OUT.contains(&data.opcode)).count()
    };
    let all = made(&Config::default());
    assert!(all >= 10, "{all} are made");
    assert_eq!(made(&Config { without, ..Config::default() }), 0);
    assert!(toml::from_str::<Config>("without = [\"fns\", \"vadd\"]").is_ok());
    let unknown = toml::from_str::<Config>("without = [\"fnz\"]").unwrap_err().to_string();
    assert!(unknown.contains("no opcode is called `fnz`"), "{unknown}");
}

/// Bulk copies and products of warpgroups read what the threads have stored through another proxy, and wait for a fence
/// only (PTX ISA, "Async Proxy"). The interpreter has one memory for all proxies, so nothing else asks for the fence.
#[test]
fn a_fence_stands_between_stores_and_what_reads_them_asynchronously() {
    let reads_shared = |inst: &InstData| match inst.opcode {
        Opcode::BulkStore | Opcode::BulkReduceStore | Opcode::BulkReduce => true,
        Opcode::BulkCopy => inst.opcode.row().value::<CopyFrom>(&inst.fields) == Some(CopyFrom::Cta),
        opcode => opcode.is(Flags::WARPGROUP) && opcode.is(Flags::ASYNC),
    };
    let pinned = single::pins(TableLevel::Virtual).iter().zip(0..).filter(|((opcode, _), _)| opcode.is(Flags::ASYNC));
    let config = Config::default();
    let made = |place: u64| single::instruction(place, &mut Entropy::from_seed(place), &config).module;
    let mut readers = BTreeSet::new();
    for module in pinned.map(|(_, place)| made(place)) {
        for func in module.functions.values() {
            for block in func.layout().iter().copied() {
                let mut is_ordered = false;
                for inst in func.block_insts(block).map(|inst| func.inst(inst)) {
                    let to_shared = inst.opcode.row().value::<Space>(&inst.fields) == Some(Space::Shared);
                    if inst.opcode == Opcode::FenceProxy {
                        is_ordered = true;
                    } else if inst.opcode.is(Flags::WRITES) && to_shared {
                        is_ordered = false;
                    } else if reads_shared(inst) {
                        assert!(is_ordered, "{:?} without a fence in {}", inst.opcode, func.name);
                        readers.insert(inst.opcode);
                    }
                }
            }
        }
    }
    // Bulk copies and reductions in both directions, products of two kinds with the left factor in either place.
    assert_eq!(readers.len(), 8, "{readers:?}");
}

/// Any instruction of the kernel for which something holds.
fn has(module: &Module, holds: impl Fn(&Function, Inst) -> bool) -> bool {
    let func = kernel(module);
    func.layout_insts().any(|inst| holds(func, inst))
}

/// A load or store in a space; none of a parameter or of a constant.
fn is_access(func: &Function, inst: Inst, space: Space) -> bool {
    let data = func.inst(inst);
    matches!(data.opcode, Opcode::Ld | Opcode::St) && data.field() == Some(space)
}

fn base_name<'m>(module: &'m Module, func: &Function, inst: Inst) -> Option<&'m str> {
    match func.srcs(inst).first() {
        Some(Operand::Global(global)) => Some(&module.globals[*global].name),
        _ => None,
    }
}

/// The one definition of a register in virtual form.
fn definition(func: &Function, operand: Option<&Operand>) -> Option<Inst> {
    let reg = operand.and_then(|operand| operand.reg())?;
    let mut all = func.layout_insts().filter(|inst| func.defs(*inst).any(|def| def == reg));
    all.next().filter(|_| all.next().is_none())
}

/// Counts the kernels for which something holds; they have to be so many.
fn found_in(modules: &[Module], name: &str, least: usize, holds: &dyn Fn(&Module) -> bool) {
    let found = count(modules, holds);
    println!("{name}: {found} of {} kernels", modules.len());
    assert!(found >= least, "{name}: {found}");
}

/// Each is what some phase goes wrong on, and what nothing else in a kernel makes.
#[test]
fn loops_and_sides_meet_in_rare_ways() {
    let modules = modules(8000);
    let found = |name: &str, least: usize, holds: &dyn Fn(&Module) -> bool| found_in(&modules, name, least, holds);
    found("a word of what a loop changes", 20, &|module| {
        has(module, |func, inst| {
            let &[Operand::Word(reg, _)] = func.srcs(inst) else { return false };
            let definitions = func.layout_insts().filter(|inst| func.defs(*inst).any(|def| def == reg)).count();
            func.inst(inst).opcode == Opcode::Mov && definitions > 1
        })
    });
    found("two sides that load from one place, behind a store on one of them", 10, &|module| {
        let loads = |func: &Function, block| {
            let mut insts = func.block_insts(block).map(|inst| (func.inst(inst).opcode, func.srcs(inst)));
            let first = insts.next()?;
            let (stores, load) = if first.0 == Opcode::St { (true, insts.next()?) } else { (false, first) };
            (load.0 == Opcode::Ld).then(|| (stores, load.1.to_vec()))
        };
        has(module, |func, inst| {
            let &[_, Operand::Block(yes), Operand::Block(no)] = func.srcs(inst) else { return false };
            let sides = loads(func, yes).zip(loads(func, no));
            sides.is_some_and(|(yes, no)| yes.0 != no.0 && yes.1 == no.1)
        })
    });
    found("a word of a row, before and behind the matrix that is stored there", 1, &|module| {
        has(module, |func, inst| {
            let [before, behind] = [func.prev_inst(inst), func.next_inst(inst)];
            let is_load = |inst: Inst| func.inst(inst).opcode == Opcode::Ld;
            func.inst(inst).opcode == Opcode::StMatrix
                && before.zip(behind).is_some_and(|(a, b)| is_load(a) && is_load(b) && func.srcs(a) == func.srcs(b))
        })
    });
    found("an address that is counted in 16 bits", 3, &|module| {
        has(module, |func, inst| {
            let wide = definition(func, func.srcs(inst).first()).filter(|_| is_access(func, inst, Space::Shared));
            let sum = wide.and_then(|wide| definition(func, func.srcs(wide).first()));
            sum.is_some_and(|sum| func.inst(sum).opcode == Opcode::IAdd && func.inst(sum).ty() == Type::U16)
        })
    });
    found("a half of a long number near 2^32", 10, &|module| {
        has(module, |func, inst| {
            let sum = definition(func, func.srcs(inst).first().filter(|src| matches!(src, Operand::Word(_, 0))));
            let addend = sum.and_then(|sum| func.imm_bits(*func.srcs(sum).get(1)?));
            func.inst(inst).opcode == Opcode::Mov && addend.is_some_and(|bits| ((1 << 32) - 8..1 << 32).contains(&bits))
        })
    });
    found("a copy, by way of another register, of what one instruction makes", 10, &|module| {
        has(module, |func, inst| {
            let is_copy = |inst: Inst| func.inst(inst).opcode == Opcode::Mov && func.inst(inst).guard.is_none();
            let way = definition(func, func.srcs(inst).first()).filter(|way| is_copy(inst) && is_copy(*way));
            let made = way.and_then(|way| definition(func, func.srcs(way).first()));
            made.is_some_and(|made| func.inst(made).opcode == Opcode::IMulLo)
        })
    });
    found("a copy of what a loop makes under a guard alone", 10, &|module| {
        has(module, |func, inst| {
            let made = definition(func, func.srcs(inst).first()).filter(|_| func.inst(inst).opcode == Opcode::Mov);
            made.is_some_and(|made| func.inst(made).guard.is_some() && func.inst(made).opcode == Opcode::IMulLo)
        })
    });
    found("a predicate that guards on a side, and is a variable behind it", 28, &|module| {
        has(module, |func, inst| {
            let to = func.defs(inst).next().filter(|_| func.inst(inst).ty() == Type::Pred);
            let made = definition(func, func.srcs(inst).first()).filter(|_| func.inst(inst).opcode == Opcode::Mov);
            let here = func.block_of(inst);
            let guards = |reg| {
                let mut inside = func.layout_insts().filter(|inst| func.block_of(*inst) == here);
                inside.any(|inst| func.inst(inst).guard.is_some_and(|guard| guard.reg() == reg))
            };
            let is_here = |made: &Inst| func.inst(*made).opcode == Opcode::SetP && func.block_of(*made) == here;
            let made = made.filter(is_here);
            to.is_some() && made.and_then(|made| func.defs(made).next()).is_some_and(guards)
        })
    });
    found("a sum of long products with a factor in common", 3, &|module| {
        has(module, |func, inst| {
            let is_product = |inst: Inst| func.inst(inst).opcode == Opcode::IMadWide;
            let below = definition(func, func.srcs(inst).get(2)).filter(|below| is_product(inst) && is_product(*below));
            below.is_some_and(|below| func.srcs(below)[0] == func.srcs(inst)[0])
        })
    });
}

/// Each is what some phase goes wrong on, and what nothing else in a kernel makes.
#[test]
fn memory_and_conditions_meet_in_rare_ways() {
    let modules = modules(4000);
    let found = |name: &str, least: usize, holds: &dyn Fn(&Module) -> bool| found_in(&modules, name, least, holds);
    found("own shared memory by its address in the cluster", 8, &|module| {
        let exchanges = has(module, |func, inst| {
            matches!(func.inst(inst).opcode, Opcode::ClusterArrive | Opcode::StAsync | Opcode::RedAsync)
        });
        !exchanges && has(module, |func, inst| is_access(func, inst, Space::Cluster))
    });
    found("a variable of one thread, by name and by address", 3, &|module| {
        let named = |func: &Function, inst| base_name(module, func, inst) == Some("sole");
        let moved = |func: &Function, inst| func.inst(inst).opcode == Opcode::Mov && named(func, inst);
        has(module, moved) && has(module, |func, inst| is_access(func, inst, Space::Global) && named(func, inst))
    });
    found("loads of two tables by name", 5, &|module| {
        let func = kernel(module);
        let loads = func.layout_insts().filter(|inst| is_access(func, *inst, Space::Global));
        let names: HashSet<&str> = loads.filter_map(|inst| base_name(module, func, inst)).collect();
        names.iter().filter(|name| name.starts_with("table")).count() > 1
    });
    found("an address of 32 bits that begins before the bytes", 5, &|module| {
        has(module, |func, inst| {
            let narrow = is_access(func, inst, Space::Shared) || is_access(func, inst, Space::Local);
            let sum = definition(func, func.srcs(inst).first()).filter(|_| narrow);
            let addend = |sum: Inst| func.srcs(sum).get(1).and_then(|operand| func.imm_bits(*operand));
            let is_sum = |sum: &Inst| func.inst(*sum).opcode == Opcode::IAdd && func.inst(*sum).ty() == Type::U32;
            sum.filter(is_sum).and_then(addend).is_some_and(|bits| bits as i32 <= -4)
        })
    });
    found("a guarded load of several elements", 3, &|module| {
        has(module, |func, inst| {
            let data = func.inst(inst);
            data.opcode == Opcode::Ld && data.guard.is_some() && data.vector_len() > 1 && data.ty().bits() < 32
        })
    });
    found("guarded logic on predicates", 10, &|module| {
        has(module, |func, inst| {
            let data = func.inst(inst);
            data.guard.is_some() && data.ty() == Type::Pred && matches!(data.opcode, Opcode::And | Opcode::Or)
        })
    });
    found("a branch on the second result of a comparison", 10, &|module| {
        has(module, |func, inst| {
            let condition = func.srcs(inst).first();
            let compare = definition(func, condition).filter(|_| func.inst(inst).opcode == Opcode::CBra);
            compare.is_some_and(|compare| func.dsts(compare).get(1) == condition)
        })
    });
    found("a value of 128 bits from memory", 20, &|module| {
        has(module, |func, inst| is_access(func, inst, Space::Global) && func.inst(inst).ty() == Type::B128)
    });
}

/// Acquires and fences are all that orders them: without these they race.
#[test]
fn words_are_handed_over_without_a_race() {
    let mut config = Config { instructions: [60, 120], ..Config::default() };
    (config.flow.exchange, config.operand.hand_over, config.operand.exchange_next) = (40, 100, 0);
    let options = RunOptions { races: true, ..RunOptions::default() };
    let races = |module: &Module, named: &NamedLaunch| {
        let executable = Executable::new(module).expect("it decodes");
        let result = executable.run(&named.launch, &options).expect("it fits its launch");
        assert_eq!(result.outcome, Outcome::Finished);
        !result.races.is_empty()
    };
    let is_handed = |func: &Function, inst: Inst| is_access(func, inst, Space::Global) && orders(func.inst(inst));
    let (mut racy, mut shared) = (0, 0);
    for seed in 0..150 {
        let generated = from_seed(seed, &config);
        let relaxed = relaxed(&generated.module);
        for named in &generated.launches {
            assert!(!races(&generated.module, named), "seed {seed}");
            racy += usize::from(races(&relaxed, named));
        }
        shared += usize::from(!has(&generated.module, is_handed));
    }
    println!("{racy} kernels race without what orders them; {shared} of 150 hand nothing over in global memory");
    assert!(racy >= 50 && shared < 125, "{racy} {shared}");
}

/// A difference says nothing about a kernel whose threads race.
#[test]
fn threads_of_generated_kernels_do_not_race() {
    let options = RunOptions { races: true, ..RunOptions::default() };
    let mut racy = Vec::new();
    for seed in 0..4000 {
        let generated = from_seed(seed, &Config::default());
        let executable = Executable::new(&generated.module).expect("it decodes");
        let races = |named: &NamedLaunch| {
            let result = executable.run(&named.launch, &options).expect("it fits its launch");
            result.races.first().map(|race| format!("seed {seed}: {race}"))
        };
        racy.extend(generated.launches.iter().find_map(races));
    }
    assert!(racy.is_empty(), "{racy:#?}");
}

fn orders(data: &InstData) -> bool {
    data.opcode == Opcode::Fence || matches!(data.field(), Some(Order::Acquire | Order::Release))
}

/// A module without fences, and with relaxed accesses for those that acquire or release.
fn relaxed(module: &Module) -> Module {
    let mut module = module.clone();
    for func in module.functions.values_mut() {
        let all: Vec<Inst> = func.layout_insts().filter(|inst| orders(func.inst(*inst))).collect();
        for inst in all {
            match func.inst(inst).opcode {
                Opcode::Fence => func.remove_inst(inst),
                _ => func.set_field(inst, Order::Relaxed),
            }
        }
    }
    module
}

/// Each is what a planted fault slipped through for want of.
#[test]
fn what_faults_have_slipped_through_is_made() {
    let modules = modules(4000);
    let found = |name: &str, least: usize, holds: &dyn Fn(&Module) -> bool| found_in(&modules, name, least, holds);
    let is = |func: &Function, inst: Inst, opcode, ty| {
        let data = func.inst(inst);
        data.opcode == opcode && data.ty() == ty
    };
    found("a store that a load of the other sign reads at once", 20, &|module| {
        has(module, |func, inst| {
            let after = func.next_inst(inst).filter(|_| func.inst(inst).opcode == Opcode::St);
            let reads = |load: Inst| {
                let (one, two) = (func.inst(inst).ty(), func.inst(load).ty());
                func.inst(load).opcode == Opcode::Ld && one.bits() < 32 && one != two && one.bits() == two.bits()
            };
            after.is_some_and(|load| reads(load) && func.srcs(load)[..2] == func.srcs(inst)[..2])
        })
    });
    found("a load that a conversion of the other sign alone reads", 20, &|module| {
        has(module, |func, inst| {
            let next = func.next_inst(inst).filter(|_| func.inst(inst).opcode == Opcode::Ld);
            next.is_some_and(|next| {
                let from = func.inst(next).field::<SrcType>().map(Type::from);
                let (to, loaded) = (func.inst(next).ty(), func.inst(inst).ty());
                let other = from.is_some_and(|from| from.bits() == loaded.bits() && from != loaded);
                let reads = func.defs(inst).next().map(Operand::Reg) == func.srcs(next).first().copied();
                func.inst(next).opcode == Opcode::Cvt && to.bits() == 64 && !to.is_float() && other && reads
            })
        })
    });
    found(
        "a word that is read in front of a branch within another one, stored inside, and read behind both",
        5,
        &|module| {
            let func = kernel(module);
            let (graph, word) = (Graph::of(func), |inst| func.srcs(inst)[..2].to_vec());
            let first = |block: usize, opcode| {
                func.block_insts(graph.blocks[block]).next().filter(|inst| func.inst(*inst).opcode == opcode)
            };
            let last = |block: usize| {
                let before = func.terminator(graph.blocks[block]).and_then(|last| func.prev_inst(last));
                before.filter(|inst| func.inst(*inst).opcode == Opcode::Ld)
            };
            (0..graph.blocks.len()).any(|block| {
                let Some(store) = first(block, Opcode::St) else { return false };
                let joins = graph.successors[block].iter().flat_map(|join| &graph.successors[*join]);
                let behind =
                    joins.copied().any(|join| first(join, Opcode::Ld).is_some_and(|load| word(load) == word(store)));
                behind && (0..graph.blocks.len()).any(|above| last(above).is_some_and(|load| word(load) == word(store)))
            })
        },
    );
    found("an access that alternates with a counter", 20, &|module| {
        has(module, |func, inst| {
            let counted = definition(func, func.srcs(inst).first());
            is(func, inst, Opcode::And, Type::B32)
                && func.imm_bits(func.srcs(inst)[1]) == Some(8)
                && counted.is_some_and(|counted| is(func, counted, Opcode::Shl, Type::B32))
        })
    });
    found("words of one register packed", 2, &|module| {
        has(module, |func, inst| {
            let srcs = func.srcs(inst);
            let are_words = srcs.iter().all(|src| matches!(src, Operand::Word(..)));
            is(func, inst, Opcode::Pack, Type::B32) && srcs.len() > 1 && are_words
        })
    });
    found("more values at once than a word has bits", 50, &|module| {
        let func = kernel(module);
        let is_one =
            |inst: &Inst| is(func, *inst, Opcode::IMadLo, Type::U32) && func.imm_bits(func.srcs(*inst)[1]).is_some();
        func.layout().iter().any(|block| func.block_insts(*block).filter(is_one).count() > 64)
    });
    found("an address that is counted on under a guard", 20, &|module| {
        has(module, |func, inst| {
            let to = func.defs(inst).next().filter(|_| func.inst(inst).guard.is_some());
            let access = |reg| {
                has(module, |func, inst| {
                    matches!(func.inst(inst).opcode, Opcode::Ld | Opcode::St) && func.srcs(inst)[0] == Operand::Reg(reg)
                })
            };
            is(func, inst, Opcode::IAdd, Type::U64) && to.is_some_and(access)
        })
    });
    found("a word by an address of 32 bits that is cut", 4, &|module| {
        has(module, |func, inst| {
            let base = definition(func, func.srcs(inst).first()).filter(|_| is_access(func, inst, Space::Shared));
            base.is_some_and(|base| {
                is(func, base, Opcode::And, Type::B32) && matches!(func.srcs(base)[0], Operand::Word(..))
            })
        })
    });
    found("a negation in a sum", 10, &|module| {
        has(module, |func, inst| {
            let negated =
                |src: &Operand| definition(func, Some(src)).is_some_and(|of| func.inst(of).opcode == Opcode::INeg);
            matches!(func.inst(inst).opcode, Opcode::IAdd | Opcode::ISub) && func.srcs(inst).iter().any(negated)
        })
    });
    found("bits of a long number counted", 8, &|module| {
        has(module, |func, inst| {
            let long = is(func, inst, Opcode::Popc, Type::B64) || is(func, inst, Opcode::Clz, Type::B64);
            let made = definition(func, func.srcs(inst).first()).filter(|_| long);
            made.is_some_and(|made| matches!(func.inst(made).opcode, Opcode::Pack | Opcode::Not))
        })
    });
    found("a branch on half of a word", 100, &|module| {
        has(module, |func, inst| {
            let condition =
                definition(func, func.srcs(inst).first()).filter(|_| func.inst(inst).opcode == Opcode::CBra);
            condition.is_some_and(|on| matches!(func.inst(on).ty(), Type::U16 | Type::S16))
        })
    });
    found("the halves of one value on two sides", 10, &|module| {
        let func = kernel(module);
        let halves = |block| {
            let words = func.block_insts(block).map(|inst| func.srcs(inst).first().copied());
            words.filter(|word| matches!(word, Some(Operand::Word(..)))).count() == 2
                && func.block_insts(block).count() == 3
        };
        func.layout().windows(2).any(|pair| pair.iter().all(|block| halves(*block)))
    });
}

/// Comparisons of parts of words are no mirror images of each other, though they look like that.
#[test]
fn single_operations_exchange_what_they_compare() {
    let places = (0..).zip(single::pins(TableLevel::Virtual)).filter(|(_, (opcode, _))| *opcode == Opcode::VSet);
    let config = Config::default();
    let made = |place: u64| single::instruction(place, &mut Entropy::from_seed(place), &config).module;
    let modules: Vec<Module> = places.map(|(place, _)| made(place)).collect();
    let compares = |func: &Function, inst: Inst| func.inst(inst).opcode == Opcode::VSet;
    let mirrored = |func: &Function, one: Inst, other: Inst| {
        let [how, mirrored] = [one, other].map(|inst| func.inst(inst).field::<Compare>());
        let (a, b) = (func.srcs(one), func.srcs(other));
        compares(func, other) && how.map(Compare::mirrored) == mirrored && (a[0], a[1]) == (b[1], b[0]) && a[0] != a[1]
    };
    let found = count(&modules, |module| follows(module, compares, mirrored));
    println!("{found} of {} kernels", modules.len());
    assert!(found * 2 > modules.len(), "{found} of {}", modules.len());
}

#[test]
fn products_of_warpgroups_are_waited_for_in_other_blocks() {
    let places = (0..).zip(single::pins(TableLevel::Virtual)).filter(|(_, (opcode, _))| opcode.is(Flags::WARPGROUP));
    let config = Config::default();
    let made = |place: u64| single::instruction(place, &mut Entropy::from_seed(place), &config).module;
    let modules: Vec<Module> = places.map(|(place, _)| made(place)).collect();
    let found = count(&modules, |module| {
        let func = kernel(module);
        let blocks = |opcode| {
            let all = func.layout_insts().filter(move |inst| func.inst(*inst).opcode == opcode);
            all.filter_map(|inst| func.block_of(inst)).collect::<HashSet<_>>()
        };
        !blocks(Opcode::WgmmaWait).is_subset(&blocks(Opcode::WgmmaCommit))
    });
    println!("{found} of {} kernels", modules.len());
    assert!(found * 20 > modules.len(), "{found} of {}", modules.len());
}

/// Blocks in which an instruction is followed by another one.
fn follows(
    module: &Module,
    first: impl Fn(&Function, Inst) -> bool,
    second: impl Fn(&Function, Inst, Inst) -> bool,
) -> bool {
    let func = kernel(module);
    func.layout().iter().any(|block| {
        let insts: Vec<Inst> = func.block_insts(*block).collect();
        let starts = insts.iter().enumerate().filter(|(_, inst)| first(func, **inst));
        starts.into_iter().any(|(at, one)| insts[at + 1..].iter().any(|other| second(func, *one, *other)))
    })
}

#[test]
fn relaxed_stores_meet_others() {
    let modules = modules(6000);
    let is_store = |func: &Function, inst: Inst| func.inst(inst).opcode == Opcode::St;
    let relaxed = |func: &Function, inst: Inst| {
        is_store(func, inst) && func.inst(inst).field() == Some(Order::Relaxed) && func.inst(inst).guard.is_none()
    };
    let same =
        |func: &Function, one: Inst, other: Inst| is_store(func, other) && func.srcs(one)[..2] == func.srcs(other)[..2];
    let found = count(&modules, |module| follows(module, relaxed, same));
    println!("{found} of 6000 kernels store again where a relaxed store was in the same block");
    assert!(found >= 2, "{found}");
}

#[test]
fn what_is_multiplied_counts_by_what_the_loop_changes() {
    let modules = modules(1500);
    let product = |func: &Function, inst: Inst| matches!(func.inst(inst).opcode, Opcode::IMulLo | Opcode::IMadLo);
    let uneven = |func: &Function, one: Inst, other: Inst| {
        let [Operand::Reg(counted), Operand::Reg(_)] = func.srcs(other) else { return false };
        let steps = func.inst(other).opcode == Opcode::IAdd && func.defs(other).eq([*counted]);
        steps && func.srcs(one)[..2].contains(&Operand::Reg(*counted))
    };
    let found = count(&modules, |module| follows(module, product, uneven));
    println!("{found} of 1500 kernels multiply what counts by a register");
    assert!(found >= 2, "{found}");
}

/// Each is what a condition of a phase over loops is there for.
#[test]
fn loops_are_nearly_what_phases_look_for() {
    let modules = modules(18_000);
    let found = |name: &str, least: usize, holds: &dyn Fn(&Module) -> bool| found_in(&modules, name, least, holds);
    let opcode = |func: &Function, inst: Inst| func.inst(inst).opcode;
    let is_counted = |func: &Function, inst: Inst| {
        opcode(func, inst) == Opcode::IAdd
            && func.defs(inst).next().map(Operand::Reg) == func.srcs(inst).first().copied()
    };
    let is_product = |func: &Function, inst: Inst| matches!(opcode(func, inst), Opcode::IMulLo | Opcode::IMadLo);
    found("a product of what counts up to the largest number", 8, &|module| {
        let counts = |func: &Function, one: Inst, other: Inst| {
            let saturates = func.inst(other).field() == Some(Saturate::Sat);
            is_counted(func, other) && saturates && func.srcs(one).contains(&func.dsts(other)[0])
        };
        follows(module, is_product, counts)
    });
    found("a product of what counts and the sum that it is added to", 6, &|module| {
        let func = kernel(module);
        let counters: Vec<Operand> =
            func.layout_insts().filter(|inst| is_counted(func, *inst)).map(|inst| func.dsts(inst)[0]).collect();
        let adds = |func: &Function, one: Inst, other: Inst| {
            let ([product], [sum]) = (func.dsts(one), func.dsts(other)) else { return false };
            let factors = &func.srcs(one)[..2];
            func.srcs(other) == [*sum, *product]
                && factors.contains(sum)
                && factors.iter().any(|factor| factor != sum && counters.contains(factor))
        };
        follows(module, is_product, adds)
    });
    found("a way back in front of the test at the end", 6, &|module| {
        let func = kernel(module);
        let graph = Graph::of(func);
        loops(&graph).iter().any(|one| {
            let leads_out = |at: &&usize| graph.successors[**at].iter().any(|to| !one.blocks.contains(to));
            let tests: Vec<usize> = one.blocks.iter().filter(leads_out).copied().collect();
            let [test] = tests[..] else { return false };
            let early = |at: usize| {
                let condition =
                    func.terminator(graph.blocks[at]).and_then(|last| definition(func, func.srcs(last).first()));
                graph.successors[at] == [one.header, test]
                    && condition.is_some_and(|on| {
                        opcode(func, on) == Opcode::And && func.block_of(on) == Some(graph.blocks[at])
                    })
            };
            graph.successors[test].contains(&one.header) && one.blocks.iter().any(|at| early(*at))
        })
    });
    found("a loop behind another one that some threads go around, straight into it", 6, &|module| {
        let graph = Graph::of(kernel(module));
        let all = loops(&graph);
        let leads = |from: usize, to: usize| graph.successors[from].contains(&to);
        let is_behind = |one: &NestedLoop, first: &NestedLoop| {
            let outside = graph.predecessors[one.header].iter().filter(|from| !one.blocks.contains(from));
            let [around, left] = outside.copied().collect::<Vec<_>>()[..] else { return false };
            let leaves = |at: usize| first.blocks.contains(&at) && !first.blocks.contains(&one.header);
            let to_first = graph.successors[around].iter().any(|begin| leads(*begin, first.header));
            to_first && (leaves(left) || graph.predecessors[left].iter().any(|before| leaves(*before)))
        };
        all.iter().any(|one| all.iter().any(|first| is_behind(one, first)))
    });
    found("an access behind a loop, and in front of another one, to what the first one meets", 1, &|module| {
        let func = kernel(module);
        let graph = Graph::of(func);
        let all = loops(&graph);
        let places = |at: usize| -> Vec<&[Operand]> {
            let is_met =
                |inst: &Inst| [Space::Global, Space::Shared].iter().any(|space| is_access(func, *inst, *space));
            func.block_insts(graph.blocks[at]).filter(is_met).map(|inst| &func.srcs(inst)[..2]).collect()
        };
        let leads = |from: usize, to: &NestedLoop| graph.successors[from].contains(&to.header);
        (0..graph.blocks.len()).any(|between| {
            let is_left = |one: &&NestedLoop| {
                !one.blocks.contains(&between)
                    && graph.predecessors[between].iter().all(|from| one.blocks.contains(from))
            };
            let met = places(between);
            let few = func.block_insts(graph.blocks[between]).count() <= 4;
            let meets =
                |one: &NestedLoop| one.blocks.iter().any(|at| places(*at).iter().any(|place| met.contains(place)));
            few && all.iter().any(|next| leads(between, next)) && all.iter().filter(is_left).any(meets)
        })
    });
    found("a copy of what is made behind it", 12, &|module| {
        let copies = |func: &Function, inst: Inst| opcode(func, inst) == Opcode::Mov && func.inst(inst).guard.is_none();
        let makes = |func: &Function, one: Inst, other: Inst| {
            definition(func, func.srcs(one).first()) == Some(other) && opcode(func, other) == Opcode::IMulLo
        };
        follows(module, copies, makes)
    });
    found("a multiple of a half in a sum of words", 2, &|module| {
        has(module, |func, inst| {
            let is_sum = matches!(opcode(func, inst), Opcode::IAdd | Opcode::ISub) && func.inst(inst).ty() == Type::U32;
            let narrow = |of: &Inst| {
                matches!(
                    (opcode(func, *of), func.inst(*of).ty()),
                    (Opcode::IMulLo, Type::U16) | (Opcode::Shl, Type::B16)
                ) && func.srcs(*of)[1].is_imm()
            };
            is_sum && func.srcs(inst).iter().any(|src| definition(func, Some(src)).is_some_and(|of| narrow(&of)))
        })
    });
}

/// A function that gets an address computes addresses of it, and no variables, which go into checksums.
#[test]
fn addresses_are_no_numbers() {
    let modules = modules(600);
    let touching = modules.iter().flat_map(|module| module.functions.values()).filter(|func| func.name == "touching");
    let mut seen = 0;
    for func in touching {
        seen += 1;
        let reads = |inst: &Inst| func.srcs(*inst).contains(&Operand::Local(func.params[1]));
        let load = func.layout_insts().find(reads).expect("it reads its address");
        let address = func.defs(load).next().expect("a load has a result");
        // Variables are made of what a function gets; one of them is packed of it.
        let packed =
            |inst: &Inst| func.inst(*inst).opcode == Opcode::Pack && func.srcs(*inst).contains(&Operand::Reg(address));
        assert_eq!(func.layout_insts().find(packed), None, "a variable is made of {address}");
    }
    assert!(seen > 50, "{seen} functions get an address");
}

/// All definitions of a register.
fn definitions(func: &Function, operand: Option<&Operand>) -> Vec<Inst> {
    let Some(reg) = operand.and_then(|operand| operand.reg()) else { return Vec::new() };
    func.layout_insts().filter(|inst| func.defs(*inst).any(|def| def == reg)).collect()
}

/// Each is what an access, a loop or a collective must not lose, and what is hardly ever made by chance.
#[test]
fn loops_guards_and_collectives_are_made_that_phases_must_leave_alone() {
    let modules = modules_by(&Config { unused: 100, ..Config::default() }, 6000);
    let found = |name: &str, least: usize, holds: &dyn Fn(&Module) -> bool| found_in(&modules, name, least, holds);
    let opcode = |func: &Function, inst: Inst| func.inst(inst).opcode;
    let operation =
        |func: &Function, operand: Option<&Operand>| definition(func, operand).map(|inst| opcode(func, inst));
    found("a flag that atomics alone release and acquire", 8, &|module| {
        let updates = |op: AtomOp| {
            has(module, |func, inst| {
                let data = func.inst(inst);
                data.opcode == Opcode::Atom && data.field() == Some(Order::AcqRel) && data.field() == Some(op)
            })
        };
        updates(AtomOp::Exch) && updates(AtomOp::Or)
    });
    found("an address that leads somewhere in some threads alone", 40, &|module| {
        has(module, |func, inst| {
            let (nc, base) = (func.inst(inst).field() == Some(NonCoherent::Nc), func.srcs(inst).first());
            let chosen = definitions(func, base).into_iter().any(|inst| opcode(func, inst) == Opcode::SelP);
            is_access(func, inst, Space::Global) && nc && chosen
        })
    });
    found("a guard behind a loop that reads its test", 15, &|module| {
        has(module, |func, inst| {
            let guard = func.inst(inst).guard.map(|guard| Operand::Reg(guard.reg()));
            let test = definition(func, guard.as_ref()).and_then(|test| func.block_of(test));
            let branch =
                test.filter(|block| Some(*block) != func.block_of(inst)).and_then(|block| func.terminator(block));
            branch.is_some_and(|branch| {
                opcode(func, branch) == Opcode::CBra
                    && func.srcs(branch).first() == guard.as_ref()
                    && func.srcs(branch)[1..].iter().any(|to| to.block() == test)
            })
        })
    });
    found("a test of the upper word of what counts", 3, &|module| {
        has(module, |func, inst| {
            let Some(Operand::Word(reg, 1)) = func.srcs(inst).first() else { return false };
            let counted = Operand::Reg(*reg);
            let steps = |step: &Inst| opcode(func, *step) == Opcode::IAdd && func.srcs(*step)[0] == counted;
            opcode(func, inst) == Opcode::SetP && definitions(func, Some(&counted)).iter().any(steps)
        })
    });
    found("some bits of a narrow value that saturates, of known bits", 5, &|module| {
        has(module, |func, inst| {
            let cut = definition(func, func.srcs(inst).first()).filter(|_| opcode(func, inst) == Opcode::And);
            let cut = cut.filter(|cut| {
                let data = func.inst(*cut);
                data.opcode == Opcode::Cvt && data.field() == Some(Saturate::Sat) && data.ty().bits() < 32
            });
            let known = cut.and_then(|cut| operation(func, func.srcs(cut).first()));
            matches!(known, Some(Opcode::Shl | Opcode::Or | Opcode::And | Opcode::IMulLo))
        })
    });
    found("a carry that is taken in, of a guarded addition or of what was there before", 10, &|module| {
        has(module, |func, inst| {
            let taken = func.srcs(inst).last().filter(|_| func.inst(inst).is(Flags::CARRY));
            let made = definitions(func, taken);
            let guarded = |inst: &&Inst| func.inst(**inst).guard.is_some() && func.inst(**inst).is(Flags::CARRY);
            made.len() == 2 && made.iter().filter(guarded).count() == 1
        })
    });
    found("a guarded addition that takes a carry in", 10, &|module| {
        has(module, |func, inst| {
            let is_carry = |operand: &&Operand| operand.reg().is_some_and(|reg| func.regs()[reg].file == RegFile::P);
            let made = definitions(func, func.srcs(inst).last().filter(is_carry));
            func.inst(inst).guard.is_some()
                && func.inst(inst).is(Flags::CARRY)
                && made.iter().any(|made| func.inst(*made).is(Flags::CARRY))
        })
    });
    found("a load in a branch that an instruction under another guard reads", 20, &|module| {
        let func = kernel(module);
        // Whether a predicate decides on a block: it is the branch's, or what that one is made of.
        let decides = |block, guard: Reg| {
            let branches = func.layout().iter().filter(|from| func.successors(**from).any(|to| to == block));
            branches.filter_map(|from| func.terminator(*from)).any(|branch| func.uses(branch).any(|on| on == guard))
        };
        func.layout_insts().any(|inst| {
            let Some(guard) = func.inst(inst).guard.map(|guard| guard.reg()) else { return false };
            func.srcs(inst).iter().any(|src| {
                let all = definitions(func, Some(src));
                let copies = all.iter().any(|made| opcode(func, *made) == Opcode::Mov);
                let loads =
                    all.iter().find(|made| opcode(func, **made) == Opcode::Ld && func.inst(**made).guard.is_none());
                let block = loads.and_then(|load| func.block_of(*load));
                let branched = block.is_some_and(|block| {
                    func.layout().iter().any(|from| {
                        let branch = func.terminator(*from).filter(|last| opcode(func, *last) == Opcode::CBra);
                        branch.is_some_and(|branch| func.srcs(branch)[1..].iter().any(|to| to.block() == Some(block)))
                    })
                });
                copies && branched && block.is_some_and(|block| !decides(block, guard))
            })
        })
    });
    found("a collective at which lanes are in different rounds", 8, &|module| {
        let func = kernel(module);
        func.layout().iter().any(|block| {
            let turn = func.terminator(*block).and_then(|branch| definition(func, func.srcs(branch).first()));
            let bit = turn.and_then(|turn| definition(func, func.srcs(turn).get(1)));
            let is_turn = bit.is_some_and(|bit| {
                opcode(func, bit) == Opcode::And && operation(func, func.srcs(bit).first()) == Some(Opcode::Shr)
            });
            let meets = |next| func.block_insts(next).any(|inst| func.inst(inst).is(Flags::CONVERGENT));
            is_turn && func.successors(*block).any(meets)
        })
    });
    found("two loops, the first of which is entered from two places", 15, &|module| {
        let graph = Graph::of(kernel(module));
        let all = loops(&graph);
        let is_twice_entered = |one: &&NestedLoop| {
            graph.predecessors[one.header].iter().filter(|from| !one.blocks.contains(from)).count() == 2
        };
        let follows = |one: &NestedLoop| {
            let exits = one.blocks.iter().flat_map(|at| &graph.successors[*at]).filter(|to| !one.blocks.contains(to));
            exits.flat_map(|exit| &graph.successors[*exit]).any(|next| all.iter().any(|two| two.header == *next))
        };
        all.iter().filter(is_twice_entered).any(follows)
    });
    found("a product of 64 bits of what counts, under a guard", 8, &|module| {
        has(module, |func, inst| {
            let is_product = matches!(opcode(func, inst), Opcode::IMulLo | Opcode::IMadLo);
            let counts = |of: &Operand| {
                let all = definitions(func, Some(of));
                all.len() == 2
                    && all.iter().any(|step| func.srcs(*step).contains(of) && opcode(func, *step) == Opcode::IAdd)
            };
            is_product
                && func.inst(inst).guard.is_some()
                && func.inst(inst).ty() == Type::U64
                && counts(&func.srcs(inst)[0])
        })
    });
    found("the result of a shift in the entry block that a loop steps", 20, &|module| {
        has(module, |func, inst| {
            let all = definitions(func, func.dsts(inst).first());
            let steps = all.iter().any(|step| matches!(opcode(func, *step), Opcode::IAdd | Opcode::ISub));
            let shifts = matches!(opcode(func, inst), Opcode::Shl | Opcode::Shr);
            all.len() == 2 && shifts && steps && func.block_of(inst) == Some(func.entry())
        })
    });
    found("an address of 32 bits that wraps", 5, &|module| {
        has(module, |func, inst| {
            let offset = func.srcs(inst).get(1).and_then(|offset| func.imm_bits(*offset));
            let far = offset.is_some_and(|offset| (offset as i64).unsigned_abs() >= 0x1000);
            is_access(func, inst, Space::Shared)
                && far
                && func.srcs(inst)[0].reg().is_some_and(|reg| func.regs()[reg].words == 1)
        })
    });
    found("a loop that lanes enter at its body and at its end", 30, &|module| {
        let graph = Graph::of(kernel(module));
        let leads = |from: usize, to: usize| graph.successors[from].contains(&to);
        graph.successors.iter().any(|ways| {
            let &[one, two] = &ways[..] else { return false };
            [(one, two), (two, one)].into_iter().any(|(body, end)| {
                let back = |next: &usize| leads(*next, body) && graph.successors[*next].len() == 1;
                leads(body, end) && graph.successors[end].len() == 2 && graph.successors[end].iter().any(back)
            })
        })
    });
    found("a collective of a tile", 10, &|module| {
        has(module, |func, inst| {
            let members = func.srcs(inst).last().filter(|_| func.inst(inst).is(Flags::CONVERGENT));
            definitions(func, members).into_iter().any(|inst| opcode(func, inst) == Opcode::Shl)
        })
    });
}

/// Of two accesses of a block that follow each other, whether the second is to the word behind the first.
fn are_neighbours(func: &Function, one: Inst, other: Inst) -> bool {
    let is_word = |inst: Inst| {
        let data = func.inst(inst);
        matches!(data.opcode, Opcode::Ld | Opcode::St) && data.vector_len() == 1 && data.ty() == Type::B32
    };
    if !is_word(one) || !is_word(other) || func.inst(one).opcode != func.inst(other).opcode {
        return false;
    }
    let at = |inst: Inst| (func.srcs(inst)[0], func.imm_bits(func.srcs(inst)[1]));
    let ((base, from), (same, to)) = (at(one), at(other));
    base == same && from.zip(to).is_some_and(|(from, to)| from.wrapping_add(4) == to)
}

/// Whether a block that leads back to itself adds one constant to two registers.
fn counts_alike(func: &Function, block: oriole_ir::Block) -> bool {
    let mut steps = HashSet::new();
    let adds = func.block_insts(block).filter(|inst| func.inst(*inst).opcode == Opcode::IAdd);
    let mut own = adds.filter(|inst| func.srcs(*inst).first() == func.dsts(*inst).first());
    func.successors(block).any(|to| to == block)
        && own.any(|inst| func.imm_bits(func.srcs(inst)[1]).is_some_and(|step| !steps.insert(step)))
}

#[test]
fn words_lie_side_by_side_and_loops_count_alike() {
    let modules = modules(600);
    let neighbours = |module: &Module| {
        let func = kernel(module);
        func.layout().iter().any(|block| {
            let insts: Vec<Inst> = func.block_insts(*block).collect();
            insts.windows(2).any(|pair| are_neighbours(func, pair[0], pair[1]))
        })
    };
    let twins = |module: &Module| kernel(module).layout().iter().any(|block| counts_alike(kernel(module), *block));
    let found = [count(&modules, neighbours), count(&modules, twins)];
    println!("{found:?} of 600 kernels have neighbouring accesses, and a loop with two counters of one step");
    assert!(found[0] >= 40 && found[1] >= 15, "{found:?}");
}
