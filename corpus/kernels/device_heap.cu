// The functions that the system provides: a list on the heap of each thread, an assertion that holds, and a line that
// some threads print.
#include <cassert>
#include <cstdio>

struct Node {
    unsigned value;
    Node *next;
};

extern "C" __global__ void device_heap(const unsigned *in, unsigned *out, unsigned most)
{
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = in[thread];
    const unsigned length = value % most + 1;
    Node *list = nullptr;
    for (unsigned at = 0; at < length; at++) {
        Node *node = static_cast<Node *>(malloc(sizeof(Node)));
        assert(node != nullptr);
        node->value = value;
        node->next = list;
        list = node;
        value = value * 1664525u + 1013904223u;
    }
    if (thread % 16 == 3)
        printf("thread %u has %u nodes\n", thread, length);
    unsigned hash = 2166136261u;
    while (list != nullptr) {
        Node *next = list->next;
        hash = (hash ^ list->value) * 16777619u;
        free(list);
        list = next;
    }
    out[thread] = hash;
}
