// Expected output of bytecode.cu: the same machine with a growing stack and a table of actions.
#include "inputs.hpp"
#include <functional>
#include <utility>

struct Machine {
    std::vector<u32> stack;
    u32 pc = 0, steps = 0, counter = 0;

    u32 &top() { return stack.back(); }

    u32 pop() {
        u32 value = stack.back();
        stack.pop_back();
        return value;
    }

    void push(u32 value) {
        if (stack.size() < 16) stack.push_back(value);
    }

    void combine(auto operation) {
        if (stack.size() < 2) return;
        u32 value = pop();
        top() = operation(top(), value);
    }

    void step(u8 op) {
        const u32 n = op / 16;
        const std::function<void()> actions[16] = {
            [&] { pc = 32; },
            [&] { push(n); },
            [&] { push(top()); },
            [&] { combine(std::plus<u32>()); },
            [&] { combine(std::minus<u32>()); },
            [&] { combine(std::multiplies<u32>()); },
            [&] { top() ^= counter; },
            [&] { top() = u32(s32(top()) >> n); },
            [&] { top() <<= n; },
            [&] { top() = ~top(); },
            [&] { pc += top() % 2 ? n % 4 : 0; },
            [&] { if (++counter % 4) pc = pc > n ? pc - n : 0; },
            [&] { if (stack.size() > 1) std::swap(top(), stack[stack.size() - 2]); },
            [&] { if (stack.size() > 1) pop(); },
            [&] { top() += n * 1000 + counter; },
            [&] { if (top() >> 31) top() = 0 - top(); },
        };
        actions[op % 16]();
    }
};

int main(int argc, char **argv) {
    Files files(argc, argv, "bytecode");
    Rng rng(41);
    const int blocks = 8, threads = 32;
    std::vector<u8> programs = rng.fill<u8>(32 * blocks, [&] { return rng.below(256 - 16) + 1; });
    for (u8 &op : programs)
        if (op % 16 == 0) op++;
    std::vector<u32> arguments = rng.words(blocks * threads), results;
    files.write("programs", programs);
    files.write("arguments", arguments);
    for (int i = 0; i < blocks * threads; i++) {
        Machine m;
        m.stack = {arguments[i]};
        for (; m.pc < 32 && m.steps < 200; m.steps++) m.step(programs[i / threads * 32 + m.pc++]);
        results.push_back(m.top());
        results.push_back(m.steps * 256 + u32(m.stack.size() - 1) * 16 + m.counter % 16);
    }
    files.write("results", results);
}
