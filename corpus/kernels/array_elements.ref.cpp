// Expected output of array_elements.ptx.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "array_elements");
    Rng rng(97);
    const int n = 64;
    const u32 weights[8] = {3, 5, 7, 11, 13, 17, 19, 23}, numbers[8] = {1, 2, 30, 40, 500, 600, 7000, 8000};
    std::vector<u32> in = rng.words(n), out;
    files.write("in", in);
    for (int t = 0; t < n; t++) {
        const u32 weight = weights[in[t] % 8], other = in[n - 1 - t] ^ in[5];
        const u32 second = numbers[t % 4 + 2] + other;
        const u64 both = u64(second) << 32 | weight, total = u64(weight) * second + both;
        const u32 row[8] = {u32(both), u32(both >> 32), u32(total >> 32), u32(total),
                            weight * t + second, numbers[t % 4 + 1], weight + second, 0};
        out.insert(out.end(), row, row + 8);
    }
    files.write("out", out);
}
