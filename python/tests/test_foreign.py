"""Kernels of Triton, Numba and Warp are compiled without a GPU, executed and judged."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oriole
from oriole import InputError
from oriole.foreign import Compiled, architecture

#: The three warn of what is no business of ours.
pytestmark = pytest.mark.filterwarnings("ignore")

EXAMPLES = Path(__file__).parents[1] / "examples"
PACKAGES = {"triton_softmax": "triton", "numba_saxpy": "numba.cuda", "warp_particles": "warp"}


def test_every_package_has_an_example() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(PACKAGES)


@pytest.mark.parametrize("example", PACKAGES)
def test_examples_find_three_kernels_equal(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip(PACKAGES[example])
    if example == "numba_saxpy" and oriole.find_ptxas() is None:
        pytest.skip("no ptxas (pip install nvidia-cuda-nvcc)")
    runpy.run_path(str(EXAMPLES / f"{example}.py"), run_name="__main__")
    said = [line for line in capsys.readouterr().out.splitlines() if "equal, 5 different sets of data" in line]
    assert len(said) == 3, said


def numbers(count: int = 256) -> list[np.ndarray[Any, Any]]:
    return [np.arange(count, dtype=np.float32), np.ones(count, np.float32), np.zeros(count, np.float32)]


def kernel(example: str, name: str) -> Any:
    return runpy.run_path(str(EXAMPLES / f"{example}.py"))[name]


@pytest.fixture
def added() -> Compiled:
    """A kernel of Triton, compiled."""
    pytest.importorskip("triton")
    import oriole.triton

    x, y, out = numbers()
    return oriole.triton.compile(kernel("triton_softmax", "add"), [x, y, out, 256], 1, constants={"BLOCK": 256})


def test_a_miscompile_planted_in_the_cubin_of_triton_is_found(added: Compiled) -> None:
    assert added.cubin is not None
    [function] = [one for one in oriole.sass(added.cubin) if one.is_kernel]
    [sum_, *_] = [word for word in function.instructions if word.text.startswith("FADD")]
    # The sign of the second operand: a difference in place of a sum.
    wrong = added.cubin.replace(sum_.word.to_bytes(16, "little"), (sum_.word ^ 1 << 63).to_bytes(16, "little"))
    changed = [word.text for word in oriole.sass(wrong)[0].instructions if word.address == sum_.address]
    assert changed != [sum_.text] and "-R" in changed[0] + sum_.text
    [finding] = added.judge(cubin=oriole.Cubin(wrong, "planted")).findings
    assert finding.kernel == "add.ptx" and finding.launch == "the launch of add" and finding.axis == "planted"
    assert finding.argument == "add_param_2" and finding.wrong_store is not None and "STG" in finding.wrong_store


def test_phases_are_checked_on_a_kernel_of_triton(added: Compiled) -> None:
    assert added.check(randoms=1).require().clean


def test_triton_says_what_it_does_not_take() -> None:
    pytest.importorskip("triton")
    import oriole.triton

    add = kernel("triton_softmax", "add")
    x, y, out = numbers()
    with pytest.raises(InputError, match="takes x, y, out, n beside its constants"):
        oriole.triton.compile(add, [x, y, out], 1, constants={"BLOCK": 256})
    with pytest.raises(InputError, match="argument `n` is a str"):
        oriole.triton.compile(add, [x, y, out, "256"], 1, constants={"BLOCK": 256})  # type: ignore[list-item]
    with pytest.raises(InputError, match="complex64"):
        oriole.triton.compile(add, [x.astype(np.complex64), y, out, 1], 1, constants={"BLOCK": 256})


def test_numba_says_what_it_does_not_take() -> None:
    pytest.importorskip("numba.cuda")
    import oriole.numba

    saxpy = kernel("numba_saxpy", "saxpy")
    x, y, _ = numbers()
    with pytest.raises(InputError, match="not contiguous"):
        oriole.numba.compile(saxpy, [np.float32(2), x[::2], y], 1, 256)
    with pytest.raises(InputError, match="is a NoneType"):
        oriole.numba.compile(saxpy, [None, x, y], 1, 256)


def test_warp_says_what_it_does_not_take() -> None:
    pytest.importorskip("warp")
    import oriole.warp

    saxpy = kernel("warp_particles", "saxpy")
    x, y, _ = numbers()
    for args, said in (
        ([2.0, x], "takes 3 arguments"),
        ([2.0, x[::2], y], "not contiguous"),
        ([2.0, x.reshape(16, 16), y], "has 2 dimensions of 1"),
        ([2.0, None, y], "is a NoneType"),
        (["2", x, y], "is a str"),
    ):
        with pytest.raises(InputError, match=said):
            oriole.warp.compile(saxpy, 256, args)  # type: ignore[arg-type]


def test_architectures_have_a_number() -> None:
    assert architecture("sm_90") == architecture(90) == ("sm_90", 90)
    with pytest.raises(InputError, match="`sm_x` is no architecture"):
        architecture("sm_x")


def test_what_any_compiler_made_is_run_and_judged() -> None:
    from conftest import HALF

    data = np.arange(-16, 16, dtype=np.int32)
    code = oriole.compile(HALF, sm="sm_90").data
    compiled = Compiled(HALF, oriole.Launch(1, 32, [data]), code, "sm_90", "half")
    assert compiled.judge().require().axes[0].name == "the cubin of half"
    assert compiled.judge(compiler="oriole", levels=[0]).require().axes[0].name == "sm_90 -O0"
    assert compiled.run().good and data[0] == -8
