// Runs the search's kernel on a processor.
#include "../emulated_warp.h"

#include KERNEL

namespace {
struct Arguments {
    const int4* sizes;
    const float *points, *matrices, *transposed;
    const int* demands;
    const unsigned short* starts;
    unsigned short* routes;
    float* lengths;
    int chains, chains_each, locations, width;
    Limits limits;
} arguments;

void run_lane() {
    const Arguments& a = arguments;
    search(a.sizes, a.points, a.matrices, a.transposed, a.demands, a.starts, a.routes,
           a.lengths, a.chains, a.chains_each, a.locations, a.width, a.limits);
}
}  // namespace

extern "C" void emulate(const int4* sizes, const float* points, const float* matrices,
                        const float* transposed, const int* demands,
                        const unsigned short* starts, unsigned short* routes,
                        float* lengths, int chains, int chains_each, int locations,
                        int width, const Limits* limits, int backwards) {
    arguments = {sizes,   points, matrices,    transposed, demands, starts, routes,
                 lengths, chains, chains_each, locations,  width,   *limits};
    warp::run_blocks(run_lane, chains, backwards);
}
