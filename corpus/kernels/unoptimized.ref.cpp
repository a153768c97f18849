// Expected output of unoptimized.cu.
#include "inputs.hpp"
#include <algorithm>

int main(int argc, char **argv) {
    Files files(argc, argv, "unoptimized");
    Rng rng(71);
    const int length = 15;
    std::vector<s32> rows = rng.fill<s32>(64 * length, [&] { return s32(rng.below(2000)) - 1000; });
    files.write("in", rows);
    for (int t = 0; t < 64; t++) {
        const int modulus = 7 + t % 3, sign = t % 2 ? -1 : 1;
        auto key = [&](s32 v) { return std::pair(sign * (v % modulus), v); };
        std::sort(&rows[t * length], &rows[t * length] + length, [&](s32 a, s32 b) { return key(a) < key(b); });
    }
    files.write("out", rows);
}
