// Expected output of mbarrier_pipeline.cu.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "mbarrier_pipeline");
    Rng rng(92);
    const u32 blocks = 3, tiles = 7;
    std::vector<u32> in = rng.fill<u32>(blocks * tiles * 96, [&] { return u32(rng.next64()); }), out;
    for (u32 block = 0; block < blocks; block++)
        for (u32 t = 32; t < 128; t++) {
            u32 hash = t;
            for (u32 tile = 0; tile < tiles; tile++)
                hash = hash * 31 + in[(block * tiles + tile) * 96 + (t * 7 + tile) % 96];
            out.push_back(hash);
        }
    files.write("in", in);
    files.write("out", out);
}
