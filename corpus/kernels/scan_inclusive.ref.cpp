// Expected outputs of scan_inclusive.cu for two block sizes; elements past `n` stay zero.
#include "inputs.hpp"

static std::vector<u32> scan(const std::vector<u32> &in, std::size_t n, std::size_t block) {
    std::vector<u32> out(in.size());
    for (std::size_t i = 0; i < n; i++) out[i] = in[i] + (i % block ? out[i - 1] : 0);
    return out;
}

int main(int argc, char **argv) {
    Files files(argc, argv, "scan_inclusive");
    Rng rng(5);
    std::vector<u32> in = rng.words(1024);
    files.write("in", in);
    files.write("wide", scan(in, 1000, 256));
    files.write("narrow", scan(in, 777, 96));
}
