// A table in a parameter: indexed by thread, and read through its generic address by a function. Its place in the
// constant bank has to be a multiple of 64, whatever the bank begins with.
struct alignas(64) Table {
    unsigned long long bias;
    unsigned scale[6];
    unsigned short shifts[4];
    unsigned char bytes[5];
};

__device__ __noinline__ unsigned fold(const Table *table, unsigned of) {
    unsigned sum = unsigned(table->bias >> (of & 31));
    for (unsigned i = of % 3; i < 6; i += 2) sum = sum * 33 + table->scale[i];
    return sum;
}

extern "C" __global__ void parameter_table(unsigned count, const __grid_constant__ Table table, unsigned *out) {
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= count) return;
    const unsigned direct = table.scale[thread % 6] << table.shifts[thread & 3];
    const unsigned low = unsigned(reinterpret_cast<unsigned long long>(&table)) & 63;
    out[thread] = low + direct + table.bytes[thread % 5] + fold(&table, thread);
}
