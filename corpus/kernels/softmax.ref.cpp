// Expected output of softmax.cu: exponentials over their sum, in double precision. The kernel differs by the errors of its
// approximate exponentials and quotient.
#include <algorithm>
#include <cmath>

#include "narrow.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "softmax");
    Rng rng(97);
    const u32 rows = 5, columns = 200, stride = 208;
    std::vector<u16> x(rows * stride);
    std::vector<float> y(rows * stride, 0.0f);
    for (u32 row = 0; row < rows; row++) {
        double most = -1e9, sum = 0;
        for (u32 i = row * stride; i < row * stride + columns; i++) {
            x[i] = Half::round(rng.real(-6, 6));
            most = std::max(most, Half::widen(x[i]));
        }
        for (u32 i = row * stride; i < row * stride + columns; i++) sum += std::exp(Half::widen(x[i]) - most);
        for (u32 i = row * stride; i < row * stride + columns; i++)
            y[i] = float(std::exp(Half::widen(x[i]) - most) / sum);
    }
    files.write("x", x);
    files.write("y", y);
}
