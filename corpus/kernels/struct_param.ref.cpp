// Expected output of struct_param.cu for the window {start -9, step 37, shift -3, count 11}.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "struct_param");
    Rng rng(73);
    std::vector<s16> in = rng.fill<s16>(256, [&] { return rng.next32(); });
    std::vector<s32> out;
    files.write("in", in);
    for (int t = 0; t < 128; t++) {
        s32 sum = 0;
        for (int k = 0; k < 11; k++) sum += in[(t - 9 + 37 * k + 256) % 256];
        out.push_back(s32(float(sum) * 0.75f) - 768);
    }
    files.write("out", out);
}
