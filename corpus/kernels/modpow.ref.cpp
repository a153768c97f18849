// Expected output of modpow.cu, by 128-bit remainders.
#include "inputs.hpp"

__extension__ typedef unsigned __int128 u128;

int main(int argc, char **argv) {
    Files files(argc, argv, "modpow");
    Rng rng(32);
    const int n = 96;
    std::vector<u64> bases = rng.longs(n), powers;
    std::vector<u64> moduli = rng.fill<u64>(n, [&] { return (rng.next64() >> (1 + rng.below(50))) | 1; });
    std::vector<u32> exponents = rng.fill<u32>(n, [&] { return rng.next32() >> rng.below(32); });
    moduli[0] = 3;
    exponents[1] = 0;
    files.write("bases", bases);
    files.write("exponents", exponents);
    files.write("moduli", moduli);
    for (int i = 0; i < n; i++) {
        u128 power = 1;
        for (int bit = 31; bit >= 0; bit--) {
            power = power * power % moduli[i];
            if (exponents[i] >> bit & 1) power = power * (bases[i] % moduli[i]) % moduli[i];
        }
        powers.push_back(u64(power % moduli[i]));
    }
    files.write("powers", powers);
}
