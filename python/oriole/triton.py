"""Kernels of Triton, compiled without a GPU, and judged.

    >>> compiled = oriole.triton.compile(add, [x, y, out, n], grid=4, constants={"BLOCK": 256})
    >>> compiled.judge().require()
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np

import oriole

from .errors import InputError
from .foreign import Compiled, architecture
from .launches import Argument, Buffer, Dimensions, Launch

__all__ = ["compile", "of_compiled"]

_TYPES = {
    "bool": "i1",
    "int8": "i8",
    "uint8": "u8",
    "int16": "i16",
    "uint16": "u16",
    "int32": "i32",
    "uint32": "u32",
    "int64": "i64",
    "uint64": "u64",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
}
#: Triton compiles for addresses and numbers that are multiples of this in another way than for others.
_DIVISIBLE = 16


def _type(name: str, arg: Argument) -> str:
    array = arg.array if isinstance(arg, Buffer) else arg
    if isinstance(array, (np.ndarray, np.generic)):
        known = _TYPES.get(array.dtype.name)
        if known is None:
            raise InputError(f"argument `{name}` has the type {array.dtype}", None, f"give one of {', '.join(_TYPES)}")
        return f"*{known}" if isinstance(array, np.ndarray) else known
    if isinstance(array, bool):
        return "i1"
    if isinstance(array, int):
        return "i32" if -(2**31) <= array < 2**31 else "i64"
    if isinstance(array, float):
        return "fp32"
    raise InputError(f"argument `{name}` is a {type(arg).__name__}", None, "give an array or a number")


def _is_divisible(arg: Argument) -> bool:
    if isinstance(arg, (np.ndarray, Buffer)):
        # A view may begin anywhere in the memory of another argument; a buffer of its own is aligned.
        array = arg.array if isinstance(arg, Buffer) else arg
        return array.base is None
    return isinstance(arg, (int, np.integer)) and not isinstance(arg, bool) and int(arg) % _DIVISIBLE == 0


def compile(
    kernel: Any,
    args: Sequence[Argument],
    grid: Dimensions,
    *,
    constants: Mapping[str, Any] | None = None,
    sm: str | int = "sm_90",
    num_warps: int = 4,
    num_stages: int = 3,
    options: Mapping[str, Any] | None = None,
) -> Compiled:
    """Compiles a kernel of Triton for a GPU that need not be there.

    Args:
        kernel: a function with ``@triton.jit``.
        args: its arguments without those that are ``constexpr``, in order: arrays and numbers.
        grid: programs in x, y and z.
        constants: the arguments that are ``constexpr``, by name.
        sm: the architecture.
        num_warps: warps of a program.
        num_stages: stages of software pipelining.
        options: further options of Triton, as a launch takes them.

    Returns:
        PTX, the cubin of Triton's own ptxas, and the launch.

    Raises:
        InputError: arguments that are none, or do not fit the kernel.
    """
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    _, number = architecture(sm)
    constants = dict(constants or {})
    names = [name for name in kernel.arg_names if name not in constants]
    if len(names) != len(args):
        said = f"{kernel.__name__} takes {', '.join(names)} beside its constants, and {len(args)} are given"
        raise InputError(said, None, "give an argument for each, and `constants=` for those that are constexpr")
    given = dict(zip(names, args))
    signature = {name: "constexpr" if name in constants else _type(name, given[name]) for name in kernel.arg_names}
    divisible = [("tt.divisibility", _DIVISIBLE)]
    attributes = {
        (at,): [list(pair) for pair in divisible]
        for at, name in enumerate(kernel.arg_names)
        if name in given and _is_divisible(given[name])
    }
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attributes)
    chosen = {"num_warps": num_warps, "num_stages": num_stages, **(options or {})}
    compiled = triton.compile(source, target=GPUTarget("cuda", number, 32), options=chosen)
    return of_compiled(compiled, args, grid)


def of_compiled(compiled: Any, args: Sequence[Argument], grid: Dimensions) -> Compiled:
    """What Triton has compiled, with a launch.

    Args:
        compiled: what ``triton.compile`` or a launch with ``kernel[grid](…)`` returns.
        args: the arguments without those that are ``constexpr``.
        grid: programs in x, y and z.

    Raises:
        InputError: the kernel takes what is not passed here, such as tensor descriptors.
    """
    ptx, metadata = compiled.asm["ptx"], compiled.metadata
    module = oriole.parse(ptx, name=f"{metadata.name}.ptx")
    parameters = next(kernel.parameters for kernel in module.kernels if kernel.name == metadata.name)
    passed = list(args)
    # Behind them Triton passes memory for the whole grid and for its profiler.
    extents = [grid] if isinstance(grid, int) else list(grid)
    for size in (getattr(metadata, "global_scratch_size", 0), getattr(metadata, "profile_scratch_size", 0)):
        if len(passed) < len(parameters):
            bytes_of_all = size * int(np.prod(extents)) * metadata.num_ctas
            passed.append(np.zeros(bytes_of_all, np.uint8) if size else None)
    if len(passed) != len(parameters):
        said = f"{metadata.name} takes {len(parameters)} parameters, and {len(args)} arguments are given"
        raise InputError(said, None, "give an argument for each that is not constexpr")
    launch = Launch(
        [extents[0] * metadata.num_ctas, *extents[1:]],
        metadata.num_warps * metadata.warp_size,
        passed,
        kernel=metadata.name,
        cluster=metadata.num_ctas if metadata.num_ctas > 1 else None,
        dynamic_shared=metadata.shared,
        name=f"the launch of {metadata.name}",
    )
    sm, _ = architecture(metadata.target.arch)
    return Compiled(ptx, launch, compiled.asm.get("cubin"), sm, metadata.name)
