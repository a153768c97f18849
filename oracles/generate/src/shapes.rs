//! Large kernels and modules of simple shape, as PTX text: what the benchmark `scale` and the tests of depth feed to
//! the optimizer.
//!
//! A kernel of a shape repeats one pattern until it has the number of instructions that is asked for. The patterns are
//! made so that no phase has much to remove: values come from a parameter and reach a store, and no two operations
//! compute the same. Time and memory of every step then depend on the size alone.

use std::fmt::Write;

/// The pattern that a kernel repeats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// One block; each value is made of the two before.
    Line,
    /// One block; a rewrite rule puts an instruction before every third.
    Rewrites,
    /// Branches inside of branches: each level jumps over all that are deeper, and every level joins.
    Nested,
    /// If and else, one after the other.
    Diamonds,
    /// Loops of one block, one after the other.
    Loops,
    /// Loops inside of loops, 64 levels deep, one nest after the other.
    Nests,
    /// If and else that change one of 64 variables in turn; all are live everywhere.
    Variables,
}

impl Shape {
    /// Every shape with its name.
    pub const ALL: [(Shape, &'static str); 7] = [
        (Shape::Line, "line"),
        (Shape::Rewrites, "rewrites"),
        (Shape::Nested, "nested"),
        (Shape::Diamonds, "diamonds"),
        (Shape::Loops, "loops"),
        (Shape::Nests, "nests"),
        (Shape::Variables, "variables"),
    ];

    /// A kernel of about so many instructions.
    pub fn kernel(self, instructions: usize) -> String {
        let mut out = String::from(HEAD);
        let written = match self {
            Shape::Line => line(&mut out, instructions),
            Shape::Rewrites => rewrites(&mut out, instructions / 3),
            Shape::Nested => nested(&mut out, instructions / 7),
            Shape::Diamonds => diamonds(&mut out, instructions / 8),
            Shape::Loops => loops(&mut out, instructions / 6),
            Shape::Nests => nests(&mut out, instructions.div_ceil(6 * DEPTH)),
            Shape::Variables => variables(&mut out, instructions / 8),
        };
        written.expect("writing to a string succeeds");
        out.push_str("\tret;\n}\n");
        out
    }
}

/// How the functions of a module call each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Calls {
    /// Each calls the one before it; the kernel calls the last one.
    Chain,
    /// Each calls the next one, and the last one the first: one component of the call graph.
    Circle,
    /// Components of two functions that call each other, of which a later one calls the one before it.
    Pairs,
}

impl Calls {
    /// Every way with its name.
    pub const ALL: [(Calls, &'static str); 3] =
        [(Calls::Chain, "chain"), (Calls::Circle, "circle"), (Calls::Pairs, "pairs")];

    /// A module of so many functions and a kernel.
    pub fn module(self, functions: usize) -> String {
        let mut out = String::from(".version 8.0\n.target sm_90\n.address_size 64\n");
        let written = (0..functions)
            .try_for_each(|n| writeln!(out, "{} f{n} (.param .b32 a);", FUNCTION))
            .and_then(|()| (0..functions).try_for_each(|n| self.function(&mut out, n, functions)));
        written.expect("writing to a string succeeds");
        out.push_str(&HEAD[HEAD.find(".visible").expect("it has an entry")..]);
        out.push_str("\t.reg .b32 %r;\n");
        call(&mut out, functions - 1, "%a", "%r").expect("writing to a string succeeds");
        out.push_str("\tst.global.u32 [%out], %r;\n\tret;\n}\n");
        out
    }

    fn callees(self, n: usize, functions: usize) -> Vec<usize> {
        match self {
            Calls::Chain => n.checked_sub(1).into_iter().collect(),
            Calls::Circle => vec![(n + 1) % functions],
            Calls::Pairs => {
                n.checked_sub(2).into_iter().chain(Some(n ^ 1).filter(|other| *other < functions)).collect()
            }
        }
    }

    /// A function calls only where its argument is not 0, so that circles end.
    fn function(self, out: &mut String, n: usize, functions: usize) -> std::fmt::Result {
        writeln!(out, "{FUNCTION} f{n} (.param .b32 a)\n{{\n\t.reg .b32 %r<4>;\n\t.reg .pred %p;")?;
        writeln!(out, "\tld.param.u32 %r0, [a];\n\tshr.u32 %r1, %r0, 1;\n\tmul.lo.u32 %r2, %r0, {};", 2 * n + 3)?;
        writeln!(out, "\tsetp.eq.u32 %p, %r0, 0;\n\t@%p bra $end;")?;
        for callee in self.callees(n, functions) {
            call(out, callee, "%r1", "%r3")?;
            writeln!(out, "\tadd.u32 %r2, %r2, %r3;")?;
        }
        writeln!(out, "$end:\n\tst.param.b32 [out], %r2;\n\tret;\n}}")
    }
}

/// What a function begins with.
const FUNCTION: &str = ".func (.param .b32 out)";

fn call(out: &mut String, callee: usize, argument: &str, result: &str) -> std::fmt::Result {
    writeln!(out, "\t{{\n\t.param .b32 to;\n\t.param .b32 from;\n\tst.param.b32 [to], {argument};")?;
    writeln!(out, "\tcall.uni (from), f{callee}, (to);\n\tld.param.b32 {result}, [from];\n\t}}")
}

/// `%a` and `%b` are the kernel's inputs, `%out` is where results go.
const HEAD: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry shape(.param .u64 out, .param .u32 a, .param .u32 b)
{
\t.reg .b64 %out;
\t.reg .b32 %a, %b;
\tld.param.u64 %out, [out];
\tld.param.u32 %a, [a];
\tld.param.u32 %b, [b];
";

fn line(out: &mut String, count: usize) -> std::fmt::Result {
    writeln!(out, "\t.reg .b32 %r<{}>;\n\tmov.u32 %r0, %a;\n\tmov.u32 %r1, %b;", count + 2)?;
    for n in 2..count + 2 {
        let opcode = ["add.u32", "xor.b32", "mul.lo.u32"][n % 3];
        writeln!(out, "\t{opcode} %r{n}, %r{}, %r{};", n - 1, n - 2)?;
    }
    writeln!(out, "\tst.global.u32 [%out], %r{};", count + 1)
}

/// `x & (x ^ b)` becomes `x & ~b`.
fn rewrites(out: &mut String, count: usize) -> std::fmt::Result {
    writeln!(out, "\t.reg .b32 %r<{count}>, %x;\n\tmov.u32 %x, %a;")?;
    for n in 0..count {
        writeln!(out, "\txor.b32 %r{n}, %x, %b;\n\tand.b32 %x, %x, %r{n};\n\tadd.u32 %x, %x, {n};")?;
    }
    writeln!(out, "\tst.global.u32 [%out], %x;")
}

fn nested(out: &mut String, depth: usize) -> std::fmt::Result {
    writeln!(out, "\t.reg .pred %p<{depth}>;\n\t.reg .b32 %r<{}>, %x;\n\tmov.u32 %x, %a;", 2 * depth)?;
    for n in 0..depth {
        let value = 2 * n;
        writeln!(out, "\tmul.lo.u32 %r{value}, %x, %b;\n\tadd.u32 %x, %r{value}, {n};")?;
        writeln!(out, "\tsetp.lt.u32 %p{n}, %x, %b;\n\t@%p{n} bra $join{n};")?;
    }
    for n in (0..depth).rev() {
        let value = 2 * n + 1;
        writeln!(out, "\txor.b32 %r{value}, %x, {n};\n\tmul.lo.u32 %x, %r{value}, %a;")?;
        writeln!(out, "$join{n}:\n\tadd.u32 %x, %x, {};", depth + n)?;
    }
    writeln!(out, "\tst.global.u32 [%out], %x;")
}

fn diamonds(out: &mut String, count: usize) -> std::fmt::Result {
    writeln!(out, "\t.reg .pred %p<{count}>;\n\t.reg .b32 %r<{count}>, %x, %y;")?;
    writeln!(out, "\tmov.u32 %x, %a;\n\tmov.u32 %y, %b;")?;
    for n in 0..count {
        diamond(out, n, ["%x", "%y"])?;
    }
    writeln!(out, "\tadd.u32 %x, %x, %y;\n\tst.global.u32 [%out], %x;")
}

/// Eight instructions; both sides change the first variable.
fn diamond(out: &mut String, n: usize, [changed, other]: [&str; 2]) -> std::fmt::Result {
    writeln!(out, "\tmul.lo.u32 %r{n}, {changed}, {other};")?;
    writeln!(out, "\tsetp.lt.u32 %p{n}, %r{n}, {n};\n\t@%p{n} bra $else{n};")?;
    writeln!(out, "\tadd.u32 {changed}, %r{n}, {other};\n\txor.b32 {other}, {other}, {changed};\n\tbra.uni $join{n};")?;
    writeln!(out, "$else{n}:\n\txor.b32 {changed}, %r{n}, %a;\n\tadd.u32 {changed}, {changed}, {n};\n$join{n}:")
}

fn loops(out: &mut String, count: usize) -> std::fmt::Result {
    writeln!(out, "\t.reg .pred %p<{count}>;\n\t.reg .b32 %i, %x;\n\tmov.u32 %x, %a;")?;
    for n in 0..count {
        writeln!(out, "\tmov.u32 %i, {n};\n$loop{n}:\n\tmul.lo.u32 %x, %x, %b;\n\txor.b32 %x, %x, %i;")?;
        writeln!(out, "\tadd.u32 %i, %i, 3;\n\tsetp.lt.u32 %p{n}, %i, %a;\n\t@%p{n} bra $loop{n};")?;
    }
    writeln!(out, "\tst.global.u32 [%out], %x;")
}

/// Loops in a nest.
const DEPTH: usize = 64;

fn nests(out: &mut String, count: usize) -> std::fmt::Result {
    let all = count * DEPTH;
    writeln!(out, "\t.reg .pred %p<{all}>;\n\t.reg .b32 %i<{all}>, %x;\n\tmov.u32 %x, %a;")?;
    for first in (0..all).step_by(DEPTH) {
        for n in first..first + DEPTH {
            writeln!(out, "\tmov.u32 %i{n}, {n};\n$loop{n}:")?;
        }
        for n in (first..first + DEPTH).rev() {
            writeln!(out, "\tmad.lo.u32 %x, %x, %b, %i{n};\n\tadd.u32 %i{n}, %i{n}, 3;")?;
            writeln!(out, "\tsetp.lt.u32 %p{n}, %i{n}, %a;\n\t@%p{n} bra $loop{n};")?;
        }
    }
    writeln!(out, "\tst.global.u32 [%out], %x;")
}

fn variables(out: &mut String, count: usize) -> std::fmt::Result {
    const VARIABLES: usize = 64;
    writeln!(out, "\t.reg .pred %p<{count}>;\n\t.reg .b32 %r<{count}>, %v<{VARIABLES}>;")?;
    for n in 0..VARIABLES {
        writeln!(out, "\tadd.u32 %v{n}, %a, {n};")?;
    }
    for n in 0..count {
        let [changed, other] = [n, 5 * n + 1].map(|number| format!("%v{}", number % VARIABLES));
        diamond(out, n, [&changed, &other])?;
    }
    for n in 0..VARIABLES {
        writeln!(out, "\tst.global.u32 [%out+{}], %v{n};", 4 * n)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ptx as ptx;

    #[test]
    fn kernels_have_the_size_that_is_asked_for() {
        for (shape, name) in Shape::ALL {
            let source = shape.kernel(10_000);
            let module = ptx::parse(&source).and_then(|tree| ptx::lower(&tree, &source));
            let module = module.unwrap_or_else(|faults| panic!("{name}: {}", faults[0].message));
            let count = module.inst_count();
            assert!((10_000..12_000).contains(&count), "{name} has {count} instructions");
        }
    }
}
