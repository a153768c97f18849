// Expected output of histogram.cu.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "histogram");
    Rng rng(17);
    std::vector<u8> data = rng.fill<u8>(3000, [&] { return rng.below(200) * rng.below(200) / 156; });
    std::vector<u32> bins(256);
    files.write("data", data);
    for (int i = 0; i < 2950; i++) bins[data[i]]++;
    files.write("bins", bins);
}
