// Expected outputs of monte_carlo.cu: one sequential PCG32 stream shared out to the threads.
#include "inputs.hpp"
#include <bit>

int main(int argc, char **argv) {
    Files files(argc, argv, "monte_carlo");
    const int threads = 192, rounds = 50;
    u64 state = 987654321;
    auto next = [&] {
        u64 old = state;
        state = old * 6364136223846793005ull + 1442695040888963407ull;
        return std::rotr(u32((old ^ old >> 18) >> 27), int(old >> 59));
    };
    std::vector<u32> hits(2), states;
    for (u32 t = 0; t < threads; t++) {
        u32 lfsr = 0x1234567 * (t + 1);
        for (int round = 0; round < rounds; round++) {
            u64 x = next() / 2, y = next() / 2;
            if (x * x + y * y < 0x4000000000000000) hits[0]++;
            bool out = lfsr & 1;
            lfsr /= 2;
            if (out) lfsr ^= 0xd0000001;
            if (out) hits[1]++;
        }
        states.push_back(lfsr ^ u32(state >> 32));
    }
    files.write("hits", hits);
    files.write("states", states);
}
