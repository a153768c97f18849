// Expected output of tight_layer.cu: a matrix product in 64 bits, then what each thread adds.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "tight_layer");
    Rng rng(2399);
    const u32 width = 9, threads = 64, outputs = 12;
    const std::vector<u32> weights = rng.words(width * outputs), inputs = rng.words(width * threads);
    std::vector<u32> out;
    files.write("weights", weights);
    files.write("inputs", inputs);
    for (u32 t = 0; t < threads; t++) {
        const u32 low = t % 8, high = t / 8, turn = (t * 5 + 3) % 16, fold = t ^ t / 4;
        u32 last = high + fold * turn - low;
        for (u32 i = 0; i < outputs; i++) {
            u32 sum = t * i;
            for (u32 k = 0; k < width; k++) {
                const u32 x = inputs[k * threads + t];
                sum += u32(u64(x) * weights[k * outputs + i]);
                if (k + 1 == width || x % 16 != turn) continue;
                if (i == 0) sum ^= low;
                if (i == 11) sum += fold;
            }
            out.push_back(sum + last);
            last = last * 3 + turn;
        }
    }
    files.write("out", out);
}
