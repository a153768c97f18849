// Expected outputs of multicast_sum.ptx.
#include "narrow.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "multicast_sum");
    Rng rng(97);
    // Of each replica: a word a thread, and a cell with three words that nothing touches.
    const u32 threads = 128, replicas = 3, words = threads + 4;
    std::vector<u32> memory = rng.words(replicas * words), out;
    files.write("replicas", memory);
    u32 total = 0;
    for (u32 t = 0; t < threads; t++) {
        u32 sum = 0;
        for (u32 r = 0; r < replicas; r++) sum += memory[r * words + t];
        out.insert(out.end(), {memory[t], sum});
        for (u32 r = 0; r < replicas; r++) memory[r * words + t] = sum;
        total += sum;
    }
    for (u32 r = 0; r < replicas; r++) memory[r * words + threads] += total;
    files.write("replicas.expect", memory);
    files.write("out", out);
}
