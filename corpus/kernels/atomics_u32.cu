// 32-bit atomics whose final values do not depend on the order: all threads on a few cells, in shared
// and in global memory; a ticket counter whose tickets are all different; a wrapping counter.
extern "C" __global__ void atomics_u32(const unsigned *in, unsigned *cells, unsigned *seen, int n) {
    __shared__ unsigned local[8];
    __shared__ int signed_local[2];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 8) local[threadIdx.x] = threadIdx.x == 2 || threadIdx.x == 4 ? ~0u : 0;
    if (threadIdx.x == 0) signed_local[0] = 1 << 30, signed_local[1] = -(1 << 30);
    __syncthreads();
    if (i < n) {
        unsigned v = in[i];
        atomicAdd(&local[0], v);
        atomicSub(&local[1], v >> 1);
        atomicMin(&local[2], v);
        atomicMax(&local[3], v);
        atomicAnd(&local[4], v | 0xff00ff00);
        atomicOr(&local[5], v & 0x00ffff00);
        atomicXor(&local[6], v);
        atomicInc(&local[7], 12);
        atomicMin(&signed_local[0], (int)v);
        atomicMax(&signed_local[1], (int)v);
        unsigned ticket = atomicAdd(&cells[11], 1);
        seen[ticket] = 1;
        atomicDec(&cells[12], 7);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&cells[0], local[0]);
        atomicAdd(&cells[1], local[1]);
        atomicMin(&cells[2], local[2]);
        atomicMax(&cells[3], local[3]);
        atomicAnd(&cells[4], local[4]);
        atomicOr(&cells[5], local[5]);
        atomicXor(&cells[6], local[6]);
        atomicAdd(&cells[7], local[7]);
        atomicMin((int *)&cells[8], signed_local[0]);
        atomicMax((int *)&cells[9], signed_local[1]);
        unsigned old = atomicExch(&cells[10], 77);
        if (old != 0 && old != 77) cells[0] = 0;
    }
}
