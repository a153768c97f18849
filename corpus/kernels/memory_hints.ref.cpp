// Expected outputs of memory_hints.ptx: no hint changes a value.
#include "inputs.hpp"
#include <cstring>

int main(int argc, char **argv) {
    Files files(argc, argv, "memory_hints");
    Rng rng(70);
    const u32 n = 32;
    std::vector<u8> in = rng.bytes(64 * n), out(96 * n);
    std::vector<u32> scratch;
    files.write("in", in);
    for (u32 t = 0; t < n; t++) {
        const u8 *from = &in[64 * t];
        u8 *to = &out[96 * t];
        std::memcpy(to, from, 64);
        const s32 sum = s8(from[1]) + from[2] + s16(from[6] | from[7] << 8);
        std::memcpy(to + 64, &sum, 4);
        for (int i = 0; i < 4; i++) to[68 + i] = from[43 - i];
        std::memcpy(to + 72, from + 46, 2);
        std::memcpy(to + 74, from + 44, 2);
        to[76] = from[3];
        to[77] = in[0];
        std::memcpy(to + 78, from + 6, 2);
        std::memcpy(to + 80, from + 8, 4);
        std::memset(to + 84, from[11] >> 7 ? 255 : 0, 4);
        u32 first;
        std::memcpy(&first, from, 4);
        for (u32 i = 0; i < 8; i++) scratch.insert(scratch.end(), {i + t, first, i, t});
        std::memcpy(to + 88, &scratch[scratch.size() - 4], 8);
    }
    files.write("out", out);
    files.write("scratch", scratch);
}
