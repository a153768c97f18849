// A product of matrices of bytes with exact sums: fragments from shared and global memory, by wmma.
#include <cstdint>
#include <mma.h>
using namespace nvcuda;

// c = a * b + bias, where a has n rows of k bytes, and b has m columns of k. A block makes 32 rows of 32 columns: its
// first warp the left half in squares, its second one the right half in strips.
extern "C" __global__ void tensor_bytes(const int4 *a, const int4 *b, const int *bias, int *c, unsigned k, unsigned m) {
    __shared__ __align__(32) signed char as[32][32], bs[32][48];
    const unsigned t = threadIdx.x, row = blockIdx.y * 32, column = blockIdx.x * 32;
    int *out = c + row * m + column;
    const int *in = bias + row * m + column;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> squares[2];
    wmma::fragment<wmma::accumulator, 32, 8, 16, int> standing[2];
    for (int i = 0; i < 2; i++) {
        if (t < 32)
            wmma::load_matrix_sync(squares[i], in + i * 16 * m, m, wmma::mem_row_major);
        else
            wmma::load_matrix_sync(standing[i], in + 16 + i * 8, m, wmma::mem_row_major);
    }
    for (unsigned at = 0; at < k; at += 16) {
        if (t < 32)
            *(int4 *)as[t] = a[((row + t) * k + at) / 16];
        else
            *(int4 *)bs[t - 32] = b[((column + t - 32) * k + at) / 16];
        __syncthreads();
        for (int i = 0; i < 2; i++) {
            if (t < 32) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> x;
                wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> y;
                wmma::load_matrix_sync(x, as[16 * i], 32);
                wmma::load_matrix_sync(y, bs[0], 48);
                wmma::mma_sync(squares[i], x, y, squares[i]);
            } else {
                wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::row_major> x;
                wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::col_major> y;
                wmma::load_matrix_sync(x, as[0], 32);
                wmma::load_matrix_sync(y, bs[16 + 8 * i], 48);
                wmma::mma_sync(standing[i], x, y, standing[i]);
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++) {
        if (t < 32)
            wmma::store_matrix_sync(out + i * 16 * m, squares[i], m, wmma::mem_row_major);
        else
            wmma::store_matrix_sync(out + 16 + i * 8, standing[i], m, wmma::mem_row_major);
    }
}
