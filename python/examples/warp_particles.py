"""Judges kernels of Warp: whether the cubin of its compiler does what the PTX says. No GPU is needed.

python examples/warp_particles.py
"""

import numpy as np
import warp as wp

import oriole.warp


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def move(positions: wp.array(dtype=wp.vec3), velocities: wp.array(dtype=wp.vec3), gravity: wp.vec3, step: float):
    i = wp.tid()
    velocities[i] = velocities[i] + gravity * step
    positions[i] = positions[i] + velocities[i] * step


@wp.kernel
def row_sums(matrix: wp.array2d(dtype=int), sums: wp.array(dtype=int)):
    row, column = wp.tid()
    wp.atomic_add(sums, row, matrix[row, column])


def main() -> None:
    draw = np.random.default_rng(1)
    x, y = draw.standard_normal(1000, np.float32), np.ones(1000, np.float32)
    positions, velocities = draw.standard_normal((50, 3), np.float32), np.zeros((50, 3), np.float32)
    matrix, sums = draw.integers(0, 9, (4, 30), np.int32), np.zeros(4, np.int32)
    kernels = {
        "saxpy": oriole.warp.compile(saxpy, 1000, [2.0, x, y]),
        "move": oriole.warp.compile(move, 50, [positions, velocities, wp.vec3(0.0, -9.8, 0.0), 0.1], block_dim=64),
        "row_sums": oriole.warp.compile(row_sums, (4, 30), [matrix, sums]),
    }
    for kernel in kernels.values():
        kernel.run()
    np.testing.assert_allclose(y, 2 * x + 1, rtol=1e-6)
    np.testing.assert_allclose(velocities[:, 1], -0.98, rtol=1e-6)
    np.testing.assert_array_equal(sums, matrix.sum(1))
    for name, kernel in kernels.items():
        judgement = kernel.judge().require()
        print(f"{name} for {kernel.sm}: {judgement.axes[0].answer}, {judgement.data} different sets of data")


if __name__ == "__main__":
    main()
