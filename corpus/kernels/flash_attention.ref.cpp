// Expected output of flash_attention.cu: weights exp(q k / 4) over their sum, times the values, in double precision. The
// kernel rounds its weights to 16 bits.
#include <cmath>

#include "narrow.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "flash_attention");
    Rng rng(101);
    const u32 queries = 64, keys = 48, width = 16;
    auto number = [&] { return Half::round(rng.real(-2, 2)); };
    std::vector<u16> q = rng.fill<u16>(queries * width, number), k = rng.fill<u16>(keys * width, number);
    std::vector<u16> v = rng.fill<u16>(keys * width, number);
    std::vector<float> out;
    for (u32 row = 0; row < queries; row++) {
        std::vector<double> result(width, 0);
        double sum = 0;
        for (u32 key = 0; key < keys; key++) {
            double score = 0;
            for (u32 i = 0; i < width; i++) score += Half::widen(q[row * width + i]) * Half::widen(k[key * width + i]);
            double weight = std::exp(score / 4);
            sum += weight;
            for (u32 i = 0; i < width; i++) result[i] += weight * Half::widen(v[key * width + i]);
        }
        for (double value : result) out.push_back(float(value / sum));
    }
    files.write("q", q);
    files.write("k", k);
    files.write("v", v);
    files.write("out", out);
}
