// Expected output of cluster_product.cu: the product by its definition, row by column, then cut into tiles.
#include "inputs.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "cluster_product");
    Rng rng(115);
    const u32 down = 4, across = 2, slices = 5;
    const u32 rows = down * 16, depth = slices * 8, columns = across * 32;
    std::vector<u32> left = rng.fill<u32>(rows * depth, [&] { return rng.next32(); });
    std::vector<u32> right = rng.fill<u32>(depth * columns, [&] { return rng.next32(); });
    std::vector<u32> a, b, c, sums(down / 2 * across);
    for (u32 block = 0; block < down; block++)
        for (u32 slice = 0; slice < slices; slice++)
            for (u32 row = 0; row < 16; row++)
                for (u32 k = 0; k < 8; k++) a.push_back(left[(block * 16 + row) * depth + slice * 8 + k]);
    for (u32 block = 0; block < across; block++)
        for (u32 k = 0; k < depth; k++)
            for (u32 column = 0; column < 32; column++) b.push_back(right[k * columns + block * 32 + column]);
    for (u32 y = 0; y < down; y++)
        for (u32 x = 0; x < across; x++)
            for (u32 row = 0; row < 16; row++)
                for (u32 column = 0; column < 32; column++) {
                    u32 dot = 0;
                    for (u32 k = 0; k < depth; k++)
                        dot += left[(y * 16 + row) * depth + k] * right[k * columns + x * 32 + column];
                    c.push_back(dot);
                    sums[y / 2 * across + x] += dot;
                }
    files.write("a", a);
    files.write("b", b);
    files.write("c", c);
    files.write("sums", sums);
}
