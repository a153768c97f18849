// Expected output of recursion.cu, without recursion: closed forms and tables.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "recursion");
    std::vector<u32> out, fibonacci = {0, 1};
    while (fibonacci.size() < 12) fibonacci.push_back(*(fibonacci.end() - 1) + *(fibonacci.end() - 2));
    for (u32 t = 0; t < 64; t++) {
        u32 n = t % 4, ackermann[3] = {n + 1, n + 2, 2 * n + 3};
        std::vector<u32> ways(24);
        ways[0] = 1;
        for (u32 coin : {t % 2 ? 3 : 1, 2, 5, 10})
            for (u32 amount = coin; amount < 24; amount++) ways[amount] += ways[amount - coin];
        out.insert(out.end(), {fibonacci[t % 12], ackermann[t % 3], (1 - t % 2) * 2 + t % 7 % 2, ways[t % 24]});
    }
    files.write("out", out);
}
