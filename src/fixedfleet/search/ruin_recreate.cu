// Ruin and recreate with simulated annealing for a bounded fleet; one warp per chain.
//
// Compiled once for each size class, with
//   SLOTS          nodes per lane: a plan has at most 32 * SLOTS nodes
//   MATRIX         1: distances are read from a matrix; 0: computed from coordinates
//   ROUNDED        1: computed distances are rounded to whole numbers
//   WARPS, BLOCKS  warps per block, and blocks wanted per multiprocessor
//   SHARED_BYTES   shared memory per warp, as the host computes it
//
// Nodes: customers 0 ... n - 1, then a depot for each vehicle, n ... n + m - 1. A tour is
// a ring through its depot. Lane i owns the nodes i, i + 32, ...; "place p" is the gap
// between node p and the node ahead of it. The registers of the owners hold what the scan
// over all places needs; rings are in shared memory, since strings walk along them.

typedef unsigned int u32;
#if SLOTS <= 8
typedef unsigned char Index;  // of a node or a tour, in shared memory
#else
typedef unsigned short Index;
#endif

#define EACH_SLOT _Pragma("unroll unrolled") for (int k = 0; k < SLOTS; ++k)

constexpr int unrolled = SLOTS <= 24 ? SLOTS : 1;  // beyond, registers do not suffice
constexpr int nodes = 32 * SLOTS;
constexpr int bits_for(int count) {
    return count <= 1 ? 0 : 1 + bits_for((count + 1) / 2);
}
constexpr u32 node_mask = (1u << bits_for(nodes)) - 1;
constexpr u32 everyone = 0xffffffffu;
constexpr u32 nothing = 0xffffffffu;
constexpr Index no_tour = (Index)~0;
constexpr int no_place = 0x7fffffff;
constexpr int most_removed = 32;  // one removed customer per lane
constexpr float mean_unit_distance = 0.5214f;  // of two points of the unit square

struct Limits {          // the same for all chains of a launch
    int iterations;
    float start_temperature, end_temperature;  // in units
    float unit;          // a length; 0: the scale of each instance
    float mean_removed;
    int longest_string;
    u32 blink;           // probability, in units of 2^-32
    float vehicle_cost;
    u32 seed;
};

#if MATRIX
struct Place { int at; };
#else
struct Place { float x, y; };
#endif

struct Rings { Index next[nodes], previous[nodes], tour[nodes]; };

struct Shared {          // of one warp
    Place place[nodes];
    int demand[nodes];
    Rings rings;         // the current plan
    int room[nodes];     // by tour
    Rings kept_rings;    // the last accepted plan, to return to
    int kept_room[nodes];
    Place kept_ahead[nodes];
    float kept_length[nodes];
    Index best[nodes];   // next node of each node in the best plan
};

static_assert(sizeof(Shared) == SHARED_BYTES, "the host counts differently");

struct Lane {            // state of the nodes a lane owns
    Place here[SLOTS];
    Place ahead[SLOTS];  // where the next node is
    float length[SLOTS]; // of the edge to the next node
    int room[SLOTS];     // of the node's tour; -1 if nothing can be inserted
    int tour[SLOTS];
};

struct Chain {           // what a warp works on
    Shared& shared;
    const Limits& limits;
    const float* matrix;      // [from][to]
    const float* transposed;  // [to][from]
    int stride;
    int n, m, lane;
    float strings;       // one string, and up to this many more
    u32 longest;
};

__device__ __forceinline__ float distance(const Chain& chain, Place a, Place b) {
#if MATRIX
    return __ldg(chain.matrix + a.at * chain.stride + b.at);
#else
    float x = a.x - b.x, y = a.y - b.y;
    float length = sqrtf(x * x + y * y);
    return ROUNDED ? floorf(length + 0.5f) : length;
#endif
}

// The same distance, for lanes that differ in a: neighbouring lanes read side by side.
__device__ __forceinline__ float distance_into(const Chain& chain, Place a, Place b) {
#if MATRIX
    return __ldg(chain.transposed + b.at * chain.stride + a.at);
#else
    return distance(chain, a, b);
#endif
}

// An unused vehicle counts as a negative cost, so opening a tour costs that much.
__device__ __forceinline__ float edge(const Chain& chain, int from, int to) {
    if (from == to) return -chain.limits.vehicle_cost;
    return distance(chain, chain.shared.place[from], chain.shared.place[to]);
}

__device__ __forceinline__ u32 step(u32& state) {
    return state = state * 747796405u + 2891336453u;
}

__device__ __forceinline__ u32 scramble(u32 state) {
    u32 word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
    return (word >> 22) ^ word;
}

__device__ __forceinline__ float uniform(u32 word) {  // in (0, 1]
    return ((word >> 8) + 1) * (1.0f / 16777216.0f);
}

__device__ __forceinline__ u32 below(u32 word, u32 bound) {
    return __umulhi(word, bound);
}

__device__ __forceinline__ float sum(float value) {
    for (int offset = 16; offset; offset >>= 1)
        value += __shfl_xor_sync(everyone, value, offset);
    return value;
}

// Whole numbers in the same order as the floats that they come from.
__device__ __forceinline__ int sortable(float value) {
    int bits = __float_as_int(value);
#if MATRIX || ROUNDED
    return bits ^ ((bits >> 31) & 0x7fffffff);
#else
    return bits;  // not negative: insertions only shorten a Euclidean tour by rounding
#endif
}

template <typename T>
__device__ __forceinline__ void copy(T& to, const T& from, int lane) {
    static_assert(sizeof(T) % 4 == 0, "copied by words");
    const u32* source = reinterpret_cast<const u32*>(&from);
    u32* target = reinterpret_cast<u32*>(&to);
#pragma unroll unrolled
    for (int i = lane; i < (int)(sizeof(T) / 4); i += 32) target[i] = source[i];
}

// ------------------------------------------------------------------ start and end

__device__ void load_places(const Chain& chain, Lane& mine, const float* points,
                            const int* demands) {
    Shared& shared = chain.shared;
    EACH_SLOT {
        int node = 32 * k + chain.lane;
        int location = node < chain.n ? node + 1 : 0;
#if MATRIX
        shared.place[node].at = location;
#else
        shared.place[node].x = points[2 * location];
        shared.place[node].y = points[2 * location + 1];
#endif
        shared.demand[node] = node < chain.n ? demands[node] : 0;
        mine.here[k] = shared.place[node];
    }
}

// Make rings of a row of customers (from 1) with a 0 after each tour.
__device__ void load_start(const Chain& chain, const unsigned short* route, int width,
                           int capacity) {
    Shared& shared = chain.shared;
    Rings& rings = shared.rings;
    EACH_SLOT {
        int node = 32 * k + chain.lane;
        bool depot = node >= chain.n && node < chain.n + chain.m;
        rings.next[node] = rings.previous[node] = node;
        rings.tour[node] = depot ? node - chain.n : no_tour;
        shared.room[node] = capacity;
    }
    __syncwarp();
    if (chain.lane == 0) {
        int tour = 0, last = chain.n;
        for (int i = 0; i < width; ++i) {
            int node = route[i] - 1;
            if (node < 0) {
                if (last < chain.n && ++tour == chain.m) break;
                last = chain.n + tour;
                continue;
            }
            rings.next[last] = node;
            rings.previous[node] = last;
            rings.next[node] = chain.n + tour;
            rings.previous[chain.n + tour] = node;
            rings.tour[node] = tour;
            shared.room[tour] -= shared.demand[node];
            last = node;
        }
    }
    __syncwarp();
}

__device__ void write_best(const Chain& chain, unsigned short* route, int width) {
    if (chain.lane) return;
    const Index* next = chain.shared.best;
    int i = 0;
    for (int depot = chain.n; depot < chain.n + chain.m; ++depot) {
        if (next[depot] == depot) continue;
        for (int node = next[depot]; node < chain.n; node = next[node])
            route[i++] = node + 1;
        if (i < width) route[i++] = 0;
    }
    while (i < width) route[i++] = 0;
}

// The instance's scale: 1 for uniform customers in the unit square.
__device__ float scale(const Chain& chain, const Lane& mine) {
    float total = 0;
    for (int node = 0; node < chain.n; ++node) {
        Place from = chain.shared.place[node];
        EACH_SLOT if (32 * k + chain.lane < chain.n)
            total += distance(chain, from, mine.here[k]);
    }
    float pairs = (float)chain.n * max(chain.n - 1, 1);
    return sum(total) / pairs / mean_unit_distance;
}

// ------------------------------------------------------------ the plan and its copy

__device__ __forceinline__ void keep(const Chain& chain, const Lane& mine) {
    Shared& shared = chain.shared;
    copy(shared.kept_rings, shared.rings, chain.lane);
    for (int i = chain.lane; i < chain.m; i += 32) shared.kept_room[i] = shared.room[i];
    EACH_SLOT {
        shared.kept_ahead[32 * k + chain.lane] = mine.ahead[k];
        shared.kept_length[32 * k + chain.lane] = mine.length[k];
    }
}

__device__ __forceinline__ void go_back(const Chain& chain, Lane& mine) {
    Shared& shared = chain.shared;
    copy(shared.rings, shared.kept_rings, chain.lane);
    for (int i = chain.lane; i < chain.m; i += 32) shared.room[i] = shared.kept_room[i];
    EACH_SLOT {
        int node = 32 * k + chain.lane;
        Index tour = shared.kept_rings.tour[node];
        mine.ahead[k] = shared.kept_ahead[node];
        mine.length[k] = shared.kept_length[node];
        mine.tour[k] = tour;
        mine.room[k] = tour == no_tour ? -1 : shared.kept_room[tour];
    }
}

__device__ __forceinline__ float total_length(const Lane& mine) {
    float total = 0;
    EACH_SLOT total += mine.length[k];
    return sum(total);
}

// ---------------------------------------------------------------- ruin and recreate

// Take the customers from `first` out of their tour, until `removed` reaches `end` or
// the tour ends. Lane i keeps the i-th removed customer as `customer`.
__device__ __forceinline__ void take_out(const Chain& chain, Lane& mine, int first,
                                         int end, int& removed, int& customer) {
    Shared& shared = chain.shared;
    Rings& rings = shared.rings;
    int before = rings.previous[first], tour = rings.tour[first];
    int node = first, from = removed;
    for (; removed < end && node < chain.n; ++removed) {
        if (chain.lane == removed) customer = node;
        node = rings.next[node];
    }
    bool taken = chain.lane >= from && chain.lane < removed;
    int load = __reduce_add_sync(everyone, taken ? shared.demand[customer] : 0);
    int room = shared.room[tour] + load;
    Place after = shared.place[node];
    float length = edge(chain, before, node);
    __syncwarp();
    if (chain.lane == 0) {
        rings.next[before] = node;
        rings.previous[node] = before;
        shared.room[tour] = room;
    }
    EACH_SLOT {
        if (32 * k + chain.lane == before) {
            mine.ahead[k] = after;
            mine.length[k] = length;
        }
        if (mine.tour[k] == tour) mine.room[k] = room;
    }
}

// Remove strings of customers from the tours nearest to a random one; return how many.
__device__ __forceinline__ int ruin(const Chain& chain, Lane& mine, u32 dice,
                                    int& customer) {
    Shared& shared = chain.shared;
    int seed = below(__shfl_sync(everyone, dice, 0), chain.n);
    int strings = 1 + (int)(uniform(__shfl_sync(everyone, dice, 1)) * chain.strings);
    Place centre = shared.place[seed];
    u32 nearness[SLOTS];  // distance to the seed, and the node in the low bits
    EACH_SLOT {
        u32 node = 32 * k + chain.lane;
        float away = distance(chain, centre, mine.here[k]);
        nearness[k] = (__float_as_uint(away) & ~node_mask) | node;
        if ((int)node >= chain.n) nearness[k] = nothing;
        if ((int)node == seed) nearness[k] = node;
    }
    int removed = 0;
    for (int s = 0; s < strings && removed < most_removed; ++s) {
        u32 nearest = nothing;
        EACH_SLOT nearest = min(nearest, nearness[k]);
        nearest = __reduce_min_sync(everyone, nearest);
        if (nearest == nothing) break;  // every tour has lost a string
        int first = nearest & node_mask, tour = shared.rings.tour[first];
        EACH_SLOT if (mine.tour[k] == tour) nearness[k] = nothing;
        int length = 1 + below(__shfl_sync(everyone, dice, 2 * s + 2), chain.longest);
        u32 word = __shfl_sync(everyone, dice, 2 * s + 3);
        for (int back = below(word, length); back > 0; --back) {
            int node = shared.rings.previous[first];
            if (node >= chain.n) break;
            first = node;
        }
        // Of the strings that reach the depot, half end there and half continue behind.
        int end = min(removed + length, most_removed);
#pragma unroll 1
        for (int parts = 1 + (word & 1); parts > 0; --parts) {
            if (removed == end || first >= chain.n) break;
            take_out(chain, mine, first, end, removed, customer);
            __syncwarp();
            first = shared.rings.next[chain.n + tour];
        }
    }
    __syncwarp();
    if (chain.lane < removed) shared.rings.tour[customer] = no_tour;
    __syncwarp();
    EACH_SLOT if (shared.rings.tour[32 * k + chain.lane] == no_tour) {
        mine.tour[k] = no_tour;
        mine.room[k] = -1;
        mine.length[k] = 0.0f;
    }
    return removed;
}

// A number for each removed customer, with its node in the low bits: the least is first.
// The order is random (4 of 11 times), by demand (4), farthest (2) or nearest first (1).
__device__ __forceinline__ u32 insertion_order(const Chain& chain, u32 word, u32 dice,
                                               int customer) {
    u32 kind = below(word, 11);
    u32 value = dice;
    if (kind >= 8) {
        Place depot = chain.shared.place[chain.n];
        value = __float_as_uint(distance(chain, depot, chain.shared.place[customer]));
        if (kind < 10) value = ~value;
    } else if (kind >= 4) {
        value = ~__float_as_uint((float)chain.shared.demand[customer]);
        value = (value & 0xffff0000u) | (dice >> 16);
    }
    return (value & ~node_mask) | customer;
}

__device__ __forceinline__ void insert(const Chain& chain, Lane& mine, int customer,
                                       int before) {
    Shared& shared = chain.shared;
    Rings& rings = shared.rings;
    int after = rings.next[before], tour = rings.tour[before];
    int room = shared.room[tour] - shared.demand[customer];
    Place at = shared.place[customer], end = shared.place[after];
    float first = distance(chain, shared.place[before], at);
    float second = distance(chain, at, end);
    __syncwarp();
    if (chain.lane == 0) {
        rings.next[before] = customer;
        rings.previous[customer] = before;
        rings.next[customer] = after;
        rings.previous[after] = customer;
        rings.tour[customer] = tour;
        shared.room[tour] = room;
    }
    EACH_SLOT {
        if (32 * k + chain.lane == before) {
            mine.ahead[k] = at;
            mine.length[k] = first;
        }
        if (32 * k + chain.lane == customer) {
            mine.ahead[k] = end;
            mine.length[k] = second;
            mine.tour[k] = tour;
        }
        if (mine.tour[k] == tour) mine.room[k] = room;
    }
    __syncwarp();
}

// Put the removed customers back, each at its cheapest place that has room; now and then
// a lane overlooks its places. Returns false if a customer fits nowhere, or if the plan
// has become longer than `bar`: a Euclidean plan only grows with insertions, and with
// rounded distances each of them shortens it by 1 at most.
__device__ __forceinline__ bool recreate(const Chain& chain, Lane& mine, u32 order,
                                         int removed, float bar, u32& random) {
    float length = MATRIX ? 0.0f : total_length(mine);
    for (int i = 0; i < removed; ++i) {
        u32 first = __reduce_min_sync(everyone, order);
        if (order == first) order = nothing;
        int customer = first & node_mask;
        Place at = chain.shared.place[customer];
        int need = chain.shared.demand[customer];
        if (step(random) < chain.limits.blink) need = no_place;
        int best = no_place;
        EACH_SLOT {
            float extra = distance_into(chain, mine.here[k], at) +
                          distance(chain, at, mine.ahead[k]) - mine.length[k];
            int key = (sortable(extra) & ~(int)node_mask) | (32 * k + chain.lane);
            if (mine.room[k] >= need) best = min(best, key);
        }
        best = __reduce_min_sync(everyone, best);
        if (best == no_place) return false;
#if !MATRIX
        length += __int_as_float(sortable(__int_as_float(best & ~(int)node_mask)));
        if (length - ROUNDED * (removed - 1 - i) >= bar) return false;
#endif
        insert(chain, mine, customer, best & (int)node_mask);
    }
    return true;
}

// Search; return the length of the best plan.
__device__ __forceinline__ float anneal(const Chain& chain, Lane& mine, u32 random) {
    const Limits& limits = chain.limits;
    float unit = limits.unit > 0 ? limits.unit : scale(chain, mine);
    float hot = limits.start_temperature * unit;
    float cooling = log2f(limits.end_temperature / limits.start_temperature) /
                    limits.iterations;
    float current = total_length(mine), best = current;
    keep(chain, mine);
    copy(chain.shared.best, chain.shared.rings.next, chain.lane);
    __syncwarp();
    for (int i = 0; i < limits.iterations; ++i) {
        int customer = 0;
        u32 dice = scramble(step(random));
        int removed = ruin(chain, mine, dice, customer);
        u32 order = insertion_order(chain, __shfl_sync(everyone, dice, 30),
                                    scramble(step(random)), customer);
        if (chain.lane >= removed) order = nothing;
        float bar = current - hot * exp2f(cooling * i) *
                                  logf(uniform(__shfl_sync(everyone, dice, 31)));
        float length = 0;
        bool accepted = recreate(chain, mine, order, removed, bar, random);
        if (accepted) {
            length = total_length(mine);
            accepted = length < bar;
        }
        if (accepted) {
            current = length;
            keep(chain, mine);
            if (current < best) {
                best = current;
                copy(chain.shared.best, chain.shared.rings.next, chain.lane);
            }
        } else {
            __syncwarp();
            go_back(chain, mine);
        }
        __syncwarp();
    }
    return best;
}

// Chain c improves instance i = c / chains_each; sizes[i] is (n, m, capacity, id).
extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS)
search(const int4* sizes, const float* points, const float* matrices,
       const float* transposed, const int* demands, const unsigned short* starts,
       unsigned short* routes, float* lengths, int chains, int chains_each,
       int locations, int width, Limits limits) {
    extern __shared__ __align__(16) char memory[];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int c = blockIdx.x * WARPS + warp;
    if (c >= chains) return;
    size_t instance = c / chains_each;
    int4 size = sizes[instance];
    size_t square = (size_t)locations * locations;
    u32 longest = max(1, min(limits.longest_string, (size.x + size.y - 1) / size.y));
    float strings = max(0.0f, 4 * limits.mean_removed / (1 + longest) - 1);
    Chain chain = {reinterpret_cast<Shared*>(memory)[warp], limits,
                   matrices + instance * square, transposed + instance * square,
                   locations, size.x, size.y, lane, min(strings, 13.0f), longest};
    Lane mine;
    load_places(chain, mine, points + instance * locations * 2,
                demands + instance * (locations - 1));
    load_start(chain, starts + instance * width, width, size.z);
    EACH_SLOT {
        int node = 32 * k + lane, next = chain.shared.rings.next[node];
        Index tour = chain.shared.rings.tour[node];
        mine.ahead[k] = chain.shared.place[next];
        mine.length[k] = tour == no_tour ? 0.0f : edge(chain, node, next);
        mine.tour[k] = tour;
        mine.room[k] = tour == no_tour ? -1 : chain.shared.room[tour];
    }
    u32 random = scramble(limits.seed * 2654435761u + size.w * 40503u +
                          (c % chains_each) * 69069u);
    random = scramble(random + lane * 2246822519u);
    float length = anneal(chain, mine, random);
    if (lane == 0) lengths[c] = length;
    write_best(chain, routes + (size_t)c * width, width);
}
