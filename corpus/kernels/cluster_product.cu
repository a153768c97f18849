// A product of matrices whose factors are copied in bulk, a slice ahead of the one that is multiplied. The two blocks of
// a cluster have different rows of the left factor, and the same columns of the right one, which the first block has
// copied to both. Barriers in memory say when a stage is full in a block, and when it is empty in both.

static __device__ unsigned place(const void *shared) { return (unsigned)__cvta_generic_to_shared(shared); }

static __device__ unsigned in_block(const void *shared, unsigned rank) {
    unsigned mapped;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(place(shared)), "r"(rank));
    return mapped;
}

static __device__ void init(unsigned long long *barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(place(barrier)), "r"(arrivals) : "memory");
}

static __device__ void expect(unsigned long long *barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(place(barrier)), "r"(bytes) : "memory");
}

static __device__ void arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}

static __device__ void wait(unsigned long long *barrier, unsigned parity) {
    unsigned over;
    do
        asm volatile("{.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;}"
                     : "=r"(over)
                     : "r"(place(barrier)), "r"(parity)
                     : "memory");
    while (!over);
}

static __device__ void meet() {
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

const unsigned ROWS = 16, COLUMNS = 32, DEPTH = 8, THREADS = 64;

struct Stage {
    unsigned a[ROWS * DEPTH], b[DEPTH * COLUMNS];
};

// Rows `blockIdx.x` of the product, columns `blockIdx.y`; matrices are stored by tiles, those of `a` and `b` slice after
// slice. `sums` has the sum of what each cluster computes.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
    cluster_product(const unsigned *a, const unsigned *b, unsigned *c, unsigned *sums, unsigned slices) {
    __shared__ alignas(16) Stage stage[2];
    __shared__ alignas(16) unsigned tile[ROWS * COLUMNS];
    __shared__ unsigned long long full[2], empty[2], summed;
    __shared__ unsigned sum;
    const unsigned t = threadIdx.x, rank = blockIdx.x % 2;
    if (t == 0) {
        for (unsigned s = 0; s < 2; s++) {
            init(&full[s], 1);
            init(&empty[s], 2 * THREADS);
        }
        init(&summed, 1);
        sum = 0;
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        expect(&summed, 2 * THREADS * sizeof(unsigned));
    }
    meet();
    auto fill = [&](unsigned slice) {
        Stage &to = stage[slice % 2];
        unsigned long long *barrier = &full[slice % 2];
        if (slice >= 2) wait(&empty[slice % 2], slice / 2 % 2 ^ 1);
        expect(barrier, sizeof(Stage));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         place(to.a)),
                     "l"(a + (blockIdx.x * slices + slice) * ROWS * DEPTH), "r"((unsigned)sizeof to.a),
                     "r"(place(barrier))
                     : "memory");
        if (rank == 0)
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                         "[%0], [%1], %2, [%3], %4;" ::"r"(place(to.b)),
                         "l"(b + (blockIdx.y * slices + slice) * DEPTH * COLUMNS), "r"((unsigned)sizeof to.b),
                         "r"(place(barrier)), "h"((unsigned short)3)
                         : "memory");
    };
    const unsigned column = t % COLUMNS, first = t / COLUMNS * (ROWS / 2);
    unsigned products[ROWS / 2] = {};
    if (t == 0) fill(0);
    for (unsigned slice = 0; slice < slices; slice++) {
        if (t == 0 && slice + 1 < slices) fill(slice + 1);
        wait(&full[slice % 2], slice / 2 % 2);
        const Stage &from = stage[slice % 2];
        for (unsigned k = 0; k < DEPTH; k++)
            for (unsigned row = 0; row < ROWS / 2; row++)
                products[row] += from.a[(first + row) * DEPTH + k] * from.b[k * COLUMNS + column];
        for (unsigned other = 0; other < 2; other++) arrive(in_block(&empty[slice % 2], other));
    }
    unsigned own = 0;
    for (unsigned row = 0; row < ROWS / 2; row++) {
        tile[(first + row) * COLUMNS + column] = products[row];
        own += products[row];
    }
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(
                     in_block(&sum, 0)),
                 "r"(own), "r"(in_block(&summed, 0))
                 : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n\t"
                     "cp.async.bulk.commit_group;\n\t"
                     "cp.async.bulk.wait_group.read 0;" ::"l"(c + (blockIdx.x * gridDim.y + blockIdx.y) * ROWS * COLUMNS),
                     "r"(place(tile)), "r"((unsigned)sizeof tile)
                     : "memory");
        if (rank == 0) {
            wait(&summed, 0);
            sums[blockIdx.x / 2 * gridDim.y + blockIdx.y] = sum;
        }
    }
    meet();
}
