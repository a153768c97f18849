// Expected output of unoptimized_templates.cu, by the standard library's scans.
#include "inputs.hpp"
#include <algorithm>
#include <numeric>

int main(int argc, char **argv) {
    Files files(argc, argv, "unoptimized_templates");
    Rng rng(97);
    std::vector<u32> in = rng.words(6 * 64), out;
    for (u32 value : in) out.push_back(value % 1000);
    for (auto row = out.begin(); row != out.end(); row += 6) {
        std::inclusive_scan(row, row + 6, row, [](u32 a, u32 b) { return (a + b) % 997; }, 0u);
        std::inclusive_scan(row, row + 6, row, [](u32 a, u32 b) { return std::max(a, b); });
    }
    files.write("in", in);
    files.write("out", out);
}
