// Expected output of two_passes.cu: one column after the other, both statistics in one pass.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "two_passes");
    Rng rng(611);
    const u32 rows = 24, columns = 64;
    const std::vector<u32> values = rng.words(rows * columns), weights = rng.words(rows * columns);
    std::vector<u32> out;
    files.write("values", values);
    files.write("weights", weights);
    for (u32 column = 0; column < columns; column++) {
        u32 sum = 0, mixed = column;
        for (u32 at = column; at < rows * columns; at += columns) {
            sum += values[at];
            mixed ^= weights[at];
            mixed *= 16777619;
        }
        out.push_back(sum);
        out.push_back(mixed);
    }
    files.write("out", out);
}
