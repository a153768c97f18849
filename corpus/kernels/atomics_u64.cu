// 64-bit atomics in global and shared memory, in forms whose result is used and forms where it is not.
typedef unsigned long long u64;

extern "C" __global__ void atomics_u64(const u64 *in, u64 *cells, unsigned *flags) {
    __shared__ u64 sum, bits;
    u64 v = in[blockIdx.x * blockDim.x + threadIdx.x];
    if (threadIdx.x == 0) sum = bits = 0;
    __syncthreads();
    atomicAdd(&sum, v);
    atomicXor(&bits, v * v);
    atomicMin(&cells[0], v);
    atomicMax(&cells[1], v);
    atomicMin((long long *)&cells[2], (long long)v);
    atomicMax((long long *)&cells[3], (long long)v);
    atomicAnd(&cells[4], v | 0xf0f0f0f0f0f0f0f0);
    atomicOr(&cells[5], v & 0x1248124812481248);
    u64 ticket = atomicAdd(&cells[6], 0x100000000ull);
    atomicOr(&flags[ticket >> 37], 1u << (ticket >> 32 & 31));
    // Exactly one thread finds the cell empty.
    if (atomicCAS(&cells[7], 0ull, 42ull) == 0) atomicAdd(&cells[8], 1ull);
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&cells[9], sum);
        atomicXor(&cells[10], bits);
        atomicAdd(&cells[11], atomicExch(&cells[12], 0ull));
    }
}
