//! The loop nest by its definition: a loop is a largest set of blocks that all lead to each other inside the set, with
//! an edge among them; its header is the member that a depth-first walk from the entry, edges in operand order, comes
//! to first; and the loops inside it are those of the set without the header.

use super::graph::Graph;

/// A loop, by places in the layout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NestedLoop {
    /// The block that the walk comes to first.
    pub header: usize,
    /// The blocks, sorted.
    pub blocks: Vec<usize>,
    /// The header of the smallest loop around it.
    pub parent: Option<usize>,
    /// How many loops it is in, itself included.
    pub depth: u32,
}

/// The loops of the reachable blocks, sorted by header.
pub fn loops(graph: &Graph) -> Vec<NestedLoop> {
    let mut order = Vec::new();
    if !graph.blocks.is_empty() {
        walk(graph, 0, &mut order);
    }
    let mut found = Vec::new();
    nested(graph, &order, None, 1, &mut found);
    found.sort_by_key(|nested| nested.header);
    found
}

/// Recursion is as deep as the blocks are many; functions here are small.
fn walk(graph: &Graph, at: usize, order: &mut Vec<usize>) {
    order.push(at);
    for to in &graph.successors[at] {
        if !order.contains(to) {
            walk(graph, *to, order);
        }
    }
}

/// The loops among some blocks, which come in the order of the walk.
fn nested(graph: &Graph, among: &[usize], parent: Option<usize>, depth: u32, found: &mut Vec<NestedLoop>) {
    let mut rest = among.to_vec();
    while let Some(header) = rest.first().copied() {
        let from_header = inside(graph, among, header);
        let together = |at: &usize| from_header.contains(at) && inside(graph, among, *at).contains(&header);
        let blocks: Vec<usize> = among.iter().copied().filter(|at| *at == header || together(at)).collect();
        rest.retain(|at| !blocks.contains(at));
        if from_header.contains(&header) {
            nested(graph, &blocks[1..], Some(header), depth + 1, found);
            let mut blocks = blocks;
            blocks.sort_unstable();
            found.push(NestedLoop { header, blocks, parent, depth });
        }
    }
}

/// The blocks of a set that a path of one edge or more leads to, all inside the set.
fn inside(graph: &Graph, among: &[usize], from: usize) -> Vec<usize> {
    let (mut reached, mut work) = (Vec::new(), vec![from]);
    while let Some(at) = work.pop() {
        for to in graph.successors[at].iter().filter(|to| among.contains(to)) {
            if !reached.contains(to) {
                reached.push(*to);
                work.push(*to);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use oriole_ir::parse_function;

    use super::*;

    #[test]
    fn a_loop_with_two_entries_inside_another_is_as_drawn() {
        let text = "device @f {\nbb0:\n  cbra %p0, bb1, bb2\nbb1:\n  bra bb2\nbb2:\n  cbra %p0, bb1, bb3\nbb3:\n  \
                    cbra %p0, bb0, bb4\nbb4:\n  ret\n}\n";
        let graph = Graph::of(&parse_function(text).expect("the text is a function"));
        let outer = NestedLoop { header: 0, blocks: vec![0, 1, 2, 3], parent: None, depth: 1 };
        let inner = NestedLoop { header: 1, blocks: vec![1, 2], parent: Some(0), depth: 2 };
        assert_eq!(loops(&graph), [outer, inner]);
    }
}
