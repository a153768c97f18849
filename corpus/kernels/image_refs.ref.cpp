// Expected output of image_refs.ptx by the formulas of the CUDA C++ Programming Guide, "Texture Fetching".
#include <cmath>
#include <cstring>

#include "inputs.hpp"

const int levels = 4;

struct Level {
    int width, height;
    std::vector<float> texels;

    // A component of a texel; zero on a border.
    float at(int x, int y, int channel) const {
        bool inside = x >= 0 && x < width && y >= 0 && y < height;
        return inside ? texels[(y * width + x) * 2 + channel] : 0.0f;
    }
};

// The texel of an index when every other image is mirrored.
static int mirror(int index, int size) {
    int place = (index % (2 * size) + 2 * size) % (2 * size);
    return place < size ? place : 2 * size - 1 - place;
}

static double weight(double fraction) { return std::floor(fraction * 256 + 0.5) / 256; }

static float linear(const Level &level, double u, double v, int channel) {
    double x = u * level.width - 0.5, y = v * level.height - 0.5;
    int i = int(std::floor(x)), j = int(std::floor(y));
    double a = weight(x - i), b = weight(y - j);
    auto texel = [&](int dx, int dy) { return double(level.at(i + dx, j + dy, channel)); };
    return float((1 - a) * (1 - b) * texel(0, 0) + a * (1 - b) * texel(1, 0) + (1 - a) * b * texel(0, 1) +
                 a * b * texel(1, 1));
}

static float nearest(const Level &level, double u, double v, int channel) {
    int x = int(std::floor(u * level.width)) + 1, y = int(std::floor(v * level.height)) - 1;
    return level.at(mirror(x, level.width), mirror(y, level.height), channel);
}

int main(int argc, char **argv) {
    Files files(argc, argv, "image_refs");
    Rng rng(124);
    std::vector<Level> pyramid;
    std::vector<float> texels;
    for (int level = 0; level < levels; level++) {
        int width = std::max(10 >> level, 1), height = std::max(6 >> level, 1);
        pyramid.push_back({width, height, rng.reals(width * height * 2, -8.0f, 8.0f)});
        texels.insert(texels.end(), pyramid[level].texels.begin(), pyramid[level].texels.end());
    }
    files.write("pyramid", texels);
    std::vector<float> sums, differences;
    std::vector<u32> counts(4);
    std::vector<s32> maxima(9);
    for (int row = 0; row < 4; row++)
        for (int thread = 0; thread < 16; thread++) {
            float u = std::fmaf(float(thread), 0.09375f, -0.25f), v = std::fmaf(float(row), 0.125f, 0.0625f);
            for (int channel = 0; channel < 2; channel++)
                sums.push_back(linear(pyramid[row], u, v, channel) + nearest(pyramid[row], u, v, channel));
            // The four texels of the first level, from the lower left one on against the clock.
            const Level &base = pyramid[0];
            int i = int(std::floor(double(u) * 10 - 0.5)), j = int(std::floor(double(v) * 6 - 0.5));
            auto green = [&](int x, int y) { return base.at(mirror(x, 10), mirror(y, 6), 1); };
            differences.push_back(green(i, j + 1) - green(i + 1, j));
            differences.push_back(green(i + 1, j + 1) - green(i, j));
            counts[thread % 4] += thread;
            if (thread < 9) maxima[thread] = 8 * thread;
        }
    std::vector<float> canvas = differences;
    canvas.insert(canvas.end(), sums.begin(), sums.end());
    files.write("canvas", canvas);
    files.write("counts", counts);
    files.write("maxima", maxima);
    // CL_FLOAT is 0x10DE.
    files.write("sizes", std::vector<u32>{5, 3, 4, 0x10de, 4, 2, 1, 0});
}
