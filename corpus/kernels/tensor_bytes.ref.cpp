// Expected output of tensor_bytes.cu.
#include "narrow.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "tensor_bytes");
    Rng rng(92);
    const u32 n = 64, k = 48, m = 96;
    auto byte = [&] { return s8(rng.below(256)); };
    std::vector<s8> a = rng.fill<s8>(n * k, byte), b = rng.fill<s8>(m * k, byte);
    std::vector<s32> bias = rng.fill<s32>(n * m, [&] { return s32(rng.below(2000001)) - 1000000; }), c;
    for (u32 i = 0; i < n * m; i++) {
        int sum = bias[i];
        for (u32 j = 0; j < k; j++) sum += a[i / m * k + j] * b[i % m * k + j];
        c.push_back(sum);
    }
    files.write("a", a);
    files.write("b", b);
    files.write("bias", bias);
    files.write("c", c);
}
