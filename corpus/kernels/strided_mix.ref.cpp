// Expected output of strided_mix.cu: columns first, then the sums.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "strided_mix");
    Rng rng(4057);
    const int n = 12, stride = 70, threads = 64;
    const std::vector<u64> values = rng.longs(n * stride);
    std::vector<u64> out;
    files.write("values", values);
    for (int t = 0; t < threads; t++) {
        std::vector<u64> column;
        for (int i = 0; i < n; i++) column.push_back(values[i * stride + t] ^ u64(i * stride));
        u64 sum = u64(t);
        for (u64 x : column) {
            const u32 half = u32(x) ^ u32(x / 4294967296);
            sum += u64(half / 32 ^ 3u);
            sum += u64(half / 16384 ^ 88u);
        }
        out.push_back(sum);
    }
    files.write("out", out);
}
