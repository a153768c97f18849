// Expected output of leader_rounds.cu: one block after the other, all threads of it in step.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "leader_rounds");
    Rng rng(90173);
    const u32 blocks = 3, threads = 64, mask = 0x1c;
    const std::vector<u32> values = rng.words(blocks * threads);
    std::vector<u32> out;
    files.write("values", values);
    for (u32 block = 0; block < blocks; block++) {
        std::vector<u32> own(values.begin() + block * threads, values.begin() + (block + 1) * threads);
        u32 rounds = 0;
        for (bool more = true; more;) {
            const u32 leader = own[rounds % threads];
            for (u32 &value : own) value = 5 * value + (leader ^ leader / 8);
            rounds++;
            more = leader & mask;
        }
        for (u32 value : own) out.push_back(value + rounds);
    }
    files.write("out", out);
}
