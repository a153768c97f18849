// Expected output of function_pointers.cu, in unsigned arithmetic where the kernel's wraps.
#include "inputs.hpp"

static u32 apply(int code, u32 a, u32 b) {
    return code == 0 ? a + b : code == 1 ? a - b : code == 2 ? a * b : (a ^ b) + a / 8;
}

int main(int argc, char **argv) {
    Files files(argc, argv, "function_pointers");
    Rng rng(40);
    std::vector<u32> values = rng.words(64), out;
    std::vector<u8> codes = rng.bytes(256);
    files.write("values", values);
    files.write("codes", codes);
    for (int t = 0; t < 64; t++) {
        u32 direct = values[t], folded = values[t % 32];
        for (int i = 0; i < 4; i++) direct = apply(codes[4 * t + i] % 4, direct, values[(t + i) % 64]);
        for (int i = 1; i < 5; i++) folded = apply(codes[4 * t] / 4 % 4, folded, values[t % 32 + i]);
        out.insert(out.end(), {direct, folded});
    }
    files.write("out", out);
}
