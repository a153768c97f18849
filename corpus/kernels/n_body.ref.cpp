// Expected output of n_body.cu.
#include "inputs.hpp"
#include <cmath>

int main(int argc, char **argv) {
    Files files(argc, argv, "n_body");
    Rng rng(77);
    const int n = 64;
    const float step = 0.01f;
    std::vector<float> p = rng.reals(4 * n, -10, 10), v = rng.reals(4 * n, -1, 1), out;
    files.write("bodies", p);
    files.write("velocities", v);
    for (int round = 0; round < 2; round++) {
        const std::vector<float> old = p;
        for (int t = 0; t < n; t++) {
            float pull[3] = {};
            for (int i = 0; i < n; i++) {
                float d[3], square = 0;
                for (int k = 0; k < 3; k++) d[k] = old[4 * i + k] - old[4 * t + k];
                square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.0625f;
                const float strength = old[4 * i + 3] / (square * std::sqrt(square));
                for (int k = 0; k < 3; k++) pull[k] += d[k] * strength;
            }
            for (int k = 0; k < 3; k++) {
                v[4 * t + k] += pull[k] * step;
                p[4 * t + k] += v[4 * t + k] * step;
            }
        }
    }
    for (int t = 0; t < n; t++)
        for (const auto &from : {p, v}) out.insert(out.end(), &from[4 * t], &from[4 * t] + 4);
    files.write("out", out);
}
