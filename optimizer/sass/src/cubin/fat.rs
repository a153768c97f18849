//! Fat binaries: cubins for several SMs in one file, of which the driver takes the one for its GPU.
//!
//! The file is what `fatbinary` of CUDA 13.0 writes without compression, measured on its output (2026-11-29): a header
//! of 16 bytes (magic, version 1, its own size, the size of the rest), then for each image a header of 64 bytes and the
//! cubin, filled up to 8 bytes.

use super::Target;

/// The magic number.
const MAGIC: u32 = 0xba55_ed50;
/// The version of the file.
const VERSION: u16 = 1;
/// Bytes of its header.
const HEADER: u16 = 16;
/// The kind of an image that is a cubin; 1 would be PTX.
const ELF: u16 = 2;
/// The version of an image's header.
const IMAGE_VERSION: u16 = 0x0101;
/// Bytes of it.
const IMAGE_HEADER: u32 = 64;
/// The version of cubins, minor and major.
const CUBIN: [u16; 2] = [8, 1];
/// Addresses of 64 bits, and a host with Linux.
const FLAGS: u64 = 0x11;

/// A file with these cubins, in their order.
pub fn write(images: &[(Target, Vec<u8>)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (target, cubin) in images {
        let size = cubin.len().next_multiple_of(8);
        body.extend(ELF.to_le_bytes());
        body.extend(IMAGE_VERSION.to_le_bytes());
        body.extend(IMAGE_HEADER.to_le_bytes());
        body.extend((size as u64).to_le_bytes());
        // Not compressed, and without options of the compiler.
        body.extend([0; 8]);
        CUBIN.iter().for_each(|half| body.extend(half.to_le_bytes()));
        body.extend(u32::from(target.sm).to_le_bytes());
        // Without a name.
        body.extend([0; 8]);
        body.extend(FLAGS.to_le_bytes());
        body.extend([0; 16]);
        body.extend(cubin);
        body.resize(body.len() + size - cubin.len(), 0);
    }
    let mut file = Vec::with_capacity(body.len() + usize::from(HEADER));
    file.extend(MAGIC.to_le_bytes());
    file.extend(VERSION.to_le_bytes());
    file.extend(HEADER.to_le_bytes());
    file.extend((body.len() as u64).to_le_bytes());
    file.extend(body);
    file
}

/// The cubins of a fat binary with the numbers of their SMs; `None` where the bytes are none, or compressed.
pub fn read(bytes: &[u8]) -> Option<Vec<(u32, &[u8])>> {
    let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let half = |at: usize| Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let long = |at: usize| usize::try_from(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?)).ok();
    if word(0)? != MAGIC || half(4)? != VERSION {
        return None;
    }
    let (mut at, mut images) = (usize::from(half(6)?), Vec::new());
    let end = at.checked_add(long(8)?)?.min(bytes.len());
    while at < end {
        let start = at.checked_add(word(at + 4)? as usize)?;
        let next = start.checked_add(long(at + 8)?)?;
        let image = bytes.get(start..next).filter(|_| next > at)?;
        if half(at)? == ELF && word(at + 16)? == 0 {
            images.push((word(at + 28)?, image));
        }
        at = next;
    }
    Some(images)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_come_back_and_what_is_cut_off_is_refused() {
        let target = |sm| Target { sm, suffix: None };
        let file = write(&[(target(90), vec![1, 2, 3]), (target(100), vec![4; 16])]);
        assert_eq!(file.len(), 16 + 64 + 8 + 64 + 16);
        let found = read(&file).expect("it is a fat binary");
        assert_eq!(found, [(90, &[1, 2, 3, 0, 0, 0, 0, 0][..]), (100, &[4; 16][..])]);
        assert_eq!(read(&file[..100]), None);
        assert_eq!(read(b"\x7fELF"), None);
        assert_eq!(read(&[]), None);
    }
}
