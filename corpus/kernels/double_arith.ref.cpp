// Expected output of double_arith.cu. IEEE 754 fixes every operation, so the host's own arithmetic does.
#include "inputs.hpp"
#include <bit>
#include <cmath>

int main(int argc, char **argv) {
    Files files(argc, argv, "double_arith");
    Rng rng(34);
    const int n = 96;
    std::vector<double> in = rng.fill<double>(n, [&] { return std::ldexp(double(s32(rng.next32())), s32(rng.below(60)) - 50); });
    std::vector<double> out;
    files.write("in", in);
    double sum = 0, lost = 0;
    for (double value : in) {
        double term = value - lost, next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    for (int t = 0; t < n; t++) {
        const double x = in[t], y = in[(t + 1) % n];
        double polynomial = 1.0 / 5040;
        for (double c : {-1.0 / 720, 0.0083, -0.0416, 0.1666, -0.5, 1.0}) polynomial = polynomial * x + c;
        u32 top = u32(std::bit_cast<u64>(std::fabs(x)) >> 32);
        double root = std::bit_cast<double>(u64((top >> 1) + (511u << 20)) << 32);
        for (int i = 0; i < 6; i++) root = 0.5 * (root + std::fabs(x) / root);
        double s = x + y, part = s - x;
        for (double value :
             {polynomial, root, std::sqrt(std::fabs(x)), x / y, 1 / y, std::fma(x, y, -x),
              std::floor(x) + std::ceil(y) * 2 + std::trunc(x * 0.1), std::nearbyint(x * 8) - std::fabs(y),
              std::fmin(x, y) - std::fmax(x, -y), sum, (x - (s - part)) + (y - part),
              std::bit_cast<double>(std::bit_cast<u64>(std::copysign(x, y)) ^ 1)})
            out.push_back(value);
    }
    files.write("out", out);
}
