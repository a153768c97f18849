// CRC-32 of a record a thread, by a table that each block builds in shared memory and bitwise for the tail.
#define POLYNOMIAL 0xedb88320u

extern "C" __global__ void crc32(const unsigned char *data, const unsigned *offsets, unsigned *crcs, unsigned records) {
    __shared__ unsigned table[256];
    for (unsigned byte = threadIdx.x; byte < 256; byte += blockDim.x) {
        unsigned crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
        table[byte] = crc;
    }
    __syncthreads();
    unsigned record = blockIdx.x * blockDim.x + threadIdx.x;
    if (record >= records) return;
    unsigned start = offsets[record], end = offsets[record + 1], crc = ~0u;
    unsigned i = start;
    for (; i + 4 <= end; i++) crc = crc >> 8 ^ table[(crc ^ data[i]) & 255];
    for (; i < end; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (POLYNOMIAL & -(crc & 1));
    }
    crcs[record] = ~crc;
}
