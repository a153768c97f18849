// Expected outputs of floyd_warshall.cu: the triple loop on plain matrices, and distances checked by
// Bellman and Ford's relaxation.
#include "inputs.hpp"
#include <algorithm>

int main(int argc, char **argv) {
    Files files(argc, argv, "floyd_warshall");
    Rng rng(80);
    const int n = 24;
    std::vector<u16> weights = rng.fill<u16>(n * n, [&] { return rng.below(6) ? 0xffff : 1 + rng.below(9000); });
    files.write("weights", weights);
    std::vector<u16> distances = weights, relaxed = weights;
    std::vector<s8> hops;
    for (int i = 0; i < n * n; i++) hops.push_back(weights[i] < 0xffff ? s8(i % n) : -1);
    for (int i = 0; i < n; i++) distances[i * n + i] = relaxed[i * n + i] = 0;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n * n; i++) {
            const int first = i / n * n + k, sum = distances[first] + distances[k * n + i % n];
            if (sum >= distances[i]) continue;
            distances[i] = u16(sum);
            hops[i] = hops[first];
        }
    for (int round = 0; round < n; round++)
        for (int i = 0; i < n * n; i++)
            for (int k = 0; k < n; k++)
                relaxed[i] = u16(std::min<int>(relaxed[i], relaxed[i / n * n + k] + (k == i % n ? 0 : weights[k * n + i % n])));
    if (relaxed != distances) return 1;
    files.write("distances", distances);
    files.write("hops", hops);
}
