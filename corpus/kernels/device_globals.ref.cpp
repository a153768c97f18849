// Expected outputs of device_globals.cu.
#include "inputs.hpp"
#include <string>

int main(int argc, char **argv) {
    Files files(argc, argv, "device_globals");
    const int n = 64;
    const std::string names[4] = {"add", "multiply", "", "shift right"};
    const double factors[4] = {3 * 0.5, -7 * 1.25, 100 * -2.0, 11 * 1e3};
    const float weights[8] = {1.5f, -2.25f, 3.0f};
    const s64 offsets[6] = {-3, 0, 7, 9, -32768, 32767}, pattern[5] = {1, 2, 250};
    s64 counters[4] = {5, 20, 300, -1};
    std::vector<s32> lengths;
    std::vector<double> products;
    std::vector<s64> out;
    for (int t = 0; t < n; t++) counters[t % 4] += t;
    for (int t = 0; t < n; t++) {
        const std::string &name = names[t % 4];
        lengths.push_back(s32(name.size()) * 1000 + (name.empty() ? 0 : name[0]));
        products.push_back(factors[t % 4] + weights[t % 8]);
        out.push_back(counters[t % 4] + offsets[t % 6] * 1000 + pattern[t % 5] + (-0x123456789abcdefll >> t % 16));
    }
    files.write("lengths", lengths);
    files.write("products", products);
    files.write("out", out);
}
