// Breadth-first search by one block: a frontier queue in shared memory, nodes claimed by compare-and-swap,
// levels separated by barriers, until the frontier is empty.
extern "C" __global__ void bfs(const int *starts, const int *edges, int *level, int source, int *depth) {
    __shared__ int queue[2][256], sizes[2];
    int t = threadIdx.x, now = 0, distance = 0;
    if (t == 0) {
        queue[0][0] = source;
        sizes[0] = 1;
        level[source] = 0;
    }
    __syncthreads();
    while (sizes[now] > 0) {
        if (t == 0) sizes[1 - now] = 0;
        __syncthreads();
        distance++;
        for (int i = t; i < sizes[now]; i += blockDim.x) {
            int node = queue[now][i];
            for (int k = starts[node]; k < starts[node + 1]; k++)
                if (atomicCAS(&level[edges[k]], -1, distance) == -1)
                    queue[1 - now][atomicAdd(&sizes[1 - now], 1)] = edges[k];
        }
        now = 1 - now;
        __syncthreads();
    }
    if (t == 0) *depth = distance;
}
