// Expected outputs of atomic_scopes.ptx.
#include "narrow.hpp"
#include <cstring>

static std::vector<u8> cells(144);

template <class T> static T &at(int offset) { return *reinterpret_cast<T *>(&cells[offset]); }

int main(int argc, char **argv) {
    Files files(argc, argv, "atomic_scopes");
    Rng rng(65);
    const u32 n = 64;
    std::vector<u32> in = rng.words(n), out;
    files.write("in", in);
    at<s32>(4) = -5;
    at<u32>(8) = ~0u;
    at<s64>(32) = 1ll << 40;
    at<u64>(128) = 1;
    at<u64>(136) = 2;
    files.write("cells", cells);
    u32 nibbles = 0, highest = 0, any = 0;
    u64 total = 0;
    for (u32 v : in) {
        at<u32>(0) += v;
        at<s32>(4) = std::max(at<s32>(4), s32(v));
        at<u32>(8) &= v;
        at<u64>(16) ^= v;
        at<u64>(24) += v;
        at<s64>(32) = std::min(at<s64>(32), s64(v));
        nibbles += v % 16;
        highest = std::max(highest, v);
        any |= v;
        total += v;
    }
    const float sum = float(nibbles);
    at<float>(40) = sum;
    at<double>(48) = nibbles;
    at<u32>(56) = n % 10;
    at<u32>(60) = 7 - n % 7;
    const float vectors[6] = {sum, -sum, sum, sum + n, -sum, sum};
    std::memcpy(&cells[64], vectors, 8);
    std::memcpy(&cells[80], vectors + 2, 16);
    at<u16>(96) = Half::round(nibbles);
    at<u16>(98) = Half::round(n);
    at<u16>(100) = Half::round(n);
    at<u16>(102) = Bfloat::round(n);
    at<u32>(104) = at<u32>(108) = 1;
    at<u32>(112) = 4711;
    at<u16>(116) = 5;
    at<u32>(120) = 1;
    at<s64>(128) = -7;
    files.write("cells.expect", cells);
    for (u32 t = 0; t < n; t++) out.insert(out.end(), {nibbles, highest, u32(total), any, 12345 + 99, 4711});
    files.write("out", out);
}
