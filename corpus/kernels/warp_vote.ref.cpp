// Expected outputs of warp_vote.cu.
#include "inputs.hpp"
#include <algorithm>

int main(int argc, char **argv) {
    Files files(argc, argv, "warp_vote");
    Rng rng(24);
    std::vector<s32> in = rng.fill<s32>(128, [&] { return s32(rng.below(2000)) - 1000; }), kept;
    in[40] = -1000;
    in[70] = 950;
    files.write("in", in);
    std::vector<u32> votes;
    for (int t = 0; t < 128; t++) {
        auto ballot = [&](int first, int last, auto predicate) {
            u32 bits = 0;
            for (int lane = first; lane < last; lane++) bits |= u32(predicate(in[t / 32 * 32 + lane])) << lane;
            return bits;
        };
        auto count = [&](auto predicate) { return std::count_if(in.begin(), in.end(), predicate); };
        bool low = t % 32 < 20;
        votes.push_back(ballot(0, 32, [](int v) { return v > 900; }) != 0);
        votes.push_back(ballot(0, 32, [](int v) { return v <= -1000; }) == 0);
        votes.push_back(ballot(0, 32, [](int v) { return v % 2 != 0; }));
        votes.push_back(~0u);
        votes.push_back(low ? ballot(0, 20, [](int v) { return v < 0; }) : ballot(20, 32, [](int v) { return v > 0; }));
        u32 any = ballot(0, 20, [](int v) { return v % 64 == 7; }) != 0;
        u32 all = ballot(0, 20, [](int v) { return v <= -900; }) == 0;
        votes.push_back(low ? any + 2 * all : ~0u);
        votes.push_back(u32(count([](int v) { return v % 3 == 0; })));
        votes.push_back(u32(count([](int v) { return v == 5; }) > 0) << 1 | (count([](int v) { return v < 1000; }) == 128));
    }
    files.write("votes", votes);
    std::copy_if(in.begin(), in.end(), std::back_inserter(kept), [](int v) { return v >= 0; });
    files.write("count", std::vector<u32>{u32(kept.size())});
    kept.resize(128);
    files.write("kept", kept);
}
