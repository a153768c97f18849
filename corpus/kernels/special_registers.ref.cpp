// Expected output of special_registers.ptx.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "special_registers");
    const u32 threads = 5 * 3 * 4, blocks = 2 * 3 * 2;
    std::vector<u32> out;
    for (u32 i = 0; i < blocks * threads; i++) {
        const u32 block = i / threads, thread = i % threads, lane = thread % 32;
        const u32 lower = (1u << lane) - 1, higher = lane == 31 ? 0 : ~0u << (lane + 1);
        out.insert(out.end(), {lane, 1u << lane, lower, higher, 32, 4 * threads, 100, block % 2 * 100 + 2, 0,
                               block * threads + threads - 1 - thread, 1, thread % 5 + (3u << 16)});
    }
    files.write("out", out);
}
