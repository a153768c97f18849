// Module variables with initialisers of every kind: scalars, arrays, strings, structures with pointers to
// other variables, a partly initialised table, and variables that the kernel itself changes.
struct Entry {
    const char *name;
    short weight;
    double factor;
    int *counter;
};

__device__ int first_counter = 5;
__device__ int counters[3] = {-1, 20, 300};
__device__ const Entry entries[4] = {
    {"add", 3, 0.5, &first_counter}, {"multiply", -7, 1.25, &counters[1]},
    {"", 100, -2.0, &counters[2]}, {"shift right", 11, 1e3, counters}};
__device__ float weights[8] = {1.5f, -2.25f, 3.0f};
__device__ unsigned char pattern[5] = {1, 2, 250};
__device__ long long seed = -0x123456789abcdefll;
__constant__ short offsets[6] = {-3, 0, 7, 9, -32768, 32767};

extern "C" __global__ void device_globals(int *lengths, double *products, long long *out) {
    int t = threadIdx.x;
    const Entry &entry = entries[t % 4];
    int length = 0;
    while (entry.name[length]) length++;
    lengths[t] = length * 1000 + entry.name[0];
    products[t] = entry.weight * entry.factor + weights[t % 8];
    atomicAdd(entry.counter, t);
    __syncthreads();
    out[t] = *entry.counter + offsets[t % 6] * 1000ll + pattern[t % 5] + (seed >> t % 16);
}
