// Expected output of branch_table.ptx.
#include "inputs.hpp"
#include <bit>

int main(int argc, char **argv) {
    Files files(argc, argv, "branch_table");
    Rng rng(69);
    const u32 n = 150;
    std::vector<u32> in = rng.fill<u32>(n, [&] { return rng.next32() >> rng.below(30); }), out(8 * 160);
    files.write("in", in);
    for (u32 t = 0; t < n; t++) {
        u32 v = in[t], steps = 1;
        for (; steps <= 20 && v % 8 != 5; steps++) {
            const u32 state = v % 8;
            if (state == 0 || state == 4) v /= 2;
            else if (state <= 2) v = v * 5 + 3;
            else if (state == 6) v = ~v;
            else v = (v ^ std::rotl(v, 7)) + 1;
        }
        const bool stopped = steps <= 20;
        if (stopped) steps += 1000;
        const u32 low = in[t] % 16, called = v % 2 ? v * v : 2 * v, direct = low ? low * low : 9999;
        const u32 words[4] = {steps, v, called, t % 2 ? direct : 31337}, sum = words[0] + words[1] + words[2] + words[3];
        const u64 biased = sum + (u64(in[t]) << 8);
        u32 row[8] = {words[3], words[2], words[1], words[0], u32(biased), u32(biased >> 32),
                      stopped ? sum : 77, stopped ? 77 : steps};
        for (int i = 0; i < 8; i++) out[8 * t + i] = row[i];
    }
    files.write("out", out);
}
