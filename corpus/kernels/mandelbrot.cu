// nvcc: -fmad=false
// Escape times of the Mandelbrot set, once in 4.28 fixed point and once in f64, on a 2D grid.
extern "C" __global__ void mandelbrot(int width, int height, int limit, unsigned char *fixed, unsigned char *real) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int cx = (int)((long long)(x * 3 - width * 2) * (1 << 28) / width);
    int cy = (int)((long long)(y * 2 - height) * (1 << 28) / height);
    int zx = 0, zy = 0, count = 0;
    while (count < limit) {
        long long xx = (long long)zx * zx >> 28, yy = (long long)zy * zy >> 28;
        if (xx + yy > 4ll << 28) break;
        zy = (int)(((long long)zx * zy >> 27) + cy);
        zx = (int)(xx - yy + cx);
        count++;
    }
    fixed[y * width + x] = (unsigned char)count;
    double u = 0, v = 0, a = (x * 3 - width * 2) / (double)width, b = (y * 2 - height) / (double)height;
    for (count = 0; count < limit && u * u + v * v <= 4; count++) {
        double next = u * u - v * v + a;
        v = 2 * u * v + b;
        u = next;
    }
    real[y * width + x] = (unsigned char)count;
}
