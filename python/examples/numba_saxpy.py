"""Judges kernels of Numba: whether what ptxas makes of them does what the PTX says. No GPU is needed.

python examples/numba_saxpy.py
"""

import numpy as np
from numba import cuda

import oriole.numba


@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.shape[0]:
        y[i] = a * x[i] + y[i]


@cuda.jit
def transpose(source, target):
    tile = cuda.shared.array((16, 17), np.int32)
    x, y = cuda.grid(2)
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = source[y, x]
    cuda.syncthreads()
    target[x, y] = tile[cuda.threadIdx.y, cuda.threadIdx.x]


@cuda.jit
def histogram(values, counts):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(counts, values[i] & 15, 1)


def main() -> None:
    draw = np.random.default_rng(1)
    x, y = draw.standard_normal(1000, np.float32), np.ones(1000, np.float32)
    source, target = draw.integers(0, 99, (32, 32), np.int32), np.zeros((32, 32), np.int32)
    values, counts = draw.integers(0, 99, 500, np.int32), np.zeros(16, np.int32)
    kernels = {
        "saxpy": oriole.numba.compile(saxpy, [np.float32(2), x, y], 4, 256),
        "transpose": oriole.numba.compile(transpose, [source, target], (2, 2), (16, 16)),
        "histogram": oriole.numba.compile(histogram, [values, counts], 2, 256),
    }
    for kernel in kernels.values():
        kernel.run()
    np.testing.assert_allclose(y, 2 * x + 1, rtol=1e-6)
    np.testing.assert_array_equal(target, source.T)
    np.testing.assert_array_equal(counts, np.bincount(values & 15, minlength=16))
    for name, kernel in kernels.items():
        judgement = kernel.judge(levels=[0, 3]).require()
        answers = ", ".join(f"{axis.name} {axis.answer}" for axis in judgement.axes)
        print(f"{name}: {answers}, {judgement.data} different sets of data")


if __name__ == "__main__":
    main()
