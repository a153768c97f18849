// The BLAKE2s compression function (RFC 7693) on one block a thread, state kept in registers by unrolling.
__constant__ unsigned char schedule[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};
__constant__ unsigned initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

__device__ __forceinline__ void mix(unsigned &a, unsigned &b, unsigned &c, unsigned &d, unsigned x, unsigned y) {
    a += b + x;
    d = __byte_perm(d ^ a, 0, 0x1032);
    c += d;
    b = __funnelshift_r(b ^ c, b ^ c, 12);
    a += b + y;
    d = __byte_perm(d ^ a, 0, 0x0321);
    c += d;
    b = __funnelshift_r(b ^ c, b ^ c, 7);
}

extern "C" __global__ void blake2s(const unsigned *blocks, const unsigned char *lengths, unsigned *hashes) {
    unsigned i = threadIdx.x;
    const unsigned *m = blocks + 16 * i;
    unsigned h[8], v[16];
#pragma unroll
    for (int j = 0; j < 8; j++) h[j] = v[j] = initial[j] ^ (j == 0 ? 0x01010020 : 0);
#pragma unroll
    for (int j = 0; j < 8; j++) v[j + 8] = initial[j];
    v[12] ^= lengths[i];
    v[14] = ~v[14];
#pragma unroll 1
    for (int round = 0; round < 10; round++) {
        const unsigned char *s = schedule[round];
#pragma unroll
        for (int j = 0; j < 4; j++) mix(v[j], v[j + 4], v[j + 8], v[j + 12], m[s[2 * j]], m[s[2 * j + 1]]);
#pragma unroll
        for (int j = 0; j < 4; j++)
            mix(v[j], v[(j + 1) % 4 + 4], v[(j + 2) % 4 + 8], v[(j + 3) % 4 + 12], m[s[2 * j + 8]], m[s[2 * j + 9]]);
    }
#pragma unroll
    for (int j = 0; j < 8; j++) hashes[8 * i + j] = h[j] ^ v[j] ^ v[j + 8];
}
