// nvcc: -fmad=false
// Two leapfrog steps of gravity among 64 bodies, f32 with exact square roots and divisions, positions
// exchanged through shared memory.
extern "C" __global__ void n_body(const float4 *bodies, const float4 *velocities, float4 *out, float step) {
    __shared__ float4 at[64];
    int t = threadIdx.x;
    float4 p = bodies[t], v = velocities[t];
    for (int round = 0; round < 2; round++) {
        at[t] = p;
        __syncthreads();
        float ax = 0, ay = 0, az = 0;
        for (int i = 0; i < 64; i++) {
            float4 q = at[i];
            float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
            float square = dx * dx + dy * dy + dz * dz + 0.0625f;
            float pull = q.w / (square * sqrtf(square));
            ax += dx * pull;
            ay += dy * pull;
            az += dz * pull;
        }
        __syncthreads();
        v.x += ax * step;
        v.y += ay * step;
        v.z += az * step;
        p.x += v.x * step;
        p.y += v.y * step;
        p.z += v.z * step;
    }
    out[2 * t] = p;
    out[2 * t + 1] = v;
}
