//! Launches: which kernel runs, over which grid, with which arguments, and what its buffers must hold afterwards.
//!
//! A [`Launch`] is a plain value with all its data in memory. It comes from a launch file ([`Launch::load`]), from
//! the command line ([`command_line`]), or from another launch by drawing new data ([`Launch::randomized`]), and can be
//! written as a file again ([`Launch::save`]). It knows nothing of kernels: binding it to one checks whether the
//! arguments fit the parameters. Comparison is byte for byte (`compare.rs`), but where an argument has a tolerance
//! ([`Tolerance`]): for what the PTX ISA leaves open, such as the sums of matrix products.
//!
//! # Launch files
//!
//! TOML; `grid`, `block` and `cluster` are an integer or an array of one to three.
//!
//! ```toml
//! kernel = "saxpy"            # may be absent where the module has one entry
//! grid = [4, 1, 1]
//! block = 256
//! cluster = 2                # blocks of a cluster; the grid is made of whole ones
//! dynamic_shared = 0          # bytes
//! steps = 1_000_000           # step budget, for kernels that need more or less than the default: warp instructions,
//!                             # dear ones (accesses, calls, functions of floats) counting more beyond some millions
//! race_check = true           # report data races
//! copies = 7                  # asynchronous operations are done at moments drawn from this seed, not at the last one
//!
//! [[arg]]
//! name = "n"                  # for messages; optional on every argument
//! type = "u32"                # u8 s8 b8 u16 s16 b16 f16 bf16 u32 s32 b32 f32 u64 s64 b64 f64
//! value = 1000
//! [[arg]]
//! bytes = "01000000 0000803f" # a structure passed by value, in hexadecimal
//! [[arg]]
//! bytes = "00000000 00000000 08000000 00000000" # one with an address in it: eight bytes from byte 0 on
//! pointers = [{ at = 0, arg = 9, offset = 0 }]  # which may be that of a buffer behind the arguments of all parameters
//! [[arg]]
//! buffer = "x.bin"            # a device buffer with the content of a file beside the launch file
//! type = "f32"                # of the elements; optional, for messages and new data
//! expect = "x.expect.bin"     # its content after the launch; also expect_hex, expect_data
//! tolerance = { ulp = 2 }     # how far elements may be from that; or relative = 1e-6 and absolute = 1e-9, or one;
//!                             # without `expect`, how far those of two programs may be apart, where these are compared
//! [[arg]]
//! data = [1.0, 2.0]           # a device buffer written out in place, with its type; also hex = "…"
//! type = "f32"
//! expect_data = [2.0, 4.0]
//! [[arg]]
//! zeroed = 4096               # a zero-filled device buffer
//! [[arg]]
//! random = { seed = 7, bytes = 4096 } # with a type also min and max, both inclusive; see `random`
//! [[arg]]
//! alias = { arg = 3, offset = 64 } # an address within the buffer of another argument, numbered from 0
//! [[arg]]
//! zeroed = 4096
//! replicas = 4                # multicast memory: four replicas of 1024 bytes, one after another
//! [[arg]]
//! multicast = { arg = 6, offset = 64 } # the multicast address of byte 64 of each replica, for `multimem` alone
//! [[arg]]
//! tensor_map = { arg = 0, type = "f16", dims = [64, 32], box = [64, 8], swizzle = "128B" } # see `TensorMap`
//! [[arg]]
//! null = true                 # the null pointer
//! [[arg]]
//! texture = "photo"           # the handle of an image as a texture; also surface = "…" and sampler = "…"
//!
//! [[image]]
//! name = "photo"              # a `.texref`, `.surfref` or `.samplerref` of the module of this name leads to it
//! bind = ["t", "s"]           # and so do these
//! width = 64                  # texels; with height it has two dimensions, with depth three
//! height = 32
//! layers = 3                  # of an array
//! cube = false                # six faces; with layers, so many cubes
//! levels = 1                  # of a mipmap, each half as large
//! type = "u8"                 # of a component: u8 s8 u16 s16 u32 s32 f16 f32
//! channels = 4                # 1, 2 or 4
//! normalized_float = true     # small integers are read as floats from 0 to 1, or -1 to 1
//! normalized = true           # coordinates run from 0 to 1, else to the extents
//! filter = "linear"           # or nearest; of floats alone
//! level_filter = "nearest"    # between levels
//! address = "wrap"            # or mirror, clamp_ogl, clamp_to_edge, clamp_to_border; also an array, one a direction
//! buffer = "photo.bin"        # texels by rows, rows by layers (or faces), layers by levels; also hex, data, zeroed =
//!                             # true and random = { seed = 7 }; expect and tolerance as above, for surfaces
//! ```
//!
//! What an image does not say of fetches, the initial value of the variable does that leads to it; else the filter is
//! `nearest`, the address mode `clamp_to_edge` and coordinates are texels. A sampler's handle stands for these settings
//! of the image alone.

mod compare;
mod error;
mod fields;
mod image;
mod read;
mod scalar;
mod source;
mod tensor;
mod tolerance;
mod vary;
mod write;

pub mod command_line;
pub mod file;
pub mod random;

use std::path::{Path, PathBuf};

pub use crate::file::ReadFailure;
pub use compare::{Difference, compare, describe, describe_element, matches};
pub use error::{LaunchError, Problem};
pub use image::Image;
pub use scalar::{Scalar, ScalarType};
pub use tensor::{MAX_BOX, MAX_RANK};
pub use tensor::{Swizzle, TensorMap};
pub use tolerance::{Tolerance, Tolerated};
pub use vary::{Freedom, Kind, distinct, guess};
pub use write::{INLINE_BYTES, Written};

/// The buffers of one launch may have this many bytes together.
pub const MAX_BUFFER_BYTES: u64 = 256 << 20;
/// A launch file may have this many bytes; larger data belongs into buffer files.
pub const MAX_TEXT_BYTES: usize = 1 << 20;
/// Shared memory that a block may have on the largest devices (CUDA C++ Programming Guide, compute capability 9.0).
pub const MAX_DYNAMIC_SHARED: u32 = 227 * 1024;
/// Blocks of a cluster at most (CUDA C++ Programming Guide, "Thread Block Clusters": 8 everywhere, 16 where a kernel
/// asks for it).
pub const MAX_CLUSTER: u64 = 16;
/// Replicas that multicast memory may have.
pub const MAX_REPLICAS: u32 = 256;
/// A replica has a multiple of so many bytes, so that the places that a multicast address stands for are aligned alike.
pub const REPLICA_GRAIN: u64 = 16;
/// Parameter space of a kernel, in bytes (CUDA 12.1 and later, sm_70 and later).
pub const MAX_PARAMETER_BYTES: usize = 32_764;

/// A launch with the name that messages use for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedLaunch {
    /// The launch file, or what stands for it.
    pub name: String,
    /// The launch.
    pub launch: Launch,
}

/// One launch of one kernel, with all its data.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Launch {
    /// The entry's name; `None` is the only entry of the module.
    pub kernel: Option<String>,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Blocks of a cluster in x, y and z, where the launch says; without it each is a cluster of its own, or the kernel
    /// says.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The step budget, where the launch asks for one.
    pub steps: Option<u64>,
    /// Whether data races are looked for.
    pub race_check: bool,
    /// A seed for the moments at which asynchronous operations are done; without one each is done as late as it may.
    pub copies: Option<u64>,
    /// The arguments in the order of the kernel's parameters; behind them buffers whose addresses structures have.
    pub args: Vec<Arg>,
    /// What textures, samplers and surfaces lead to.
    pub images: Vec<Image>,
}

/// One argument.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Arg {
    /// A name for messages.
    pub name: Option<String>,
    /// What is passed.
    pub value: ArgValue,
}

/// What an argument passes to the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ArgValue {
    /// A number.
    Scalar(Scalar),
    /// A structure by value.
    Bytes(Vec<u8>),
    /// A structure by value, with addresses in it.
    Structure(Structure),
    /// The address of a device buffer that this argument owns.
    Buffer(Buffer),
    /// An address within the buffer of another argument.
    Alias {
        /// The owner's index in [`Launch::args`]; it is a [`ArgValue::Buffer`].
        arg: usize,
        /// Bytes from the start of that buffer; at most its length.
        offset: u64,
    },
    /// The multicast address of a place in each replica of another argument's buffer.
    Multicast {
        /// The owner's index in [`Launch::args`]; it is a [`ArgValue::Buffer`] with replicas.
        arg: usize,
        /// Bytes from the start of each replica; at most its length.
        offset: u64,
    },
    /// A tensor map, by value.
    TensorMap(TensorMap),
    /// The null pointer.
    Null,
    /// The handle of an image.
    Handle {
        /// What it stands for.
        kind: HandleKind,
        /// The image's index in [`Launch::images`].
        image: usize,
    },
}

/// What a handle stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HandleKind {
    /// An image that is fetched from, with its sampler.
    Texture,
    /// The settings of an image for fetches from others.
    Sampler,
    /// An image that is loaded from and stored to.
    Surface,
}

impl HandleKind {
    /// All kinds.
    pub const ALL: [HandleKind; 3] = [HandleKind::Texture, HandleKind::Sampler, HandleKind::Surface];

    /// The key of an argument that has one.
    pub fn name(self) -> &'static str {
        match self {
            HandleKind::Texture => "texture",
            HandleKind::Sampler => "sampler",
            HandleKind::Surface => "surface",
        }
    }
}

impl ArgValue {
    /// The bytes that the argument takes in parameter space, without padding.
    pub fn parameter_bytes(&self) -> usize {
        match self {
            Self::Scalar(scalar) => scalar.ty().bytes(),
            Self::Bytes(bytes) => bytes.len(),
            Self::Structure(structure) => structure.bytes.len(),
            Self::TensorMap(_) => TensorMap::BYTES,
            Self::Buffer(_) | Self::Alias { .. } | Self::Multicast { .. } | Self::Null | Self::Handle { .. } => 8,
        }
    }
}

/// A structure by value, with addresses in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Structure {
    /// Its bytes; those of addresses are written over.
    pub bytes: Vec<u8>,
    /// The addresses, in the order of the file.
    pub pointers: Vec<Pointer>,
}

/// An address within a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pointer {
    /// The first of its eight bytes, all of which are in the structure.
    pub at: usize,
    /// The owner's index in [`Launch::args`]; it is a [`ArgValue::Buffer`], perhaps one behind those of all parameters.
    pub arg: usize,
    /// Bytes from the start of that buffer; at most its length.
    pub offset: u64,
}

impl Pointer {
    /// Bytes of an address.
    pub const BYTES: usize = 8;
}

impl Structure {
    /// The bytes with addresses, of buffers that begin there.
    pub fn with_addresses(&self, base: impl Fn(usize) -> u64) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for Pointer { at, arg, offset } in &self.pointers {
            let address = base(*arg).wrapping_add(*offset).to_le_bytes();
            if let Some(place) = bytes.get_mut(*at..at.saturating_add(Pointer::BYTES)) {
                place.copy_from_slice(&address);
            }
        }
        bytes
    }
}

/// A device buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// The content before the launch.
    pub bytes: Vec<u8>,
    /// The type of its elements, where the launch says.
    pub element: Option<ScalarType>,
    /// The content after the launch, of the same length.
    pub expect: Option<Vec<u8>>,
    /// How far from that, or from what another compiler's program leaves, elements of a floating-point type may be.
    pub tolerance: Option<Tolerance>,
    /// How many replicas the content is, of equal size and one after another, if it is multicast memory; else 0.
    pub replicas: u32,
}

impl Buffer {
    /// The bytes of a replica; 0 where there are none.
    pub fn replica_bytes(&self) -> u64 {
        (self.bytes.len() as u64).checked_div(u64::from(self.replicas)).unwrap_or(0)
    }
}

impl Launch {
    /// One block of one thread without arguments.
    pub fn new(kernel: Option<String>) -> Self {
        Self {
            kernel,
            grid: [1; 3],
            block: [1; 3],
            cluster: None,
            dynamic_shared: 0,
            steps: None,
            race_check: false,
            copies: None,
            args: Vec::new(),
            images: Vec::new(),
        }
    }

    /// Reads a launch file and the buffer files that it names.
    pub fn load(path: &Path) -> Result<Self, LaunchError> {
        read::load(path)
    }

    /// Reads a launch from `text`, shown as `name` in errors. `resolve` gets the path of a buffer file as written
    /// and the number of bytes that may be read.
    pub fn parse(
        text: &str,
        name: &str,
        resolve: impl FnMut(&Path, u64) -> Result<Vec<u8>, ReadFailure>,
    ) -> Result<Self, LaunchError> {
        Self::parse_within(MAX_BUFFER_BYTES, text, name, resolve)
    }

    /// As [`Launch::parse`], with at most `bytes` bytes of buffers, which a fuzzer keeps small.
    pub fn parse_within(
        bytes: u64,
        text: &str,
        name: &str,
        mut resolve: impl FnMut(&Path, u64) -> Result<Vec<u8>, ReadFailure>,
    ) -> Result<Self, LaunchError> {
        read::parse(text, name, bytes.min(MAX_BUFFER_BYTES), &mut resolve)
    }

    /// The buffers with the index of the argument that owns each.
    pub fn buffers(&self) -> impl Iterator<Item = (usize, &Buffer)> {
        self.args.iter().enumerate().filter_map(|(index, arg)| match &arg.value {
            ArgValue::Buffer(buffer) => Some((index, buffer)),
            _ => None,
        })
    }

    /// The content of buffers, and then of images, with the name that messages use; a run leaves its memory in the same
    /// order.
    pub fn contents(&self) -> impl Iterator<Item = (String, &Buffer)> {
        let buffers = self.buffers().map(|(index, buffer)| (self.arg_name(index), buffer));
        buffers.chain(self.images.iter().map(|image| (image.name.clone(), &image.buffer)))
    }

    /// How messages call argument `index`: its name, or `arg 3`.
    pub fn arg_name(&self, index: usize) -> String {
        let name = self.args.get(index).and_then(|arg| arg.name.clone());
        name.unwrap_or_else(|| format!("arg {index}"))
    }

    /// Threads of the whole grid.
    pub fn threads(&self) -> u64 {
        self.grid.iter().chain(&self.block).fold(1, |count, &n| count.saturating_mul(u64::from(n)))
    }
}

/// The launch files beside a kernel: `K.launch.toml` first, then every `K.<variant>.launch.toml` by name.
///
/// `K` is the file name without its extension. A folder that cannot be read has none.
pub fn launch_files_for(kernel: &Path) -> Vec<PathBuf> {
    let Some(stem) = kernel.file_stem().and_then(|stem| stem.to_str()) else {
        return Vec::new();
    };
    let folder = match kernel.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut variants: Vec<(String, PathBuf)> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| Some((variant_of(entry.file_name().to_str()?, stem)?, entry.path())))
        .filter(|(_, path)| path.is_file())
        .collect();
    variants.sort();
    variants.into_iter().map(|(_, path)| path).collect()
}

/// The variant that a file name carries for `stem`; the plain launch file has the empty one, which sorts first.
fn variant_of(name: &str, stem: &str) -> Option<String> {
    let middle = name.strip_prefix(stem)?.strip_suffix(".launch.toml")?;
    match middle.strip_prefix('.') {
        Some(variant) if !variant.is_empty() => Some(variant.to_owned()),
        None if middle.is_empty() => Some(String::new()),
        _ => None,
    }
}

/// Which limit of CUDA a grid, a block or a cluster exceeds, as dimension name, value and limit; in the order x, y, z.
pub fn geometry_limit(what: &str, size: [u32; 3]) -> Option<Problem> {
    let limits: [u32; 3] = match what {
        "grid" => [i32::MAX as u32, 65_535, 65_535],
        "cluster" => [MAX_CLUSTER as u32; 3],
        _ => [1024, 1024, 64],
    };
    let over = |axis: usize| size[axis] == 0 || size[axis] > limits[axis];
    if let Some(axis) = (0..3).find(|&axis| over(axis)) {
        return Some(Problem::Limit {
            what: format!("{what}.{}", ["x", "y", "z"][axis]),
            value: size[axis].to_string(),
            limit: format!("CUDA takes 1 to {}", limits[axis]),
        });
    }
    let (most, limit) = match what {
        "block" => (1024, "a block has at most 1024 threads".to_owned()),
        "cluster" => (MAX_CLUSTER, format!("a cluster has at most {MAX_CLUSTER} blocks")),
        _ => return None,
    };
    let product: u64 = size.iter().map(|&n| u64::from(n)).product();
    (product > most).then(|| Problem::Limit {
        what: format!("{what}.x * {what}.y * {what}.z"),
        value: product.to_string(),
        limit,
    })
}

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;
