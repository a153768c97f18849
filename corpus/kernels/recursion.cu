// Recursion on the device: Fibonacci (two calls), Ackermann (nested calls), mutual recursion, and the
// number of ways to change an amount.
__device__ __noinline__ unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ bool is_odd(unsigned n);
__device__ __noinline__ bool is_even(unsigned n) { return n == 0 || is_odd(n - 1); }
__device__ __noinline__ bool is_odd(unsigned n) { return n != 0 && is_even(n - 1); }

__device__ __noinline__ unsigned change(int amount, const int *coins, int kinds) {
    if (amount == 0) return 1;
    if (amount < 0 || kinds == 0) return 0;
    return change(amount - coins[kinds - 1], coins, kinds) + change(amount, coins, kinds - 1);
}

extern "C" __global__ void recursion(unsigned *out) {
    unsigned t = threadIdx.x;
    int coins[4] = {1, 2, 5, 10};
    coins[0] += (int)(t % 2) * 2;
    unsigned *mine = out + 4 * t;
    mine[0] = fibonacci(t % 12);
    mine[1] = ackermann(t % 3, t % 4);
    mine[2] = is_even(t) * 2 + is_odd(t % 7);
    mine[3] = change(t % 24, coins, 4);
}
