// Expected output of bilinear.cu by the formulas of the CUDA C++ Programming Guide, "Texture Fetching": texels beside
// the place less a half, weighted by its fraction, of which 8 bits are kept. What the guide leaves open is as an H200
// does it (every pixel of the first launch was compared): the products of weights have 8 bits, too, and bytes are
// numbers of 16.
#include <cmath>

#include "inputs.hpp"

const int columns = 24, rows = 17, width = 40, height = 28;

// The texel of an index, at the edge or around it.
static int clamped(int index, int size) { return index < 0 ? 0 : index >= size ? size - 1 : index; }
static int wrapped(int index, int size) { return (index % size + size) % size; }

// What a fetch yields at a place that is counted in texels.
static void fetch(const std::vector<u8> &texels, double x, double y, int (*address)(int, int), float *out) {
    double left = std::floor(x - 0.5), top = std::floor(y - 0.5);
    int a = int(std::floor((x - 0.5 - left) * 256 + 0.5)), b = int(std::floor((y - 0.5 - top) * 256 + 0.5));
    int both = (a * b + 128) / 256;
    for (int channel = 0; channel < 4; channel++) {
        auto texel = [&](int dx, int dy) {
            int i = address(int(left) + dx, columns), j = address(int(top) + dy, rows);
            return texels[(j * columns + i) * 4 + channel] * 257;
        };
        int upper = (256 - a - b + both) * texel(0, 0) + (a - both) * texel(1, 0);
        int lower = (b - both) * texel(0, 1) + both * texel(1, 1);
        out[channel] = float(((upper + lower + 128) >> 8) / 65535.0);
    }
}

int main(int argc, char **argv) {
    Files files(argc, argv, "bilinear");
    Rng rng(123);
    std::vector<u8> texels = rng.bytes(columns * rows * 4);
    files.write("source", texels);
    for (bool wraps : {false, true}) {
        // Coordinates count texels, or whole images.
        float across = wraps ? 2.5f / width : 23.0f / width, down = wraps ? 1.75f / height : 20.0f / height;
        float shear = wraps ? -0.0625f : 0.125f;
        std::vector<float> pixels;
        std::vector<u8> bytes;
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                float row = float(y) + 0.5f, column = float(x) + 0.5f, pixel[4];
                float u = std::fmaf(row, shear, column * across), v = row * down;
                double i = wraps ? double(u) * columns : u, j = wraps ? double(v) * rows : v;
                fetch(texels, i, j, wraps ? wrapped : clamped, pixel);
                for (float value : pixel) {
                    pixels.push_back(value);
                    bytes.push_back(u8(std::fmaf(value, 255.0f, 0.5f)));
                }
            }
        files.write(wraps ? "wrapped" : "pixels", pixels);
        files.write(wraps ? "wrapped_bytes" : "bytes", bytes);
    }
}
