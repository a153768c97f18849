// Expected output of image_gathers.ptx by the formulas of the CUDA C++ Programming Guide, "Texture Fetching", and of
// "tld4" in the PTX ISA. Filters are points, and places beyond an edge are those at the edge.
#include <cmath>

#include "inputs.hpp"

struct Level {
    int width, height, channels;
    std::vector<float> texels;

    float at(int x, int y, int channel) const {
        x = std::min(std::max(x, 0), width - 1);
        y = std::min(std::max(y, 0), height - 1);
        return texels[(y * width + x) * channels + channel];
    }

    float point(double u, double v, int dx, int dy, int channel) const {
        return at(int(std::floor(u * width)) + dx, int(std::floor(v * height)) + dy, channel);
    }

    // The four texels around a place, from the lower left one on against the clock.
    std::vector<float> gather(double u, double v, int dx, int dy, int channel) const {
        int i = int(std::floor(u * width - 0.5)) + dx, j = int(std::floor(v * height - 0.5)) + dy;
        return {at(i, j + 1, channel), at(i + 1, j + 1, channel), at(i + 1, j, channel), at(i, j, channel)};
    }
};

static std::vector<float> all(const std::vector<Level> &levels) {
    std::vector<float> texels;
    for (const Level &level : levels) texels.insert(texels.end(), level.texels.begin(), level.texels.end());
    return texels;
}

int main(int argc, char **argv) {
    Files files(argc, argv, "image_gathers");
    Rng rng(131);
    std::vector<Level> source, layers, line;
    for (int level = 0; level < 3; level++) {
        int width = 12 >> level, height = 10 >> level;
        source.push_back({width, height, 2, rng.reals(width * height * 2, -1.0f, 2.0f)});
    }
    for (int layer = 0; layer < 3; layer++) layers.push_back({12, 10, 1, rng.reals(120, -8.0f, 8.0f)});
    for (int level = 0; level < 4; level++) line.push_back({16 >> level, 1, 1, rng.reals(16 >> level, -8.0f, 8.0f)});
    files.write("source", all(source));
    files.write("layers", all(layers));
    files.write("line", all(line));
    std::vector<float> out, canvas;
    std::vector<u32> counts(4);
    std::vector<s32> maxima(9);
    auto append = [&](std::vector<float> values) { out.insert(out.end(), values.begin(), values.end()); };
    auto passes = [](float texel) { return 0.5f <= texel ? 1.0f : 0.0f; };
    for (int row = 0; row < 4; row++)
        for (int thread = 0; thread < 16; thread++) {
            float u = (thread + 0.5f) / 16, v = (row + 0.5f) / 4;
            const Level &base = source[0], &layer = layers[std::min(row, 2)], &level = source[std::min(row, 2)];
            append(base.gather(u, v, 0, 0, 0));
            append(base.gather(u, v, 3, -2, 1));
            std::vector<float> depths = base.gather(u, v, 1, 1, 0);
            for (float &depth : depths) depth = passes(depth);
            append(depths);
            append(layer.gather(u, v, 0, 0, 0));
            // A step of 0.6 texels on the diagonal is 0.85 long, whose level is nearest to zero; each CTA doubles it.
            append({level.point(u, v, 0, 0, 0), level.point(u, v, 0, 0, 1)});
            append({level.point(u, v, -1, 2, 0), level.point(u, v, -1, 2, 1)});
            // A step of 1.6 texels along the line, doubled, is nearest to the level behind.
            const Level &along = line[std::min(row + 1, 3)];
            const Level &chosen = source[int(v + 0.5f)];
            append({layer.point(u, v, 1, -1, 0), along.point(u, 0, 0, 0, 0), passes(chosen.point(u, v, 1, 1, 0)),
                    passes(chosen.point(u, v, 1, 1, 1))});
            canvas.insert(canvas.end(), {base.gather(u, v, 0, 0, 0)[0], level.point(u, v, 0, 0, 0)});
            counts[thread % 4] += 16 * row + thread;
            if (thread < 9) maxima[thread] = std::max(maxima[thread], 16 * row + thread);
        }
    files.write("out", out);
    files.write("canvas", canvas);
    files.write("counts", counts);
    files.write("maxima", maxima);
    files.write("sizes", std::vector<u32>{6, 10, 16, 4});
}
