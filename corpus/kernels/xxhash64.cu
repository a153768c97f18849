// xxHash64 of strings of mixed length, eight bytes at a time through byte loads where unaligned.
#define P1 0x9e3779b185ebca87ull
#define P2 0xc2b2ae3d27d4eb4full
#define P3 0x165667b19e3779f9ull
#define P4 0x85ebca77c2b2ae63ull
#define P5 0x27d4eb2f165667c5ull
typedef unsigned long long u64;

__device__ __forceinline__ u64 rotate(u64 x, int n) { return x << n | x >> (64 - n); }
__device__ __forceinline__ u64 round1(u64 lane, u64 input) { return rotate(lane + input * P2, 31) * P1; }

__device__ u64 load(const unsigned char *p, int bytes) {
    u64 value = 0;
    for (int i = 0; i < bytes; i++) value |= (u64)p[i] << (8 * i);
    return value;
}

extern "C" __global__ void xxhash64(const unsigned char *text, const unsigned *offsets, u64 *hashes, u64 seed) {
    unsigned i = threadIdx.x;
    const unsigned char *p = text + offsets[i], *end = text + offsets[i + 1];
    u64 length = end - p, hash = seed + P5;
    if (length >= 32) {
        u64 a = seed + P1 + P2, b = seed + P2, c = seed, d = seed - P1;
        for (; p + 32 <= end; p += 32) {
            a = round1(a, load(p, 8));
            b = round1(b, load(p + 8, 8));
            c = round1(c, load(p + 16, 8));
            d = round1(d, load(p + 24, 8));
        }
        hash = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
        hash = (hash ^ round1(0, a)) * P1 + P4;
        hash = (hash ^ round1(0, b)) * P1 + P4;
        hash = (hash ^ round1(0, c)) * P1 + P4;
        hash = (hash ^ round1(0, d)) * P1 + P4;
    }
    hash += length;
    for (; p + 8 <= end; p += 8) hash = rotate(hash ^ round1(0, load(p, 8)), 27) * P1 + P4;
    if (p + 4 <= end) {
        hash = rotate(hash ^ load(p, 4) * P1, 23) * P2 + P3;
        p += 4;
    }
    for (; p < end; p++) hash = rotate(hash ^ *p * P5, 11) * P1;
    hash = (hash ^ hash >> 33) * P2;
    hash = (hash ^ hash >> 29) * P3;
    hashes[i] = hash ^ hash >> 32;
}
