// Expected outputs of reduce_last_block.cu.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "reduce_last_block");
    Rng rng(4);
    std::vector<u32> in = rng.words(10 * 128), partial(10), sum(1);
    files.write("in", in);
    for (std::size_t i = 0; i < in.size(); i++) {
        partial[i / 128] += in[i];
        sum[0] += in[i];
    }
    files.write("partial", partial);
    files.write("sum", sum);
}
