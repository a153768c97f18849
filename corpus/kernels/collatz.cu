// Length and peak of Collatz sequences: a loop whose trip count differs in every thread.
extern "C" __global__ void collatz(unsigned first, unsigned short *steps, unsigned long long *peaks) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long n = first + i, peak = n;
    unsigned short count = 0;
    while (n != 1) {
        if (n & 1)
            n = 3 * n + 1;
        else
            n >>= 1;
        if (n > peak) peak = n;
        count++;
    }
    steps[i] = count;
    peaks[i] = peak;
}
