// nvcc: -G
// Rigid motions of points, compiled for debugging: objects by value and by reference, each member function a call, and
// every variable in the frame.
struct Vector {
    int x, y, z;

    __device__ Vector(int x, int y, int z) : x(x), y(y), z(z) {}
    __device__ Vector operator+(const Vector &other) const { return Vector(x + other.x, y + other.y, z + other.z); }
    __device__ Vector &operator*=(int factor) {
        x *= factor;
        y *= factor;
        z *= factor;
        return *this;
    }
};

struct Motion {
    Vector by;
    short turn;
    unsigned char scale;

    // A quarter turn about an axis, as often as asked.
    __device__ void turned(Vector *point, int axis) const {
        for (int i = 0; i < turn; i++) {
            int *from = axis == 0 ? &point->y : &point->x;
            int *to = axis == 2 ? &point->y : &point->z;
            int keep = *from;
            *from = -*to;
            *to = keep;
        }
    }

    __device__ Vector operator()(Vector point, int axis) const {
        turned(&point, axis);
        point *= scale;
        return point + by;
    }
};

__device__ static Motion motion_of(unsigned seed) {
    Motion motion = {Vector(seed & 15, seed >> 4 & 15, -7), short(seed >> 8 & 3), (unsigned char)(1 + (seed >> 10 & 1))};
    return motion;
}

extern "C" __global__ void debug_vectors(const int *points, const unsigned *seeds, int *out, int count) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= count) return;
    Vector point(points[3 * thread], points[3 * thread + 1], points[3 * thread + 2]);
    for (int step = 0; step < 3; step++) point = motion_of(seeds[(thread + step) % count])(point, step);
    out[3 * thread] = point.x;
    out[3 * thread + 1] = point.y;
    out[3 * thread + 2] = point.z;
}
