// nvcc: -Xcicc -O0
// A prefix sum over an operation, compiled without optimisation: templates are weak functions, and objects of them are
// passed on by address.
template <class T> struct Maximum {
    __device__ T operator()(const T &a, const T &b) const { return a < b ? b : a; }
};

template <class T> struct Sum {
    T modulus;
    __device__ T operator()(const T &a, const T &b) const { return (a + b) % modulus; }
};

template <class T> __device__ T identity(const T *) { return T(0); }

template <class T, int Length, class Operation> __device__ void scan(T *values, const Operation &operation) {
    T sum = identity(values);
    for (int i = 0; i < Length; i++) {
        sum = operation(sum, values[i]);
        values[i] = sum;
    }
}

extern "C" __global__ void unoptimized_templates(const unsigned *in, unsigned *out) {
    unsigned row[6];
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < 6; i++) row[i] = in[6 * thread + i] % 1000;
    scan<unsigned, 6>(row, Sum<unsigned>{997});
    scan<unsigned, 6>(row, Maximum<unsigned>());
    for (int i = 0; i < 6; i++) out[6 * thread + i] = row[i];
}
