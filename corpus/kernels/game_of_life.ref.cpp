// Expected outputs of game_of_life.cu.
#include "inputs.hpp"

static std::vector<u8> generation(const std::vector<u8> &board) {
    std::vector<u8> next;
    for (int i = 0; i < 1024; i++) {
        int around = 0;
        for (int k = 0; k < 9; k++)
            if (k != 4) around += board[(i / 32 + k / 3 + 31) % 32 * 32 + (i + k % 3 + 31) % 32];
        next.push_back(around == 3 || (around == 2 && board[i]));
    }
    return next;
}

int main(int argc, char **argv) {
    Files files(argc, argv, "game_of_life");
    Rng rng(53);
    std::vector<u8> cells = rng.fill<u8>(1024, [&] { return rng.below(3) == 0; }), unpacked;
    std::vector<u32> rows = rng.words(32), next_rows(32);
    files.write("cells", cells);
    files.write("rows", rows);
    for (int step = 0; step < 5; step++) cells = generation(cells);
    for (int i = 0; i < 1024; i++) unpacked.push_back(rows[i / 32] >> i % 32 & 1);
    unpacked = generation(unpacked);
    for (int i = 0; i < 1024; i++) next_rows[i / 32] |= u32(unpacked[i]) << i % 32;
    files.write("out", cells);
    files.write("next_rows", next_rows);
}
