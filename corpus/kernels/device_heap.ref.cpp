// Expected output of device_heap.cu: the last value is hashed first.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "device_heap");
    Rng rng(77);
    const std::vector<u32> in = rng.fill<u32>(128, [&] { return rng.next32(); });
    std::vector<u32> out;
    for (u32 value : in) {
        std::vector<u32> values;
        for (u32 rest = value % 5 + 1; rest > 0; rest--) {
            values.push_back(value);
            value = value * 1664525u + 1013904223u;
        }
        u32 hash = 2166136261u;
        for (std::size_t at = values.size(); at-- > 0;) hash = (hash ^ values[at]) * 16777619u;
        out.push_back(hash);
    }
    files.write("in", in);
    files.write("out", out);
}
