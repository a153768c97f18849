// Expected outputs of run_length.cu.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "run_length");
    Rng rng(79);
    std::vector<u8> in, symbols;
    std::vector<s32> lengths;
    while (in.size() < 250) in.insert(in.end(), 1 + rng.below(8) * rng.below(4), u8('a' + rng.below(3)));
    in.resize(250);
    files.write("in", in);
    for (u8 byte : in) {
        if (symbols.empty() || symbols.back() != byte) {
            symbols.push_back(byte);
            lengths.push_back(0);
        }
        lengths.back()++;
    }
    files.write("runs", std::vector<s32>{s32(symbols.size())});
    symbols.resize(256);
    lengths.resize(256);
    files.write("symbols", symbols);
    files.write("lengths", lengths);
}
