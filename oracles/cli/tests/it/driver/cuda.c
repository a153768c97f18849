/* A driver without a GPU: memory is that of the process, and kernels only count themselves. Each module has the
 * variables `launches`, which they count in, and `loads`, how many modules were loaded. FAIL says how launches end, SAY
 * what kernels print. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int result;
typedef unsigned long long address;

struct config {
    unsigned grid[3], block[3], shared;
    void *stream, *attributes;
    unsigned count;
};

enum { OK = 0, INVALID_VALUE = 1, INVALID_IMAGE = 200, NOT_FOUND = 500, MAJOR = 75 };

static int context;
static int launches, loads;

result cuInit(unsigned flags) { return flags ? INVALID_VALUE : OK; }

result cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return OK;
}

result cuDeviceGetName(char *name, int length, int device)
{
    snprintf(name, length, "a stand-in %d", device);
    return OK;
}

result cuDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = attribute == MAJOR ? 9 : device;
    return OK;
}

result cuDevicePrimaryCtxRetain(void **out, int device)
{
    *out = &context;
    return device ? INVALID_VALUE : OK;
}

result cuCtxSetCurrent(void *own) { return own == &context ? OK : INVALID_VALUE; }
result cuCtxSetLimit(int limit, size_t value) { return limit == 0 && value > 0 ? OK : INVALID_VALUE; }

result cuModuleLoadData(void **module, const void *image)
{
    *module = &context;
    launches = 0;
    loads++;
    return memcmp(image, "\177ELF", 4) ? INVALID_IMAGE : OK;
}

result cuModuleUnload(void *module) { return module == &context ? OK : INVALID_VALUE; }

result cuModuleGetFunction(void **kernel, void *module, const char *name)
{
    *kernel = module;
    return name[0] ? OK : NOT_FOUND;
}

result cuModuleGetGlobal_v2(address *at, size_t *size, void *module, const char *name)
{
    int *variable = !strcmp(name, "launches") ? &launches : !strcmp(name, "loads") ? &loads : NULL;
    *at = (address)variable;
    *size = variable ? sizeof *variable : 0;
    return variable && module == &context ? OK : NOT_FOUND;
}

result cuFuncSetAttribute(void *kernel, int attribute, int value)
{
    return kernel == &context && attribute && value >= 0 ? OK : INVALID_VALUE;
}

result cuMemAlloc_v2(address *at, size_t size)
{
    *at = (address)malloc(size);
    return *at ? OK : 2;
}

result cuMemFree_v2(address at)
{
    free((void *)at);
    return OK;
}

result cuMemcpyHtoD_v2(address to, const void *from, size_t size)
{
    memcpy((void *)to, from, size);
    return OK;
}

result cuMemcpyDtoH_v2(void *to, address from, size_t size)
{
    memcpy(to, (const void *)from, size);
    return OK;
}

result cuGetErrorString(result error, const char **text)
{
    *text = error == 716 ? "misaligned address" : "another error";
    return OK;
}

result cuStreamQuery(void *stream)
{
    const char *fail = getenv("FAIL");
    return stream ? INVALID_VALUE : fail ? atoi(fail) : OK;
}

result cuLaunchKernelEx(const struct config *config, void *kernel, void **parameters, void **extra)
{
    const char *say = getenv("SAY");
    if (config->block[0] == 0 || kernel != &context || !parameters || extra)
        return INVALID_VALUE;
    launches++;
    if (say) {
        printf("%s", say);
        fflush(stdout);
    }
    return OK;
}
