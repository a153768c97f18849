// Control flow that splits warps in every way: nested branches, early returns, break and continue in
// nested loops, a loop left from inside a switch, and shared code after partial reconvergence.
extern "C" __global__ void divergence(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = in[i];
    if (v == 13) {
        out[i] = -13;
        return;
    }
    int r = 0;
    for (int a = 0; a < (v & 15) + 1; a++) {
        if ((a ^ v) % 5 == 0) continue;
        for (int b = a; b < 12; b++) {
            if (b * a > v) break;
            if (v & 1) {
                if (b & 1)
                    r += b;
                else
                    r ^= a << 3;
            } else {
                r = r * 3 + b;
                if (r > 100000) {
                    out[i] = r;
                    return;
                }
            }
        }
        if (r < 0) goto finish;
        r += a;
    }
    while (true) {
        switch (r & 7) {
        case 0: r = (r >> 1) + 11; continue;
        case 1: r += 2; break;
        case 2:
        case 3: r -= 5; break;
        case 4: goto finish;
        default: r = r / 3; break;
        }
        if (r < 10) break;
    }
    r *= 2;
finish:
    if (v > 50 && (r > 20 || in[n - 1 - i] < 30)) r = ~r;
    out[i] = r;
}
