// Expected output of crc32.cu: polynomial division, a bit at a time, in the unreflected representation.
#include "inputs.hpp"

static u32 reverse(u32 x) {
    u32 r = 0;
    for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i);
    return r;
}

static u32 crc32(const u8 *data, u32 length) {
    u32 remainder = ~0u;
    for (u32 i = 0; i < length * 8; i++) {
        bool out = (remainder >> 31) ^ (data[i / 8] >> (i % 8) & 1);
        remainder = remainder << 1 ^ (out ? 0x04c11db7 : 0);
    }
    return ~reverse(remainder);
}

int main(int argc, char **argv) {
    Files files(argc, argv, "crc32");
    Rng rng(19);
    std::vector<u32> offsets = {0}, crcs;
    while (offsets.size() < 101) offsets.push_back(offsets.back() + rng.below(40));
    std::vector<u8> data = rng.bytes(offsets.back());
    files.write("data", data);
    files.write("offsets", offsets);
    for (int i = 0; i < 100; i++) crcs.push_back(crc32(data.data() + offsets[i], offsets[i + 1] - offsets[i]));
    files.write("crcs", crcs);
}
