// Expected outputs of n_queens.cu, by trying all permutations recursively.
#include "inputs.hpp"
#include <cstdlib>

static u32 place(std::vector<int> &rows, int size) {
    if (int(rows.size()) == size) return 1;
    u32 count = 0;
    for (int row = 0; row < size; row++) {
        bool safe = true;
        for (int i = 0, n = int(rows.size()); i < n; i++) safe &= rows[i] != row && std::abs(rows[i] - row) != n - i;
        if (!safe) continue;
        rows.push_back(row);
        count += place(rows, size);
        rows.pop_back();
    }
    return count;
}

int main(int argc, char **argv) {
    Files files(argc, argv, "n_queens");
    const int size = 7;
    std::vector<u32> total(1), per_thread(64);
    for (int t = 0; t < size * size; t++) {
        std::vector<int> rows = {t / size, t % size};
        per_thread[t] = std::abs(rows[0] - rows[1]) > 1 ? place(rows, size) : 0;
        total[0] += per_thread[t];
    }
    if (total[0] != 40) return 1;
    files.write("total", total);
    files.write("per_thread", per_thread);
}
