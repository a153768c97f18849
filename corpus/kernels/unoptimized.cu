// nvcc: -Xcicc -O0
// Heap sort with a comparison object, compiled without optimisation: every variable lives in local memory.
struct Order {
    int modulus;
    bool descending;

    __device__ bool before(int a, int b) const {
        int x = a % modulus, y = b % modulus;
        if (x == y) return a < b;
        return descending ? x > y : x < y;
    }
};

__device__ void sift(int *heap, int root, int size, const Order &order) {
    while (true) {
        int child = 2 * root + 1;
        if (child >= size) return;
        if (child + 1 < size && order.before(heap[child], heap[child + 1])) child++;
        if (!order.before(heap[root], heap[child])) return;
        int keep = heap[root];
        heap[root] = heap[child];
        heap[child] = keep;
        root = child;
    }
}

extern "C" __global__ void unoptimized(const int *in, int *out, int length) {
    int heap[16];
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    Order order = {7 + thread % 3, (thread & 1) != 0};
    for (int i = 0; i < length; i++) heap[i] = in[thread * length + i];
    for (int root = length / 2 - 1; root >= 0; root--) sift(heap, root, length, order);
    for (int size = length - 1; size > 0; size--) {
        int keep = heap[0];
        heap[0] = heap[size];
        heap[size] = keep;
        sift(heap, 0, size, order);
    }
    for (int i = 0; i < length; i++) out[thread * length + i] = heap[i];
}
