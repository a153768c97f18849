// Expected output of stencil_2d.cu.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "stencil_2d");
    Rng rng(12);
    std::vector<float> now = rng.reals(32 * 24, 0, 100);
    files.write("in", now);
    for (int step = 0; step < 4; step++) {
        std::vector<float> old = now;
        for (int y = 1; y < 23; y++)
            for (int x = 1; x < 31; x++) {
                int i = y * 32 + x;
                float around = old[i - 32] + old[i + 32] + old[i - 1] + old[i + 1];
                now[i] = old[i] + 0.2f * (around - 4.0f * old[i]);
            }
    }
    files.write("out", now);
}
