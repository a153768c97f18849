// Expected output of row_gather.ptx: a polynomial in 31 for each row, as a sum of powers.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "row_gather");
    Rng rng(5303);
    const int rows = 64, pitch = 37, n = 21;
    const std::vector<u32> values = rng.words(rows * pitch);
    const std::vector<u64> columns = rng.fill<u64>(n, [&] { return rng.below(pitch); });
    files.write("rows", values);
    files.write("columns", columns);
    u64 powers[n + 1] = {1};
    for (int i = 0; i < n; i++) powers[i + 1] = powers[i] * 31;
    std::vector<u64> out;
    for (int row = 0; row < rows; row++) {
        u64 sum = u64(row) * powers[n];
        for (int i = 0; i < n; i++) sum += u64(values[row * pitch + int(columns[i])]) * powers[n - 1 - i];
        out.push_back(sum);
    }
    files.write("out", out);
}
