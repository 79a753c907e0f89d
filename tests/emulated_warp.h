// Runs a kernel of one warp per block on a processor, for tests without a GPU. Include
// this file, then the kernel, then define a function that runs one lane, and call
// `warp::run_blocks` with it.
//
// The 32 lanes are fibres. Each runs until it meets an instruction that the whole warp
// takes part in, then the next one does. Between two such instructions lanes must not
// depend on each other: with `backwards` they run in the opposite order, and a kernel
// without races gives the same result.
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

using std::max;
using std::min;

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__
#define __align__(n) __attribute__((aligned(n)))

struct int4 { int x, y, z, w; };
struct { unsigned x; } threadIdx, blockIdx;
alignas(16) char memory[1 << 20];

namespace warp {
ucontext_t scheduler, lanes[32];
bool finished[32];
int current;
unsigned long long values[2][32];
unsigned phase[32];

template <typename T>
const unsigned long long* exchange(T value) {
    auto& row = values[phase[current]++ & 1];
    row[current] = 0;
    std::memcpy(&row[current], &value, sizeof value);
    swapcontext(&lanes[current], &scheduler);
    return row;
}

template <typename T>
T at(const unsigned long long* row, int lane) {
    T value;
    std::memcpy(&value, row + lane, sizeof value);
    return value;
}
}  // namespace warp

inline void __syncwarp() { warp::exchange(0); }

template <typename T>
T __shfl_sync(unsigned, T value, int lane) {
    return warp::at<T>(warp::exchange(value), lane & 31);
}

template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask) {
    int lane = warp::current ^ mask;
    return warp::at<T>(warp::exchange(value), lane);
}

template <typename T>
T __reduce_min_sync(unsigned, T value) {
    auto row = warp::exchange(value);
    for (int lane = 0; lane < 32; ++lane) value = min(value, warp::at<T>(row, lane));
    return value;
}

inline int __reduce_add_sync(unsigned, int value) {
    auto row = warp::exchange(value);
    int total = 0;
    for (int lane = 0; lane < 32; ++lane) total += warp::at<int>(row, lane);
    return total;
}

inline unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)(((unsigned long long)a * b) >> 32);
}

template <typename To, typename From>
To bits(From value) {
    To result;
    std::memcpy(&result, &value, sizeof result);
    return result;
}
inline int __float_as_int(float value) { return bits<int>(value); }
inline unsigned __float_as_uint(float value) { return bits<unsigned>(value); }
inline float __int_as_float(int value) { return bits<float>(value); }
inline float __ldg(const float* address) { return *address; }

namespace warp {
inline void (*run_lane)();

inline void run_and_finish() {
    run_lane();
    finished[current] = true;
    swapcontext(&lanes[current], &scheduler);
}

inline void run_warp(std::vector<std::vector<char>>& stacks, bool backwards) {
    for (int lane = 0; lane < 32; ++lane) {
        ucontext_t& context = lanes[lane];
        getcontext(&context);
        context.uc_stack.ss_sp = stacks[lane].data();
        context.uc_stack.ss_size = stacks[lane].size();
        context.uc_link = nullptr;
        makecontext(&context, run_and_finish, 0);
        finished[lane] = false;
        phase[lane] = 0;
    }
    for (int done = 0; done < 32;) {
        for (int i = 0; i < 32; ++i) {
            int lane = backwards ? 31 - i : i;
            if (finished[lane]) continue;
            current = lane;
            threadIdx.x = lane;
            swapcontext(&scheduler, &lanes[lane]);
            done += finished[lane];
        }
    }
}

inline void run_blocks(void (*lane)(), int blocks, bool backwards) {
    run_lane = lane;
    std::vector<std::vector<char>> stacks(32, std::vector<char>(1 << 17));
    for (blockIdx.x = 0; (int)blockIdx.x < blocks; ++blockIdx.x)
        run_warp(stacks, backwards);
}
}  // namespace warp
