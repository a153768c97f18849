// Expected hashes of blake2s.cu: BLAKE2s-256 without a key, after RFC 7693.
#include "inputs.hpp"
#include <bit>

static const u8 SIGMA[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};
static const u32 IV[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
static const int COLUMNS[8][4] = {{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15},
                                  {0, 5, 10, 15}, {1, 6, 11, 12}, {2, 7, 8, 13}, {3, 4, 9, 14}};

static void hash(const u32 *m, u32 length, std::vector<u32> &out) {
    u32 h[8], v[16];
    for (int i = 0; i < 8; i++) h[i] = IV[i];
    h[0] ^= 0x01010000 ^ 32;
    for (int i = 0; i < 16; i++) v[i] = i < 8 ? h[i] : IV[i - 8];
    v[12] ^= length;
    v[14] ^= ~0u;
    for (int step = 0; step < 80; step++) {
        const int *at = COLUMNS[step % 8];
        u32 &a = v[at[0]], &b = v[at[1]], &c = v[at[2]], &d = v[at[3]];
        const int turns[2][2] = {{16, 12}, {8, 7}};
        for (int half = 0; half < 2; half++) {
            a += b + m[SIGMA[step / 8][step % 8 * 2 + half]];
            d = std::rotr(d ^ a, turns[half][0]);
            c += d;
            b = std::rotr(b ^ c, turns[half][1]);
        }
    }
    for (int i = 0; i < 8; i++) out.push_back(h[i] ^ v[i] ^ v[i + 8]);
}

int main(int argc, char **argv) {
    Files files(argc, argv, "blake2s");
    Rng rng(22);
    std::vector<u8> lengths = rng.fill<u8>(32, [&] { return rng.below(65); }), bytes = rng.bytes(32 * 64);
    std::vector<u32> blocks, hashes;
    for (int i = 0; i < 32 * 64; i += 4) {
        u32 word = 0;
        for (int j = 0; j < 4; j++) word |= u32(i % 64 + j < lengths[i / 64] ? bytes[i + j] : 0) << 8 * j;
        blocks.push_back(word);
    }
    files.write("blocks", blocks);
    files.write("lengths", lengths);
    for (int i = 0; i < 32; i++) hash(&blocks[16 * i], lengths[i], hashes);
    files.write("hashes", hashes);
}
