// Expected outputs of warp_match.cu.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "warp_match");
    Rng rng(25);
    const int n = 128;
    std::vector<u32> in = rng.fill<u32>(n, [&] { return rng.below(8); }), out(4 * n), bins(8);
    for (int i = 0; i < 32; i++) in[i] = 4 * (in[i] & 1);
    files.write("in", in);
    for (int i = 0; i < n; i++) {
        bool all_low_bits = true;
        for (int lane = 0; lane < 32; lane++) {
            u32 other = in[i / 32 * 32 + lane];
            out[i] |= u32(other == in[i]) << lane;
            out[n + i] |= u32(other == in[i] && (lane - i) % 2 == 0) << lane;
            all_low_bits &= other % 4 == in[i] % 4;
        }
        out[2 * n + i] = ~0u + 1;
        out[3 * n + i] = all_low_bits ? ~0u ^ 1 : 0;
        bins[in[i]]++;
    }
    files.write("out", out);
    files.write("bins", bins);
}
