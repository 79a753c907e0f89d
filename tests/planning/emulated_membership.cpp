// Runs the kernel that decodes memberships on a processor.
#include "../emulated_warp.h"

#include KERNEL

namespace {
struct Arguments {
    const int* value;
    const Index* order;
    const i64* demands;
    const bool* customers;
    const i64* room;
    const double* distances;
    i64* routes;
    int n, m;
} arguments;

void run_lane() {
    const Arguments& a = arguments;
    plan(a.value, a.order, a.demands, a.customers, a.room, a.distances, a.routes, a.n,
         a.m);
}
}  // namespace

extern "C" void emulate(const int* value, const Index* order, const i64* demands,
                        const bool* customers, const i64* room, const double* distances,
                        i64* routes, int count, int n, int m, int backwards) {
    arguments = {value, order, demands, customers, room, distances, routes, n, m};
    warp::run_blocks(run_lane, count, backwards);
}
