// Expected outputs of transpose.cu. The filter sees only the 32 columns of its own tile, zero outside the matrix.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "transpose");
    Rng rng(75);
    const int width = 45, height = 38, binomial[5] = {1, 4, 6, 4, 1};
    std::vector<u32> in = rng.words(width * height), out(width * height), filtered(width * height);
    files.write("in", in);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            out[x * height + y] = in[y * width + x];
            for (int near = y - 2; near <= y + 2; near++)
                if (near >= 0 && near < height && near / 32 == y / 32) {
                    u32 term = u32(binomial[near - y + 2]) * in[near * width + x];
                    filtered[x * height + y] += (near - y) % 2 ? 0 - term : term;
                }
        }
    files.write("out", out);
    files.write("filtered", filtered);
}
