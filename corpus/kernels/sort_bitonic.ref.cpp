// Expected output of sort_bitonic.cu.
#include "inputs.hpp"
#include <algorithm>

int main(int argc, char **argv) {
    Files files(argc, argv, "sort_bitonic");
    Rng rng(14);
    std::vector<s32> keys = rng.fill<s32>(1024, [&] { return rng.next32(); });
    for (int i = 0; i < 40; i++) keys[rng.below(1024)] = keys[rng.below(1024)];
    files.write("keys", keys);
    std::sort(keys.begin(), keys.begin() + 512);
    std::sort(keys.begin() + 512, keys.end());
    files.write("sorted", keys);
}
