// Expected output of arg_extremes16.ptx.
#include "inputs.hpp"

#include <algorithm>

int main(int argc, char **argv) {
    Files files(argc, argv, "arg_extremes16");
    Rng rng(72);
    const int threads = 64, each = 16;
    // A narrow range for some, so that the first of equals matters.
    auto value = [&rng] { return rng.below(4) ? u16(rng.next32()) : u16(rng.below(3) - 1); };
    std::vector<u16> values = rng.fill<u16>(threads * each, value), out;
    std::fill(values.begin(), values.begin() + each, 0x8000);
    files.write("in", values);
    for (int t = 0; t < threads; t++) {
        auto first = values.begin() + t * each, last = first + each;
        auto least = std::min_element(first, last, [](u16 a, u16 b) { return std::int16_t(a) < std::int16_t(b); });
        auto greatest = std::max_element(first, last);
        out.insert(out.end(), {*least, u16(least - first), u16(greatest - first), *greatest});
    }
    files.write("out", out);
}
