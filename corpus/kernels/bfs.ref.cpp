// Expected outputs of bfs.cu for a random graph; two nodes stay out of reach.
#include "inputs.hpp"
#include <algorithm>
#include <deque>

int main(int argc, char **argv) {
    Files files(argc, argv, "bfs");
    Rng rng(50);
    const int nodes = 256;
    std::vector<s32> starts = {0}, edges, level(nodes, -1), depth(1);
    for (int node = 0; node < nodes; node++) {
        for (u32 k = rng.below(4); k > 0; k--) edges.push_back(s32(std::min<u32>(rng.below(nodes - 2), node + rng.below(30))));
        edges.push_back((node * 7 + 1) % 127);
        starts.push_back(s32(edges.size()));
    }
    files.write("starts", starts);
    files.write("edges", edges);
    files.write("level", level);
    std::deque<int> queue = {3};
    level[3] = 0;
    for (; !queue.empty(); queue.pop_front()) {
        int node = queue.front();
        depth[0] = level[node] + 1;
        for (int k = starts[node]; k < starts[node + 1]; k++) {
            if (level[edges[k]] >= 0) continue;
            level[edges[k]] = level[node] + 1;
            queue.push_back(edges[k]);
        }
    }
    files.write("level.expect", level);
    files.write("depth", depth);
}
