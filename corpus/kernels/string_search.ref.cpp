// Expected outputs of string_search.cu.
#include "inputs.hpp"
#include <algorithm>
#include <cctype>
#include <string>

int main(int argc, char **argv) {
    Files files(argc, argv, "string_search");
    Rng rng(47);
    std::string alphabet = "abABc ", pattern = "aB?a", text;
    for (int i = 0; i < 1500; i++) text += alphabet[rng.below(6)];
    auto same = [](char t, char p) { return p == '?' || std::tolower(t) == std::tolower(p); };
    std::vector<u8> found(1536);
    std::vector<u32> count(1), first = {~0u};
    files.write("text", std::vector<u8>(text.begin(), text.end()));
    files.write("pattern", std::vector<u8>(pattern.begin(), pattern.end()));
    files.write("first", first);
    for (auto at = text.begin(); at + pattern.size() <= text.end(); ++at) {
        if (!std::equal(pattern.begin(), pattern.end(), at, [&](char p, char t) { return same(t, p); })) continue;
        found[at - text.begin()] = 1;
        if (count[0]++ == 0) first[0] = u32(at - text.begin());
    }
    files.write("found", found);
    files.write("count", count);
    files.write("first.expect", first);
}
