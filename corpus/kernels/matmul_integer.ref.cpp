// Expected output of matmul_integer.cu.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "matmul_integer");
    Rng rng(9);
    const u32 rows = 25, inner = 40, columns = 35;
    std::vector<u32> a = rng.words(rows * inner), b = rng.words(inner * columns), c(rows * columns);
    files.write("a", a);
    files.write("b", b);
    for (u32 row = 0; row < rows; row++)
        for (u32 k = 0; k < inner; k++)
            for (u32 column = 0; column < columns; column++)
                c[row * columns + column] += a[row * inner + k] * b[k * columns + column];
    files.write("c", c);
}
