// Expected outputs of local_array.cu.
#include "inputs.hpp"
#include <algorithm>
#include <numeric>

int main(int argc, char **argv) {
    Files files(argc, argv, "local_array");
    Rng rng(37);
    std::vector<u8> in = rng.bytes(16 * 96), out;
    std::vector<u32> sums;
    files.write("in", in);
    for (std::size_t start = 0; start < in.size(); start += 16) {
        std::vector<u8> bytes(&in[start], &in[start] + 16), p(16), nibbles;
        std::iota(p.begin(), p.end(), 0);
        for (int i = 0; i < 16; i++) std::swap(p[i], p[bytes[i] % 16]);
        for (u8 byte : bytes) nibbles.push_back(byte / 16);
        std::sort(nibbles.begin(), nibbles.end());
        u32 sum = 0;
        for (int i = 0; i < 16; i++) sum += nibbles[i] * (i + 1);
        std::vector<u32> stack;
        for (int i = 0; i < 16; i++) {
            if (stack.size() < 8 && bytes[i] % 4 != 0) {
                stack.push_back(bytes[i] * p[p[i]]);
            } else if (!stack.empty()) {
                sum = sum * 31 + stack.back();
                stack.pop_back();
            }
        }
        for (auto value = stack.rbegin(); value != stack.rend(); ++value) sum = sum * 33 + *value;
        for (int i = 0; i < 16; i++) out.push_back(p[p[i]]);
        sums.push_back(sum);
    }
    files.write("out", out);
    files.write("sums", sums);
}
