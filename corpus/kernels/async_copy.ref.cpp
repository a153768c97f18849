// Expected output of async_copy.cu.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "async_copy");
    Rng rng(54);
    const u32 chunks = 3, blocks = 2;
    std::vector<u32> in = rng.words(blocks * chunks * 448), out;
    files.write("in", in);
    for (u32 thread = 0; thread < blocks * 64; thread++) {
        u32 sum = 0;
        for (u32 k = 0; k < chunks * 7; k++) {
            u32 at = (thread % 64 * 7 + k % 7 * 13) % 448;
            bool dropped = at >= 384 && (at - 384) % 5 == 0;
            sum = sum * 5 + (dropped ? 0 : in[(thread / 64 * chunks + k / 7) * 448 + at]);
        }
        out.push_back(sum);
    }
    files.write("out", out);
}
