// Expected digests of sha256.cu, by SHA-256 as FIPS 180-4 words it; the constants are computed from
// the fractional parts of cube and square roots of primes instead of being copied.
#include "inputs.hpp"
#include <bit>
#include <cmath>
#include <cstring>

static std::vector<int> primes(std::size_t count) {
    std::vector<int> found;
    for (int n = 2; found.size() < count; n++) {
        bool prime = true;
        for (int p : found) prime &= n % p != 0;
        if (prime) found.push_back(n);
    }
    return found;
}

static u32 fraction(long double root) { return u32((root - std::floor(root)) * 0x1p32L); }

static std::vector<u8> digest(std::vector<u8> message) {
    u64 bits = message.size() * 8;
    message.push_back(0x80);
    while (message.size() % 64 != 56) message.push_back(0);
    for (int shift = 56; shift >= 0; shift -= 8) message.push_back(u8(bits >> shift));
    u32 hash[8], k[64], w[64];
    std::vector<int> p = primes(64);
    for (int i = 0; i < 64; i++) k[i] = fraction(std::cbrt((long double)p[i]));
    for (int i = 0; i < 8; i++) hash[i] = fraction(std::sqrt((long double)p[i]));
    for (std::size_t block = 0; block < message.size(); block += 64) {
        for (int t = 0; t < 64; t++) {
            const u8 *m = &message[block + t % 16 * 4];
            auto r = [&](u32 x, int a, int b, int s) { return std::rotr(x, a) ^ std::rotr(x, b) ^ x >> s; };
            w[t] = t < 16 ? u32(m[0]) << 24 | m[1] << 16 | m[2] << 8 | m[3]
                          : r(w[t - 2], 17, 19, 10) + w[t - 7] + r(w[t - 15], 7, 18, 3) + w[t - 16];
        }
        u32 v[8];
        std::memcpy(v, hash, sizeof v);
        for (int t = 0; t < 64; t++) {
            u32 s1 = std::rotr(v[4], 6) ^ std::rotr(v[4], 11) ^ std::rotr(v[4], 25);
            u32 s0 = std::rotr(v[0], 2) ^ std::rotr(v[0], 13) ^ std::rotr(v[0], 22);
            u32 t1 = v[7] + s1 + ((v[4] & v[5]) | (~v[4] & v[6])) + k[t] + w[t];
            u32 t2 = s0 + ((v[0] & v[1]) | (v[2] & (v[0] | v[1])));
            std::memmove(v + 1, v, 7 * sizeof *v);
            v[4] += t1;
            v[0] = t1 + t2;
        }
        for (int i = 0; i < 8; i++) hash[i] += v[i];
    }
    std::vector<u8> bytes;
    for (u32 word : hash)
        for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(u8(word >> shift));
    return bytes;
}

int main(int argc, char **argv) {
    Files files(argc, argv, "sha256");
    Rng rng(18);
    std::vector<u8> messages = rng.bytes(32 * 64), digests;
    files.write("messages", messages);
    for (auto m = messages.begin(); m != messages.end(); m += 64)
        for (u8 byte : digest(std::vector<u8>(m, m + 64))) digests.push_back(byte);
    files.write("digests", digests);
}
