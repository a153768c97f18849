// All shortest paths among 24 nodes in shared memory, with the next hop of each pair; saturating sums.
extern "C" __global__ void floyd_warshall(const unsigned short *weights, unsigned short *distances, signed char *hops) {
    __shared__ unsigned short distance[24][24];
    __shared__ signed char hop[24][24];
    int x = threadIdx.x;
    for (int y = threadIdx.y; y < 24; y += 8) {
        distance[y][x] = x == y ? 0 : weights[y * 24 + x];
        hop[y][x] = weights[y * 24 + x] < 0xffff ? x : -1;
    }
    for (int k = 0; k < 24; k++) {
        __syncthreads();
        unsigned through[3];
        signed char toward[3];
        for (int i = 0; i < 3; i++) {
            int y = threadIdx.y + 8 * i;
            through[i] = min((unsigned)distance[y][k] + distance[k][x], 0xffffu);
            toward[i] = hop[y][k];
        }
        __syncthreads();
        for (int i = 0; i < 3; i++) {
            int y = threadIdx.y + 8 * i;
            if (through[i] < distance[y][x]) {
                distance[y][x] = (unsigned short)through[i];
                hop[y][x] = toward[i];
            }
        }
    }
    for (int y = threadIdx.y; y < 24; y += 8) {
        distances[y * 24 + x] = distance[y][x];
        hops[y * 24 + x] = hop[y][x];
    }
}
