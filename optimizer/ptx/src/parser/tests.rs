//! Trees of small PTX texts, one construct each.

use super::super::ast::*;
use super::parse;

mod constants;
mod faults;

const HEADER: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

/// Puts `items` behind a valid header, parses them, and hands the items to `check`.
fn with_items(items: &str, check: impl FnOnce(&[Item<'_>])) {
    let source = format!("{HEADER}{items}");
    match parse(&source) {
        Ok(module) => check(&module.items),
        Err(faults) => panic!("{faults:#?}"),
    }
}

fn with_variable(declaration: &str, check: impl FnOnce(&Variable<'_>)) {
    with_items(declaration, |items| match items {
        [Item::Variable(variable)] => check(variable),
        other => panic!("one variable expected: {other:#?}"),
    });
}

fn with_function(text: &str, check: impl FnOnce(&Function<'_>)) {
    with_items(text, |items| match items {
        [Item::Function(function)] => check(function),
        other => panic!("one function expected: {other:#?}"),
    });
}

/// Parses `statements` as the body of an entry.
fn with_body(statements: &str, check: impl FnOnce(&Body<'_>)) {
    with_function(&format!(".entry k() {{\n{statements}\n}}"), |function| {
        check(function.body.as_ref().expect("a body"));
    });
}

/// Parses one instruction and hands over its modifiers and operands.
fn with_instruction(text: &str, check: impl FnOnce(&Body<'_>, &Instruction<'_>)) {
    with_body(text, |body| match &body.statements[..] {
        [Statement::Instruction(instruction)] => check(body, instruction),
        other => panic!("one instruction expected: {other:#?}"),
    });
}

/// The operands as text: enough to see the whole tree of each.
fn render<'s>(body: &Body<'s>, operands: List<Operand<'s>>) -> Vec<String> {
    body[operands].iter().map(|operand| render_operand(body, operand)).collect()
}

fn render_operand<'s>(body: &Body<'s>, operand: &Operand<'s>) -> String {
    let many = |list| render(body, list).join(" ");
    match operand.kind {
        OperandKind::Name(name) => name.to_owned(),
        OperandKind::Component { name, component } => format!("{name}'{component}"),
        OperandKind::Sum { name, offset } => format!("sum({name} {offset})"),
        OperandKind::Element { name, index } => format!("element({name} {index})"),
        OperandKind::Indexed { name, index } => format!("element({name} {})", many(index)),
        OperandKind::Constant(constant) => format!("{constant:?}"),
        OperandKind::Vector(list) => format!("vector({})", many(list)),
        OperandKind::Pair(list) => format!("pair({})", many(list)),
        OperandKind::Group(list) => format!("group({})", many(list)),
        OperandKind::Negate(list) => format!("negate({})", many(list)),
        OperandKind::Sink => "_".to_owned(),
        OperandKind::Not(name) => format!("not({name})"),
        OperandKind::Address(Address { base, offset, rest }) => {
            format!("address({} {offset} {})", base.unwrap_or("-"), many(rest)).replace(" )", ")")
        }
    }
}

fn operands_of(text: &str) -> Vec<String> {
    let mut texts = Vec::new();
    with_instruction(text, |body, instruction| texts = render(body, instruction.operands));
    texts
}

fn modifiers_of(text: &str) -> Vec<String> {
    let mut texts = Vec::new();
    with_instruction(text, |body, instruction| {
        texts = body[instruction.modifiers].iter().map(|modifier| modifier.text.to_owned()).collect();
    });
    texts
}

const SAXPY: &str = r#"
.version 9.0
.target sm_90
.address_size 64
.visible .entry saxpy(
	.param .u32 saxpy_param_0,
	.param .f32 saxpy_param_1,
	.param .u64 .ptr .global .align 16 saxpy_param_2,
	.param .u64 saxpy_param_3
)
.maxntid 256, 1, 1
{
	.reg .pred 	%p<2>;
	.reg .f32 	%f<5>;
	.reg .b32 	%r<6>;
	.reg .b64 	%rd<8>;

	ld.param.u32 	%r2, [saxpy_param_0];
	mov.u32 	%r3, %ctaid.x;
	mad.lo.s32 	%r1, %r3, %r4, %r5;
	setp.ge.s32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB0_2;

	cvta.to.global.u64 	%rd3, %rd1;
	ld.global.nc.f32 	%f2, [%rd5+-8];
	fma.rn.f32 	%f4, %f2, 0f3F800000, %f3;
	st.global.f32 	[%rd7], %f4;

$L__BB0_2:
	ret;

}
"#;

/// A bit of everything, as food for the damage tests.
const EVERYTHING: &str = r#"
.version 8.7
.target sm_90a, debug
.address_size 64
.file 1 "a.cu", 1, 2
.global .align 8 .u64 table[3] = {generic(f), 0xFF00(x)+4, {1, 2.5}};
.extern .shared .align 16 .b8 dyn[];
.weak .func (.param .align 8 .b8 ret[16]) f (.param .b32 a, .param .align 4 .b8 s[12]) .noreturn
{
	.reg .b32 %r<4>, t;
	.loc 1 4 2, function_name $L__info+4, inlined_at 1 2 3
	{ // callseq 0, 0
	.param .b32 p0;
	st.param.b32 [p0+0], %r1;
	pt : .callprototype (.param .b32 _) _ (.param .b32 _) .noreturn;
	call.uni (r), %rd1, (p0, 4), pt;
	}
	bt: .branchtargets L1, L2;
	@!%p1 brx.idx %r1, bt;
L1:	tex.2d.v4.f32.s32 {%f1, _, %f3, %f4}|%p, [t, {%r1, %r2}];
L2:	vadd.s32.s32.s32 %r1, -%r2.b0, (1 + 2) * ~3, !%p2;
	.pragma "nounroll";
	ret;
}
.alias g, f;
.section .debug_str { .b8 1, 2 }
"#;

#[test]
fn saxpy_becomes_a_tree() {
    let module = parse(SAXPY).expect("valid");
    assert_eq!(module.version, Version { major: 9, minor: 0 });
    assert_eq!(module.targets[0].text, "sm_90");
    assert_eq!(module.address_size, 64);
    let [Item::Function(function)] = &module.items[..] else { panic!("one function") };
    assert!(function.is_entry);
    assert_eq!((function.name.text, function.linkage), ("saxpy", Linkage::Visible));
    assert_eq!(function.parameters.len(), 4);
    let pointer = Pointer { space: Some(Space::Global), align: Some(16) };
    assert_eq!(function.parameters[2].pointer, Some(pointer));
    assert_eq!(function.parameters[2].align, None);
    let expected: Vec<_> = [256, 1, 1].map(DirectiveArgument::Integer).into();
    assert_eq!(function.directives[0].arguments, expected);
    let body = function.body.as_ref().expect("a body");
    assert_eq!(body.statements.len(), 4 + 9 + 1 + 1);
}

#[test]
fn everything_parses() {
    let module = parse(EVERYTHING).expect("valid");
    assert_eq!(module.targets.len(), 2);
    assert_eq!(module.items.len(), 4);
    assert_eq!(module.version, Version { major: 8, minor: 7 });
}

#[test]
fn sizes_stay_small() {
    assert_eq!(size_of::<Operand<'_>>(), 48);
    assert_eq!(size_of::<Initializer<'_>>(), 32);
    assert!(size_of::<Statement<'_>>() <= 88, "{}", size_of::<Statement<'_>>());
}

#[test]
fn variables_have_linkage_alignment_vectors_and_arrays() {
    with_variable(".visible .global .align 16 .v4 .f32 v[2][3];", |variable| {
        assert_eq!((variable.linkage, variable.space), (Linkage::Visible, Space::Global));
        assert_eq!((variable.lanes, variable.ty, variable.align), (4, ScalarType::F32, Some(16)));
        assert_eq!(variable.dimensions, [Some(2), Some(3)]);
        assert_eq!(variable.bytes(), 96);
    });
    with_variable(".extern .shared .b8 dyn[];", |variable| {
        assert_eq!((variable.linkage, variable.bytes(), variable.alignment()), (Linkage::Extern, 0, 1));
    });
    with_variable(".global .attribute(.managed, .unified(19, 95)) .s32 g;", |variable| {
        assert_eq!(variable.attributes[0].name.text, "managed");
        assert_eq!(variable.attributes[1].arguments, [19, 95]);
    });
    with_items(".weak .const .b64 a, b = 2;\n.common .global .u32 c;", |items| {
        let names: Vec<_> = items
            .iter()
            .map(|item| match item {
                Item::Variable(variable) => (variable.name.text, variable.linkage),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(names, [("a", Linkage::Weak), ("b", Linkage::Weak), ("c", Linkage::Common)]);
    });
}

#[test]
fn initializers_nest_and_name_symbols() {
    with_variable(".global .u32 x[][2] = {{1, -2}, {3}};", |variable| {
        let Some(Initializer { kind: InitializerKind::List(rows), .. }) = &variable.initializer else {
            panic!("a list")
        };
        let InitializerKind::List(first) = &rows[0].kind else { panic!("a row") };
        assert_eq!(first[1].kind, InitializerKind::Constant(Constant::Signed(-2)));
        assert_eq!(variable.bytes(), 16);
    });
    with_variable(".global .u32 x[2] = {};", |variable| {
        let kind = variable.initializer.as_ref().map(|init| &init.kind);
        assert_eq!(kind, Some(&InitializerKind::List(Vec::new())));
    });
    let address_of = |text: &str, generic, mask, offset| {
        with_variable(&format!(".global .u64 x = {text};"), |variable| {
            let Some(InitializerKind::Address(address)) = variable.initializer.as_ref().map(|init| &init.kind) else {
                panic!("an address")
            };
            assert_eq!(address.symbol.text, "sym");
            assert_eq!((address.generic, address.mask, address.offset), (generic, mask, offset), "{text}");
        });
    };
    address_of("sym", false, None, 0);
    address_of("sym+8", false, None, 8);
    address_of("sym+-8", false, None, -8);
    address_of("generic(sym)+4", true, None, 4);
    address_of("0xFF00(sym)", false, Some(0xFF00), 0);
}

#[test]
fn functions_have_returns_parameters_and_directives() {
    let text = ".weak .func (.param .align 8 .b8 r[16], .reg .u32 s) f (.param .b32 _, .reg .f64 y) .noreturn\n\
                .abi_preserve 4 .pragma \"a\"; { ret; }";
    with_function(text, |function| {
        assert!(!function.is_entry);
        assert_eq!((function.linkage, function.name.text), (Linkage::Weak, "f"));
        assert_eq!(function.returns[0].bytes(), 16);
        assert_eq!(function.returns[1].space, Space::Reg);
        assert_eq!(function.parameters[0].name.text, "_");
        assert_eq!(function.parameters[1].ty, ScalarType::F64);
        let names: Vec<_> = function.directives.iter().map(|directive| directive.name.text).collect();
        assert_eq!(names, ["noreturn", "abi_preserve", "pragma"]);
        assert_eq!(function.directives[2].arguments, [DirectiveArgument::Text("a")]);
    });
    with_function(".extern .func vprintf;", |function| {
        assert_eq!((function.linkage, function.body.is_none()), (Linkage::Extern, true));
    });
}

#[test]
fn aliases_and_pragmas_are_items() {
    with_items(".alias a, b;\n.pragma \"p\";\n.file 1 \"x\"\n.section .debug_abbrev\n{\n.b8 1\n}", |items| {
        assert!(matches!(items[0], Item::Alias { name, aliasee } if name.text == "a" && aliasee.text == "b"));
        assert!(matches!(items[1], Item::Pragma(text) if text.text == "p"));
        assert_eq!(items.len(), 2, "debug information is passed over");
    });
}

#[test]
fn register_ranges_are_kept_as_ranges() {
    with_body(".reg .b32 %r<4000000000>, x; .reg .v2 .f16 v;", |body| {
        let variables: Vec<_> = body
            .statements
            .iter()
            .map(|statement| match statement {
                Statement::Variable(variable) => (variable.name.text, variable.count, variable.lanes),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(variables, [("%r", Some(4_000_000_000), 1), ("x", None, 1), ("v", None, 2)]);
    });
}

#[test]
fn scopes_labels_and_tables_are_statements() {
    with_body("{ L: ret; }\nt: .branchtargets L, M;\nc: .calltargets f;", |body| {
        let [scope, label, _, end, branches, calls] = &body.statements[..] else { panic!("{body:#?}") };
        assert!(matches!(scope, Statement::ScopeStart(_)));
        assert!(matches!(end, Statement::ScopeEnd(_)));
        assert!(matches!(label, Statement::Label(name) if name.text == "L"));
        let Statement::BranchTargets { name, targets } = branches else { panic!("{branches:?}") };
        assert_eq!((name.text, render(body, *targets)), ("t", vec!["L".to_owned(), "M".to_owned()]));
        let Statement::CallTargets { targets, .. } = calls else { panic!("{calls:?}") };
        assert_eq!(render(body, *targets), ["f"]);
    });
}

#[test]
fn prototypes_have_their_signature() {
    with_body("p : .callprototype (.param .b32 _) _ (.param .align 8 .b8 _[24], .param .b64 _) .noreturn;", |body| {
        let [Statement::CallPrototype(prototype)] = &body.statements[..] else { panic!("{body:#?}") };
        assert_eq!(prototype.name.text, "p");
        assert_eq!((prototype.returns.len(), prototype.parameters[0].bytes()), (1, 24));
        assert_eq!(prototype.directives[0].name.text, "noreturn");
    });
    with_body("p: .callprototype _;", |body| assert_eq!(body.statements.len(), 1));
}

#[test]
fn locations_and_pragmas_in_bodies() {
    with_body(".loc 1 2 3\n.loc 1 2 3, function_name $L__info0+4, inlined_at 1 4 5\n.pragma \"nounroll\";", |body| {
        assert!(matches!(body.statements[..], [Statement::Pragma(text)] if text.text == "nounroll"));
    });
}

#[test]
fn instructions_have_guards_modifiers_and_spans() {
    with_instruction("@!%p1 ld.global.L1::evict_last.L2::128B.v4.f32 {a, b, c, d}, [%rd1+16];", |body, instruction| {
        assert!(instruction.guard.is_some_and(|guard| guard.negated && guard.predicate.text == "%p1"));
        assert_eq!(instruction.opcode.text, "ld");
        let start = HEADER.len() as u32 + ".entry k() {\n".len() as u32;
        assert_eq!(instruction.span, Span { start, end: start + 70 });
        assert_eq!(instruction.mnemonic_span(body), Span { start: start + 6, end: start + 46 });
    });
    let modifiers = ["async", "bulk", "tensor", "2d", "shared::cluster", "global", "mbarrier::complete_tx::bytes"];
    let text = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [a], [b, {c, d}], [e];";
    assert_eq!(modifiers_of(text), modifiers);
    assert_eq!(modifiers_of("ret;").len(), 0);
    assert_eq!(modifiers_of("add .s32 a, b, c;"), ["s32"]);
}

#[test]
fn plain_operands() {
    assert_eq!(operands_of("mov.u32 %r1, %tid.x;"), ["%r1", "%tid'x"]);
    assert_eq!(operands_of("add.s32 %r1, %r2, -1;"), ["%r1", "%r2", "Signed(-1)"]);
    assert_eq!(
        operands_of("add.f32 %f1, 0fBF800000, 2.5;"),
        ["%f1", "Single(3212836864)", "Double(4612811918334230528)"]
    );
    assert_eq!(operands_of("mov.u64 a, sym+8;"), ["a", "sum(sym 8)"]);
    assert_eq!(operands_of("ld.u32 a, sym[2];"), ["a", "element(sym 2)"]);
    assert_eq!(operands_of("mov.u32 a, (1+2)*-WARP_SZ;"), ["a", "Signed(-96)"]);
    assert_eq!(operands_of("mov.u32 a, -WARP_SZ;"), ["a", "Signed(-32)"]);
}

#[test]
fn vectors_pairs_sinks_and_negations() {
    assert_eq!(operands_of("mov.b64 {%r1, _}, %rd1;"), ["vector(%r1 _)", "%rd1"]);
    assert_eq!(operands_of("setp.lt.s32 %p1|%p2, a, b, !%p3;"), ["pair(%p1 %p2)", "a", "b", "not(%p3)"]);
    assert_eq!(operands_of("shfl.sync.up.b32 a|_, b, 1|2, 0, -1;")[..2], ["pair(a _)", "b"]);
    assert_eq!(operands_of("f {a, 1}|%p, {b, {c}};"), ["pair(vector(a Signed(1)) %p)", "vector(b vector(c))"]);
    assert_eq!(operands_of("vadd.s32 a, -%r2.b0, b;"), ["a", "negate(%r2'b0)", "b"]);
}

#[test]
fn addresses() {
    assert_eq!(operands_of("ld.u32 a, [%rd1];")[1], "address(%rd1 0)");
    assert_eq!(operands_of("ld.u32 a, [%rd1+-8];")[1], "address(%rd1 -8)");
    assert_eq!(operands_of("ld.u32 a, [sym+4*2];")[1], "address(sym 8)");
    assert_eq!(operands_of("ld.u32 a, [64];")[1], "address(- 64)");
    assert_eq!(operands_of("tex.2d a, [t, s, {x, y}];")[1], "address(t 0 s vector(x y))");
}

#[test]
fn calls() {
    assert_eq!(operands_of("call.uni (r0), f, (p0, 4);"), ["group(r0)", "f", "group(p0 Signed(4))"]);
    assert_eq!(operands_of("call (r), %rd1, (), proto;"), ["group(r)", "%rd1", "group()", "proto"]);
    assert_eq!(operands_of("call f;"), ["f"]);
}
