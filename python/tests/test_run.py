"""Kernels run on arrays of NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import ENDLESS, HALF, kernel_of

import oriole
from oriole import Alias, Buffer, Launch, Struct

#: Copies the bits of its first parameter to its second.
def copy(kind: str, width: int) -> oriole.Module:
    register = {16: "%h1", 32: "%r1", 64: "%d2"}[width]
    body = f"ld.param.b{width} {register}, [value];\nld.param.u64 %d1, [out];\nst.global.b{width} [%d1], {register};"
    return oriole.parse(kernel_of(f".param .{kind} value, .param .u64 out", body))


def test_arrays_are_changed_in_place() -> None:
    data = np.arange(-16, 16, dtype=np.int32)
    run = oriole.run(HALF, Launch(1, 32, [data]))
    assert run.finished and run.good and run.executed > 0
    np.testing.assert_array_equal(data, np.trunc(np.arange(-16, 16) / 2))
    assert run.buffers[0].name == "data" and run.buffers[0].undefined is None
    np.testing.assert_array_equal(run.buffers[0].array, data)


def test_views_and_other_byte_orders_are_changed_in_place_too() -> None:
    base = np.zeros((32, 3), np.int32)
    base[:, 1] = -5
    oriole.run(HALF, Launch(1, 32, [base[:, 1]]))
    assert (base[:, 1] == -2).all() and not base[:, [0, 2]].any()
    swapped = np.full(32, -5, ">i4")
    oriole.run(HALF, Launch(1, 32, [swapped]))
    assert (swapped == -2).all()


def test_what_cannot_be_written_is_left_and_returned() -> None:
    data = np.full(32, 8, np.int32)
    data.flags.writeable = False
    run = oriole.run(HALF, Launch(1, 32, [data]))
    assert (data == 8).all() and (run.buffers[0].array == 4).all()


@pytest.mark.parametrize(
    ("kind", "width", "given", "left"),
    [
        ("u32", 32, 7, np.uint32(7)),
        ("s32", 32, -7, np.int32(-7)),
        ("b32", 32, 0xFFFFFFFF, np.uint32(0xFFFFFFFF)),
        ("b32", 32, np.float32(1.5), np.float32(1.5)),
        ("f32", 32, 2, np.float32(2)),
        ("f32", 32, 0.1, np.float32(0.1)),
        ("f32", 32, float("inf"), np.float32("inf")),
        ("f32", 32, float("nan"), np.float32("nan")),
        ("f64", 64, 1e300, np.float64(1e300)),
        ("f16", 16, np.float16(0.5), np.float16(0.5)),
        ("u64", 64, 2**64 - 1, np.uint64(2**64 - 1)),
        ("u64", 64, np.int64(-1), np.uint64(2**64 - 1)),
        ("u64", 64, None, np.uint64(0)),
        ("u32", 32, True, np.uint32(1)),
        ("u32", 32, b"\x01\x02\x03\x04", np.uint32(0x04030201)),
    ],
)
def test_numbers_arrive_bit_for_bit(kind: str, width: int, given: object, left: np.generic) -> None:
    out = np.zeros(1, left.dtype)
    oriole.run(copy(kind, width), Launch(1, 1, [given, out]))  # type: ignore[list-item]
    assert out[0].tobytes() == left.tobytes()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (2**32, "argument 0, the parameter `value`, `4294967296` is not a value of type u32"),
        (-1, "`-1` is not a value of type u32"),
        (1.5, "for a parameter of the type u32"),
        ("7", "is a str"),
        (np.complex64(1), "has the type complex64"),
        (np.uint64(1), "has 8 bytes"),
        (b"", "hexadecimal"),
        (np.array([None]), "array of object"),
        (Alias(7), "argument 7 is not a buffer"),
        (Struct(b"1234", {0: np.zeros(1)}), "4 bytes"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(given: object, said: str) -> None:
    with pytest.raises(oriole.InputError) as raised:
        oriole.run(copy("u32", 32), Launch(1, 1, [given, np.zeros(4, np.uint8)]))  # type: ignore[list-item]
    assert said in str(raised.value), raised.value
    assert raised.value.remedy


def test_launches_that_do_not_fit_are_refused() -> None:
    data = np.zeros(32, np.int32)
    for launch, said in (
        (Launch(0, 32, [data]), "grid.x is 0"),
        (Launch(1, 4096, [data]), "block.x is 4096"),
        (Launch(1, 32, []), "takes 1 argument"),
        (Launch(1, 32, [data, 7]), "of no type"),
        (Launch(1, 32, [data], kernel="other"), "other"),
        (Launch(1, 32, [Buffer(data, np.zeros(31, np.int32))]), "expects int32[31] of int32[32]"),
        (Launch(1, 32, [Buffer(data, data, ulp=1)]), "floating-point"),
    ):
        with pytest.raises(oriole.InputError) as raised:
            oriole.run(HALF, launch)
        assert said in str(raised.value), raised.value
    with pytest.raises(oriole.InputError, match="one to three integers"):
        Launch((1, 2, 3, 4), 32)


def test_an_array_that_is_passed_twice_is_one_buffer() -> None:
    body = """ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b];
    mov.u32 %r1, 5; st.global.u32 [%d1+4], %r1; ld.global.u32 %r2, [%d2]; st.global.u32 [%d2+4], %r2;"""
    module = oriole.parse(kernel_of(".param .u64 a, .param .u64 b", body))
    data = np.zeros(4, np.uint32)
    oriole.run(module, Launch(1, 1, [data, data[1:]]))
    assert data.tolist() == [0, 5, 5, 0]
    with pytest.raises(oriole.InputError, match="shares memory with argument 0"):
        oriole.run(module, Launch(1, 1, [data[::2], data[1:3]]))


def test_structures_have_addresses_of_arrays() -> None:
    body = "ld.param.u64 %d1, [s+8]; ld.param.u32 %r1, [s]; st.global.u32 [%d1+4], %r1;"
    module = oriole.parse(kernel_of(".param .align 8 .b8 s[16]", body))
    data = np.zeros(2, np.uint32)
    oriole.run(module, Launch(1, 1, [Struct(b"\x09\0\0\0" + bytes(12), {8: data})]))
    assert data.tolist() == [0, 9]


def test_undefined_bytes_are_told() -> None:
    body = """.shared .align 4 .b8 s[16];
    ld.param.u64 %d1, [out]; ld.shared.u32 %r1, [s]; st.global.u32 [%d1+4], %r1;"""
    data = np.ones(3, np.uint32)
    run = oriole.run(kernel_of(".param .u64 out", body), Launch(1, 1, [data]))
    assert run.buffers[0].undefined is not None
    assert run.buffers[0].undefined.reshape(3, 4).all(1).tolist() == [False, True, False]


def test_a_kernel_that_does_not_finish_is_an_error_with_its_run() -> None:
    data = np.zeros(4, np.int32)
    with pytest.raises(oriole.ExecutionError, match="out of bounds") as raised:
        oriole.run(HALF, Launch(1, 32, [data]))
    assert not raised.value.run.finished and raised.value.run.buffers == []
    with pytest.raises(oriole.ExecutionError, match="out of steps"):
        oriole.run(ENDLESS, Launch(1, 1, [data]), steps=1000)
    run = oriole.run(HALF, Launch(1, 32, [data]), check=False)
    assert "out of bounds" in run.outcome and not data.any()


def test_expectations_are_compared() -> None:
    data, right = np.arange(32, dtype=np.int32), np.arange(32, dtype=np.int32) // 2
    assert oriole.run(HALF, Launch(1, 32, [Buffer(data.copy(), right)])).good
    wrong = right.copy()
    wrong[3] = 77
    run = oriole.run(HALF, Launch(1, 32, [Buffer(data.copy(), wrong, name="numbers")]))
    assert not run.good and "numbers[3]" in run.differences[0]
    near = kernel_of(".param .u64 p", "ld.param.u64 %d1, [p]; mov.f32 %f1, 0f3f800001; st.global.f32 [%d1], %f1;")
    ones = np.ones(1, np.float32)
    assert not oriole.run(near, Launch(1, 1, [Buffer(ones.copy(), ones)])).good
    assert oriole.run(near, Launch(1, 1, [Buffer(ones.copy(), ones, ulp=1)])).good
    assert oriole.run(near, Launch(1, 1, [Buffer(ones.copy(), ones, absolute=1e-6)])).good


def test_races_and_statistics_are_told() -> None:
    body = "ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; st.global.u32 [%d1], %r1;"
    run = oriole.run(kernel_of(".param .u64 p", body), Launch(1, 64, [np.zeros(1, np.uint32)]), races=True)
    assert run.races and "race on global byte" in run.races[0] and not run.good
    run = oriole.run(HALF, Launch(1, 32, [np.zeros(32, np.int32)]), statistics=True)
    assert run.statistics["idiv"] == 32


def test_machine_code_runs_on_the_same_arrays(corpus: Path) -> None:
    data = np.arange(-16, 16, dtype=np.int32)
    code = oriole.compile(HALF, sm="sm_90")
    oriole.run(code, Launch(1, 32, [data]))
    np.testing.assert_array_equal(data, np.trunc(np.arange(-16, 16) / 2))
    with pytest.raises(oriole.InputError, match="not for machine code"):
        oriole.run(code, Launch(1, 32, [data]), races=True)
    [launch] = oriole.launches_beside(corpus / "kernels" / "sha256.ptx")
    assert oriole.run(oriole.Cubin.load(corpus / "cubins" / "sha256.sm_90.O3.cubin"), launch).good


def test_launch_files_are_read_and_written(corpus: Path, tmp_path: Path) -> None:
    kernel = corpus / "kernels" / "sha256.ptx"
    [launch] = oriole.launches_beside(kernel)
    assert oriole.run(kernel, launch).good
    own = Launch((1, 1), 32, [np.arange(32, dtype=np.int32)], dynamic_shared=64, steps=1000, race_check=True)
    loaded = Launch.load(own.save(tmp_path, "half", oriole.parse(HALF)))
    assert loaded.grid == [1, 1, 1] and loaded.dynamic_shared == 64
    np.testing.assert_array_equal(loaded.array(0), np.arange(32))
    with pytest.raises(oriole.InputError, match="cannot read|No such file"):
        Launch.load(tmp_path / "none.launch.toml")
    broken = tmp_path / "broken.launch.toml"
    broken.write_text("grid = 1\nblock = 'x'\n")
    with pytest.raises(oriole.InputError) as raised:
        Launch.load(broken)
    assert raised.value.place is not None and raised.value.place.endswith("broken.launch.toml:2:9")
