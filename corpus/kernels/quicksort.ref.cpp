// Expected output of quicksort.cu.
#include "inputs.hpp"
#include <algorithm>

int main(int argc, char **argv) {
    Files files(argc, argv, "quicksort");
    Rng rng(39);
    std::vector<s32> rows = rng.fill<s32>(48 * 40, [&] { return s32(rng.next32()) >> rng.below(28); });
    files.write("in", rows);
    for (auto row = rows.begin(); row != rows.end(); row += 40) std::sort(row, row + 40);
    files.write("out", rows);
}
