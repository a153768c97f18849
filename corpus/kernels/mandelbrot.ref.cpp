// Expected outputs of mandelbrot.cu.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "mandelbrot");
    const s64 width = 50, height = 36, one = 1 << 28;
    std::vector<u8> fixed, real;
    for (s64 pixel = 0; pixel < width * height; pixel++) {
        const s64 across = pixel % width * 3 - width * 2, down = pixel / width * 2 - height;
        const s64 cx = across * one / width, cy = down * one / height;
        u8 count = 0;
        for (s64 x = 0, y = 0; count < 60; count++) {
            s64 xx = (x * x) >> 28, yy = (y * y) >> 28, twice = (x * y) >> 27;
            if (xx + yy > 4 * one) break;
            x = xx - yy + cx;
            y = twice + cy;
        }
        fixed.push_back(count);
        const double a = double(across) / width, b = double(down) / height;
        count = 0;
        for (double u = 0, v = 0; count < 60 && u * u + v * v <= 4; count++) {
            const double old = u;
            u = u * u - v * v + a;
            v = 2 * old * v + b;
        }
        real.push_back(count);
    }
    files.write("fixed", fixed);
    files.write("real", real);
}
