//! What a launch gives a kernel: the constant banks as the driver fills them.

use oriole_interp::launch::Launch;

/// How many banks there are.
pub const BANKS: usize = 32;

/// The constant banks.
#[derive(Clone, Debug)]
pub struct Banks {
    banks: Vec<Vec<u8>>,
}

/// Where the driver puts what in bank 0, in bytes (measured on what ptxas 13.0 reads).
#[derive(Clone, Copy, Debug)]
pub struct DriverArea {
    /// Extents of CTAs, and of the grid.
    pub block: usize,
    /// See `block`.
    pub grid: usize,
    /// Upper half of the generic address of shared memory, where a bank has it.
    pub shared_window: Option<usize>,
    /// Generic address of local memory.
    pub local_window: usize,
    /// The first stack pointer.
    pub stack: usize,
    /// The descriptor of global memory.
    pub descriptor: usize,
    /// Parameters.
    pub parameters: usize,
}

impl DriverArea {
    /// The area of an SM.
    pub fn of(sm: u16) -> DriverArea {
        let first = DriverArea {
            block: 0,
            grid: 0xc,
            shared_window: Some(0x18),
            local_window: 0x20,
            stack: 0x28,
            descriptor: 0x118,
            parameters: 0x160,
        };
        match sm {
            ..90 => first,
            90..100 => DriverArea { descriptor: 0x208, parameters: 0x210, ..first },
            _ => DriverArea {
                block: 0x360,
                grid: 0x370,
                shared_window: None,
                local_window: 0x2f8,
                stack: 0x37c,
                descriptor: 0x358,
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

    /// Fills in what the driver says of a launch.
    pub fn fill(&mut self, area: &DriverArea, launch: &Launch, stack: u32, windows: [u64; 2], params: &[u8]) {
        for axis in 0..3 {
            self.put(0, area.block + 4 * axis, &launch.block[axis].to_le_bytes());
            self.put(0, area.grid + 4 * axis, &launch.grid[axis].to_le_bytes());
        }
        let [shared, local] = windows;
        if let Some(at) = area.shared_window {
            self.put(0, at, &shared.to_le_bytes());
        }
        self.put(0, area.local_window, &local.to_le_bytes());
        self.put(0, area.stack, &stack.to_le_bytes());
        self.put(0, area.descriptor, &0u64.to_le_bytes());
        self.put(0, area.parameters, params);
    }
}

impl Default for Banks {
    fn default() -> Banks {
        Banks::new()
    }
}
