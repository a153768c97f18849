//! Many files in one process of a compiler: to start it takes as long as to compile some twenty small kernels.

use std::path::PathBuf;
use std::sync::Arc;

use oriole_sass::cubin::Cubin;

use super::{Axis, CompileError, Ptxas};

/// The code of a file: alone, or together with that of others.
pub type Code = Result<Arc<Cubin>, CompileError>;

impl Ptxas {
    /// Compiles files whose symbols all have names of their own. Where one of them spoils it for the others, these are
    /// compiled again without it, so that each gets what it would get alone.
    pub fn compile_all(&self, files: &[PathBuf], axis: &Axis) -> Vec<Code> {
        let mut codes: Vec<Option<Code>> = files.iter().map(|_| None).collect();
        let mut pending: Vec<Vec<usize>> = vec![(0..files.len()).collect()];
        while let Some(batch) = pending.pop().filter(|batch| !batch.is_empty()) {
            let paths: Vec<&PathBuf> = batch.iter().map(|at| &files[*at]).collect();
            match (self.run(&paths, axis), &batch[..]) {
                (Ok(cubin), _) => {
                    let cubin = Arc::new(cubin);
                    batch.iter().for_each(|at| codes[*at] = Some(Ok(cubin.clone())));
                }
                (Err(error), [alone]) => codes[*alone] = Some(Err(error)),
                (Err(error), _) => pending.extend(without_culprits(&batch, files, &error)),
            }
        }
        codes.into_iter().map(|code| code.expect("every file is in a batch until it has its code")).collect()
    }
}

/// The batches to try in place of one that failed: the files that the compiler blames one by one and the others
/// together; halves where it blames none.
fn without_culprits(batch: &[usize], files: &[PathBuf], error: &CompileError) -> Vec<Vec<usize>> {
    let is_blamed = |at: &usize| match error {
        CompileError::Refused(said) => said.contains(&format!("{},", files[*at].display())),
        _ => false,
    };
    let (blamed, others): (Vec<usize>, Vec<usize>) = batch.iter().copied().partition(is_blamed);
    if blamed.is_empty() {
        let (first, second) = batch.split_at(batch.len() / 2);
        return vec![first.to_vec(), second.to_vec()];
    }
    blamed.into_iter().map(|at| vec![at]).chain([others]).filter(|batch| !batch.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_blamed_is_tried_alone_and_else_halves() {
        let files: Vec<PathBuf> = (0..5).map(|n| PathBuf::from(format!("/t/k{n}.ptx"))).collect();
        let refused = CompileError::Refused("ptxas /t/k3.ptx, line 4; error   : Unknown symbol 'x'".to_owned());
        assert_eq!(without_culprits(&[0, 1, 3, 4], &files, &refused), [vec![3], vec![0, 1, 4]]);
        let crashed = CompileError::Crashed("signal: 11 (SIGSEGV)".to_owned());
        assert_eq!(without_culprits(&[0, 1, 3], &files, &crashed), [vec![0], vec![1, 3]]);
        assert_eq!(without_culprits(&[3], &files, &refused), [[3]]);
    }

    #[test]
    fn a_file_that_is_refused_does_not_spoil_the_others() {
        let Some(ptxas) = Ptxas::find(std::path::Path::new(env!("CARGO_MANIFEST_DIR"))) else {
            return eprintln!("skipped: there is no ptxas (ci/cuda-tools installs it)");
        };
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, statement: &str| {
            let head = ".version 9.0\n.target sm_90\n.address_size 64\n";
            let path = folder.path().join(format!("{name}.ptx"));
            std::fs::write(&path, format!("{head}.visible .entry {name}()\n{{\n{statement}\nret;\n}}\n")).unwrap();
            path
        };
        let files = [file("one", ""), file("two", "bra nowhere;"), file("three", "")];
        let axis = Axis::new("sm_90", 3);
        let codes = ptxas.compile_all(&files, &axis);
        let entries = |code: &Code| code.as_ref().map(|cubin| cubin.part("three").is_some()).ok();
        assert_eq!(codes.iter().map(entries).collect::<Vec<_>>(), [Some(true), None, Some(true)]);
        assert!(matches!(&codes[1], Err(CompileError::Refused(said)) if said.contains("nowhere")));
    }
}
