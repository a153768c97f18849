// nvcc: -arch=sm_90a
// A product of matrices by a warpgroup, whose factors lie in shared memory by rows of 128 bytes with swizzled pieces.
// While the products of one slice go on, the next one is copied to the other stage.

const unsigned ROWS = 64, COLUMNS = 64, DEPTH = 64;

struct alignas(1024) Stage {
    uint4 a[ROWS * DEPTH / 8], b[COLUMNS * DEPTH / 8];
};

static __device__ unsigned long long descriptor(const uint4 *tile, unsigned k) {
    unsigned long long address = (unsigned)__cvta_generic_to_shared(tile) + 2 * k;
    // Eight rows are 1024 bytes; the swizzle works on 128.
    return (address & 0x3ffff) >> 4 | 64ull << 32 | 1ull << 62;
}

// Rows of 64 halves, of which piece `p` of eight stands where piece `p ^ row % 8` would.
static __device__ void fill(uint4 *tile, const uint4 *from, unsigned pieces, unsigned slice) {
    for (unsigned i = threadIdx.x; i < ROWS * 8; i += blockDim.x)
        tile[i / 8 * 8 + (i % 8 ^ i / 8 % 8)] = from[i / 8 * pieces + slice * 8 + i % 8];
}

static __device__ void multiply(float (&d)[32], unsigned long long a, unsigned long long b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "%32, %33, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                   "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
                   "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),
                   "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),
                   "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                 : "l"(a), "l"(b));
}

// `c` is the product of `a` and the transpose of `b`; both have `depth` columns, a multiple of 64.
extern "C" __global__ void __launch_bounds__(128)
    wgmma_product(const uint4 *a, const uint4 *b, float *c, unsigned depth) {
    __shared__ Stage stage[2];
    const unsigned slices = depth / DEPTH, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    a += blockIdx.x * ROWS * depth / 8;
    b += blockIdx.y * COLUMNS * depth / 8;
    float d[32] = {};
    for (unsigned slice = 0; slice < slices; slice++) {
        Stage &now = stage[slice % 2];
        fill(now.a, a, depth / 8, slice);
        fill(now.b, b, depth / 8, slice);
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (unsigned k = 0; k < DEPTH; k += 16) multiply(d, descriptor(now.a, k), descriptor(now.b, k));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        // The products before these have read the other stage.
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        __syncthreads();
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    const unsigned row = blockIdx.x * ROWS + 16 * warp + lane / 4, columns = gridDim.y * COLUMNS;
    for (unsigned i = 0; i < 32; i++) {
        const unsigned column = blockIdx.y * COLUMNS + i / 4 * 8 + lane % 4 * 2 + i % 2;
        c[(row + i / 2 % 2 * 8) * columns + column] = d[i];
    }
}
