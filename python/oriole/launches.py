"""Launches: which kernel runs, over which grid, with which NumPy arrays and numbers."""

from __future__ import annotations

import glob
import json
import math
import os
from dataclasses import dataclass
from typing import Any, Iterable, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _oriole
from .errors import InputError
from .errors import number as count

__all__ = ["Alias", "Argument", "Buffer", "Dimensions", "Launch", "Struct", "launches_beside"]

#: One to three extents in x, y and z; a number alone is x.
Dimensions = Union[int, Sequence[int]]

_ELEMENTS = {
    "bool": "u8",
    "int8": "s8",
    "uint8": "u8",
    "int16": "s16",
    "uint16": "u16",
    "int32": "s32",
    "uint32": "u32",
    "int64": "s64",
    "uint64": "u64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
}
_DTYPES = {
    "u8": "u1",
    "s8": "i1",
    "b8": "u1",
    "u16": "<u2",
    "s16": "<i2",
    "b16": "<u2",
    "f16": "<f2",
    "bf16": "<u2",
    "u32": "<u4",
    "s32": "<i4",
    "b32": "<u4",
    "f32": "<f4",
    "u64": "<u8",
    "s64": "<i8",
    "b64": "<u8",
    "f64": "<f8",
}


def dtype_of(element: str | None) -> np.dtype[Any]:
    """The NumPy type of an element of a launch; bytes where it has none. ``bf16`` is its bits, as ``uint16``."""
    return np.dtype(_DTYPES[element] if element is not None else "u1")


@dataclass(frozen=True, eq=False)
class Buffer:
    """A device buffer with what is expected of it; an array alone is a buffer of which nothing is.

    Attributes:
        array: the content before the launch, of any shape. ``run`` writes the content after it back.
        expect: the content after the launch, of the same shape and type.
        ulp: how many representable values floats may be from that, or those of two programs from each other.
        relative: the same as a part of the expected value.
        absolute: the same as a distance; beside ``relative`` the larger of the two counts.
        name: for messages.
    """

    array: npt.NDArray[Any]
    expect: npt.NDArray[Any] | None = None
    ulp: int | None = None
    relative: float | None = None
    absolute: float | None = None
    name: str | None = None


@dataclass(frozen=True)
class Alias:
    """An address within the buffer of another argument.

    Attributes:
        argument: the place of that argument, from 0.
        offset: bytes from its start.
    """

    argument: int
    offset: int = 0


@dataclass(frozen=True, eq=False)
class Struct:
    """A structure that is passed by value, with addresses of buffers in it, as Warp passes arrays.

    Attributes:
        data: its bytes, of the size of the parameter.
        pointers: arrays by the bytes from the start of the structure where their address is.
    """

    data: bytes
    pointers: dict[int, npt.NDArray[Any]]


#: An argument of a kernel: an array (or a ``Buffer``) is a device buffer, NumPy's scalars have their own type, Python's
#: numbers that of the parameter; ``bytes`` are a structure by value, ``None`` is the null pointer.
Argument = Union[
    "npt.NDArray[Any]", Buffer, Alias, Struct, "np.generic[Any]", int, float, bool, bytes, None
]


def _dimensions(what: str, value: Dimensions) -> list[int]:
    extents = [value] if isinstance(value, (int, np.integer)) else list(value)
    if not 1 <= len(extents) <= 3 or not all(isinstance(extent, (int, np.integer)) for extent in extents):
        raise InputError(f"{what} is {value!r}", None, "give one to three integers: 4, (4, 2) or (4, 2, 1)")
    return [int(extent) for extent in extents]


def _quoted(text: str) -> str:
    return json.dumps(text)


class Launch:
    """A launch of a kernel.

    Args:
        grid: blocks of the grid, one to three extents.
        block: threads of a block, one to three extents.
        args: one for each parameter of the kernel, in order; see ``Argument``. Arrays that share memory become
            addresses within one buffer.
        kernel: the entry's name; may be absent where the program has one.
        cluster: blocks of a cluster.
        dynamic_shared: bytes of dynamic shared memory.
        steps: how many warp instructions it may execute, for kernels that need more or less than usual.
        race_check: whether data races are looked for.
        name: for messages.

    Raises:
        InputError: of extents that are none. All else is looked at where the launch is used with a program.
    """

    def __init__(
        self,
        grid: Dimensions,
        block: Dimensions,
        args: Sequence[Argument] = (),
        *,
        kernel: str | None = None,
        cluster: Dimensions | None = None,
        dynamic_shared: int = 0,
        steps: int | None = None,
        race_check: bool = False,
        name: str = "the launch",
    ):
        self.grid = _dimensions("grid", grid)
        self.block = _dimensions("block", block)
        self.cluster = None if cluster is None else _dimensions("cluster", cluster)
        self.args: list[Argument] = list(args)
        self.kernel = kernel
        self.dynamic_shared = dynamic_shared
        self.steps = steps
        self.race_check = race_check
        self.name = name
        self._loaded: _oriole.Launch | None = None
        #: Arrays that structures alone have the addresses of; they follow the arguments.
        self._behind: list[npt.NDArray[Any]] = []

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Launch:
        """The launch of a launch file (TOML), with the buffers that it names.

        It stays what the file says, with its images, tensor maps and expectations: ``args`` are copies to look at, which
        a run writes its results to.

        Raises:
            InputError: a file that cannot be read or is no launch, with line and column.
        """
        return cls._of(_oriole.Launch.load(os.fspath(path)))

    @classmethod
    def _of(cls, loaded: _oriole.Launch) -> Launch:
        args: list[Argument] = []
        for argument in loaded.arguments():
            data = argument["bytes"]
            if argument["kind"] == "buffer":
                array = np.frombuffer(data, np.uint8).copy()
                dtype = dtype_of(argument["type"])
                args.append(array.view(dtype) if array.size % dtype.itemsize == 0 else array)
            elif argument["kind"] == "scalar":
                args.append(np.frombuffer(data, dtype_of(argument["type"]))[0])
            else:
                args.append(data)
        launch = cls(
            loaded.grid,
            loaded.block,
            args,
            kernel=loaded.kernel,
            cluster=loaded.cluster,
            dynamic_shared=loaded.dynamic_shared,
            name=loaded.name,
        )
        launch._loaded = loaded
        return launch

    def save(self, folder: str | os.PathLike[str], stem: str, module: _oriole.Module | Any = None) -> str:
        """Writes ``STEM.launch.toml`` and the files of its buffers into a folder, for the commands of ``oriole``.

        Args:
            folder: where to.
            stem: what the files begin with.
            module: the program, whose parameters decide the types of Python's numbers.

        Returns:
            The path of the launch file.

        Raises:
            InputError: arguments that are none, and files that cannot be written.
        """
        return str(self.bound(module).save(os.fspath(folder), stem))

    def __repr__(self) -> str:
        return f"Launch({self.name!r}, grid={self.grid}, block={self.block}, {len(self.args)} arguments)"

    def array(self, index: int) -> npt.NDArray[Any] | None:
        """The array of an argument, or behind all arguments one that a structure has the address of; else ``None``."""
        every: list[Any] = [*self.args, *self._behind]
        arg = every[index] if 0 <= index < len(every) else None
        array = arg.array if isinstance(arg, Buffer) else arg
        return array if isinstance(array, np.ndarray) else None

    def bound(self, module: Any = None) -> _oriole.Launch:
        """The launch as the extension has it, for the parameters of a program.

        Raises:
            InputError: arguments that are none.
        """
        if self._loaded is not None:
            return self._loaded
        writer = _Writer(self, _types(self, module))
        text, files = writer.written()
        self._behind = writer.behind
        try:
            return _oriole.Launch.parse(self.name, text, files)
        except InputError as error:
            raise writer.explained(error, text) from None


def _types(launch: Launch, module: Any) -> list[tuple[str, str, int | None]]:
    """Name, type and elements of each parameter, as far as the program is known."""
    if module is None:
        return []
    program = module if isinstance(module, _oriole.Module) else module._inner
    kernels = program.kernels()
    chosen = [kernel for kernel in kernels if launch.kernel in (None, kernel[0])]
    return [(name, kind, count) for name, kind, count, _ in chosen[0][1]] if len(chosen) == 1 else []


class _Writer:
    """Writes a launch as the text of a launch file, whose buffers are in memory."""

    def __init__(self, launch: Launch, types: list[tuple[str, str, int | None]]):
        self.launch = launch
        self.types = types
        self.lines: list[str] = []
        self.files: dict[str, bytes] = {}
        #: Arrays that have a place, with it.
        self.placed: list[tuple[npt.NDArray[Any], int]] = []
        #: Arrays that only structures have the addresses of; they follow the arguments.
        self.behind: list[npt.NDArray[Any]] = []

    def written(self) -> tuple[str, dict[str, bytes]]:
        launch = self.launch
        if launch.kernel is not None:
            self.line("kernel", _quoted(launch.kernel))
        self.line("grid", launch.grid)
        self.line("block", launch.block)
        if launch.cluster is not None:
            self.line("cluster", launch.cluster)
        for key, number in (("dynamic_shared", launch.dynamic_shared), ("steps", launch.steps)):
            if number:
                self.line(key, count(f"{launch.name}: {key}", number, 2**64 - 1))
        if launch.race_check:
            self.line("race_check", "true")
        for index, arg in enumerate(launch.args):
            if isinstance(arg, (np.ndarray, Buffer)):
                self.place(arg.array if isinstance(arg, Buffer) else arg, index)
        for index, arg in enumerate(launch.args):
            self.lines += ["", "[[arg]]"]
            self.argument(index, arg)
        for number, array in enumerate(self.behind):
            self.lines += ["", "[[arg]]"]
            self.buffer(len(launch.args) + number, array)
        return "\n".join(self.lines) + "\n", self.files

    def line(self, key: str, value: object) -> None:
        self.lines.append(f"{key} = {value}")

    def wrong(self, index: int, what: str, remedy: str) -> InputError:
        name = self.types[index][0] if index < len(self.types) else None
        parameter = "" if name is None else f", the parameter `{name}`"
        return InputError(f"{self.launch.name}: argument {index}{parameter}, {what}", None, remedy)

    def explained(self, error: InputError, text: str) -> InputError:
        """An error about the text, which nobody has seen, as one about the launch or an argument."""
        line = (error.place or "").rsplit(":", 2)[-2:-1]
        before = text.splitlines()[: int(line[0])] if line and line[0].isdecimal() else []
        index = before.count("[[arg]]") - 1
        remedy = error.remedy or "the documentation of Launch says what it takes"
        if index < 0:
            return InputError(f"{self.launch.name}: {error.message}", None, remedy)
        return self.wrong(index, error.message, remedy)

    def place(self, array: npt.NDArray[Any], index: int) -> tuple[int, int]:
        """The argument that owns an array's memory, and the array's place in it."""
        if array.dtype.hasobject:
            raise self.wrong(index, f"is an array of {array.dtype}", "give an array of numbers")
        for owner, at in self.placed:
            if owner is array:
                return at, 0
            if not np.may_share_memory(owner, array) or not np.shares_memory(owner, array):
                continue
            (low, high), (first, last) = np.lib.array_utils.byte_bounds(owner), np.lib.array_utils.byte_bounds(array)
            within = low <= first and last <= high
            if within and owner.flags.c_contiguous and array.flags.c_contiguous:
                return at, first - low
            remedy = "pass the array that has all of the memory first, and views that are contiguous"
            raise self.wrong(index, f"shares memory with argument {at} and is no part of it", remedy)
        self.placed.append((array, index))
        return index, 0

    def argument(self, index: int, arg: Argument) -> None:
        if isinstance(arg, Buffer):
            self.buffer(index, arg.array, arg)
        elif isinstance(arg, np.ndarray):
            self.buffer(index, arg)
        elif isinstance(arg, Alias):
            self.alias(arg.argument, arg.offset)
        elif isinstance(arg, Struct):
            self.structure(index, arg)
        elif isinstance(arg, (bytes, bytearray, memoryview)):
            self.line("bytes", _quoted(bytes(arg).hex()))
        elif arg is None:
            self.line("null", "true")
        elif isinstance(arg, np.generic):
            self.scalar(index, arg, self.element(index, arg.dtype))
        elif isinstance(arg, (bool, int, float)):
            self.number(index, arg)
        else:
            remedy = "give an array, a number, bytes, an Alias, a Struct or None"
            raise self.wrong(index, f"is a {type(arg).__name__}", remedy)

    def alias(self, argument: int, offset: int) -> None:
        self.line("alias", f"{{ arg = {int(argument)}, offset = {int(offset)} }}")

    def structure(self, index: int, struct: Struct) -> None:
        self.line("bytes", _quoted(bytes(struct.data).hex()))
        pointers = []
        for at, array in sorted(struct.pointers.items()):
            owner, offset = self.place(array, len(self.launch.args) + len(self.behind))
            if owner == len(self.launch.args) + len(self.behind):
                self.behind.append(array)
            pointers.append(f"{{ at = {int(at)}, arg = {owner}, offset = {offset} }}")
        if pointers:
            self.line("pointers", "[" + ", ".join(pointers) + "]")

    def element(self, index: int, dtype: np.dtype[Any]) -> str:
        element = _ELEMENTS.get(dtype.name)
        if element is None:
            raise self.wrong(index, f"has the type {dtype}", f"give one of {', '.join(_ELEMENTS)}, or bytes")
        return element

    def scalar(self, index: int, value: Any, element: str) -> None:
        self.line("type", _quoted(element))
        bits = np.asarray(value).astype(np.asarray(value).dtype.newbyteorder("<")).tobytes()
        is_float = element in ("f16", "bf16", "f32", "f64")
        number = int.from_bytes(bits, "little", signed=element.startswith("s"))
        # A float is its bit pattern, so that each value, and each NaN, arrives as it is.
        self.line("value", hex(number) if is_float else number)

    def number(self, index: int, value: bool | int | float) -> None:
        """A number of Python, of the parameter's type."""
        if index >= len(self.types):
            remedy = "give a number of NumPy, as np.uint32(7), where the parameter's type is not known"
            raise self.wrong(index, f"is {value!r} of no type", remedy)
        _, kind, count = self.types[index]
        if count is not None:
            raise self.wrong(index, f"is {value!r} where an array of {kind} is passed by value", "give its bytes")
        if isinstance(value, float) or kind.startswith(("f", "bf")):
            if kind not in ("f16", "bf16", "f32", "f64"):
                remedy = "give a number of NumPy, as np.float32(1.5), or an integer"
                raise self.wrong(index, f"is {value!r} for a parameter of the type {kind}", remedy)
            self.line("type", _quoted(kind))
            self.line("value", _float(kind, float(value)))
            return
        if kind not in _DTYPES:
            raise self.wrong(index, f"is {value!r} for a parameter of the type {kind}", "give its bytes")
        self.line("type", _quoted(kind))
        self.line("value", int(value))

    def buffer(self, index: int, array: npt.NDArray[Any], buffer: Buffer | None = None) -> None:
        owner, offset = self.place(array, index)
        if buffer is not None and buffer.name is not None:
            self.line("name", _quoted(buffer.name))
        elif index < len(self.types):
            self.line("name", _quoted(self.types[index][0]))
        if owner != index:
            if buffer is not None and buffer.expect is not None:
                raise self.wrong(index, f"shares memory with argument {owner}", "expect something of that one")
            self.lines.pop()
            return self.alias(owner, offset)
        element = _ELEMENTS.get(array.dtype.name)
        if element is not None:
            self.line("type", _quoted(element))
        self.line("buffer", _quoted(self.file(index, "content", _little(array))))
        if buffer is None:
            return
        if buffer.expect is not None:
            expect = np.asarray(buffer.expect)
            if expect.dtype != array.dtype or expect.shape != array.shape:
                what = f"expects {expect.dtype}{list(expect.shape)} of {array.dtype}{list(array.shape)}"
                raise self.wrong(index, what, "give an array of the same type and shape")
            self.line("expect", _quoted(self.file(index, "expect", _little(expect))))
        distances = [("ulp", buffer.ulp), ("relative", buffer.relative), ("absolute", buffer.absolute)]
        given = [f"{key} = {value!r}" for key, value in distances if value is not None]
        if given:
            self.line("tolerance", "{ " + ", ".join(given) + " }")

    def file(self, index: int, what: str, content: bytes) -> str:
        name = f"arg{index}.{what}"
        self.files[name] = content
        return name


def _little(array: npt.NDArray[Any]) -> bytes:
    """The bytes of an array in C order, as the machine has them."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def _float(kind: str, value: float) -> str:
    """A float as launch files write it: to be rounded to the type, NaN as its canonical bits."""
    if math.isnan(value):
        return {"f16": "0x7e00", "bf16": "0x7fc0", "f32": "0x7fc00000", "f64": "0x7ff8000000000000"}[kind]
    return ("-inf" if value < 0 else "inf") if math.isinf(value) else repr(value)


def launches_beside(kernel: str | os.PathLike[str]) -> list[Launch]:
    """The launches of the files beside a kernel file: ``K.launch.toml``, then ``K.*.launch.toml`` by name.

    Raises:
        InputError: a file that is no launch.
    """
    stem = os.path.splitext(os.fspath(kernel))[0]
    own = [path for path in (stem + ".launch.toml",) if os.path.isfile(path)]
    others = sorted(glob.glob(glob.escape(stem) + ".*.launch.toml"))
    return [Launch.load(path) for path in own + others]


def as_launches(launches: Launch | Iterable[Launch]) -> list[Launch]:
    """One or several launches as a list."""
    found = [launches] if isinstance(launches, Launch) else list(launches)
    if not found or not all(isinstance(launch, Launch) for launch in found):
        raise InputError("there is no launch", None, "give a Launch or a list of them; Launch.load reads a file")
    return found
