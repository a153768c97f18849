// Expected output of warp_reduce.cu.
#include "inputs.hpp"
#include <algorithm>

int main(int argc, char **argv) {
    Files files(argc, argv, "warp_reduce");
    Rng rng(26);
    const int n = 96;
    std::vector<u32> in = rng.words(n), out(9 * n);
    files.write("in", in);
    for (int t = 0; t < n; t++) {
        u32 add = 0, all = ~0u, any = 0, parity = 0, low = ~0u, high = 0, some = 0;
        s32 least = INT32_MAX, most = INT32_MIN, rest = INT32_MIN;
        for (int lane = 0; lane < 32; lane++) {
            u32 v = in[t / 32 * 32 + lane];
            add += v, all &= v | 0x0f0f0f0f, any |= v & 0x11111111, parity ^= v;
            low = std::min(low, v), high = std::max(high, v);
            least = std::min(least, s32(v)), most = std::max(most, s32(v));
            if (lane % 4 == 1) some += v;
            else rest = std::max(rest, s32(v));
        }
        u32 results[9] = {add, u32(least), u32(most), low, high, all, any, parity, t % 4 == 1 ? some : u32(rest)};
        for (int i = 0; i < 9; i++) out[i * n + t] = results[i];
    }
    files.write("out", out);
}
