"""What the tests share: kernels, and where the tree is."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]

HALF = """.version 8.0
.target sm_80
.address_size 64

.visible .entry half(.param .u64 data)
{
    .reg .b32 %r<4>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [data];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %d2, %r1, 4;
    add.u64 %d3, %d1, %d2;
    ld.global.s32 %r2, [%d3];
    div.s32 %r3, %r2, 2;
    st.global.s32 [%d3], %r3;
    ret;
}
"""

#: It never ends.
ENDLESS = """.version 8.0
.target sm_80
.address_size 64

.visible .entry endless(.param .u64 data)
{
    .reg .b32 %r<4>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [data];
AGAIN:
    ld.volatile.global.u32 %r1, [%d1];
    add.u32 %r1, %r1, 2;
    st.volatile.global.u32 [%d1], %r1;
    bra AGAIN;
}
"""

#: A rule that forgets about negative numbers.
WRONG_RULE = "rule half priority 20: idiv.s32(x, 2) => shr.s32(x, 1)\n"


def kernel_of(parameters: str, body: str) -> str:
    """A kernel with these parameters and this body."""
    head = ".version 8.0\n.target sm_80\n.address_size 64\n"
    registers = ".reg .b32 %r<9>;\n.reg .b64 %d<9>;\n.reg .f32 %f<9>;\n.reg .f64 %g<9>;\n.reg .b16 %h<9>;\n"
    return f"{head}.visible .entry k({parameters})\n{{\n{registers}{body}\nret;\n}}\n"


@pytest.fixture
def corpus() -> Path:
    return ROOT / "corpus"
