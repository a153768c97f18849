// Expected output of matmul_naive.cu: the same order of fused multiply-adds.
#include "inputs.hpp"
#include <cmath>

int main(int argc, char **argv) {
    Files files(argc, argv, "matmul_naive");
    Rng rng(7);
    const int rows = 21, inner = 30, columns = 37;
    std::vector<float> a = rng.reals(rows * inner, -2, 2), b = rng.reals(inner * columns, -2, 2), c;
    files.write("a", a);
    files.write("b", b);
    for (int i = 0; i < rows * columns; i++) {
        float sum = 0;
        for (int k = 0; k < inner; k++) sum = std::fma(a[i / columns * inner + k], b[k * columns + i % columns], sum);
        c.push_back(sum);
    }
    files.write("c", c);
}
