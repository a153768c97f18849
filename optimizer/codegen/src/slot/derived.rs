//! Slots that no part of an instruction holds.

use oriole_ir::ops::{Field, Flags, Opcode, Type};
use oriole_ir::{Form, Modifiers, Operand, RegFile};
use oriole_pass::analysis::Uniformity;
use oriole_pass::pass::Progress;
use oriole_sass::class::Pipe;
use oriole_sass::ori;
use oriole_sass::row::{self, File};
use oriole_sass::{Encoding, table};

use super::{Asked, OWN, query};

/// The encoding of an instruction's word.
fn encoding(asked: &Asked<'_>) -> Option<&'static Encoding> {
    let (func, inst, table) = (asked.func, asked.inst, asked.table?);
    let guard = func.inst(inst).guard;
    let word = ori::encode(table, func, &asked.mnemonic()?, guard, func.dsts(inst), func.srcs(inst))?;
    table.find(word)
}

/// The first word of a mnemonic; nothing at the virtual level.
fn family(asked: &Asked<'_>) -> Option<String> {
    Some(asked.mnemonic()?.split('.').next()?.to_owned())
}

/// Whether an instruction multiplies matrices.
fn is_product(asked: &Asked<'_>) -> bool {
    match family(asked) {
        Some(family) => family.ends_with("MMA"),
        None => asked.func.inst(asked.inst).field_index(Field::LeftElement).is_some(),
    }
}

/// Whether warps multiply together, of matrices in shared memory.
fn is_of_group(asked: &Asked<'_>) -> bool {
    match family(asked) {
        Some(family) => family.ends_with("GMMA"),
        None => asked.func.inst(asked.inst).field_index(Field::GroupShape).is_some(),
    }
}

/// Whether an operand is a register, a wired one included.
fn is_register(operand: Operand) -> bool {
    operand.reg().is_some() || matches!(operand, Operand::Wired { .. })
}

/// The file of a register.
fn file(asked: &Asked<'_>, operand: Operand) -> Option<RegFile> {
    match operand {
        Operand::Wired { file, .. } => Some(file),
        _ => asked.func.operand_info(operand).map(|info| info.file),
    }
}

/// The sources that are values: no predicates, names, blocks.
fn values<'a>(asked: &'a Asked<'_>) -> impl Iterator<Item = Operand> + use<'a> {
    let is_value = |operand: &Operand| match operand {
        Operand::Imm(_) | Operand::Const { .. } => true,
        _ => matches!(file(asked, *operand), Some(RegFile::R | RegFile::UR)),
    };
    asked.func.srcs(asked.inst).iter().copied().filter(is_value)
}

/// 0x05: products of matrices have the number that the document names, all others their opcode's.
pub(super) fn opcode(asked: &Asked<'_>) -> Option<u16> {
    const TENSOR: u16 = 12;
    match is_product(asked) {
        true => Some(TENSOR),
        false => Some(OWN + asked.func.inst(asked.inst).opcode as u16),
    }
}

/// 0x7B.
pub(super) fn class(asked: &Asked<'_>) -> Option<u16> {
    const COMPUTES: u16 = 536;
    let data = asked.func.inst(asked.inst);
    let others = [Flags::TERMINATOR, Flags::FENCE, Flags::WRITES, Flags::READS, Flags::CONVERGENT, Flags::EFFECT];
    match others.iter().position(|flags| data.is(*flags)) {
        Some(at) => Some(OWN + at as u16),
        None => data.is(Flags::PURE).then_some(COMPUTES),
    }
}

/// 0x90.
pub(super) fn precision(asked: &Asked<'_>) -> Option<u16> {
    const HALF: u16 = 628;
    const SINGLE: u16 = 629;
    match asked.func.inst(asked.inst).field::<Type>()? {
        Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2 => Some(HALF),
        Type::F32 => Some(SINGLE),
        _ => None,
    }
}

/// 0xA1: a register, with a uniform one beside it, that one alone, or an offset alone.
pub(super) fn address(asked: &Asked<'_>) -> Option<u16> {
    const REGISTER: u16 = 700;
    let data = asked.func.inst(asked.inst);
    if !(data.is(Flags::READS) || data.is(Flags::WRITES)) || data.is(Flags::FENCE) && asked.mnemonic().is_none() {
        return None;
    }
    // The virtual level has the base first; the machine has addresses in front of what is stored.
    let Some(first) = asked.func.srcs(asked.inst).first().copied() else { return Some(OWN + 2) };
    let is_uniform = |operand: Operand| file(asked, operand) == Some(RegFile::UR);
    let has_uniform = asked.func.srcs(asked.inst).iter().any(|operand| is_uniform(*operand));
    Some(match (is_register(first) && !is_uniform(first) && !matches!(first, Operand::Wired { .. }), has_uniform) {
        (true, false) => REGISTER,
        (true, true) => OWN,
        (false, true) => OWN + 1,
        (false, false) => OWN + 2,
    })
}

/// 0xBE.
pub(super) fn operandless(asked: &Asked<'_>) -> Option<u16> {
    const NOTHING: u16 = 815;
    let is_empty = asked.func.dsts(asked.inst).is_empty() && asked.func.srcs(asked.inst).is_empty();
    is_empty.then_some(NOTHING)
}

/// 0xF2.
pub(super) fn width(asked: &Asked<'_>) -> Option<u16> {
    match asked.func.inst(asked.inst).field::<Type>()?.bits() {
        32 => Some(1281),
        64 => Some(1282),
        _ => None,
    }
}

/// 0x126: the SM has a word of the instruction.
pub(super) fn has_word(asked: &Asked<'_>) -> Option<u16> {
    const EXISTS: u16 = 1493;
    let family = family(asked)?;
    asked.table?.of_family(&family).next().map(|_| EXISTS)
}

/// 0x127: the SM has one with these operands.
pub(super) fn has_operands(asked: &Asked<'_>) -> Option<u16> {
    const EXISTS: u16 = 1499;
    encoding(asked).map(|_| EXISTS)
}

/// 0x142: operands can be exchanged for those of other forms.
pub(super) fn has_forms(asked: &Asked<'_>) -> Option<u16> {
    const FORMS: u16 = 1800;
    (encoding(asked)?.form != row::Form::Whole).then_some(FORMS)
}

/// 0x152: which operand is no register.
pub(super) fn layout(asked: &Asked<'_>) -> Option<u16> {
    use row::Form::*;
    match encoding(asked)?.form {
        Whole => None,
        Rr => Some(1871),
        Ir | Cr | Xr | Ur => Some(1873),
        Ri | Rc | Rx | Ru => Some(1874),
    }
}

/// 0x155.
pub(super) fn source_marks(asked: &Asked<'_>) -> Option<u16> {
    const ABSOLUTE: u16 = 1881;
    const NEGATED: u16 = 1882;
    let has = |mark| values(asked).any(|operand| operand.modifiers().has(mark));
    match (has(Modifiers::ABSOLUTE), has(Modifiers::NEGATE)) {
        (true, _) => Some(ABSOLUTE),
        (false, true) => Some(NEGATED),
        (false, false) => None,
    }
}

/// 0x163.
pub(super) fn is_nearest(asked: &Asked<'_>) -> Option<u16> {
    const NEAREST: u16 = 1943;
    (query(asked, 0x159)? == 1900).then_some(NEAREST)
}

/// 0x167: a bit for each of the first three sources of a float operation of the machine.
pub(super) fn negations(asked: &Asked<'_>) -> Option<u16> {
    const NONE: u16 = 1957;
    query(asked, 0x90).or_else(|| query(asked, 0x7e).filter(|ty| *ty == 548))?;
    asked.mnemonic()?;
    let bits =
        values(asked).take(3).zip(0..).map(|(operand, at)| u16::from(operand.modifiers().has(Modifiers::NEGATE)) << at);
    Some(NONE + bits.sum::<u16>())
}

/// 0x178: a product, of whole or of sparse matrices.
pub(super) fn product(asked: &Asked<'_>) -> Option<u16> {
    const DENSE: u16 = 2035;
    if !is_product(asked) {
        return None;
    }
    let is_sparse = match asked.mnemonic() {
        Some(mnemonic) => mnemonic.split('.').any(|word| word == "SP"),
        None => asked.func.inst(asked.inst).opcode.row().name.contains(".sp"),
    };
    Some(if is_sparse { OWN } else { DENSE })
}

/// 0x179: the orders of both matrices, or that neither is said.
pub(super) fn orders(asked: &Asked<'_>) -> Option<u16> {
    const FIRST: u16 = 2037;
    if !is_product(asked) {
        return None;
    }
    let data = asked.func.inst(asked.inst);
    let fields = data.field_index(Field::LeftLayout).zip(data.field_index(Field::RightLayout));
    let is_named = || asked.func.srcs(asked.inst).iter().any(|operand| asked.func.text(*operand) == Some("ROW"));
    match fields {
        Some((left, right)) => Some(FIRST + 2 * u16::from(left) + u16::from(right)),
        None if is_named() => Some(FIRST),
        None => Some(FIRST + 4),
    }
}

/// 0x18D.
pub(super) fn is_legal(asked: &Asked<'_>) -> Option<u16> {
    const LEGAL: u16 = 2115;
    let is_legal = asked.progress >= Progress::LEGALIZED || asked.func.form == Form::Physical;
    is_legal.then_some(LEGAL)
}

/// 0x1A8: one value for a warp, or that it could be.
pub(super) fn uniform(asked: &Asked<'_>) -> Option<u16> {
    const IS: u16 = 2214;
    const CAN_BE: u16 = 2215;
    let Some(family) = family(asked) else {
        let divergence = asked.divergence?;
        let mut results = asked.func.dsts(asked.inst).iter().filter_map(|dst| dst.reg()).peekable();
        results.peek()?;
        return results.all(|reg| divergence.of(reg) >= Uniformity::Warp).then_some(CAN_BE);
    };
    let own = encoding(asked)?;
    if own.class.pipe == Pipe::Uniform || own.guard.what == row::What::Register(File::Up) {
        return Some(IS);
    }
    let twin = format!("U{family}");
    let sm = asked.table?.sm;
    let has_twin =
        table::rows().any(|row| row.name.split('.').next() == Some(&twin) && row.sms.0 <= sm && sm <= row.sms.1);
    let is_uniform = |operand: &Operand| match operand {
        Operand::Wired { .. } | Operand::Imm(_) => true,
        operand => matches!(file(asked, *operand), Some(RegFile::UR | RegFile::UP)),
    };
    (has_twin && asked.func.srcs(asked.inst).iter().all(is_uniform)).then_some(CAN_BE)
}

/// 0x1AD at the machine level: how many pairs a product of a warpgroup multiplies, from `64x128x16`.
pub(super) fn pairs(asked: &Asked<'_>) -> Option<u16> {
    use oriole_ir::ops::{FieldValue as _, GroupInner};
    if !is_of_group(asked) {
        return None;
    }
    let mnemonic = asked.mnemonic()?;
    let count: usize =
        mnemonic.split('.').find_map(|word| word.strip_prefix("64x")?.split('x').nth(1)?.parse().ok())?;
    let inner = GroupInner::ALL.iter().find(|inner| inner.count() == count)?;
    Some(Field::GroupInner.code(inner.index()))
}

/// 0x1AF: whether a shuffle says if its source is in range.
pub(super) fn shuffle(asked: &Asked<'_>) -> Option<u16> {
    let data = asked.func.inst(asked.inst);
    let is_shuffle = data.opcode == Opcode::Shfl || family(asked).as_deref() == Some("SHFL");
    let says = |dst: &Operand| matches!(file(asked, *dst), Some(RegFile::P)) && dst.reg().is_some();
    is_shuffle.then(|| OWN + u16::from(asked.func.dsts(asked.inst).iter().any(says)))
}

/// 0x1B2.
pub(super) fn contracts(asked: &Asked<'_>) -> Option<u16> {
    use oriole_ir::ops::Rounding;
    const MAY: u16 = 2274;
    (asked.func.inst(asked.inst).field::<Rounding>()? == Rounding::Default).then_some(MAY)
}

/// 0x1E0: three registers, an immediate, two registers, a constant.
pub(super) fn operands(asked: &Asked<'_>) -> Option<u16> {
    let (mut registers, mut immediate, mut constant) = (0, false, false);
    for operand in values(asked) {
        match operand {
            Operand::Imm(_) => immediate = true,
            Operand::Const { .. } => constant = true,
            _ => registers += 1,
        }
    }
    match (registers, immediate, constant) {
        (_, _, true) => Some(2481),
        (_, true, false) => Some(2479),
        (3, ..) => Some(2478),
        (2, ..) => Some(2480),
        _ => None,
    }
}

/// 0x216: a matrix is where a descriptor says.
pub(super) fn descriptor(asked: &Asked<'_>) -> Option<u16> {
    is_of_group(asked).then_some(2717)
}

/// 0x253: a product of a warp, or of a group of them.
pub(super) fn tag(asked: &Asked<'_>) -> Option<u16> {
    const WARP: u16 = 2937;
    const GROUP: u16 = 2938;
    is_product(asked).then(|| if is_of_group(asked) { GROUP } else { WARP })
}
