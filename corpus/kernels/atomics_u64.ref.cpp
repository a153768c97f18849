// Expected outputs of atomics_u64.cu.
#include "inputs.hpp"
#include <algorithm>

int main(int argc, char **argv) {
    Files files(argc, argv, "atomics_u64");
    Rng rng(28);
    std::vector<u64> in = rng.longs(3 * 64), cells(13);
    std::vector<u32> flags(6, ~0u);
    cells[0] = cells[4] = ~0ull;
    cells[12] = 0x123456789abcdef0;
    files.write("in", in);
    files.write("cells", cells);
    for (u64 v : in) {
        cells[0] = std::min(cells[0], v);
        cells[1] = std::max(cells[1], v);
        cells[2] = std::min(s64(cells[2]), s64(v));
        cells[3] = std::max(s64(cells[3]), s64(v));
        cells[4] &= v | 0xf0f0f0f0f0f0f0f0;
        cells[5] |= v & 0x1248124812481248;
        cells[9] += v;
        cells[10] ^= v * v;
    }
    cells[6] = u64(in.size()) << 32;
    cells[7] = 42;
    cells[8] = 1;
    cells[11] = cells[12];
    cells[12] = 0;
    files.write("cells.expect", cells);
    files.write("flags", flags);
}
