// Expected outputs of scan_exclusive.cu.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "scan_exclusive");
    Rng rng(6);
    std::vector<u64> in = rng.longs(768), out, totals;
    files.write("in", in);
    for (std::size_t block = 0; block < in.size(); block += 256) {
        u64 sum = 0;
        for (std::size_t i = block; i < block + 256; i++) {
            out.push_back(sum);
            sum += in[i];
        }
        totals.push_back(sum);
    }
    files.write("out", out);
    files.write("totals", totals);
}
