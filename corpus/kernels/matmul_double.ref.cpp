// Expected output of matmul_double.cu.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "matmul_double");
    Rng rng(10);
    const int size = 32;
    auto matrix = [&] { return rng.fill<double>(size * size, [&] { return double(s64(rng.next64())) / 0x1p60; }); };
    std::vector<double> a = matrix(), b = matrix(), c(size * size);
    files.write("a", a);
    files.write("b", b);
    for (int row = 0; row < size; row++)
        for (int column = 0; column < size; column++)
            for (int k = 0; k < size; k++) c[row * size + column] += a[row * size + k] * b[k * size + column];
    files.write("c", c);
}
