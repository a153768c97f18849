//! The words of a function, read, with the ways that control takes between them.

use oriole_ir::Schedule;
use oriole_sass::class::Flow;
use oriole_sass::cubin::{Cubin, Function, IndirectBranch, words};
use oriole_sass::encoding::known;
use oriole_sass::row::{File, What};
use oriole_sass::{Instruction, Table, WordError, text};

use crate::access::Accesses;

/// Bytes of a word.
const WORD: u64 = 16;

/// Why words cannot be checked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unread {
    /// The words of the SM are not known.
    #[error("the words of sm_{0} are not known; those of {list} are", list = known())]
    Sm(u16),
    /// A word that no encoding reads.
    #[error("{function}, offset {offset:#x}: {error}; `oriole sass` prints the words around it")]
    Word {
        /// The function's name.
        function: String,
        /// The word's offset.
        offset: u64,
        /// The fault.
        error: WordError,
    },
}

/// An instruction of the code.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub inst: Instruction<'static>,
    pub schedule: Schedule,
    pub accesses: Accesses,
    /// The places that control goes to behind it.
    pub next: Vec<u32>,
    /// Whether a call comes back to the next instruction.
    pub calls: bool,
}

/// The code of a function: its words, where they stand, and where branches through registers go.
#[derive(Clone, Debug)]
pub struct Code {
    /// The function's name.
    pub name: String,
    /// The SM's number.
    pub sm: u16,
    /// The offset of the first word.
    pub start: u64,
    pub(crate) nodes: Vec<Node>,
}

impl Node {
    /// The mnemonic up to its first dot.
    pub fn family(&self) -> &'static str {
        let name = self.inst.encoding.name;
        name.split('.').next().unwrap_or(name)
    }
}

impl Code {
    /// Reads words that begin at an offset, of which branches name targets. `indirect` lists the targets of branches
    /// through registers.
    ///
    /// # Errors
    ///
    /// If the words of the SM are not known, or one of them is none.
    pub fn new(sm: u16, name: &str, start: u64, words: &[u128], indirect: &[IndirectBranch]) -> Result<Code, Unread> {
        let table = Table::of(sm).ok_or(Unread::Sm(sm))?;
        let mut code = Code { name: name.to_owned(), sm, start, nodes: Vec::with_capacity(words.len()) };
        for (index, word) in words.iter().enumerate() {
            let offset = code.offset(index);
            let refuse = |error| Unread::Word { function: name.to_owned(), offset, error };
            let inst = table.decode(*word).map_err(refuse)?;
            let (schedule, accesses) = (inst.schedule(), Accesses::of(&inst));
            code.nodes.push(Node { inst, schedule, accesses, next: Vec::new(), calls: false });
        }
        for index in 0..words.len() {
            code.connect(index, indirect);
        }
        Ok(code)
    }

    /// Reads the words of a function of a cubin as they are in the file.
    ///
    /// # Errors
    ///
    /// If the words of the SM are not known, or one of them is none.
    pub fn of(cubin: &Cubin, function: &Function) -> Result<Code, Unread> {
        let range = cubin.own_range(function);
        let bytes = cubin.bytes(function.section).get(range.start as usize..range.end as usize).unwrap_or(&[]);
        let words: Vec<u128> = words(bytes).collect();
        Code::new(cubin.target.sm, &function.name, range.start, &words, &function.info.indirect_branches)
    }

    /// The offset of an instruction.
    pub fn offset(&self, index: usize) -> u64 {
        self.start + WORD * index as u64
    }

    /// The text of an instruction.
    pub fn text(&self, index: usize) -> String {
        let mut out = String::new();
        text::print(&mut out, &self.nodes[index].inst, self.offset(index));
        out
    }

    /// An instruction; `None` behind the last one.
    pub fn inst(&self, index: usize) -> Option<&Instruction<'static>> {
        self.nodes.get(index).map(|node| &node.inst)
    }

    /// The indices that control goes to behind an instruction; the last of a call is where it comes back.
    pub fn next(&self, index: usize) -> &[u32] {
        self.nodes.get(index).map_or(&[], |node| &node.next)
    }

    /// Where blocks begin: what is jumped to, and what follows a jump.
    pub(crate) fn leaders(&self) -> Vec<bool> {
        let mut leaders = vec![false; self.nodes.len() + 1];
        for (index, node) in self.nodes.iter().enumerate() {
            let is_plain = !node.calls && node.inst.encoding.class.flow == Flow::Next;
            leaders[index + 1] |= !is_plain;
            node.next.iter().filter(|_| !is_plain).for_each(|next| leaders[*next as usize] = true);
        }
        leaders
    }

    fn index(&self, offset: u64) -> Option<u32> {
        let index = offset.checked_sub(self.start)? / WORD;
        (index < self.nodes.len() as u64).then_some(index as u32)
    }

    /// Finds where control goes behind an instruction.
    fn connect(&mut self, index: usize, indirect: &[IndirectBranch]) {
        let (node, offset) = (&self.nodes[index], self.offset(index));
        let flow = node.inst.encoding.class.flow;
        // Behind a register a distance is no target.
        let has_target = node.inst.encoding.parts.iter().any(|part| part.what == What::Target);
        let target = node.inst.target(offset).filter(|_| has_target).and_then(|target| self.index(target));
        let through = indirect.iter().filter(|branch| u64::from(branch.offset) == offset);
        let through = through.flat_map(|branch| &branch.targets).filter_map(|target| self.index((*target).into()));
        let mut next: Vec<u32> = match flow {
            Flow::Jump => target.into_iter().chain(through).collect(),
            Flow::Call => target.into_iter().collect(),
            _ => Vec::new(),
        };
        let falls = !flow.ends_block() || is_conditional(node);
        if falls && index + 1 < self.nodes.len() {
            next.push(index as u32 + 1);
        }
        next.sort_unstable();
        next.dedup();
        let node = &mut self.nodes[index];
        node.calls = flow == Flow::Call;
        node.next = next;
    }
}

/// Whether an instruction has a guard or a condition.
fn is_conditional(node: &Node) -> bool {
    node.accesses.reads.iter().any(|read| matches!(read.unit.file(), File::P | File::Up))
        || node.inst.modifiers().any(|name| matches!(name, "DIV" | "CONV"))
}
