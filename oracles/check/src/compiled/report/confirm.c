/* The part that every program has: it loads the code, runs the kernel and compares what it leaves. */

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        CUresult status = (call);                                                                                      \
        if (status != CUDA_SUCCESS) {                                                                                  \
            const char *text = "unknown error";                                                                        \
            cuGetErrorString(status, &text);                                                                           \
            fprintf(stderr, "%s: %s\n", #call, text);                                                                  \
            exit(2);                                                                                                   \
        }                                                                                                              \
    } while (0)

#define MOST_LOG 8192

static CUmodule load(int argc, char **argv)
{
    CUmodule module;
    if (argc == 1) {
        CHECK(cuModuleLoadData(&module, cubin));
        return module;
    }
    /* The driver's own compiler, at the level that is given. */
    static char log[MOST_LOG];
    int options[] = {CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {(void *)(size_t)atoi(argv[1]), log, (void *)(size_t)MOST_LOG};
    CUresult status = cuModuleLoadDataEx(&module, ptx, 3, options, values);
    if (status != CUDA_SUCCESS) {
        fprintf(stderr, "%s\n", log);
        CHECK(status);
    }
    return module;
}

/* How many bytes of a buffer are wrong. Bytes that the program leaves undefined may be anything. */
static size_t wrong_bytes(const struct buffer *buffer, const unsigned char *left)
{
    size_t wrong = 0;
    for (size_t at = 0; at < buffer->size; at++) {
        if (buffer->defined[at] && left[at] != buffer->after[at]) {
            if (wrong++ == 0) {
                printf("%s: byte %zu is %02x, and should be %02x\n", buffer->name, at, left[at], buffer->after[at]);
            }
        }
    }
    return wrong;
}

/* Launches the kernel, in clusters where there are any. */
static void launch(CUfunction kernel)
{
    CUlaunchAttribute attribute;
    memset(&attribute, 0, sizeof attribute);
    CUlaunchConfig config = {
        .gridDimX = grid[0],   .gridDimY = grid[1],   .gridDimZ = grid[2],
        .blockDimX = block[0], .blockDimY = block[1], .blockDimZ = block[2],
        .sharedMemBytes = dynamic_shared,
    };
    if (cluster[0] > 0) {
        attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attribute.value.clusterDim.x = cluster[0];
        attribute.value.clusterDim.y = cluster[1];
        attribute.value.clusterDim.z = cluster[2];
        config.attrs = &attribute;
        config.numAttrs = 1;
        CHECK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    }
    CHECK(cuLaunchKernelEx(&config, kernel, parameters, NULL));
}

int main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    CUfunction kernel;
    open_driver();
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleGetFunction(&kernel, load(argc, argv), entry));
    for (size_t i = 0; i < BUFFERS; i++) {
        CHECK(cuMemAlloc(&buffers[i].address, buffers[i].size > 0 ? buffers[i].size : 1));
        CHECK(cuMemcpyHtoD(buffers[i].address, buffers[i].before, buffers[i].size));
    }
    set_addresses();
    CHECK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic_shared));
    launch(kernel);
    CHECK(cuCtxSynchronize());
    size_t wrong = 0;
    for (size_t i = 0; i < BUFFERS; i++) {
        unsigned char *left = malloc(buffers[i].size + 1);
        CHECK(cuMemcpyDtoH(left, buffers[i].address, buffers[i].size));
        wrong += wrong_bytes(&buffers[i], left);
        free(left);
    }
    printf(wrong > 0 ? "WRONG: %zu bytes are not what the PTX says\n" : "right\n", wrong);
    return wrong > 0;
}
