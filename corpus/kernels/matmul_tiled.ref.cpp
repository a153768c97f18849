// Expected output of matmul_tiled.cu; tiling does not change the order of the additions.
#include "inputs.hpp"
#include <cmath>

int main(int argc, char **argv) {
    Files files(argc, argv, "matmul_tiled");
    Rng rng(8);
    const int size = 48;
    std::vector<float> a = rng.reals(size * size, -4, 4), b = rng.reals(size * size, -4, 4), c;
    files.write("a", a);
    files.write("b", b);
    for (int row = 0; row < size; row++)
        for (int column = 0; column < size; column++) {
            float sum = 0;
            for (int k = 0; k < size; k++) sum = std::fma(a[row * size + k], b[k * size + column], sum);
            c.push_back(sum);
        }
    files.write("c", c);
}
