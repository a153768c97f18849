// Expected outputs of warp_shuffle.cu. A lane whose source lies outside its segment keeps its own value.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "warp_shuffle");
    Rng rng(23);
    const int n = 64;
    std::vector<u32> in = rng.words(n), lanes = rng.fill<u32>(n, [&] { return rng.below(64); }), out(10 * n);
    std::vector<u64> wide(n);
    files.write("in", in);
    files.write("lanes", lanes);
    for (int t = 0; t < n; t++) {
        const int lane = t % 32;
        const u32 *warp = &in[t - lane];
        auto segment = [&](int source, int width) {
            return source / width == lane / width && source >= 0 ? warp[source] : warp[lane];
        };
        out[t] = segment(lane - 3, 32);
        out[n + t] = segment(lane + 5, 32);
        out[2 * n + t] = warp[lane ^ 21];
        out[3 * n + t] = warp[lanes[t] % 32];
        out[4 * n + t] = segment(lane - 2, 8);
        out[5 * n + t] = segment(lane + 3, 16);
        // A butterfly may reach down into an earlier segment, but not up past the end of its own.
        out[6 * n + t] = (lane ^ 6) <= (lane | 3) ? warp[lane ^ 6] : warp[lane];
        out[7 * n + t] = warp[lane / 8 * 8 + lanes[t] % 8];
        for (int i = 0; i <= lane; i++) out[8 * n + t] += warp[i];
        out[9 * n + t] = t % 2 == 0 ? warp[lane ^ 4] : warp[31];
        auto pair = [&](int l) { return u64(warp[l]) << 32 | in[n - 1 - (t - lane + l)]; };
        wide[t] = pair(lane ^ 1) + pair(lane + 16 < 32 ? lane + 16 : lane);
    }
    files.write("out", out);
    files.write("wide", wide);
}
