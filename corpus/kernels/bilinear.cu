// An image is resampled along a sheared grid: each thread fetches a pixel between four texels through a texture object,
// stores it as floats, and writes it back as bytes through a surface object.

extern "C" __global__ void bilinear(cudaTextureObject_t source, cudaSurfaceObject_t target, float4 *pixels, unsigned width,
                                    unsigned height, float across, float down, float shear) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float row = __fadd_rn((float)y, 0.5f), column = __fadd_rn((float)x, 0.5f);
    float u = __fmaf_rn(row, shear, __fmul_rn(column, across)), v = __fmul_rn(row, down);
    float4 pixel = tex2D<float4>(source, u, v);
    pixels[y * width + x] = pixel;
    uchar4 bytes;
    bytes.x = (unsigned char)__fmaf_rn(pixel.x, 255.0f, 0.5f);
    bytes.y = (unsigned char)__fmaf_rn(pixel.y, 255.0f, 0.5f);
    bytes.z = (unsigned char)__fmaf_rn(pixel.z, 255.0f, 0.5f);
    bytes.w = (unsigned char)__fmaf_rn(pixel.w, 255.0f, 0.5f);
    surf2Dwrite(bytes, target, x * 4, y, cudaBoundaryModeZero);
}
