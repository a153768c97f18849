// Expected outputs of atomics_float.cu.
#include "inputs.hpp"
#include <algorithm>

int main(int argc, char **argv) {
    Files files(argc, argv, "atomics_float");
    Rng rng(29);
    std::vector<float> in = rng.fill<float>(256, [&] { return s32(rng.below(100)) - 50; }), sums(4);
    std::vector<double> wide(2);
    std::vector<u32> locked = {0, 1, 0, 0};
    files.write("in", in);
    files.write("locked", locked);
    for (int i = 0; i < 256; i++) {
        sums[i % 3] += in[i];
        sums[3] = std::max(sums[3], in[i]);
        wide[i % 2] += in[i] / 4;
        locked[0] += in[i] > 40;
        if (locked[1] <= 1000000) locked[1] *= 3;
    }
    locked[3] = 1 + 2 + 3 + 4;
    files.write("sums", sums);
    files.write("wide", wide);
    files.write("locked.expect", locked);
}
