// Expected output of saxpy.cu.
#include "inputs.hpp"
#include <cmath>

int main(int argc, char **argv) {
    Files files(argc, argv, "saxpy");
    Rng rng(1);
    std::vector<float> x = rng.reals(1024, -8, 8), y = rng.reals(1024, -100, 100);
    files.write("x", x);
    files.write("y", y);
    for (int i = 0; i < 1000; i++) y[i] = std::fma(2.5f, x[i], y[i]);
    files.write("y.expect", y);
}
