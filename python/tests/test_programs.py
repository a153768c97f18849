"""Programs are read, shown and refused."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from conftest import HALF, kernel_of

import oriole


def test_a_program_shows_its_kernels_and_parameters() -> None:
    module = oriole.parse(kernel_of(".param .u64 p, .param .f32 f, .param .align 8 .b8 s[24]", ""), name="k.ptx")
    assert module.name == "k.ptx" and module.target == "sm_80"
    [kernel] = module.kernels
    parameters = [(one.name, one.type, one.count, one.size) for one in kernel.parameters]
    assert kernel.name == "k"
    assert parameters == [("p", "u64", None, 8), ("f", "f32", None, 4), ("s", "b8", 24, 24)]
    assert "entry @k" in module.ori and ".visible .entry k(" in module.ptx


def test_a_path_and_a_text_are_the_same_program(corpus: Path) -> None:
    path = corpus / "kernels" / "sha256.ptx"
    assert oriole.parse(path).ori == oriole.parse(path.read_text()).ori == oriole.parse(str(path)).ori
    assert oriole.parse(oriole.parse(path).ori).ori == oriole.parse(path).ori


def test_a_fault_of_a_text_has_place_and_remedy() -> None:
    with pytest.raises(oriole.InputError) as raised:
        oriole.parse(HALF.replace("div.s32", "dov.s32"), name="half.ptx")
    assert raised.value.place == "half.ptx:14:5"
    assert raised.value.remedy is not None and "check the spelling" in raised.value.remedy
    assert "`dov` is not an instruction" in raised.value.message
    # What is printed has the line with a mark below it.
    assert "dov.s32 %r3, %r2, 2;" in str(raised.value) and "───" in str(raised.value)
    assert isinstance(raised.value, ValueError) and isinstance(raised.value, oriole.OrioleError)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("there-is-none.ptx", "there-is-none.ptx"),
        ("there-is-none", "there is no file"),
        (b"bytes", "bytes is no program"),
        (None, "NoneType is no program"),
        (7, "int is no program"),
    ],
)
def test_what_is_no_program_is_refused(source: object, said: str) -> None:
    with pytest.raises(oriole.InputError, match=said):
        oriole.parse(source)  # type: ignore[arg-type]


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "k.cu"
    other.write_text("x")
    with pytest.raises(oriole.InputError, match="no kernel file") as raised:
        oriole.parse(other)
    assert raised.value.remedy == "kernel files end in .ptx or .ori"


def test_mangled_texts_are_refused_or_read_and_nothing_else() -> None:
    draw = random.Random(7)
    for _ in range(400):
        text = list(HALF)
        for _ in range(draw.randrange(1, 6)):
            at = draw.randrange(len(text))
            text[at] = draw.choice([*"{}[];.%,:\n\0é\x1b", text[at] * 3, ""])
        try:
            oriole.parse("".join(text) + "\n")
        except oriole.InputError as error:
            assert error.message and str(error)


def test_a_cubin_shows_its_words(corpus: Path) -> None:
    cubin = oriole.Cubin.load(corpus / "cubins" / "sha256.sm_90.O3.cubin")
    [function] = oriole.sass(cubin)
    assert cubin.target == "sm_90" and function.is_kernel and function.registers
    assert function.instructions[0].address == 0 and all(word.text for word in function.instructions)
    assert any(word.text.startswith("LDG") for word in function.instructions) and "LDG" in str(function)
    assert oriole.Cubin(cubin.data).data == cubin.data


def test_what_is_no_cubin_is_refused(tmp_path: Path) -> None:
    with pytest.raises(oriole.InputError, match="this is no cubin") as raised:
        oriole.Cubin(b"\x7fELF but no more")
    assert raised.value.remedy is not None
    with pytest.raises(oriole.InputError, match="cannot read"):
        oriole.Cubin.load(tmp_path / "none.cubin")


def test_mangled_cubins_are_refused_or_read_and_nothing_else(corpus: Path) -> None:
    data = (corpus / "cubins" / "half2_dot.sm_90.O3.cubin").read_bytes()
    draw = np.random.default_rng(7)
    for _ in range(200):
        mangled = np.frombuffer(data, np.uint8).copy()
        mangled[draw.integers(0, mangled.size, 8)] = draw.integers(0, 256, 8)
        try:
            oriole.sass(oriole.Cubin(mangled[: draw.integers(0, 2 * mangled.size)].tobytes()))
        except oriole.InputError as error:
            assert error.message
