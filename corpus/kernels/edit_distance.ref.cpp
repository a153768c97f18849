// Expected outputs of edit_distance.cu, by full tables.
#include "inputs.hpp"
#include <algorithm>

int main(int argc, char **argv) {
    Files files(argc, argv, "edit_distance");
    Rng rng(51);
    const int blocks = 6, length = 61;
    auto letter = [&] { return "acgt"[rng.below(4)]; };
    std::vector<char> a = rng.fill<char>(64 * blocks, letter), b = rng.fill<char>(64 * blocks, letter);
    for (int i = 70; i < 110; i++) b[i] = a[i + 3];
    std::vector<s32> distances, common;
    files.write("a", a);
    files.write("b", b);
    for (int block = 0; block < blocks; block++) {
        int edit[length + 1][length + 1], same[length + 1][length + 1];
        for (int i = 0; i <= length; i++)
            for (int j = 0; j <= length; j++) {
                edit[i][j] = i + j;
                same[i][j] = 0;
                if (i == 0 || j == 0) continue;
                bool equal = a[64 * block + i - 1] == b[64 * block + j - 1];
                edit[i][j] = std::min({edit[i - 1][j] + 1, edit[i][j - 1] + 1, edit[i - 1][j - 1] + !equal});
                same[i][j] = equal ? same[i - 1][j - 1] + 1 : std::max(same[i - 1][j], same[i][j - 1]);
            }
        distances.push_back(edit[length][length]);
        common.push_back(same[length][length]);
    }
    files.write("distances", distances);
    files.write("common", common);
}
