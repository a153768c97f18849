// Expected outputs of collatz.cu.
#include "inputs.hpp"
#include <algorithm>

int main(int argc, char **argv) {
    Files files(argc, argv, "collatz");
    std::vector<u16> steps(256);
    std::vector<u64> peaks(256);
    for (u32 i = 0; i < 256; i++)
        for (u64 n = 871 + i; peaks[i] = std::max(peaks[i], n), n != 1; steps[i]++) n = n % 2 ? 3 * n + 1 : n / 2;
    files.write("steps", steps);
    files.write("peaks", peaks);
}
