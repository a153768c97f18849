/* The part of the CUDA driver that the program uses, as NVIDIA documents it. Its library is opened at run time, so that
 * neither a header nor a library of the toolkit is needed to build the program. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult, CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef unsigned long long CUdeviceptr;

enum { CUDA_SUCCESS = 0 };
enum { CU_JIT_ERROR_LOG_BUFFER = 5, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6, CU_JIT_OPTIMIZATION_LEVEL = 7 };
enum { CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14 };
enum { CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4 };

typedef struct {
    int id;
    char pad[8 - sizeof(int)];
    union {
        char pad[64];
        struct {
            unsigned x, y, z;
        } clusterDim;
    } value;
} CUlaunchAttribute;

typedef struct {
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute *attrs;
    unsigned numAttrs;
} CUlaunchConfig;

/* Each function with the name that the library exports: of some there is an older one without `_v2`. */
#define DRIVER(FUNCTION)                                                                                               \
    FUNCTION(cuInit, "cuInit", (unsigned))                                                                             \
    FUNCTION(cuDeviceGet, "cuDeviceGet", (CUdevice *, int))                                                            \
    FUNCTION(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice))                            \
    FUNCTION(cuCtxSetCurrent, "cuCtxSetCurrent", (CUcontext))                                                          \
    FUNCTION(cuCtxSynchronize, "cuCtxSynchronize", (void))                                                             \
    FUNCTION(cuGetErrorString, "cuGetErrorString", (CUresult, const char **))                                          \
    FUNCTION(cuModuleLoadData, "cuModuleLoadData", (CUmodule *, const void *))                                         \
    FUNCTION(cuModuleLoadDataEx, "cuModuleLoadDataEx", (CUmodule *, const void *, unsigned, int *, void **))           \
    FUNCTION(cuModuleGetFunction, "cuModuleGetFunction", (CUfunction *, CUmodule, const char *))                       \
    FUNCTION(cuFuncSetAttribute, "cuFuncSetAttribute", (CUfunction, int, int))                                         \
    FUNCTION(cuMemAlloc, "cuMemAlloc_v2", (CUdeviceptr *, size_t))                                                     \
    FUNCTION(cuMemcpyHtoD, "cuMemcpyHtoD_v2", (CUdeviceptr, const void *, size_t))                                     \
    FUNCTION(cuMemcpyDtoH, "cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t))                                           \
    FUNCTION(cuLaunchKernelEx, "cuLaunchKernelEx", (const CUlaunchConfig *, CUfunction, void **, void **))

#define DECLARE(name, exported, parameters) static CUresult(*name) parameters;
DRIVER(DECLARE)

static void *find(void *library, const char *exported)
{
    void *function = dlsym(library, exported);
    if (function == NULL) {
        fprintf(stderr, "the CUDA driver is too old: it has no %s\n", exported);
        exit(2);
    }
    return function;
}

static void open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL) {
        library = dlopen("libcuda.so", RTLD_NOW);
    }
    if (library == NULL) {
        fprintf(stderr, "there is no CUDA driver: %s\n", dlerror());
        exit(2);
    }
#define FIND(name, exported, parameters) *(void **)&name = find(library, exported);
    DRIVER(FIND)
}
