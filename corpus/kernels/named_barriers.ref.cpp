// Expected output of named_barriers.ptx.
#include "inputs.hpp"
#include <algorithm>

int main(int argc, char **argv) {
    Files files(argc, argv, "named_barriers");
    Rng rng(64);
    const u32 n = 128;
    std::vector<u32> in = rng.fill<u32>(n, [&] { return 101 + rng.below(5000); }), out;
    in[90] = 100;
    files.write("in", in);
    auto odd = [](u32 v) { return v % 2 == 1; };
    const u32 odds = u32(std::count_if(in.begin(), in.end(), odd));
    const u32 late_evens = 64 - u32(std::count_if(in.begin() + 64, in.end(), odd));
    for (u32 t = 0; t < n; t++) {
        // Consumer c takes the box of producer 63 - (c - 64); producer p reads the answer of consumer 64 + 63 - p.
        const u32 consumer = t < 64 ? 127 - t : t, sum = in[127 - consumer] + in[consumer];
        const u32 partner = t ^ 1;
        out.insert(out.end(), {t < 64 ? 3 * sum : sum, odds, 0u + 2, t < 64 ? 0 : late_evens,
                               t < 64 ? 7 : in[partner] + partner % 32, 16});
    }
    files.write("out", out);
}
