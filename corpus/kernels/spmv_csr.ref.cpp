// Expected outputs of spmv_csr.cu, in the order of additions that each version has.
#include "inputs.hpp"
#include <cmath>

int main(int argc, char **argv) {
    Files files(argc, argv, "spmv_csr");
    Rng rng(49);
    const int rows = 90, width = 120;
    std::vector<s32> starts = {0}, columns;
    for (int row = 0; row < rows; row++) {
        for (int column = 0; column < width; column++)
            if (rng.below(100) < u32(row)) columns.push_back(column);
        starts.push_back(s32(columns.size()));
    }
    std::vector<float> values = rng.reals(columns.size(), -3, 3), x = rng.reals(width, -5, 5), by_thread, by_warp;
    files.write("starts", starts);
    files.write("columns", columns);
    files.write("values", values);
    files.write("x", x);
    for (int row = 0; row < rows; row++) {
        float sum = 0, lanes[32] = {};
        for (int k = starts[row]; k < starts[row + 1]; k++) {
            float &lane = lanes[(k - starts[row]) % 32];
            sum = std::fma(values[k], x[columns[k]], sum);
            lane = std::fma(values[k], x[columns[k]], lane);
        }
        for (int offset = 16; offset > 0; offset /= 2)
            for (int lane = 0; lane < offset; lane++) lanes[lane] += lanes[lane + offset];
        by_thread.push_back(sum);
        by_warp.push_back(lanes[0]);
    }
    files.write("by_thread", by_thread);
    files.write("by_warp", by_warp);
}
