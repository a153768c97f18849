// Expected outputs of sort_rank.cu.
#include "inputs.hpp"
#include <algorithm>
#include <numeric>

int main(int argc, char **argv) {
    Files files(argc, argv, "sort_rank");
    Rng rng(15);
    std::vector<s16> keys = rng.fill<s16>(250, [&] { return s16(rng.below(160)) - 80; }), sorted;
    std::vector<u16> origin(250);
    files.write("keys", keys);
    std::iota(origin.begin(), origin.end(), 0);
    std::stable_sort(origin.begin(), origin.end(), [&](u16 a, u16 b) { return keys[a] < keys[b]; });
    for (u16 i : origin) sorted.push_back(keys[i]);
    files.write("sorted", sorted);
    files.write("origin", origin);
}
