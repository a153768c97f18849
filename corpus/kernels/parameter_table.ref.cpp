// Expected output of parameter_table.cu. The table's fields are given as numbers, not as bytes.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "parameter_table");
    const u64 bias = 0x1122334455667788;
    const std::vector<u32> scale = {1, 16, 0xbb7733, 0xffaa55, 0x3412feef, 0xe0afdcba};
    const u32 shifts[] = {3, 7, 0, 12}, bytes[] = {9, 66, 254, 1, 128};
    std::vector<u32> out(64, 0);
    for (u32 thread = 0; thread < 61; thread++) {
        u32 sum = u32(bias >> (thread % 32));
        const u32 first = thread % 3;
        std::vector<u32> taken;
        for (u32 i = 0; i < 6; i++)
            if (i >= first && i % 2 == first % 2) taken.push_back(scale[i]);
        for (u32 factor : taken) sum = 33 * sum + factor;
        u32 direct = scale[thread % 6];
        for (u32 i = 0; i < shifts[thread % 4]; i++) direct += direct;
        out[thread] = sum + direct + bytes[thread % 5];
    }
    files.write("out", out);
}
