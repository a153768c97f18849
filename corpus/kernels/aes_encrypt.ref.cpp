// Expected output of aes_encrypt.cu: AES-128 after FIPS 197 on a byte matrix, the S-box computed as an
// inverse in GF(2^8) and an affine map. The program checks itself on the standard's own example first.
#include "inputs.hpp"
#include <algorithm>
#include <array>
#include <bit>

using Block = std::array<u8, 16>;

static u8 times(u8 a, u8 b) {
    u8 product = 0;
    for (; b; b >>= 1, a = u8(a << 1 ^ (a >> 7) * 0x1b))
        if (b & 1) product ^= a;
    return product;
}

static u8 sbox(u8 x) {
    u8 inverse = 1;
    for (int i = 0; i < 254; i++) inverse = times(inverse, x);
    u8 result = 0x63;
    for (int turn = 0; turn < 5; turn++) result ^= std::rotl(inverse, turn);
    return result;
}

static Block encrypt(Block state, const Block &key, const std::array<u8, 256> &s) {
    std::vector<u8> keys(key.begin(), key.end());
    u8 constant = 1;
    while (keys.size() < 176) {
        std::array<u8, 4> word;
        std::copy(keys.end() - 4, keys.end(), word.begin());
        if (keys.size() % 16 == 0) {
            std::rotate(word.begin(), word.begin() + 1, word.end());
            for (u8 &byte : word) byte = s[byte];
            word[0] ^= constant;
            constant = times(constant, 2);
        }
        for (u8 byte : word) keys.push_back(keys[keys.size() - 16] ^ byte);
    }
    for (int i = 0; i < 16; i++) state[i] ^= keys[i];
    for (int round = 1; round <= 10; round++) {
        Block shifted;
        for (int i = 0; i < 16; i++) shifted[i] = s[state[(i + 4 * (i % 4)) % 16]];
        for (int i = 0; i < 16; i++) {
            auto row = [&](int k) { return shifted[i / 4 * 4 + (i + k) % 4]; };
            u8 mixed = u8(times(row(0), 2) ^ times(row(1), 3) ^ row(2) ^ row(3));
            state[i] = (round < 10 ? mixed : shifted[i]) ^ keys[16 * round + i];
        }
    }
    return state;
}

int main(int argc, char **argv) {
    Files files(argc, argv, "aes_encrypt");
    Rng rng(42);
    std::array<u8, 256> s;
    for (int i = 0; i < 256; i++) s[i] = sbox(u8(i));
    Block text, key;
    for (int i = 0; i < 16; i++) text[i] = u8(i * 0x11), key[i] = u8(i);
    if (encrypt(text, key, s)[0] != 0x69 || encrypt(text, key, s)[15] != 0x5a) return 1;
    std::vector<u8> plain = rng.bytes(64 * 16), cipher, key_bytes = rng.bytes(16);
    std::copy(key_bytes.begin(), key_bytes.end(), key.begin());
    files.write("plain", plain);
    files.write("key", key_bytes);
    for (std::size_t i = 0; i < plain.size(); i += 16) {
        std::copy_n(plain.begin() + i, 16, text.begin());
        for (u8 byte : encrypt(text, key, s)) cipher.push_back(byte);
    }
    files.write("cipher", cipher);
}
