// Expected outputs of bignum.cu: schoolbook arithmetic with 64-bit partial results.
#include "inputs.hpp"
#include <algorithm>

int main(int argc, char **argv) {
    Files files(argc, argv, "bignum");
    Rng rng(33);
    const int n = 40;
    std::vector<u32> a = rng.words(8 * n), b = rng.words(8 * n), sums, differences, products(8 * n), flags;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 8; k++) {
            if (i % 5 == 1) b[8 * i + k] = ~a[8 * i + k];
            if (i % 5 == 2 && k > 1) b[8 * i + k] = a[8 * i + k];
            if (i % 5 == 3) a[8 * i + k] = ~0u;
        }
    std::copy(a.begin(), a.begin() + 8, b.begin());
    files.write("a", a);
    files.write("b", b);
    for (int i = 0; i < n; i++) {
        const u32 *x = &a[8 * i], *y = &b[8 * i];
        u64 carry = 0, borrow = 0;
        for (int k = 0; k < 8; k++) {
            carry += u64(x[k]) + y[k];
            sums.push_back(u32(carry));
            carry >>= 32;
            u64 difference = u64(x[k]) - y[k] - borrow;
            differences.push_back(u32(difference));
            borrow = difference >> 63;
            u64 high = 0;
            for (int j = 0; j + k < 8; j++) {
                high += u64(x[j]) * y[k] + products[8 * i + j + k];
                products[8 * i + j + k] = u32(high);
                high >>= 32;
            }
        }
        // The 64-bit chain: z = p + q, then t = p + carry, then t + z + the carry of that.
        u64 p = u64(x[7]) << 32 | x[6], q = u64(y[7]) << 32 | y[6], z = p + q, t = p + (z < p);
        u64 total = t + z + (t < p);
        flags.push_back(u32(carry));
        flags.push_back(u32(0 - borrow));
        flags.push_back(u32(total) ^ u32(total >> 32));
        bool less = std::lexicographical_compare(std::reverse_iterator(x + 8), std::reverse_iterator(x),
                                                 std::reverse_iterator(y + 8), std::reverse_iterator(y));
        flags.push_back(less ? ~0u : std::equal(x, x + 8, y) ? 0 : 1);
    }
    files.write("sums", sums);
    files.write("differences", differences);
    files.write("products", products);
    files.write("flags", flags);
}
