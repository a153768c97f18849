// Expected outputs of atomics_u32.cu: plain loops over all inputs.
#include "inputs.hpp"
#include <algorithm>

int main(int argc, char **argv) {
    Files files(argc, argv, "atomics_u32");
    Rng rng(27);
    const int n = 230, block = 64;
    std::vector<u32> in = rng.words(n), cells(16), seen(256);
    cells[2] = cells[4] = ~0u;
    files.write("in", in);
    files.write("cells", cells);
    for (int i = 0; i < n; i++) {
        cells[0] += in[i];
        cells[1] -= in[i] / 2;
        cells[2] = std::min(cells[2], in[i]);
        cells[3] = std::max(cells[3], in[i]);
        cells[4] &= in[i] | 0xff00ff00;
        cells[5] |= in[i] & 0x00ffff00;
        cells[6] ^= in[i];
        cells[8] = std::min(s32(cells[8]), s32(in[i]));
        cells[9] = std::max(s32(cells[9]), s32(in[i]));
        seen[i] = 1;
    }
    // A counter that wraps after 12 counts modulo 13; one that falls from 0 to 7 counts down modulo 8.
    for (int start = 0; start < n; start += block) cells[7] += std::min(block, n - start) % 13;
    cells[10] = 77;
    cells[11] = n;
    cells[12] = (8 - n % 8) % 8;
    files.write("cells.expect", cells);
    files.write("seen", seen);
}
