// nvcc: -Xcicc -jump-table-density=1
// An interpreter of a small stack machine: a dense switch (a jump table) in a loop, with a program a block and an
// argument a thread.
extern "C" __global__ void bytecode(const unsigned char *programs, const int *arguments, int *results) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned char *code = programs + 32 * blockIdx.x;
    int stack[16], top = 0, steps = 0, counter = 0;
    stack[0] = arguments[i];
    for (unsigned pc = 0; pc < 32 && steps < 200; steps++) {
        unsigned char op = code[pc++];
        int operand = op >> 4, value = stack[top];
        switch (op & 15) {
        case 0: pc = 32; break;
        case 1: if (top < 15) stack[++top] = operand; break;
        case 2: if (top < 15) stack[++top] = value; break;
        case 3: if (top > 0) { top--; stack[top] += value; } break;
        case 4: if (top > 0) { top--; stack[top] -= value; } break;
        case 5: if (top > 0) { top--; stack[top] *= value; } break;
        case 6: stack[top] = value ^ counter; break;
        case 7: stack[top] = value >> operand; break;
        case 8: stack[top] = (int)((unsigned)value << operand); break;
        case 9: stack[top] = ~value; break;
        case 10: if (value & 1) pc += operand & 3; break;
        case 11: if (++counter % 4) pc = pc > operand ? pc - operand : 0; break;
        case 12: if (top > 0) { int below = stack[top - 1]; stack[top - 1] = value; stack[top] = below; } break;
        case 13: if (top > 0) top--; break;
        case 14: stack[top] = value + operand * 1000 + counter; break;
        case 15: stack[top] = value < 0 ? -(unsigned)value : value; break;
        }
    }
    results[2 * i] = stack[top];
    results[2 * i + 1] = steps * 256 + top * 16 + counter % 16;
}
