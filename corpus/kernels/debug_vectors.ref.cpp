// Expected output of debug_vectors.cu: the motions as 3 by 3 matrices.
#include "inputs.hpp"
#include <array>

using Matrix = std::array<std::array<s64, 3>, 3>;

static Matrix product(const Matrix &a, const Matrix &b) {
    Matrix c{};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++) c[i][j] += a[i][k] * b[k][j];
    return c;
}

int main(int argc, char **argv) {
    Files files(argc, argv, "debug_vectors");
    Rng rng(83);
    const int count = 96;
    std::vector<s32> points = rng.fill<s32>(3 * count, [&] { return s32(rng.below(200)) - 100; }), out;
    std::vector<u32> seeds = rng.words(count);
    const Matrix identity = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    // Planes yz, xz, xy.
    const Matrix quarter[3] = {{{{1, 0, 0}, {0, 0, -1}, {0, 1, 0}}},
                               {{{0, 0, -1}, {0, 1, 0}, {1, 0, 0}}},
                               {{{0, -1, 0}, {1, 0, 0}, {0, 0, 1}}}};
    for (int t = 0; t < count; t++) {
        std::array<s64, 3> at = {points[3 * t], points[3 * t + 1], points[3 * t + 2]};
        for (int step = 0; step < 3; step++) {
            u32 seed = seeds[(t + step) % count];
            Matrix all = identity;
            for (u32 i = 0; i < (seed >> 8 & 3); i++) all = product(quarter[step], all);
            const s64 scale = seed >> 10 & 1 ? 2 : 1, by[3] = {s64(seed & 15), s64(seed >> 4 & 15), -7};
            std::array<s64, 3> next{};
            for (int i = 0; i < 3; i++) {
                for (int k = 0; k < 3; k++) next[i] += scale * all[i][k] * at[k];
                next[i] += by[i];
            }
            at = next;
        }
        for (s64 value : at) out.push_back(s32(value));
    }
    files.write("points", points);
    files.write("seeds", seeds);
    files.write("out", out);
}
