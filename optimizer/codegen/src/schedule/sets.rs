//! The registers that are live at a place, by file: the state of both orders of instructions (L:506-508).
//!
//! General registers, predicates, convergence barriers, uniform registers and uniform predicates have a set each. The
//! five are made and cleared together, and one update an instruction changes all of them: it ends the values that are
//! read for the last time, and begins those that are made. Uniform registers and predicates are followed only where the
//! function has some (L:193). Each set counts its members as they come and go.

use oriole_sass::row::File;

use super::dag::Unit;
use crate::allocate::live::Sparse;

/// The files, in the order of the sets.
pub const FILES: [File; 5] = [File::R, File::P, File::B, File::Ur, File::Up];

/// Live registers by file.
pub struct Sets {
    sets: [Sparse; FILES.len()],
    follows_uniform: bool,
}

impl Sets {
    /// Empty sets of units below a number.
    pub fn new(units: usize, follows_uniform: bool) -> Sets {
        let set = |file: File| Sparse::new(if follows_uniform || !is_uniform(file) { units } else { 0 });
        Sets { sets: FILES.map(set), follows_uniform }
    }

    /// Empties all of them.
    pub fn clear(&mut self) {
        self.sets.iter_mut().for_each(Sparse::clear);
    }

    /// Whether registers of a file are followed.
    pub fn follows(&self, file: File) -> bool {
        place(file).is_some() && (self.follows_uniform || !is_uniform(file))
    }

    /// An instruction issues: the registers that nobody reads behind it are gone, those that it makes are there.
    pub fn update(&mut self, ends: impl Iterator<Item = (File, Unit)>, begins: impl Iterator<Item = (File, Unit)>) {
        for (file, unit) in ends {
            if let Some(set) = self.set(file) {
                set.remove(unit);
            }
        }
        for (file, unit) in begins {
            if let Some(set) = self.set(file) {
                set.insert(unit);
            }
        }
    }

    /// How many registers of a file are live; none of one that is not followed.
    pub fn count(&self, file: File) -> u32 {
        place(file).map_or(0, |at| self.sets[at].len() as u32)
    }

    fn set(&mut self, file: File) -> Option<&mut Sparse> {
        let follows = self.follows(file);
        place(file).filter(|_| follows).map(|at| &mut self.sets[at])
    }
}

fn place(file: File) -> Option<usize> {
    FILES.iter().position(|other| *other == file)
}

fn is_uniform(file: File) -> bool {
    matches!(file, File::Ur | File::Up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_update_changes_all_files() {
        let mut sets = Sets::new(8, true);
        sets.update([].into_iter(), FILES.into_iter().zip(0..));
        assert_eq!(FILES.map(|file| sets.count(file)), [1; 5]);
        sets.update([(File::R, 0), (File::Up, 4)].into_iter(), [(File::R, 5), (File::R, 6), (File::R, 6)].into_iter());
        assert_eq!(FILES.map(|file| sets.count(file)), [2, 1, 1, 1, 0]);
        sets.clear();
        assert_eq!(FILES.map(|file| sets.count(file)), [0; 5]);
    }

    #[test]
    fn uniform_registers_count_only_where_they_are_followed() {
        let mut sets = Sets::new(8, false);
        sets.update([].into_iter(), FILES.into_iter().zip(0..));
        assert_eq!(FILES.map(|file| sets.count(file)), [1, 1, 1, 0, 0]);
        assert!(!sets.follows(File::Ur) && sets.follows(File::R) && !sets.follows(File::Sb));
    }
}
