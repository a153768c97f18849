// Expected output of stencil_3d.cu.
#include "inputs.hpp"
#include <cmath>

int main(int argc, char **argv) {
    Files files(argc, argv, "stencil_3d");
    Rng rng(13);
    const int nx = 11, ny = 9, nz = 7;
    std::vector<double> in = rng.fill<double>(nx * ny * nz, [&] { return double(s32(rng.next32())) / 3.0; }), out = in;
    files.write("in", in);
    for (int z = 1; z < nz - 1; z++)
        for (int y = 1; y < ny - 1; y++)
            for (int x = 1; x < nx - 1; x++) {
                auto at = [&](int dx, int dy, int dz) { return in[((z + dz) * ny + y + dy) * nx + x + dx]; };
                double value = std::fma(-6.0, at(0, 0, 0), at(-1, 0, 0));
                value += at(1, 0, 0);
                value += at(0, -1, 0);
                value += at(0, 1, 0);
                value += at(0, 0, -1);
                value += at(0, 0, 1);
                out[(z * ny + y) * nx + x] = value;
            }
    files.write("out", out);
}
