//! Dominator trees of flow graphs: of a function's blocks, and of the same with all edges reversed.
//!
//! Semi-NCA (Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems", 2005): semidominators by path
//! compression in reverse preorder, then each immediate dominator by walking up the tree built so far. Unlike the
//! iterative algorithm of Cooper, Harvey and Kennedy it stays near-linear where many vertices of a long chain leave to
//! one exit. `dominates` compares intervals of a walk over the tree. Nothing recurses.

const NONE: u32 = u32::MAX;

/// A graph whose vertices are numbers and can all be reached from vertex 0.
pub(super) trait FlowGraph {
    /// How many vertices there are.
    fn count(&self) -> usize;
    /// Where the edges of a vertex lead.
    fn successors(&self, vertex: u32) -> impl Iterator<Item = u32>;
    /// Where the edges to a vertex come from.
    fn predecessors(&self, vertex: u32) -> impl Iterator<Item = u32>;
}

/// The dominator tree of a flow graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct DominatorTree {
    /// By vertex: the immediate dominator; `NONE` for the root.
    idom: Vec<u32>,
    /// By vertex: its interval in a walk over the tree.
    interval: Vec<(u32, u32)>,
    /// The tree in preorder, parents before children.
    preorder: Vec<u32>,
}

impl DominatorTree {
    /// The dominators of every vertex.
    pub(super) fn compute(graph: &impl FlowGraph) -> DominatorTree {
        let idom = semi_nca(graph);
        let (interval, preorder) = intervals(&idom);
        DominatorTree { idom, interval, preorder }
    }

    /// Whether every path from the root to `b` goes through `a`; a vertex dominates itself.
    pub(super) fn dominates(&self, a: u32, b: u32) -> bool {
        let (outer, inner) = (self.interval[a as usize], self.interval[b as usize]);
        outer.0 <= inner.0 && inner.1 <= outer.1
    }

    /// The time when a walk in preorder enters a vertex, and when it leaves the last one below it.
    pub(super) fn interval(&self, vertex: u32) -> (u32, u32) {
        self.interval[vertex as usize]
    }

    /// The immediate dominator; `None` for the root.
    pub(super) fn parent(&self, vertex: u32) -> Option<u32> {
        Some(self.idom[vertex as usize]).filter(|above| *above != NONE)
    }

    /// The vertices, each after its immediate dominator, subtrees together.
    pub(super) fn preorder(&self) -> &[u32] {
        &self.preorder
    }

    /// By vertex: its dominance frontier. From each predecessor of a join up to the join's immediate dominator, every
    /// vertex has the join in its frontier. A walk stops at a vertex that an earlier walk for the same join has
    /// seen, so the cost is the size of the result.
    pub(super) fn frontiers<T: Copy + PartialEq>(
        &self,
        graph: &impl FlowGraph,
        name: impl Fn(u32) -> T,
    ) -> Vec<Vec<T>> {
        let mut of = vec![Vec::new(); self.idom.len()];
        for join in 0..self.idom.len() as u32 {
            let (stop, named) = (self.idom[join as usize], name(join));
            for predecessor in graph.predecessors(join) {
                let mut runner = predecessor;
                while runner != stop && runner != NONE && of[runner as usize].last() != Some(&named) {
                    of[runner as usize].push(named);
                    runner = self.idom[runner as usize];
                }
            }
        }
        of
    }
}

/// A depth-first tree over the graph, in preorder numbers from 1; 0 is above the root.
struct Tree {
    /// By preorder number: the vertex.
    vertex: Vec<u32>,
    parent: Vec<u32>,
    /// By vertex: the preorder number.
    number: Vec<u32>,
}

impl Tree {
    /// Gives a vertex the next number; whether it had none.
    fn enter(&mut self, vertex: u32, parent: u32) -> bool {
        let new = self.number[vertex as usize] == 0;
        if new {
            self.number[vertex as usize] = self.vertex.len() as u32;
            self.vertex.push(vertex);
            self.parent.push(parent);
        }
        new
    }
}

fn depth_first(graph: &impl FlowGraph) -> Tree {
    let count = graph.count();
    let with_room = |first| {
        let mut list = Vec::with_capacity(count + 1);
        list.push(first);
        list
    };
    let mut tree = Tree { vertex: with_room(NONE), parent: with_room(0), number: vec![0; count] };
    let mut stack = Vec::with_capacity(count);
    if count > 0 {
        tree.enter(0, 0);
        stack.push((1, graph.successors(0)));
    }
    while let Some((number, edges)) = stack.last_mut() {
        let number = *number;
        match edges.next() {
            Some(next) if tree.enter(next, number) => {
                stack.push((tree.number[next as usize], graph.successors(next)));
            }
            Some(_) => {}
            None => {
                stack.pop();
            }
        }
    }
    tree
}

/// The vertices already linked to their parents, with compressed paths.
struct Forest {
    ancestor: Vec<u32>,
    label: Vec<u32>,
    semi: Vec<u32>,
    stack: Vec<u32>,
}

impl Forest {
    /// The vertex of least semidominator on the path from `v` up to, but without, its root, where vertices from
    /// `linked` on are linked.
    fn evaluate(&mut self, v: u32, linked: u32) -> u32 {
        if self.ancestor[v as usize] < linked {
            return self.label[v as usize];
        }
        let mut top = v;
        while self.ancestor[top as usize] >= linked {
            self.stack.push(top);
            top = self.ancestor[top as usize];
        }
        let (root, mut best) = (self.ancestor[top as usize], self.label[top as usize]);
        while let Some(below) = self.stack.pop() {
            let below = below as usize;
            self.ancestor[below] = root;
            if self.semi[best as usize] < self.semi[self.label[below] as usize] {
                self.label[below] = best;
            } else {
                best = self.label[below];
            }
        }
        self.label[v as usize]
    }
}

fn semi_nca(graph: &impl FlowGraph) -> Vec<u32> {
    let tree = depth_first(graph);
    let count = tree.vertex.len() as u32;
    let identity: Vec<u32> = (0..count).collect();
    let mut forest =
        Forest { ancestor: tree.parent.clone(), label: identity.clone(), semi: identity, stack: Vec::new() };
    for w in (2..count).rev() {
        let mut semi = tree.parent[w as usize];
        for predecessor in graph.predecessors(tree.vertex[w as usize]) {
            let least = forest.evaluate(tree.number[predecessor as usize], w + 1);
            semi = semi.min(forest.semi[least as usize]);
        }
        forest.semi[w as usize] = semi;
    }
    let mut above = tree.parent.clone();
    for w in 2..count as usize {
        while above[w] > forest.semi[w] {
            above[w] = above[above[w] as usize];
        }
    }
    let mut idom = vec![NONE; graph.count()];
    for w in 2..count as usize {
        idom[tree.vertex[w] as usize] = tree.vertex[above[w] as usize];
    }
    idom
}

/// The interval of each vertex in a walk over the tree, and the walk's preorder.
fn intervals(idom: &[u32]) -> (Vec<(u32, u32)>, Vec<u32>) {
    // Children as linked lists: the first child of a vertex, and the next child of the same parent.
    let (mut child, mut sibling) = (vec![NONE; idom.len()], vec![NONE; idom.len()]);
    for vertex in (1..idom.len()).rev() {
        let parent = idom[vertex] as usize;
        sibling[vertex] = std::mem::replace(&mut child[parent], vertex as u32);
    }
    let mut interval = vec![(0, 0); idom.len()];
    let mut preorder = Vec::with_capacity(idom.len());
    let (mut clock, mut vertex) = (0, if idom.is_empty() { NONE } else { 0 });
    while vertex != NONE {
        interval[vertex as usize].0 = clock;
        clock += 1;
        preorder.push(vertex);
        if child[vertex as usize] != NONE {
            vertex = child[vertex as usize];
            continue;
        }
        while vertex != NONE {
            interval[vertex as usize].1 = clock;
            if sibling[vertex as usize] != NONE {
                vertex = sibling[vertex as usize];
                break;
            }
            vertex = idom[vertex as usize];
        }
    }
    (interval, preorder)
}
