// Expected output of tensor_matmul.cu. Of small integers every order of sums makes the same; of other numbers the
// exact sums are written, from which the kernel's may differ by what its tolerance says.
#include "narrow.hpp"

static std::vector<float> product(const std::vector<u16> &a, const std::vector<u16> &b, u32 n, u32 k, u32 m) {
    std::vector<float> c;
    for (u32 i = 0; i < n * m; i++) {
        double sum = 0;
        for (u32 j = 0; j < k; j++) sum += Half::widen(a[i / m * k + j]) * Half::widen(b[j * m + i % m]);
        c.push_back(float(sum));
    }
    return c;
}

int main(int argc, char **argv) {
    Files files(argc, argv, "tensor_matmul");
    Rng rng(91);
    const u32 n = 64, k = 48, m = 96;
    auto integer = [&] { return Half::round(double(rng.below(33)) - 16); };
    std::vector<u16> a = rng.fill<u16>(n * k, integer), b = rng.fill<u16>(k * m, integer);
    files.write("a", a);
    files.write("b", b);
    files.write("c", product(a, b, n, k, m));
    // Below four in size, and of both signs.
    auto number = [&] { return u16(0x2c00 + rng.below(0x1800) + rng.below(2) * 0x8000); };
    std::vector<u16> x = rng.fill<u16>(n * k, number), y = rng.fill<u16>(k * m, number);
    files.write("x", x);
    files.write("y", y);
    files.write("z", product(x, y, n, k, m));
}
