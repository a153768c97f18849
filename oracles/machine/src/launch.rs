//! What a launch gives a kernel: the constant banks as the driver fills them.

use oriole_interp::launch::Launch;
use oriole_interp::{CONST_WINDOW, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};

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
    /// Reciprocals of the extents of clusters, as floats, and the numbers of clusters.
    clusters: Option<[usize; 2]>,
    /// CTAs of a cluster.
    cluster_ctas: Option<usize>,
    /// Parameters.
    parameters: usize,
}

impl DriverArea {
    fn of(sm: u16) -> DriverArea {
        let first = DriverArea {
            block: 0,
            grid: 0xc,
            shared_window: Some(0x18),
            local_window: 0x20,
            stack: 0x28,
            dynamic_shared: None,
            constant_window: 0x50,
            parameter_window: 0x40,
            clusters: None,
            cluster_ctas: None,
            parameters: 0x160,
        };
        match sm {
            ..90 => first,
            90..100 => DriverArea {
                dynamic_shared: Some(0x2c),
                constant_window: 0xd0,
                parameter_window: 0x198,
                shared_window: None,
                clusters: Some([0x150, 0x15c]),
                cluster_ctas: Some(0x188),
                parameters: 0x210,
                ..first
            },
            _ => DriverArea {
                block: 0x360,
                grid: 0x370,
                local_window: 0x2f8,
                shared_window: None,
                stack: 0x37c,
                dynamic_shared: Some(0x2ac),
                clusters: Some([0x2b0, 0x2c0]),
                cluster_ctas: Some(0x2cc),
                constant_window: 0x120,
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

    /// Fills in what the driver says of a launch: `stack` is the first stack pointer. Each CTA is a cluster of its own.
    pub fn fill(&mut self, sm: u16, launch: &Launch, stack: u32, params: &[u8]) {
        let area = DriverArea::of(sm);
        for axis in 0..3 {
            self.put(0, area.block + 4 * axis, &launch.block[axis].to_le_bytes());
            self.put(0, area.grid + 4 * axis, &launch.grid[axis].to_le_bytes());
            if let Some([reciprocals, numbers]) = area.clusters {
                self.put(0, reciprocals + 4 * axis, &1f32.to_le_bytes());
                self.put(0, numbers + 4 * axis, &launch.grid[axis].to_le_bytes());
            }
        }
        if let Some(at) = area.cluster_ctas {
            self.put(0, at, &1u32.to_le_bytes());
        }
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
        self.put(0, area.parameters, params);
    }
}

impl Default for Banks {
    fn default() -> Banks {
        Banks::new()
    }
}
