// Expected outputs of reduce_warp.cu.
#include "inputs.hpp"
#include <algorithm>
#include <numeric>

int main(int argc, char **argv) {
    Files files(argc, argv, "reduce_warp");
    Rng rng(3);
    std::vector<s32> in = rng.fill<s32>(1024, [&] { return rng.next32(); }), low, high;
    std::vector<s64> sum;
    files.write("in", in);
    for (auto block = in.begin(); block != in.end(); block += 256) {
        low.push_back(*std::min_element(block, block + 256));
        high.push_back(*std::max_element(block, block + 256));
        sum.push_back(std::accumulate(block, block + 256, s64(0)));
    }
    files.write("low", low);
    files.write("high", high);
    files.write("sum", sum);
}
