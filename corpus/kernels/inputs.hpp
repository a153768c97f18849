// Input values and buffer files for the reference programs. No algorithm lives here: every
// NAME.ref.cpp computes its expected outputs by itself.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

// SplitMix64: the same inputs on every machine.
class Rng {
public:
    explicit Rng(u64 seed) : state(seed) {}

    u64 next64() {
        u64 z = state += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    u32 next32() { return u32(next64() >> 32); }

    u32 below(u32 bound) { return u32((u64(next32()) * bound) >> 32); }

    // A multiple of 2^-16 in [low, high).
    float real(float low, float high) { return low + (high - low) * (float(next32() >> 16) / 65536.0f); }

    template <class T, class F> std::vector<T> fill(std::size_t count, F value) {
        std::vector<T> values;
        for (std::size_t i = 0; i < count; i++) values.push_back(T(value()));
        return values;
    }

    std::vector<u32> words(std::size_t count) {
        return fill<u32>(count, [this] { return next32(); });
    }

    std::vector<u64> longs(std::size_t count) {
        return fill<u64>(count, [this] { return next64(); });
    }

    std::vector<u8> bytes(std::size_t count) {
        return fill<u8>(count, [this] { return next32(); });
    }

    std::vector<float> reals(std::size_t count, float low, float high) {
        return fill<float>(count, [=, this] { return real(low, high); });
    }

private:
    u64 state;
};

// Writes NAME.WHAT.bin files into the folder that is the program's only argument.
class Files {
public:
    Files(int argc, char **argv, const char *name) {
        if (argc != 2) {
            std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
            std::exit(2);
        }
        prefix = std::string(argv[1]) + "/" + name + ".";
    }

    template <class T> void write(const char *what, const std::vector<T> &values) const {
        std::string path = prefix + what + ".bin";
        std::FILE *file = std::fopen(path.c_str(), "wb");
        bool whole = file && std::fwrite(values.data(), sizeof(T), values.size(), file) == values.size();
        if (!whole || std::fclose(file) != 0) {
            std::perror(path.c_str());
            std::exit(1);
        }
    }

private:
    std::string prefix;
};
