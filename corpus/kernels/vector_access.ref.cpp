// Expected outputs of vector_access.cu.
#include "inputs.hpp"
#include <algorithm>

int main(int argc, char **argv) {
    Files files(argc, argv, "vector_access");
    Rng rng(48);
    const int n = 64;
    std::vector<float> f = rng.reals(4 * n, -9, 9), fo;
    std::vector<u32> i = rng.words(2 * n), io;
    std::vector<u8> c = rng.bytes(4 * n), co;
    std::vector<s16> s = rng.fill<s16>(4 * n, [&] { return rng.next32(); }), so;
    std::vector<double> d = rng.fill<double>(2 * n, [&] { return double(s64(rng.next64())) / 3; }), dout;
    std::vector<u64> l = rng.longs(2 * n), lo;
    files.write("f", f);
    files.write("i", i);
    files.write("c", c);
    files.write("s", s);
    files.write("d", d);
    files.write("l", l);
    for (int t = 0; t < n; t++) {
        const float *a = &f[4 * t], *b = &f[4 * (n - 1 - t)];
        fo.insert(fo.end(), {a[0] + b[3], a[1] * b[0], a[2] - b[1], std::max(a[3], b[2])});
        const u32 *q = &i[2 * ((t + 5) % n)];
        io.insert(io.end(), {i[2 * t + 1] - q[0] % 65536, i[2 * t] ^ q[1] >> 16});
        const u8 *u = &c[4 * t];
        co.insert(co.end(), {u8(u[0] + u[1]), std::max(u[2], u[3]), u8(u[1] / 4), u8(255 - u[0])});
        const s16 *v = &s[4 * t];
        so.insert(so.end(), {v[3], s16(v[0] * v[1]), s16(v[2] - 1), s16(v[0] >> 3)});
        const double w = d[2 * t], z = d[2 * t + 1];
        dout.insert(dout.end(), {w + z, w < z ? z : -w});
        const u64 x = l[2 * t], y = l[2 * t + 1];
        lo.insert(lo.end(), {x + y, x < y ? x * 3 : ~y});
    }
    files.write("fo", fo);
    files.write("io", io);
    files.write("co", co);
    files.write("so", so);
    files.write("do", dout);
    files.write("lo", lo);
}
