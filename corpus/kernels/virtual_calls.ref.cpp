// Expected outputs of virtual_calls.cu, without any object.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "virtual_calls");
    Rng rng(72);
    std::vector<u32> in = rng.fill<u32>(128, [&] { return rng.next32() / 2; });
    std::vector<s64> totals;
    std::vector<s32> labels;
    files.write("in", in);
    for (u32 v : in) {
        const s64 wide = s64(v % 4096) * (v >> 20 & 255) * 16 + 4, radius = v >> 12 & 1023;
        const s64 tall = s64(v % 8) * (1 + (v >> 3 & 65535)) * 16 + 4, disc = 355 * radius * radius / 113 * 16;
        const s64 shapes[4] = {wide, disc, tall, v % 2 ? disc : wide};
        s64 total = 0;
        for (u32 i = 0; i < 2 + v / 4 % 2; i++) total += shapes[v / 2 % 2 + i];
        totals.push_back(total);
        labels.push_back((v & 16 ? 1021 : 2110) * 4 + s32(v % 4));
    }
    files.write("totals", totals);
    files.write("labels", labels);
}
