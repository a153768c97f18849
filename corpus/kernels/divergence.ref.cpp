// Expected output of divergence.cu, as straight recursive and looping functions of one element.
#include "inputs.hpp"

struct Sum {
    int value;
    bool leave, done;
};

static Sum gather(int v) {
    int r = 0;
    for (int a = 0; a <= v % 16; a++) {
        if ((a ^ v) % 5 == 0) continue;
        for (int b = a; b < 12 && b * a <= v; b++) {
            if (v % 2 == 0) r = r * 3 + b;
            else r = b % 2 ? r + b : r ^ (a * 8);
            if (v % 2 == 0 && r > 100000) return {r, true, false};
        }
        if (r < 0) return {r, false, true};
        r += a;
    }
    return {r, false, false};
}

static int settle(int r) {
    const int low = r & 7;
    if (low == 0) return settle(r / 2 + 11);
    if (low == 4) return r;
    int next = low == 1 ? r + 2 : low <= 3 ? r - 5 : r / 3;
    return next < 10 ? next * 2 : settle(next);
}

int main(int argc, char **argv) {
    Files files(argc, argv, "divergence");
    Rng rng(30);
    const int n = 240;
    std::vector<s32> in = rng.fill<s32>(n, [&] { return rng.below(100); }), out;
    in[3] = in[77] = 13;
    files.write("in", in);
    for (int i = 0; i < n; i++) {
        Sum sum = gather(in[i]);
        int r = sum.leave || sum.done ? sum.value : settle(sum.value);
        if (in[i] == 13) r = -13;
        else if (!sum.leave && in[i] > 50 && (r > 20 || in[n - 1 - i] < 30)) r = -1 - r;
        out.push_back(r);
    }
    files.write("out", out);
}
