// Expected outputs of device_calls.cu.
#include "inputs.hpp"
#include <numeric>

struct Value {
    s64 above;
    s32 below;
    s16 tag;
    u8 sign;

    void reduce() {
        s32 divisor = std::gcd(s32(above % below), below);
        above /= divisor;
        below /= divisor;
        tag = s16(tag + divisor);
        sign ^= 1;
    }

    void times(Value other) {
        *this = {above * other.above, below * other.below, s16(tag ^ other.tag), u8(sign + other.sign)};
        reduce();
    }
};

int main(int argc, char **argv) {
    Files files(argc, argv, "device_calls");
    Rng rng(38);
    std::vector<u32> in = rng.words(128);
    std::vector<s64> fractions;
    std::vector<double> blends;
    files.write("in", in);
    for (u32 v : in) {
        Value a{v % 65536 + 1, s32(v >> 24) + 1, s16(v), 3};
        Value p = a;
        p.times({(v >> 16) + 1, s32(v % 256) + 1, 17, u8(v >> 5)});
        if (v % 2) p.times(a);
        else if (v % 4 == 2) p.reduce();
        u8 low = u8(v);
        // (v >> 8) / 8 is below 2^21, so converting it to 16 bits goes through a wider integer.
        u16 high = u16(u32(float(v >> 8) * 0.125f));
        fractions.insert(fractions.end(), {p.above, p.below, p.tag, p.sign + 256 * low + 65536ll * high});
        blends.push_back(v & 4 ? s8(low) * 2.0 + high : low * 0.125 * 4 - v);
    }
    files.write("fractions", fractions);
    files.write("blends", blends);
}
