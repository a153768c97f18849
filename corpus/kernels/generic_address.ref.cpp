// Expected output of generic_address.ptx.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "generic_address");
    Rng rng(63);
    const u32 n = 64;
    std::vector<u32> in = rng.words(n), pool(n), out;
    files.write("in", in);
    for (u32 t = 0; t < n; t++) pool[t] = 2 * in[t] + (in[t] % 4 == 0);
    for (u32 t = 0; t < n; t++) {
        const u32 v = in[t], space = v % 4, flags[4] = {1, 2, 8, 4};
        const u32 loaded = space == 0 ? 2 * v : space == 1 ? 3 * v : space == 2 ? (t % 4 + 1) * 1000 : v;
        // Below the pointer at frame + 4 lies the pair (input, thread) at frame + 8.
        const u32 direct = space == 0 ? 2 * v : space == 1 ? v : 0;
        const u32 word = 11 * (t % 4 + 1 + v / 4 % 2 * 2);
        out.insert(out.end(), {loaded, flags[space], direct, pool[t], 3 * v + (space == 1), word,
                               pool[t % 4] + 5 * (n / 4), loaded + 1});
    }
    files.write("out", out);
}
