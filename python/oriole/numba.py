"""Kernels of Numba, compiled without a GPU, and judged.

    >>> compiled = oriole.numba.compile(saxpy, [np.float32(2), x, y], grid=4, block=128)
    >>> compiled.judge().require()
"""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

import oriole

from .errors import InputError
from .foreign import Compiled, architecture
from .launches import Argument, Buffer, Dimensions, Launch

__all__ = ["compile", "flattened"]


def flattened(args: Sequence[Argument]) -> list[Argument]:
    """Arguments as Numba's kernels take them: of an array the addresses of its owner and its parent, which are null,
    the number of elements, their size, the address, the shape, and the strides in bytes.

    Raises:
        InputError: an argument that is no array and no number.
    """
    flat: list[Argument] = []
    for index, arg in enumerate(args):
        array = arg.array if isinstance(arg, Buffer) else arg
        if isinstance(array, np.ndarray):
            if not array.flags.c_contiguous:
                remedy = "give np.ascontiguousarray(…)"
                raise InputError(f"argument {index} is an array that is not contiguous", None, remedy)
            words = [np.int64(number) for number in (array.size, array.itemsize)]
            bounds = [np.int64(number) for number in (*array.shape, *array.strides)]
            flat += [None, None, *words, arg, *bounds]
        elif isinstance(array, (np.generic, bool, int, float)):
            flat.append(_scalar(array))
        else:
            raise InputError(f"argument {index} is a {type(arg).__name__}", None, "give an array or a number")
    return flat


def _scalar(value: Any) -> np.generic[Any]:
    """A number of the type that Numba takes it for."""
    if isinstance(value, (bool, np.bool_)):
        return np.uint8(value)
    if isinstance(value, np.generic):
        return value
    return np.int64(value) if isinstance(value, int) else np.float64(value)


def compile(
    kernel: Any,
    args: Sequence[Argument],
    grid: Dimensions,
    block: Dimensions,
    *,
    sm: str | int = "sm_90",
    **options: Any,
) -> Compiled:
    """Compiles a kernel of Numba for a GPU that need not be there.

    Args:
        kernel: a function, with or without ``@cuda.jit``.
        args: its arguments: contiguous arrays and numbers. Numbers of Python are 64 bits wide, as Numba takes them.
        grid: blocks in x, y and z.
        block: threads of a block in x, y and z.
        sm: the architecture.
        options: those of ``numba.cuda.compile``, as ``fastmath=True``.

    Returns:
        PTX and the launch. The machine code is what ptxas makes of the PTX.

    Raises:
        InputError: arguments that are none.
    """
    import numba
    from numba import cuda

    name, number = architecture(sm)
    flat = flattened(args)
    arrays = [arg.array if isinstance(arg, Buffer) else arg for arg in args]
    signature = tuple(numba.typeof(array) for array in arrays)
    function = getattr(kernel, "py_func", kernel)
    capability = (number // 10, number % 10)
    ptx, _ = cuda.compile(function, signature, device=False, abi="numba", cc=capability, **options)
    called = oriole.parse(ptx, name=f"{function.__name__}.ptx").kernels
    if len(called) != 1:
        raise InputError(f"{function.__name__} makes {len(called)} kernels", None, "give a function that is one kernel")
    launch = Launch(grid, block, flat, kernel=called[0].name, name=f"the launch of {function.__name__}")
    return Compiled(ptx, launch, None, name, function.__name__)
