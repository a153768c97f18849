// Expected output of debug_halves.cu. Inputs are so small that no step rounds.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "debug_halves");
    Rng rng(89);
    const int count = 60;
    std::vector<s16> in = rng.fill<s16>(count, [&] { return s32(rng.below(13)) - 6; });
    auto doubled = [&](int at) { return 2 * in[at] * in[at] * in[at] + in[at] + 2; };
    std::vector<s32> out;
    for (int t = 0; t < count; t++) out.push_back((doubled(t) + doubled(count - 1 - t)) / 2);
    files.write("in", in);
    files.write("out", out);
}
