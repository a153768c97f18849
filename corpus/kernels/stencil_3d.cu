// Seven-point stencil over a box in f64, on a 3D grid of 3D blocks; border cells are copied.
extern "C" __global__ void stencil_3d(const double *in, double *out, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    int i = (z * ny + y) * nx + x;
    double value = in[i];
    if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1 && z > 0 && z < nz - 1) {
        value = fma(-6.0, value, in[i - 1]);
        value = __dadd_rn(value, in[i + 1]);
        value = __dadd_rn(value, in[i - nx]);
        value = __dadd_rn(value, in[i + nx]);
        value = __dadd_rn(value, in[i - nx * ny]);
        value = __dadd_rn(value, in[i + nx * ny]);
    }
    out[i] = value;
}
