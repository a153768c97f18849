// Expected digests of md5.cu after RFC 1321; the table comes from its definition, floor(2^32 |sin i|).
#include "inputs.hpp"
#include <bit>
#include <cmath>

static std::vector<u32> digest(std::vector<u8> m) {
    u64 bits = m.size() * 8;
    m.push_back(0x80);
    m.resize(56);
    for (int i = 0; i < 8; i++) m.push_back(u8(bits >> 8 * i));
    const int s[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    const int start[4] = {0, 1, 5, 0}, stride[4] = {1, 5, 3, 7};
    std::vector<u32> state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}, v = state;
    for (int i = 0; i < 64; i++) {
        int round = i / 16, k = (start[round] + stride[round] * i) % 16;
        // The four state words take the role `a` in turn.
        u32 &a = v[(64 - i) % 4], b = v[(65 - i) % 4], c = v[(66 - i) % 4], d = v[(67 - i) % 4];
        u32 f = round == 0 ? d ^ (b & (c ^ d)) : round == 1 ? c ^ (d & (b ^ c)) : round == 2 ? b ^ c ^ d : c ^ (b | ~d);
        u32 x = m[4 * k] + 256u * m[4 * k + 1] + 65536u * m[4 * k + 2] + 16777216u * m[4 * k + 3];
        a = b + std::rotl(a + f + x + u32(s64(std::fabs(std::sin(i + 1.0)) * 0x1p32)), s[round][i % 4]);
    }
    for (int i = 0; i < 4; i++) state[i] += v[i];
    return state;
}

int main(int argc, char **argv) {
    Files files(argc, argv, "md5");
    Rng rng(20);
    std::vector<u8> data = rng.bytes(40 * 55), lengths = rng.fill<u8>(40, [&] { return rng.below(56); });
    lengths[0] = 0;
    lengths[1] = 55;
    std::vector<u32> digests;
    files.write("data", data);
    files.write("lengths", lengths);
    for (int i = 0; i < 40; i++)
        for (u32 word : digest({&data[i * 55], &data[i * 55] + lengths[i]})) digests.push_back(word);
    files.write("digests", digests);
}
