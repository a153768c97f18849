// 256-bit numbers as eight words: sum, difference and truncated product through hardware carry chains,
// and a comparison that walks from the top.
struct Big {
    unsigned word[8];
};

extern "C" __global__ void bignum(const Big *as, const Big *bs, Big *sums, Big *differences, Big *products,
                                  unsigned *flags) {
    unsigned i = threadIdx.x;
    Big a = as[i], b = bs[i], sum, difference, product;
    unsigned carry, borrow, one, two;
    asm volatile("{\n\t"
                 "add.cc.u32 %0, %9, %17;\n\taddc.cc.u32 %1, %10, %18;\n\t"
                 "addc.cc.u32 %2, %11, %19;\n\taddc.cc.u32 %3, %12, %20;\n\t"
                 "addc.cc.u32 %4, %13, %21;\n\taddc.cc.u32 %5, %14, %22;\n\t"
                 "addc.cc.u32 %6, %15, %23;\n\taddc.cc.u32 %7, %16, %24;\n\t"
                 "addc.u32 %8, 0, 0;\n\t}"
                 : "=&r"(sum.word[0]), "=&r"(sum.word[1]), "=&r"(sum.word[2]), "=&r"(sum.word[3]), "=&r"(sum.word[4]),
                   "=&r"(sum.word[5]), "=&r"(sum.word[6]), "=&r"(sum.word[7]), "=&r"(carry)
                 : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(a.word[4]), "r"(a.word[5]),
                   "r"(a.word[6]), "r"(a.word[7]), "r"(b.word[0]), "r"(b.word[1]), "r"(b.word[2]), "r"(b.word[3]),
                   "r"(b.word[4]), "r"(b.word[5]), "r"(b.word[6]), "r"(b.word[7]));
    asm volatile("{\n\t"
                 "sub.cc.u32 %0, %9, %17;\n\tsubc.cc.u32 %1, %10, %18;\n\t"
                 "subc.cc.u32 %2, %11, %19;\n\tsubc.cc.u32 %3, %12, %20;\n\t"
                 "subc.cc.u32 %4, %13, %21;\n\tsubc.cc.u32 %5, %14, %22;\n\t"
                 "subc.cc.u32 %6, %15, %23;\n\tsubc.cc.u32 %7, %16, %24;\n\t"
                 "subc.u32 %8, 0, 0;\n\t}"
                 : "=&r"(difference.word[0]), "=&r"(difference.word[1]), "=&r"(difference.word[2]),
                   "=&r"(difference.word[3]), "=&r"(difference.word[4]), "=&r"(difference.word[5]),
                   "=&r"(difference.word[6]), "=&r"(difference.word[7]), "=&r"(borrow)
                 : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(a.word[4]), "r"(a.word[5]),
                   "r"(a.word[6]), "r"(a.word[7]), "r"(b.word[0]), "r"(b.word[1]), "r"(b.word[2]), "r"(b.word[3]),
                   "r"(b.word[4]), "r"(b.word[5]), "r"(b.word[6]), "r"(b.word[7]));
#pragma unroll
    for (int k = 0; k < 8; k++) product.word[k] = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        unsigned high = 0;
#pragma unroll
        for (int j = 0; j + k < 8; j++)
            asm volatile("{\n\tadd.cc.u32 %0, %0, %1;\n\taddc.u32 %1, 0, 0;\n\t"
                         "mad.lo.cc.u32 %0, %2, %3, %0;\n\tmadc.hi.u32 %1, %2, %3, %1;\n\t}"
                         : "+r"(product.word[j + k]), "+r"(high)
                         : "r"(a.word[j]), "r"(b.word[k]));
    }
    asm volatile("{\n\t.reg .u64 x, y, z, t;\n\t"
                 "mov.b64 x, {%2, %3};\n\tmov.b64 y, {%4, %5};\n\t"
                 "add.cc.u64 z, x, y;\n\taddc.cc.u64 t, x, 0;\n\taddc.u64 t, t, z;\n\t"
                 "mov.b64 {%0, %1}, t;\n\t}"
                 : "=&r"(one), "=&r"(two)
                 : "r"(a.word[6]), "r"(a.word[7]), "r"(b.word[6]), "r"(b.word[7]));
    int order = 0;
    for (int k = 7; k >= 0 && order == 0; k--) order = (a.word[k] > b.word[k]) - (a.word[k] < b.word[k]);
    sums[i] = sum;
    differences[i] = difference;
    products[i] = product;
    flags[4 * i] = carry;
    flags[4 * i + 1] = borrow;
    flags[4 * i + 2] = one ^ two;
    flags[4 * i + 3] = order;
}
