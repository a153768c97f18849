// Local arrays indexed by data: a permutation composed with itself, a counting sort of nibbles, and a
// small stack machine that reverses bracketed groups.
extern "C" __global__ void local_array(const unsigned char *in, unsigned char *out, unsigned *sums) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned char *mine = in + 16 * t;
    unsigned char permutation[16], next[16];
    for (int i = 0; i < 16; i++) permutation[i] = i;
    for (int i = 0; i < 16; i++) {
        int other = mine[i] % 16;
        unsigned char keep = permutation[i];
        permutation[i] = permutation[other];
        permutation[other] = keep;
    }
    for (int i = 0; i < 16; i++) next[i] = permutation[permutation[i]];
    int counts[16] = {};
    for (int i = 0; i < 16; i++) counts[mine[i] >> 4]++;
    unsigned sum = 0;
    for (int value = 0, rank = 0; value < 16; value++)
        for (int k = 0; k < counts[value]; k++) sum += value * ++rank;
    unsigned stack[8], depth = 0;
    for (int i = 0; i < 16; i++) {
        if (depth < 8 && (mine[i] & 3))
            stack[depth++] = mine[i] * next[i];
        else if (depth > 0)
            sum = sum * 31 + stack[--depth];
    }
    while (depth > 0) sum = sum * 33 + stack[--depth];
    for (int i = 0; i < 16; i++) out[16 * t + i] = next[i];
    sums[t] = sum;
}
