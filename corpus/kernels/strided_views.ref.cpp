// Expected output of strided_views: a matrix, and a transposed window of the same numbers.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "strided_views");
    Rng rng(211);
    std::vector<u32> in = rng.words(400), out(2 * 18 * 26, 0);
    for (u32 row = 0; row < 18; row++) {
        for (u32 column = 0; column < 26; column++) {
            u32 left = 0, right = 0xffffffffu;
            if (row < 16 && column < 24) left = in[24 * row + column];
            if (column < 24) right = in[5 + 16 * column + row];
            out[2 * (18 * column + row)] = 3u * left - (right ^ row);
        }
    }
    files.write("in", in);
    files.write("out", out);
}
