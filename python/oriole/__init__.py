"""Runs, optimizes, compiles and judges GPU kernels without a GPU.

A program is PTX or Ori, read by ``parse``. It is executed on launches (``run``), whose arguments are NumPy arrays and
numbers. ``check`` executes it before and after every phase of the optimizer, ``judge`` compares machine code with it,
``compare`` another program. What is wrong is a ``Finding``, which ``reduce`` makes small.

    >>> import numpy as np, oriole
    >>> module = oriole.parse("saxpy.ptx")
    >>> y = np.ones(256, np.float32)
    >>> oriole.run(module, oriole.Launch(1, 256, [2.0, np.arange(256, dtype=np.float32), y]))
    >>> oriole.judge(module, oriole.Launch(1, 256, [2.0, y, y.copy()]), sm="sm_90").require()

Work runs without the interpreter's lock, and Ctrl-C ends it. Bad input is an ``InputError`` with place and remedy.
``oriole.triton``, ``oriole.numba`` and ``oriole.warp`` compile kernels of these packages, without a GPU, and judge
them.
"""

from __future__ import annotations

import json
import os
from typing import Any, Iterable, Mapping, Sequence, Union

from . import _oriole
from ._tools import find_ptxas
from .errors import ExecutionError, FoundError, InconclusiveError, InputError, InternalError, OrioleError
from .errors import number as _number
from .launches import Alias, Argument, Buffer, Dimensions, Launch, Struct, as_launches, launches_beside
from .results import (
    Axis,
    Case,
    Comparison,
    Content,
    Finding,
    Judgement,
    Reduced,
    Report,
    Rewrite,
    Run,
    SassFunction,
    SassInstruction,
    Step,
)

__version__ = _oriole.__version__

__all__ = [
    "Alias",
    "Argument",
    "Axis",
    "Buffer",
    "Case",
    "Comparison",
    "Content",
    "Cubin",
    "Dimensions",
    "ExecutionError",
    "Finding",
    "FoundError",
    "InconclusiveError",
    "InputError",
    "InternalError",
    "Judgement",
    "Kernel",
    "Launch",
    "Module",
    "OrioleError",
    "Parameter",
    "Reduced",
    "Report",
    "Rewrite",
    "Run",
    "SassFunction",
    "SassInstruction",
    "Step",
    "Struct",
    "check",
    "compare",
    "compile",
    "find_ptxas",
    "judge",
    "launches_beside",
    "optimize",
    "parse",
    "reduce",
    "run",
    "sass",
]


class Parameter:
    """A parameter of a kernel.

    Attributes:
        name: its name in the PTX.
        type: the PTX type of an element, without the dot: ``u64``.
        count: the elements of an array that is passed by value; ``None`` of a scalar.
        size: bytes.
    """

    __slots__ = ("name", "type", "count", "size")

    def __init__(self, name: str, type: str, count: int | None, size: int):
        self.name, self.type, self.count, self.size = name, type, count, size

    def __repr__(self) -> str:
        count = "" if self.count is None else f"[{self.count}]"
        return f"Parameter({self.name}: {self.type}{count})"


class Kernel:
    """An entry of a program.

    Attributes:
        name: its name.
        parameters: what it takes, in order.
    """

    __slots__ = ("name", "parameters")

    def __init__(self, name: str, parameters: list[Parameter]):
        self.name, self.parameters = name, parameters

    def __repr__(self) -> str:
        return f"Kernel({self.name!r}, {self.parameters})"


class Module:
    """A program of PTX or Ori. ``parse`` and ``optimize`` make one; it never changes."""

    __slots__ = ("_inner",)

    def __init__(self, inner: _oriole.Module):
        self._inner = inner

    @property
    def name(self) -> str:
        """What messages call it: its file."""
        return self._inner.name

    @property
    def target(self) -> str:
        """The architecture that it is for: ``sm_90``."""
        return self._inner.target

    @property
    def instructions(self) -> int:
        """Instructions of all functions."""
        return self._inner.instructions

    @property
    def kernels(self) -> list[Kernel]:
        """Its entries."""
        return [Kernel(name, [Parameter(*one) for one in parameters]) for name, parameters in self._inner.kernels()]

    @property
    def ptx(self) -> str:
        """Its text in PTX: that which it was read from, or printed.

        Raises:
            InputError: PTX has no words for something in it.
        """
        return self._inner.ptx()

    @property
    def ori(self) -> str:
        """Its text in Ori, the optimizer's intermediate representation."""
        return self._inner.ori()

    def __repr__(self) -> str:
        return f"Module({self.name!r}, {self.target}, {[kernel.name for kernel in self.kernels]})"


class Cubin:
    """Machine code, as ptxas writes it into a file.

    Args:
        data: the bytes of the file.
        name: for messages.

    Raises:
        InputError: the bytes are no cubin.
    """

    __slots__ = ("_inner",)

    def __init__(self, data: bytes, name: str = "the cubin"):
        self._inner = _oriole.Cubin.parse(bytes(data), name)

    @classmethod
    def _of(cls, inner: _oriole.Cubin) -> Cubin:
        cubin = cls.__new__(cls)
        cubin._inner = inner
        return cubin

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Cubin:
        """The cubin of a file.

        Raises:
            InputError: the file is no cubin, or cannot be read.
        """
        return cls(_read(path), os.fspath(path))

    @property
    def name(self) -> str:
        """What messages call it."""
        return self._inner.name

    @property
    def target(self) -> str:
        """The architecture that it is for: ``sm_90a``."""
        return self._inner.target

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return self._inner.data()

    @property
    def functions(self) -> list[SassFunction]:
        """Its functions, with their machine words.

        Raises:
            InputError: the words of its architecture are not known.
        """

        def function(facts: Mapping[str, Any]) -> SassFunction:
            words = [SassInstruction(*word) for word in facts["instructions"]]
            return SassFunction(**{**facts, "instructions": words})

        return [function(facts) for facts in self._inner.functions()]

    def __repr__(self) -> str:
        return f"Cubin({self.name!r}, {self.target})"


#: A program: as it was parsed, the text of one, or the path of a file.
Program = Union[Module, str, "os.PathLike[str]"]
#: Machine code: as it was read, its bytes, or the path of a file.
Code = Union[Cubin, bytes, str, "os.PathLike[str]"]
#: Launches: one or several.
Launches = Union[Launch, Iterable[Launch]]


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"cannot read `{os.fspath(path)}`: {error.strerror}", None, "name another file") from error


def parse(source: Program, *, name: str | None = None, opaque: Sequence[str] = ()) -> Module:
    """Reads a program of PTX or Ori.

    Args:
        source: the text, or the path of a ``.ptx`` or ``.ori`` file: a string of one line is a path.
        name: what messages call a text.
        opaque: instructions of PTX that are carried through as they are, since Oriole does not know them.

    Returns:
        The program, verified.

    Raises:
        InputError: the text has faults. All are reported, with line, column and remedy.
    """
    if isinstance(source, Module):
        return source
    if isinstance(source, str) and ("\n" in source or not source.strip()):
        return Module(_oriole.Module.parse(source, name or "the text", list(opaque)))
    if not isinstance(source, (str, os.PathLike)):
        raise InputError(f"a {type(source).__name__} is no program", None, "give PTX as a string, or a path")
    return Module(_oriole.Module.load(os.fspath(source), list(opaque)))


def _cubin(code: Code) -> Cubin:
    if isinstance(code, Cubin):
        return code
    if isinstance(code, (bytes, bytearray, memoryview)):
        return Cubin(bytes(code))
    return Cubin.load(code)


#: The most that a number of 64 bits is.
_MOST = 2**64 - 1


def _random(randoms: int) -> int:
    return _number("randoms", randoms, 2**32 - 1)


def _steps(steps: int | None) -> int | None:
    return None if steps is None else _number("steps", steps, _MOST)


def _bound(launches: Launches, module: Module) -> list[_oriole.Launch]:
    return [launch.bound(module) for launch in as_launches(launches)]


def _settings(
    level: int | str,
    nvopt: bool,
    passes: str | None,
    phase: str | None,
    knobs: Mapping[str, object] | None,
    options: Mapping[str, object] | None,
    disable: Sequence[str],
    rules: Sequence[str | os.PathLike[str]],
    builtin_rules: bool,
) -> dict[str, Any]:
    def text(rule: str | os.PathLike[str]) -> tuple[str, str]:
        if isinstance(rule, str) and ("\n" in rule or ":" in rule and not os.path.exists(rule)):
            return ("the rules", rule)
        try:
            return (os.fspath(rule), _read(rule).decode())
        except UnicodeDecodeError as error:
            raise InputError(f"`{os.fspath(rule)}` is no text", None, "rule files are UTF-8") from error

    def setting(name: str, value: object) -> str:
        return f"{name}={int(value) if isinstance(value, bool) else value}"

    return {
        "level": str(level),
        "nvopt": bool(nvopt),
        "passes": passes,
        "phase": phase,
        "knobs": [setting(*knob) for knob in (knobs or {}).items()],
        "options": [setting(*option) for option in (options or {}).items()],
        "disable": list(disable),
        "rules": [text(rule) for rule in rules],
        "builtin_rules": bool(builtin_rules),
    }


def optimize(
    source: Program,
    *,
    level: int | str = 3,
    nvopt: bool = True,
    passes: str | None = None,
    knobs: Mapping[str, object] | None = None,
    options: Mapping[str, object] | None = None,
    disable: Sequence[str] = (),
    rules: Sequence[str | os.PathLike[str]] = (),
    builtin_rules: bool = True,
) -> Module:
    """Optimizes a program, as ``oriole opt`` does.

    Args:
        source: the program.
        level: 0 to 3, or ``fast-compile=max``, ``mid`` or ``min``.
        nvopt: whether cicc's pipeline of the level runs before the phases of ptxas.
        passes: these passes instead: ``"gvn,GeneralOptimize"``.
        knobs: knobs of phases by name.
        options: options of cicc's passes by name.
        disable: phases that are left out.
        rules: rule files, or the text of rules, beside those that are built in.
        builtin_rules: whether the built-in rewrite rules apply.

    Returns:
        The optimized program, in SSA form. ``Module.ptx`` prints it as PTX.

    Raises:
        InputError: a program, a pass, a knob or a rule that is none.
    """
    module = parse(source)
    settings = _settings(level, nvopt, passes, None, knobs, options, disable, rules, builtin_rules)
    return Module(_oriole.optimize(module._inner, settings))


def run(
    source: Program | Cubin,
    launch: Launch,
    *,
    steps: int | None = None,
    races: bool = False,
    statistics: bool = False,
    check: bool = True,
) -> Run:
    """Executes a launch of a kernel, as PTX or as machine code, and writes what it leaves back into its arrays.

    Args:
        source: the program, or machine code.
        launch: the launch. Its arrays hold what the kernel left, once it has finished; those that cannot be written
            are left as they are, and ``Run.buffers`` has all.
        steps: the most warp instructions that it may execute.
        races: whether data races are looked for, whatever the launch says; of PTX alone.
        statistics: whether executed instructions are counted by opcode; of PTX alone.
        check: whether a kernel that does not finish is an error.

    Returns:
        The run.

    Raises:
        InputError: the launch does not fit the program.
        ExecutionError: with ``check``, the kernel does not finish.
    """
    steps = _steps(steps)
    if isinstance(source, Cubin):
        if races or statistics:
            remedy = "`run` of the PTX counts, and looks for races"
            raise InputError("`races` and `statistics` are not for machine code", None, remedy)
        left = _oriole.run_code(source._inner, launch.bound(), steps)
    else:
        module = parse(source)
        left = _oriole.run(module._inner, launch.bound(module), steps, races, statistics)
    result = Run._of(left, launch)
    if result.finished:
        result._write_back(launch)
    elif check:
        raise ExecutionError(f"{launch.name}: {result.outcome}", result)
    return result


def check(
    source: Program,
    launches: Launches,
    *,
    level: int | str = 3,
    nvopt: bool = False,
    passes: str | None = None,
    phase: str | None = None,
    knobs: Mapping[str, object] | None = None,
    options: Mapping[str, object] | None = None,
    disable: Sequence[str] = (),
    rules: Sequence[str | os.PathLike[str]] = (),
    builtin_rules: bool = True,
    randoms: int = 2,
    seed: int = 1,
    steps: int | None = None,
    races: bool = False,
) -> Report:
    """Executes a kernel before and after every phase of the optimizer, as ``oriole check`` does.

    Args:
        source: the program.
        launches: one or several.
        phase: this phase or step alone; ``gvn#2`` is the second of a name.
        randoms: variants of each launch with random data of its shape.
        seed: the seed of that data.
        steps: the most warp instructions of a run.
        races: whether data races are looked for in every case, and not in the beginning of each launch alone.

    The other arguments are those of ``optimize``.

    Returns:
        What is known of each step, and what is wrong.

    Raises:
        InputError: a program, a launch, a pass, a knob or a rule that is none.
    """
    module = parse(source)
    settings = _settings(level, nvopt, passes, phase, knobs, options, disable, rules, builtin_rules)
    bound = _bound(launches, module)
    randoms, seed, steps = _random(randoms), _number("seed", seed, _MOST), _steps(steps)
    return Report._of(*_oriole.check(module._inner, bound, settings, randoms, seed, steps, races))


def compare(
    before: Program,
    after: Program,
    launches: Launches,
    *,
    randoms: int = 8,
    seed: int = 1,
    steps: int | None = None,
    races: bool = False,
    tolerance: str | None = None,
) -> list[Comparison]:
    """Executes two programs on the same launches, as ``oriole compare`` does.

    Args:
        before: the program that is right.
        after: the program that should do the same, by whatever compiler.
        launches: one or several, for the kernels of the first.
        tolerance: how far floats may be apart: ``ulp=2``, ``relative=1e-6``, ``absolute=1e-9``, or the last two with a
            comma.

    The other arguments are those of ``check``.

    Returns:
        What is known of each kernel of the first program.

    Raises:
        InputError: a program or a launch that is none.
    """
    first, second = parse(before), parse(after)
    bound = _bound(launches, first)
    randoms, seed, steps = _random(randoms), _number("seed", seed, _MOST), _steps(steps)
    text = _oriole.compare(first._inner, second._inner, bound, randoms, seed, steps, races, tolerance)
    return [Comparison._of(kernel) for kernel in json.loads(text)]


def _compiling(
    compiler: str,
    ptxas: str | os.PathLike[str] | None,
    sm: str | int | Sequence[str | int] | None,
    levels: Sequence[int | str],
    options: Sequence[str],
) -> dict[str, Any]:
    given = [] if sm is None else [sm] if isinstance(sm, (str, int)) else list(sm)
    archs = [f"sm_{arch}" if isinstance(arch, int) else str(arch) for arch in given]
    tool = os.fspath(ptxas) if ptxas is not None else find_ptxas() if compiler == "ptxas" else None
    levels = [str(level) for level in levels]
    return {"compiler": compiler, "ptxas": tool, "arch": archs, "levels": levels, "options": list(options)}


def judge(
    source: Program,
    launches: Launches,
    *,
    cubin: Code | Sequence[Code] = (),
    compiler: str = "ptxas",
    sm: str | int | Sequence[str | int] | None = None,
    levels: Sequence[int | str] = (3,),
    options: Sequence[str] = (),
    ptxas: str | os.PathLike[str] | None = None,
    randoms: int = 4,
    seed: int = 1,
    races: bool = False,
) -> Judgement:
    """Says whether machine code does what the PTX says, as ``oriole judge`` does: it is executed word by word.

    Args:
        source: the program.
        launches: one or several.
        cubin: this code, which a compiler made of the program; one or several.
        compiler: where no cubin is given, who compiles: ``ptxas``, or ``oriole`` for Oriole's own compiler.
        sm: the architectures, ``sm_90`` or 90; that of the PTX where none is named.
        levels: levels of optimization, 0 to 3, and ``min``, ``mid`` or ``max`` for fast compilation.
        options: further options of the compiler.
        ptxas: the path of ptxas; by default as ``find_ptxas`` finds it.

    The other arguments are those of ``check``.

    Returns:
        The answer of each way to compile or each cubin, and what is wrong as objects.

    Raises:
        InputError: a program, a launch, a cubin or a compiler that is none.
    """
    module = parse(source)
    if isinstance(cubin, (Cubin, bytes, str, os.PathLike)):
        cubin = [cubin]
    cubins = [_cubin(code)._inner for code in cubin]
    compiling = _compiling(compiler, ptxas, sm, levels, options)
    bound = _bound(launches, module)
    randoms, seed = _random(randoms), _number("seed", seed, _MOST)
    return Judgement._of(*_oriole.judge(module._inner, bound, cubins, compiling, randoms, seed, races))


def compile(
    source: Program,
    *,
    sm: str | int | None = None,
    level: int | str = 3,
    compiler: str = "oriole",
    max_registers: int | None = None,
    ptxas: str | os.PathLike[str] | None = None,
) -> Cubin:
    """Compiles a program to machine code.

    Args:
        source: the program.
        sm: the architecture, ``sm_90``; that of the PTX where none is named.
        level: the level of optimization, 0 to 3.
        compiler: ``oriole``, or ``ptxas`` for the real one.
        max_registers: the most registers that a thread may have.
        ptxas: the path of ptxas.

    Returns:
        The cubin.

    Raises:
        InputError: the compiler refuses the program, with the reason.
    """
    options = [] if max_registers is None else [f"--maxrregcount={int(max_registers)}"]
    module = parse(source)
    return Cubin._of(_oriole.compile(module._inner, _compiling(compiler, ptxas, sm, (level,), options)))


def sass(code: Code | Module, *, sm: str | int | None = None) -> list[SassFunction]:
    """The machine words of a cubin as text, as nvdisasm prints them.

    Args:
        code: the cubin; a module is compiled first.
        sm: the architecture to compile a module for.

    Returns:
        Its functions, which print as text.

    Raises:
        InputError: the code is no cubin, or its architecture is not known.
    """
    return (compile(code, sm=sm) if isinstance(code, Module) else _cubin(code)).functions


def reduce(finding: Finding, *, seconds: float = 60.0, evaluations: int = 20_000) -> Reduced:
    """Makes kernel and launch of a finding smaller while they show the same; see ``Finding.reduce``."""
    return finding.reduce(seconds=seconds, evaluations=evaluations)
