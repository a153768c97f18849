//! Textures and surfaces: variables of the module, with images that launches have for them by name.
//!
//! All threads fetch from small textures, which nobody writes. Of a surface each thread has the texel of its number, in
//! the first row of the last layer or slice, so that accesses never race.

use oriole_ir::ops::Space;
use oriole_ir::ops::{
    FieldValues, Flags, Geometry, ImagePart, ImageQuery, Opcode, OutOfBounds, Shape, SrcType, Type, Vector,
};
use oriole_ir::reference::{Setting, Settings};
use oriole_ir::{Global, InstBuilder, Module, Operand, Reg, RegInfo, Variable};

use super::builder::Builder;
use super::entropy::Entropy;
use oriole_launch::{Buffer, Image, Launch, ScalarType};

/// Percentage of kernels whose fetches name their samplers.
const INDEPENDENT: u32 = 25;
/// Percentage of accesses through a handle in a register.
const BINDLESS: u32 = 30;
/// Percentage of accesses beyond a border that swallows them.
const BEYOND: u32 = 25;
/// Bytes of a thread's texel at most.
const OWN_BYTES: u32 = 16;

/// Bytes of a line of the cache.
pub(super) const LINE: u32 = 128;

/// What a texture is read as.
const VARIANTS: [&str; 3] = ["floats", "words", "bytes"];

/// The variables of textures and surfaces that a kernel uses, and memory that it may discard.
pub(super) struct Pool {
    /// The number that the module's next variable gets.
    first: u32,
    variables: Vec<(String, Type)>,
    /// The thread's index in the grid.
    pub number: Reg,
    /// Whether fetches name their samplers, once there is one.
    independent: Option<bool>,
}

impl Pool {
    /// Nothing yet, for a module and threads of a number.
    pub fn new(module: &Module, number: Reg) -> Pool {
        Pool { first: module.globals.len() as u32, variables: Vec::new(), number, independent: None }
    }

    /// The variable of a name.
    fn variable(&mut self, name: String, ty: Type) -> Operand {
        let known = self.variables.iter().position(|(other, _)| *other == name);
        let at = known.unwrap_or_else(|| {
            self.variables.push((name, ty));
            self.variables.len() - 1
        });
        Operand::Global(Global::from_u32(self.first + at as u32))
    }

    /// Lines of global memory that nothing reads, one for each thread of the grid.
    pub fn lines(&mut self) -> Operand {
        self.variable("lines".to_owned(), Type::B8)
    }

    /// Adds the variables to the module that the pool was made for, whose grid has so many threads.
    pub fn declare(self, module: &mut Module, threads: u32) {
        for (name, ty) in self.variables {
            let mut variable = Variable::new(name, Space::Global, ty, None);
            if ty == Type::B8 {
                (variable.count, variable.align) = (Some(u64::from(LINE) * u64::from(threads)), LINE);
            }
            if ty == Type::SamplerRef {
                let mut settings = Settings::default();
                settings.set(Setting::ForceUnnormalized, 1);
                variable.init = settings.to_bytes();
            }
            module.globals.push(variable);
        }
    }
}

impl Builder<'_, '_> {
    /// An instruction on a texture or a surface, in a function that may have them.
    pub(super) fn image(&mut self, opcode: Opcode) {
        let Some(fields) = self.fields(opcode, &[]) else { return };
        if self.images.is_none() {
            return;
        }
        let sources = match opcode {
            Opcode::IsTypeP => self.tested(&fields),
            Opcode::Txq | Opcode::TxqLevel | Opcode::Suq => self.asked(opcode, &fields),
            _ if opcode.row().srcs.contains(&Shape::Image(ImagePart::Sampler)) => self.fetched(opcode, &fields),
            _ => self.of_surface(opcode, &fields),
        };
        let Some(sources) = sources else { return };
        let row = opcode.row();
        let mut inst = InstBuilder::new(opcode).fields(fields).srcs(sources);
        let mut taken: Vec<Reg> = Vec::new();
        for shape in row.dsts {
            let info = row.shape_type(&fields, *shape).map_or(RegInfo::words(1), RegInfo::of);
            for _ in 0..row.registers(&fields, *shape) {
                let reg = self.separate_destination(info, false, &taken);
                taken.push(reg);
                inst = inst.dst(reg);
            }
        }
        self.push(&inst);
    }

    /// A variable, or a register with its address.
    fn named(&mut self, name: String, ty: Type, in_register: bool) -> Option<Operand> {
        let variable = self.images.as_mut()?.variable(name, ty);
        if !in_register {
            return Some(variable);
        }
        Some(self.hidden(Self::typed(Opcode::Mov, Type::B64).src(variable), RegInfo::words(2)).into())
    }

    /// A handle, or any number.
    fn tested(&mut self, fields: &FieldValues) -> Option<Vec<Operand>> {
        let ty = Opcode::IsTypeP.row().value::<Type>(fields)?;
        if self.entropy.percent(30) {
            return Some(vec![self.value(Type::B64)]);
        }
        let ty = if self.entropy.percent(70) { ty } else { Type::TexRef };
        let name = if ty == Type::SurfRef { surface(Geometry::D1, 4) } else { texture(Geometry::D2, "floats") };
        // Samplers would make every fetch name one.
        let ty = if ty == Type::SamplerRef { Type::TexRef } else { ty };
        Some(vec![self.named(name, ty, true)?])
    }

    fn asked(&mut self, opcode: Opcode, fields: &FieldValues) -> Option<Vec<Operand>> {
        let query = opcode.row().value::<ImageQuery>(fields)?;
        let geometry = self.entropy.choose(&[Geometry::D1, Geometry::D2, Geometry::D3, Geometry::A2d]);
        let bindless = self.entropy.percent(BINDLESS);
        let handle = match opcode {
            Opcode::Suq => self.named(surface(geometry, 4), Type::SurfRef, bindless),
            _ => {
                let variant = self.entropy.choose(&VARIANTS);
                // A sampler has no `force_unnormalized_coords` of its texture.
                let own = query != ImageQuery::ForceUnnormalizedCoords;
                self.named(texture(geometry, variant), Type::TexRef, bindless || !own)
            }
        }?;
        let mut sources = vec![handle];
        if opcode == Opcode::TxqLevel {
            sources.push(Operand::imm(self.entropy.below(4) as u32));
        }
        Some(sources)
    }

    fn fetched(&mut self, opcode: Opcode, fields: &FieldValues) -> Option<Vec<Operand>> {
        let row = opcode.row();
        let geometry = row.value::<Geometry>(fields)?;
        let halves = matches!(row.value::<Type>(fields), Some(Type::F16 | Type::F16x2));
        let variant = match self.entropy.choose(&VARIANTS) {
            "words" if halves => "floats",
            variant => variant,
        };
        let bindless = self.entropy.percent(BINDLESS);
        let handle = self.named(texture(geometry, variant), Type::TexRef, bindless)?;
        let choice = self.entropy.percent(INDEPENDENT);
        let independent = *self.images.as_mut()?.independent.get_or_insert(choice);
        let sampler = if independent { self.named(sampler(variant), Type::SamplerRef, bindless)? } else { handle };
        let mut sources = vec![handle, sampler];
        let floats = row.value::<SrcType>(fields) == Some(SrcType::F32);
        for shape in row.srcs.iter().skip(2) {
            for at in 0..row.registers(fields, *shape) {
                sources.push(match shape {
                    Shape::Image(ImagePart::Coordinates) if at == 0 && geometry.is_array() => self.near(Type::U32),
                    Shape::Image(ImagePart::Coordinates) => self.near(if floats { Type::F32 } else { Type::S32 }),
                    Shape::Image(ImagePart::Offsets) => self.near(Type::S32),
                    shape => self.near(row.shape_type(fields, *shape)?),
                });
            }
        }
        Some(sources)
    }

    /// A small number, zero often, or any.
    fn near(&mut self, ty: Type) -> Operand {
        const FLOATS: [f32; 8] = [0.0, 0.25, 0.5, 1.0, -0.3, 1.7, 2.996_093_8, 6.5];
        match self.entropy.weighted(&[3, 4, 3]) {
            0 => Operand::imm(0),
            1 if ty == Type::F32 => Operand::imm(self.entropy.choose(&FLOATS).to_bits()),
            1 => Operand::imm((self.entropy.below(12) as u32).wrapping_sub(if ty == Type::S32 { 3 } else { 0 })),
            _ => self.value(ty),
        }
    }

    /// An access to the thread's texel.
    fn of_surface(&mut self, opcode: Opcode, fields: &FieldValues) -> Option<Vec<Operand>> {
        let row = opcode.row();
        let geometry = row.value::<Geometry>(fields)?;
        let element = row.value::<Type>(fields)?;
        let count = row.value::<Vector>(fields).map_or(1, Vector::len);
        let bytes = element.bits() / 8 * count as u32;
        let whole = matches!(opcode, Opcode::SustP | Opcode::SuredP);
        let channels = if opcode == Opcode::SuredP { element.bits() / 32 } else { 4 };
        let bindless = self.entropy.percent(BINDLESS);
        let handle = self.named(surface(geometry, channels), Type::SurfRef, bindless)?;
        let swallows = row.value::<OutOfBounds>(fields) == Some(OutOfBounds::Zero);
        let first = match swallows && self.entropy.percent(BEYOND) {
            true => Operand::imm(self.entropy.choose(&[0xFFFF_FFF0, 0x7FFF_FFF0, 0x8000_0000])),
            false if whole => self.images.as_ref()?.number.into(),
            false => self.own_byte(bytes)?.into(),
        };
        let mut sources = vec![handle];
        if geometry.is_array() {
            sources.push(Operand::imm(1));
        }
        sources.push(first);
        let more = geometry.coordinates() - 1;
        sources.extend((0..more).map(|axis| Operand::imm(axis as u32)));
        let values = if opcode.is(Flags::WRITES) { count } else { 0 };
        sources.extend((0..values).map(|_| self.value(element)));
        Some(sources)
    }

    /// An aligned byte of the thread's texel.
    fn own_byte(&mut self, bytes: u32) -> Option<Reg> {
        let number = self.images.as_ref()?.number;
        let places = (OWN_BYTES / bytes).max(1) as usize;
        let within = bytes * self.entropy.below(places) as u32;
        let at =
            Self::typed(Opcode::IMadLo, Type::U32).src(number).src(Operand::imm(OWN_BYTES)).src(Operand::imm(within));
        Some(self.hidden(at, RegInfo::words(1)))
    }
}

fn texture(geometry: Geometry, variant: &str) -> String {
    format!("texture_{}_{variant}", oriole_ir::ops::FieldValue::name(geometry))
}

fn sampler(variant: &str) -> String {
    format!("sampler_{variant}")
}

fn surface(geometry: Geometry, channels: u32) -> String {
    format!("surface_{}_{channels}", oriole_ir::ops::FieldValue::name(geometry))
}

/// The images that a module's variables lead to, for a launch of so many threads.
pub(super) fn of_module(module: &Module, threads: u32, entropy: &mut Entropy<'_>) -> Vec<Image> {
    let references = module.globals.values().filter(|variable| variable.ty.is_reference());
    references.filter_map(|variable| of_name(&variable.name, threads, entropy)).collect()
}

/// The images of a launch that is like another one, of so many threads.
pub(super) fn like(other: &Launch, threads: u32, entropy: &mut Entropy<'_>) -> Vec<Image> {
    other.images.iter().filter_map(|image| of_name(&image.name, threads, entropy)).collect()
}

/// The image of a name that the generator gives.
fn of_name(name: &str, threads: u32, entropy: &mut Entropy<'_>) -> Option<Image> {
    let mut parts = name.split('_');
    let (kind, of, more) = (parts.next()?, parts.next()?, parts.next());
    let mut image = match kind {
        "texture" => texture_of(geometry_named(of)?, more?),
        "sampler" => texture_of(Geometry::D1, of),
        _ => surface_of(geometry_named(of)?, more?.parse().ok()?, threads),
    };
    name.clone_into(&mut image.name);
    image.buffer.bytes = super::kernel::bytes(entropy, image.bytes() as usize);
    image.buffer.element = Some(image.format);
    Some(image)
}

fn geometry_named(name: &str) -> Option<Geometry> {
    use oriole_ir::ops::{Field, FieldValue};
    Field::Geometry.value_index(name).map(|index| Geometry::ALL[usize::from(index)])
}

fn plain(format: ScalarType, channels: u8) -> Image {
    Image {
        name: String::new(),
        bind: Vec::new(),
        extents: Vec::new(),
        layers: None,
        cube: false,
        levels: 1,
        format,
        channels,
        normalized_float: false,
        level_filter: false,
        settings: Settings::default(),
        buffer: Buffer::default(),
    }
}

/// A texture of a geometry; the address modes and filters are those of its variant.
fn texture_of(geometry: Geometry, variant: &str) -> Image {
    let (mut image, filter, normalized, modes) = match variant {
        "words" => (plain(ScalarType::U32, 2), 0, 0, [4, 3, 4]),
        "bytes" => (plain(ScalarType::U8, 4), 1, 0, [3, 4, 2]),
        _ => (plain(ScalarType::F32, 1), 1, 1, [0, 1, 3]),
    };
    image.normalized_float = variant == "bytes";
    image.level_filter = variant == "floats";
    image.extents = match geometry {
        Geometry::D1 | Geometry::A1d => vec![7],
        Geometry::D3 => vec![5, 3, 2],
        Geometry::D2 | Geometry::A2d => vec![5, 4],
        Geometry::Cube | Geometry::Acube => vec![4, 4],
    };
    image.layers = geometry.is_array().then_some(2);
    image.cube = geometry.is_cube();
    image.levels = 3;
    if geometry == Geometry::D3 {
        image.levels = 2;
    }
    image.settings.set(Setting::Filter, filter);
    image.settings.set(Setting::Normalized, normalized);
    for (axis, mode) in [Setting::Address0, Setting::Address1, Setting::Address2].into_iter().zip(modes) {
        image.settings.set(axis, mode);
    }
    image
}

/// A surface with a texel for each thread.
fn surface_of(geometry: Geometry, channels: u8, threads: u32) -> Image {
    let mut image = plain(ScalarType::U32, channels);
    image.extents = match geometry.coordinates() {
        1 => vec![threads],
        2 => vec![threads, 2],
        _ => vec![threads, 2, 2],
    };
    image.layers = geometry.is_array().then_some(2);
    image
}
