// Expected outputs of lu_solve.cu, by elimination on vectors of rows in the same order of operations.
#include "inputs.hpp"
#include <algorithm>
#include <cmath>

int main(int argc, char **argv) {
    Files files(argc, argv, "lu_solve");
    Rng rng(76);
    const int n = 16, systems = 3;
    std::vector<double> in = rng.fill<double>(systems * n * (n + 1), [&] { return s32(rng.next32()) * 0x1p-28; }), out(systems * n);
    std::vector<s32> swaps(systems);
    files.write("systems", in);
    for (int s = 0; s < systems; s++) {
        std::vector<std::vector<double>> rows;
        for (int i = 0; i < n; i++) {
            const double *row = &in[(s * n + i) * (n + 1)];
            rows.emplace_back(row, row + n + 1);
        }
        for (int k = 0; k < n; k++) {
            auto best = std::max_element(rows.begin() + k, rows.end(), [&](const auto &p, const auto &q) { return std::fabs(p[k]) < std::fabs(q[k]); });
            if (best != rows.begin() + k) swaps[s]++;
            std::swap(*best, rows[k]);
            for (int i = k + 1; i < n; i++) {
                const double factor = rows[i][k] / rows[k][k];
                for (int j = k; j <= n; j++) rows[i][j] -= factor * rows[k][j];
            }
        }
        for (int i = n - 1; i >= 0; i--) {
            double sum = rows[i][n];
            for (int j = i + 1; j < n; j++) sum -= rows[i][j] * out[s * n + j];
            out[s * n + i] = sum / rows[i][i];
        }
    }
    files.write("solutions", out);
    files.write("swaps", swaps);
}
