// Objects with virtual functions built on the device: calls through tables of functions, multiple bases,
// and a destructor that runs at the end of a scope.
struct Shape {
    __device__ virtual long long area() const = 0;
    __device__ virtual int corners() const { return 0; }
};

struct Named {
    int name;
    __device__ explicit Named(int name) : name(name) {}
    __device__ virtual int tag() const { return name * 10; }
};

struct Rectangle : Shape, Named {
    int width, height;
    __device__ Rectangle(int width, int height) : Named(1), width(width), height(height) {}
    __device__ long long area() const override { return (long long)width * height; }
    __device__ int corners() const override { return 4; }
};

struct Disc : Shape, Named {
    int radius;
    __device__ explicit Disc(int radius) : Named(2), radius(radius) {}
    __device__ long long area() const override { return 355ll * radius * radius / 113; }
    __device__ int tag() const override { return name * 10 + 1; }
};

struct Counter {
    int &count;
    __device__ ~Counter() { count++; }
};

__device__ __noinline__ long long measure(const Shape *const *shapes, int count) {
    long long total = 0;
    for (int i = 0; i < count; i++) total += shapes[i]->area() * 16 + shapes[i]->corners();
    return total;
}

__device__ __noinline__ int tags(const Named &a, const Named &b) { return a.tag() * 100 + b.tag(); }

extern "C" __global__ void virtual_calls(const int *in, long long *totals, int *labels) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t], ended = 0;
    Rectangle wide(v & 0xfff, v >> 20 & 0xff), tall(v & 7, 1 + (v >> 3 & 0xffff));
    Disc disc(v >> 12 & 0x3ff);
    const Shape *shapes[4] = {&wide, &disc, &tall, v & 1 ? (const Shape *)&disc : &wide};
    totals[t] = measure(shapes + (v >> 1 & 1), 2 + (v >> 2 & 1));
    for (int i = 0; i < (v & 3); i++) Counter counter{ended};
    labels[t] = (v & 16 ? tags(wide, disc) : tags(disc, tall)) * 4 + ended;
}
