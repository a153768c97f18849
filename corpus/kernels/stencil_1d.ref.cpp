// Expected output of stencil_1d.cu.
#include "inputs.hpp"
#include <cstdlib>

int main(int argc, char **argv) {
    Files files(argc, argv, "stencil_1d");
    Rng rng(11);
    const int n = 700;
    std::vector<u32> in = rng.words(n), out(n);
    files.write("in", in);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (std::abs(i - j) <= 3) out[i] += in[j];
    files.write("out", out);
}
