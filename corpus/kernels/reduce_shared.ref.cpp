// Expected outputs of reduce_shared.cu for a full input and for one that ends inside a block.
#include "inputs.hpp"
#include <numeric>

static std::vector<u32> partials(const std::vector<u32> &in, std::size_t n) {
    std::vector<u32> sums;
    for (std::size_t start = 0; start < in.size(); start += 512) {
        u32 sum = 0;
        for (std::size_t i = start; i < start + 512 && i < n; i++) sum += in[i];
        sums.push_back(sum);
    }
    return sums;
}

int main(int argc, char **argv) {
    Files files(argc, argv, "reduce_shared");
    Rng rng(2);
    std::vector<u32> in = rng.words(2048);
    files.write("in", in);
    files.write("full", partials(in, 2048));
    files.write("ragged", partials(in, 1333));
}
