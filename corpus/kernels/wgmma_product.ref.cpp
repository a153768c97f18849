// Expected output of wgmma_product.cu. Of small integers every order of sums makes the same.
#include "narrow.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "wgmma_product");
    Rng rng(113);
    const u32 n = 128, k = 192, m = 64;
    auto integer = [&] { return Half::round(double(rng.below(33)) - 16); };
    std::vector<u16> a = rng.fill<u16>(n * k, integer), b = rng.fill<u16>(m * k, integer);
    std::vector<float> c;
    for (u32 i = 0; i < n * m; i++) {
        double sum = 0;
        for (u32 j = 0; j < k; j++) sum += Half::widen(a[i / m * k + j]) * Half::widen(b[i % m * k + j]);
        c.push_back(float(sum));
    }
    files.write("a", a);
    files.write("b", b);
    files.write("c", c);
}
