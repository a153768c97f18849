"""Judges kernels of Triton: whether the cubin of its ptxas does what the PTX says, at several shapes. No GPU is needed.

python examples/triton_softmax.py
"""

import numpy as np
import triton
import triton.language as tl

import oriole.triton


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def softmax(x, out, stride, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + at, mask=at < n, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + at, powers / tl.sum(powers, axis=0), mask=at < n)


@triton.jit
def matmul(a, b, c, K: tl.constexpr, N: tl.constexpr):
    rows, columns, inner = tl.arange(0, 16), tl.arange(0, N), tl.arange(0, K)
    product = tl.dot(tl.load(a + rows[:, None] * K + inner), tl.load(b + inner[:, None] * N + columns))
    tl.store(c + rows[:, None] * N + columns, product)


def main() -> None:
    draw = np.random.default_rng(1)
    x, y, out = draw.standard_normal(1000, np.float32), np.ones(1000, np.float32), np.zeros(1000, np.float32)
    kernels = {"add": oriole.triton.compile(add, [x, y, out, 1000], 4, constants={"BLOCK": 256})}
    kernels["add"].run()
    np.testing.assert_array_equal(out, x + y)

    rows, sums = draw.standard_normal((3, 100), np.float32), np.zeros((3, 100), np.float32)
    kernels["softmax"] = oriole.triton.compile(softmax, [rows, sums, 100, 100], 3, constants={"BLOCK": 128})
    kernels["softmax"].run()
    np.testing.assert_allclose(sums.sum(1), 1, rtol=1e-5)

    a, b = draw.integers(-3, 4, (16, 32)).astype(np.float16), draw.integers(-3, 4, (32, 16)).astype(np.float16)
    c = np.zeros((16, 16), np.float32)
    kernels["matmul"] = oriole.triton.compile(matmul, [a, b, c], 1, constants={"K": 32, "N": 16}, sm="sm_80")
    kernels["matmul"].run()
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))

    for name, kernel in kernels.items():
        judgement = kernel.judge().require()
        print(f"{name} for {kernel.sm}: {judgement.axes[0].answer}, {judgement.data} different sets of data")


if __name__ == "__main__":
    main()
