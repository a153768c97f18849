// Expected output of debug_sections.ptx.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "debug_sections");
    Rng rng(82);
    std::vector<u32> in = rng.words(128), out(128);
    files.write("in", in);
    for (u32 i = 0; i < 120; i++) {
        const u32 terms[4] = {in[i], in[i] >> 7, i, 17};
        for (u32 k = 0; k <= in[i] % 4; k++) out[i] = out[i] * 3 + terms[k];
    }
    files.write("out", out);
}
