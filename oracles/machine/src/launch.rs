//! What a launch gives a kernel: the constant banks as the driver fills them.

use oriole_interp::{Bound, CONST_WINDOW, ClusterShape, GRID_NUMBER, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use oriole_launch::Launch;
use oriole_sass::cubin::Parameter;

use super::headers;
use super::run::HEADERS;

/// How many banks there are.
pub const BANKS: usize = 32;

/// The constant banks.
#[derive(Clone, Debug)]
pub struct Banks {
    banks: Vec<Vec<u8>>,
}

/// Where the driver puts what in bank 0, in bytes: measured on what ptxas 13.0 makes of PTX that reads it.
#[derive(Clone, Copy, Debug)]
struct DriverArea {
    /// Extents of CTAs.
    block: usize,
    /// Extents of the grid.
    grid: usize,
    /// Number of the grid.
    grid_number: usize,
    /// Generic address of shared memory, where a bank has it.
    shared_window: Option<usize>,
    /// Generic address of local memory.
    local_window: usize,
    /// The first stack pointer.
    stack: usize,
    /// Bytes of dynamic shared memory.
    dynamic_shared: Option<usize>,
    /// Generic address of the constants of the module.
    constant_window: usize,
    /// Generic address of the parameters, or, before `sm_90`, of the bank.
    parameter_window: usize,
    /// Of clusters, where there are any.
    clusters: Option<ClusterArea>,
    /// Addresses of the tables of textures, samplers and surfaces.
    headers: usize,
    /// Parameters.
    parameters: usize,
}

/// What bank 0 says of clusters. An axis takes a word.
#[derive(Clone, Copy, Debug)]
struct ClusterArea {
    /// 1 where the launch or the kernel names them.
    is_explicit: usize,
    /// CTAs of a cluster along each axis.
    extents: usize,
    /// Their reciprocals, as floats.
    reciprocals: usize,
    /// How many clusters there are along each axis.
    numbers: usize,
    /// CTAs of a cluster.
    ctas: usize,
}

impl DriverArea {
    fn of(sm: u16) -> DriverArea {
        let first = DriverArea {
            block: 0,
            grid: 0xc,
            grid_number: 0x30,
            shared_window: Some(0x18),
            local_window: 0x20,
            stack: 0x28,
            dynamic_shared: None,
            constant_window: 0x50,
            parameter_window: 0x40,
            clusters: None,
            headers: 0x70,
            parameters: 0x160,
        };
        match sm {
            ..90 => first,
            90..100 => DriverArea {
                dynamic_shared: Some(0x2c),
                constant_window: 0xd0,
                parameter_window: 0x198,
                shared_window: None,
                clusters: Some(ClusterArea {
                    is_explicit: 0x140,
                    extents: 0x144,
                    reciprocals: 0x150,
                    numbers: 0x15c,
                    ctas: 0x188,
                }),
                headers: 0xf0,
                parameters: 0x210,
                ..first
            },
            _ => DriverArea {
                block: 0x360,
                grid: 0x370,
                grid_number: 0x140,
                local_window: 0x2f8,
                shared_window: None,
                stack: 0x37c,
                dynamic_shared: Some(0x2ac),
                clusters: Some(ClusterArea {
                    is_explicit: 0x36c,
                    extents: 0x2a0,
                    reciprocals: 0x2b0,
                    numbers: 0x2c0,
                    ctas: 0x2cc,
                }),
                constant_window: 0x120,
                headers: 0x150,
                parameter_window: 0x348,
                parameters: 0x380,
            },
        }
    }
}

impl Banks {
    /// Banks without anything.
    pub fn new() -> Banks {
        Banks { banks: vec![Vec::new(); BANKS] }
    }

    /// Puts bytes into a bank, which grows.
    pub fn put(&mut self, bank: usize, at: usize, bytes: &[u8]) {
        let bank = &mut self.banks[bank];
        if bank.len() < at + bytes.len() {
            bank.resize(at + bytes.len(), 0);
        }
        bank[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// A word; bank 0 reads as zero behind its end, where the driver may have anything.
    pub fn word(&self, bank: u8, offset: u64) -> Option<u32> {
        let bytes = self.bytes(bank, offset, 4)?;
        Some(u32::from_le_bytes(bytes.first_chunk().copied()?))
    }

    /// So many bytes, at most 16.
    pub fn bytes(&self, bank: u8, offset: u64, count: usize) -> Option<[u8; 16]> {
        let content = self.banks.get(usize::from(bank))?;
        if offset + count as u64 > content.len().next_multiple_of(16).max(0x400) as u64 {
            return None;
        }
        let mut found = [0; 16];
        for (i, byte) in found.iter_mut().enumerate().take(count) {
            *byte = content.get(offset as usize + i).copied().unwrap_or(0);
        }
        Some(found)
    }

    /// Fills in what the driver says of a launch: `stack` is the first stack pointer. The kernel says where each of its
    /// parameters is; those without a size are images, whose numbers stand behind the others.
    pub fn fill(&mut self, sm: u16, launch: &Launch, stack: u32, bound: &Bound, parameters: &[Parameter]) {
        let area = DriverArea::of(sm);
        for axis in 0..3 {
            self.put(0, area.block + 4 * axis, &launch.block[axis].to_le_bytes());
            self.put(0, area.grid + 4 * axis, &launch.grid[axis].to_le_bytes());
        }
        if let Some(clusters) = area.clusters {
            self.fill_clusters(clusters, launch.grid, bound.cluster);
        }
        self.put(0, area.grid_number, &GRID_NUMBER.to_le_bytes());
        if let Some(at) = area.dynamic_shared {
            self.put(0, at, &launch.dynamic_shared.to_le_bytes());
        }
        if let Some(at) = area.shared_window {
            self.put(0, at, &SHARED_WINDOW.to_le_bytes());
        }
        self.put(0, area.local_window, &LOCAL_WINDOW.to_le_bytes());
        self.put(0, area.constant_window, &CONST_WINDOW.to_le_bytes());
        let first = if sm < 90 { 0 } else { area.parameters as u64 };
        self.put(0, area.parameter_window, &(PARAM_WINDOW + first).to_le_bytes());
        self.put(0, area.stack, &stack.to_le_bytes());
        for table in 0..headers::TABLES {
            self.put(0, area.headers + 8 * table as usize, &(HEADERS + table * headers::APART).to_le_bytes());
        }
        for parameter in parameters {
            let Some(&from) = bound.offsets.get(usize::from(parameter.ordinal)) else { continue };
            let to = bound.params.len().min(from + usize::from(parameter.size));
            self.put(0, area.parameters + usize::from(parameter.offset), &bound.params[from..to]);
        }
    }

    fn fill_clusters(&mut self, area: ClusterArea, grid: [u32; 3], shape: ClusterShape) {
        for (axis, (extent, ctas)) in shape.extents.into_iter().zip(grid).enumerate() {
            // Code multiplies with it and drops the fraction: it must not be too small.
            let nearest = 1.0 / extent as f32;
            let is_small = f64::from(nearest) * f64::from(extent) < 1.0;
            let reciprocal = if is_small { nearest.next_up() } else { nearest };
            self.put(0, area.extents + 4 * axis, &extent.to_le_bytes());
            self.put(0, area.reciprocals + 4 * axis, &reciprocal.to_le_bytes());
            self.put(0, area.numbers + 4 * axis, &(ctas / extent.max(1)).to_le_bytes());
        }
        self.put(0, area.is_explicit, &u32::from(shape.is_explicit).to_le_bytes());
        self.put(0, area.ctas, &shape.ctas().to_le_bytes());
    }
}

impl Default for Banks {
    fn default() -> Banks {
        Banks::new()
    }
}
