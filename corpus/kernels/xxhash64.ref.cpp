// Expected hashes of xxhash64.cu, after the algorithm description of xxHash; the primes are in binary
// there, in decimal here.
#include "inputs.hpp"
#include <bit>
#include <cstring>

static const u64 PRIME[6] = {0, 11400714785074694791ull, 14029467366897019727ull, 1609587929392839161ull,
                             9650029242287828579ull, 2870177450012600261ull};

static u64 mix(u64 accumulator, u64 lane) { return std::rotl(accumulator + lane * PRIME[2], 31) * PRIME[1]; }

template <class T> static T take(const u8 *&p) {
    T value;
    std::memcpy(&value, p, sizeof value);
    p += sizeof value;
    return value;
}

static u64 hash(const u8 *p, const u8 *end, u64 seed) {
    const u64 length = u64(end - p);
    u64 acc = seed + PRIME[5];
    if (length >= 32) {
        u64 lanes[4] = {seed + PRIME[1] + PRIME[2], seed + PRIME[2], seed, seed - PRIME[1]};
        while (end - p >= 32)
            for (u64 &lane : lanes) lane = mix(lane, take<u64>(p));
        const int turns[4] = {1, 7, 12, 18};
        acc = 0;
        for (int i = 0; i < 4; i++) acc += std::rotl(lanes[i], turns[i]);
        for (u64 lane : lanes) acc = (acc ^ mix(0, lane)) * PRIME[1] + PRIME[4];
    }
    acc += length;
    while (end - p >= 8) acc = std::rotl(acc ^ mix(0, take<u64>(p)), 27) * PRIME[1] + PRIME[4];
    if (end - p >= 4) acc = std::rotl(acc ^ (take<u32>(p) * PRIME[1]), 23) * PRIME[2] + PRIME[3];
    while (end != p) acc = std::rotl(acc ^ (take<u8>(p) * PRIME[5]), 11) * PRIME[1];
    acc = (acc ^ acc >> 33) * PRIME[2];
    acc = (acc ^ acc >> 29) * PRIME[3];
    return acc ^ acc >> 32;
}

int main(int argc, char **argv) {
    Files files(argc, argv, "xxhash64");
    Rng rng(21);
    std::vector<u32> offsets = {0};
    while (offsets.size() < 65) offsets.push_back(offsets.back() + rng.below(100));
    std::vector<u8> text = rng.bytes(offsets.back());
    std::vector<u64> hashes;
    files.write("text", text);
    files.write("offsets", offsets);
    for (int i = 0; i < 64; i++) hashes.push_back(hash(&text[0] + offsets[i], &text[0] + offsets[i + 1], 77));
    files.write("hashes", hashes);
}
