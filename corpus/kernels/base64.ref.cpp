// Expected outputs of base64.cu, a bit stream cut in sixes.
#include "inputs.hpp"
#include <string>

int main(int argc, char **argv) {
    Files files(argc, argv, "base64");
    Rng rng(74);
    const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const u32 length = 319, groups = 100;
    std::vector<u8> in = rng.bytes(length), text, coded;
    std::vector<u32> decoded;
    for (u32 i = 0; i < 4 * groups; i++) coded.push_back(rng.below(40) ? u8(alphabet[rng.below(64)]) : u8(rng.next32()));
    files.write("in", in);
    files.write("coded", coded);
    for (u32 bit = 0; bit < 8 * length; bit += 6) {
        u32 index = 0;
        for (u32 k = bit; k < bit + 6; k++) index = index * 2 + (k < 8 * length ? in[k / 8] >> (7 - k % 8) & 1 : 0);
        text.push_back(u8(alphabet[index]));
    }
    while (text.size() % 4) text.push_back('=');
    for (u32 i = 0; i < groups; i++) {
        u32 value = 0;
        bool good = true;
        for (u32 k = 4 * i; k < 4 * i + 4; k++) {
            std::size_t at = alphabet.find(char(coded[k]));
            good &= at != std::string::npos;
            value = value * 64 + u32(at);
        }
        decoded.push_back(good ? value : ~0u);
    }
    files.write("text", text);
    files.write("decoded", decoded);
}
