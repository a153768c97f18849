//! Places in text files, for the faults of every language that is read.

/// Line and column of a byte offset, both counted from one, the column in characters.
///
/// An offset behind the end, or inside a character, counts as the nearest place before it.
pub fn line_column(source: &str, offset: usize) -> (usize, usize) {
    let before = &source[..source.floor_char_boundary(offset)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_offsets_are_clamped() {
        assert_eq!(line_column("é\nab", 4), (2, 2));
        assert_eq!(line_column("é\nab", 1), (1, 1));
        assert_eq!(line_column("ab", 99), (1, 3));
    }
}
