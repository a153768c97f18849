//! Trees and diagnostics of small PTX texts.

use super::super::ast::*;
use super::parse;

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

#[test]
fn saxpy_becomes_a_tree() {
    let module = parse(SAXPY).expect("valid");
    assert_eq!(module.version, Version { major: 9, minor: 0 });
    assert_eq!(module.targets[0].text, "sm_90");
    assert_eq!(module.address_size, 64);
    let [Item::Function(function)] = &module.items[..] else {
        panic!("one function")
    };
    assert!(function.is_entry);
    assert_eq!(
        (function.name.text, function.linkage),
        ("saxpy", Linkage::Visible)
    );
    assert_eq!(function.parameters.len(), 4);
    let pointer = Pointer {
        space: Some(Space::Global),
        align: Some(16),
    };
    assert_eq!(function.parameters[2].pointer, Some(pointer));
    assert_eq!(
        function.directives[0].arguments[0],
        DirectiveArgument::Integer(256)
    );
    let body = function.body.as_ref().expect("a body");
    assert_eq!(body.statements.len(), 4 + 9 + 1 + 1);
}
