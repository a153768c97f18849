"""Kernels of Warp, compiled without a GPU, and judged.

    >>> compiled = oriole.warp.compile(saxpy, dim=1024, args=[2.0, x, y])
    >>> compiled.judge().require()
"""

from __future__ import annotations

import math
import os
import tempfile
from typing import Any, Sequence

import numpy as np

from .errors import InputError
from .foreign import Compiled, architecture
from .launches import Argument, Buffer, Launch, Struct

__all__ = ["compile"]


def _packed(kernel: Any, label: str, kind: Any, arg: Argument) -> Argument:
    """An argument as the kernel takes it: an array is a structure by value with the address in it."""
    import warp as wp

    array = arg.array if isinstance(arg, Buffer) else arg
    if isinstance(kind, wp.array):
        if not isinstance(array, np.ndarray) or isinstance(arg, Buffer):
            raise InputError(f"argument `{label}` is a {type(arg).__name__}", None, "give an array of NumPy")
        if not array.flags.c_contiguous:
            remedy = "give np.ascontiguousarray(…)"
            raise InputError(f"argument `{label}` is an array that is not contiguous", None, remedy)
        # It describes the memory of the array and copies nothing.
        described = wp.array(array, dtype=kind.dtype, device="cpu", copy=False)
        if described.ndim != kind.ndim:
            said = f"argument `{label}` has {described.ndim} dimensions of {kind.ndim}"
            raise InputError(said, None, f"give an array of {kind.dtype.__name__}")
        return Struct(bytes(described.__ctype__()), {0: array})
    if isinstance(array, (int, float, bool, np.generic)):
        dtype = np.dtype(np.bool_) if kind is wp.bool else np.dtype(wp.dtype_to_numpy(kind))
        return dtype.type(array)
    try:
        return bytes(kind(array))
    except TypeError as error:
        remedy = "give an array, a number, or a vector, matrix or structure of Warp"
        raise InputError(f"argument `{label}` is a {type(arg).__name__}", None, remedy) from error


def compile(
    kernel: Any,
    dim: int | Sequence[int],
    args: Sequence[Argument],
    *,
    sm: str | int = "sm_90",
    block_dim: int = 256,
) -> Compiled:
    """Compiles a kernel of Warp, forward, for a GPU that need not be there.

    Args:
        kernel: a function with ``@wp.kernel``.
        dim: threads in up to four dimensions, as ``wp.launch`` takes them.
        args: its arguments: contiguous arrays of NumPy, numbers, and vectors, matrices and structures of Warp.
        sm: the architecture.
        block_dim: threads of a block.

    Returns:
        PTX, the cubin of Warp's own compiler, and the launch.

    Raises:
        InputError: arguments that are none, or do not fit the kernel.
    """
    import warp as wp
    from warp._src.types import launch_bounds_t

    name, number = architecture(sm)
    parameters = kernel.adj.args
    if len(parameters) != len(args):
        said = f"{kernel.key} takes {len(parameters)} arguments, and {len(args)} are given"
        raise InputError(said, None, "give an argument for each")
    extents = [dim] if isinstance(dim, int) else [int(extent) for extent in dim]
    texts: list[bytes] = []
    with tempfile.TemporaryDirectory() as folder:
        for use_ptx, ending in ((True, ".ptx"), (False, ".cubin")):
            wp.compile_aot_module(kernel.module, arch=number, module_dir=folder, use_ptx=use_ptx)
            found = [file for file in sorted(os.listdir(folder)) if file.endswith(ending)]
            if not found:
                remedy = "Warp's compiler says why on standard output"
                raise InputError(f"Warp makes no {ending} file of {kernel.key}", None, remedy)
            with open(os.path.join(folder, found[0]), "rb") as file:
                texts.append(file.read())
    bounds = launch_bounds_t(tuple(extents))
    passed: list[Argument] = [bytes(bounds)]
    passed += [_packed(kernel, it.label, it.type, arg) for it, arg in zip(parameters, args)]
    ptx, cubin = texts
    launch = Launch(
        max(1, math.ceil(math.prod(extents) / block_dim)),
        block_dim,
        passed,
        kernel=f"{kernel.get_mangled_name()}_cuda_kernel_forward",
        name=f"the launch of {kernel.key}",
    )
    return Compiled(ptx.rstrip(b"\0").decode(), launch, cubin, name, kernel.key)
