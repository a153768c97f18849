// Expected outputs of scan_lookback.cu.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "scan_lookback");
    Rng rng(78);
    std::vector<u32> in = rng.words(7 * 128), out;
    std::vector<u64> states;
    files.write("in", in);
    u32 sum = 0;
    for (u32 v : in) {
        out.push_back(sum += v);
        if (out.size() % 128 == 0) states.push_back(2ull << 32 | sum);
    }
    files.write("out", out);
    files.write("states", states);
}
