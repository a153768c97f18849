// Expected output of ntt.cu: the transform by its definition, a sum over all points.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "ntt");
    Rng rng(52);
    const u64 modulus = 998244353;
    const int n = 512;
    std::vector<u32> in = rng.fill<u32>(n, [&] { return rng.below(u32(modulus)); }), out;
    std::vector<u64> roots = {1};
    u64 root = 1;
    for (u64 i = 0; i < (modulus - 1) / n; i++) root = root * 3 % modulus;
    while (roots.size() < n) roots.push_back(roots.back() * root % modulus);
    files.write("in", in);
    for (int k = 0; k < n; k++) {
        u64 sum = 0;
        for (int i = 0; i < n; i++) sum += in[i] * roots[i * k % n] % modulus;
        out.push_back(u32(sum % modulus));
    }
    files.write("out", out);
}
