// Expected outputs of sort_radix.cu: a stable sort by the low byte.
#include "inputs.hpp"
#include <algorithm>

int main(int argc, char **argv) {
    Files files(argc, argv, "sort_radix");
    Rng rng(16);
    std::vector<u32> keys = rng.words(256), values = rng.words(256), keys_out, values_out;
    files.write("keys", keys);
    files.write("values", values);
    for (u32 low = 0; low < 256; low++)
        for (int i = 0; i < 256; i++)
            if ((keys[i] & 255) == low) {
                keys_out.push_back(keys[i]);
                values_out.push_back(values[i]);
            }
    files.write("keys.expect", keys_out);
    files.write("values.expect", values_out);
}
