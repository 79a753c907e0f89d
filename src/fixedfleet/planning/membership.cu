// From memberships to tours, one warp per instance: the same steps, with the same results,
// as assigning.py and ordering.py, which describe them.
//
// Locations: 0 is the depot, then n - 1 places for customers or padding. Vehicle m stands
// for "unassigned". All lanes know n, m and the instance, and take the same turns; they
// share the customers (regret), the second moves of chains, and the places in a tour.

typedef long long i64;
typedef short Index;  // of a location or a vehicle

constexpr unsigned everyone = 0xffffffffu;
constexpr int lanes = 32;
constexpr int depth = DEPTH;              // the most moves of a chain
constexpr int chain_limit = CHAIN_LIMIT;  // moves tried after the same two customers
constexpr int work_limit = WORK_LIMIT;    // moves tried per customer of an instance
constexpr int longest_segment = 3;        // of customers that move along a tour together
constexpr double nothing = -1e300;        // below any saving
constexpr double rounding = 1e-9;  // a smaller gain, as a share of the largest distance, is none

struct Instance {
    const int* value;       // [location][vehicle]
    const Index* order;     // [location][rank]: vehicles, the best value first
    const double* distance; // [from][to]
    const bool* customer;   // [location]
    i64 capacity;
    int n, m, lane;
    // in shared memory
    i64* demand;     // [n]
    i64* room;       // [m], -1 for padding
    i64* left;       // [m]
    double* near;    // [n]
    double* turn;    // [n + 1]
    Index* vehicle;  // [n]
    Index* next;     // [n]: the next customer of the same vehicle, 0 after the last
    Index* head;     // [m]: the first customer of a vehicle
    Index* tour;     // [n + 1]
};

// The compiler knows the level of each move and so keeps all of this in registers.
struct Chain {
    i64 gain;
    int key, length;
    int customer[depth], before[depth], vehicle[depth];
    i64 demand[depth];
};

__device__ inline i64 worth(const Instance& a, int customer, int vehicle) {
    if (vehicle < a.m) return a.value[customer * a.m + vehicle];
    return -((a.demand[customer] * 1024 / a.capacity + 1) << 32);
}

// The last vehicle on a path of so many moves that is overloaded, or -1.
template <int moves>
__device__ inline int overloaded(const Instance& a, const Chain& path) {
#pragma unroll
    for (int last = moves - 1; last >= 0; --last) {
        int k = path.vehicle[last];
        if (k == a.m) continue;
        i64 left = a.left[k];
#pragma unroll
        for (int q = 0; q < moves; ++q) {
            if (path.before[q] == k) left += path.demand[q];
            if (path.vehicle[q] == k) left -= path.demand[q];
        }
        if (left < 0) return k;
    }
    return -1;
}

template <int moves>
__device__ inline bool is_on(const Chain& path, int customer) {
    bool on = false;
#pragma unroll
    for (int q = 0; q < moves; ++q) on |= path.customer[q] == customer;
    return on;
}

template <int level>
__device__ inline void set_customer(const Instance& a, Chain& path, int customer) {
    path.customer[level] = customer;
    path.before[level] = a.vehicle[customer];
    path.demand[level] = a.demand[customer];
}

__device__ inline void keep(Chain& best, const Chain& path, i64 gain, int key, int length) {
    if (gain <= best.gain) return;
    best = path;
    best.gain = gain, best.key = key, best.length = length;
}

// Try all chains that begin with the path and then move `customer`.
template <int level>
__device__ void explore(const Instance& a, Chain& path, i64 gain, int customer, int key,
                        int& tried, Chain& best) {
    set_customer<level>(a, path, customer);
    i64 worth_before = worth(a, customer, path.before[level]);
    for (int rank = 0; rank <= a.m && tried < chain_limit; ++rank) {
        int k = rank < a.m ? a.order[customer * a.m + rank] : a.m;
        if (k == path.before[level]) continue;
        if (k < a.m && a.room[k] < path.demand[level]) continue;
        ++tried;
        i64 total = gain + worth(a, customer, k) - worth_before;
        if (total <= 0) break;
        path.vehicle[level] = k;
        int full = overloaded<level + 1>(a, path);
        if (full < 0) {
            keep(best, path, total, key, level + 1);
        } else if constexpr (level + 1 < depth) {
            for (int other = a.head[full]; other && tried < chain_limit; other = a.next[other])
                if (!is_on<level + 1>(path, other))
                    explore<level + 1>(a, path, total, other, key, tried, best);
        }
    }
}

__device__ void link(const Instance& a) {
    __syncwarp();
    if (a.lane == 0) {
        for (int k = 0; k < a.m; ++k) a.head[k] = 0;
        for (int c = a.n - 1; c > 0; --c) {
            int k = a.vehicle[c];
            if (k < a.m) a.next[c] = a.head[k], a.head[k] = c;
        }
    }
    __syncwarp();
}

__device__ void move(const Instance& a, int customer, int k) {
    int from = a.vehicle[customer];
    if (from < a.m) a.left[from] += a.demand[customer];
    if (k < a.m) a.left[k] -= a.demand[customer];
    a.vehicle[customer] = k;
}

// Make the best chain that begins with a customer; return the number of moves tried.
__device__ int improve(const Instance& a, int customer, bool& changed) {
    int from = a.vehicle[customer], tried = 0;
    if (a.order[customer * a.m] == from) return 0;
    Chain path, best;
    best.gain = 0, best.key = 0, best.length = 0;
    set_customer<0>(a, path, customer);
    for (int r = 0; r < a.m; ++r) {
        int k = a.order[customer * a.m + r];
        if (k == from) break;
        if (a.room[k] < a.demand[customer]) continue;
        i64 gain = worth(a, customer, k) - worth(a, customer, from);
        if (gain <= 0) break;
        path.vehicle[0] = k;
        if (a.left[k] >= a.demand[customer]) {
            keep(best, path, gain, r * a.n, 1);
            continue;
        }
        int place = 0;
        for (int d = a.head[k]; d; d = a.next[d], ++place) {
            if (place % lanes != a.lane) continue;
            int count = 0;
            explore<1>(a, path, gain, d, r * a.n + place, count, best);
            tried += count;
        }
    }
    int winner = a.lane;
    i64 gain = best.gain;
    int key = best.key;
    for (int offset = 16; offset; offset >>= 1) {
        i64 other = __shfl_xor_sync(everyone, gain, offset);
        int other_key = __shfl_xor_sync(everyone, key, offset);
        int other_lane = __shfl_xor_sync(everyone, winner, offset);
        tried += __shfl_xor_sync(everyone, tried, offset);
        bool first = other_key < key || (other_key == key && other_lane < winner);
        if (other > gain || (other == gain && first))
            gain = other, key = other_key, winner = other_lane;
    }
    if (gain > 0) {
        if (a.lane == winner) {
#pragma unroll
            for (int q = 0; q < depth; ++q)
                if (q < best.length) move(a, best.customer[q], best.vehicle[q]);
        }
        changed = true;
        link(a);
    }
    return tried;
}

__device__ void improve_all(const Instance& a) {
    int count = 0;
    for (int c = 1; c < a.n; ++c) count += a.customer[c];
    i64 budget = (i64)work_limit * count;
    link(a);
    for (bool changed = true; changed && budget > 0;) {
        changed = false;
        for (int c = 1; c < a.n && budget > 0; ++c)
            if (a.customer[c]) budget -= improve(a, c, changed);
    }
}

// Assign the customer that loses most if its best vehicle fills up, again and again.
__device__ void assign_by_regret(const Instance& a) {
    for (;;) {
        i64 regret = -1, demand = -1;
        int chosen = 0, target = a.m;
        for (int c = 1 + a.lane; c < a.n; c += lanes) {
            if (!a.customer[c] || a.vehicle[c] < a.m) continue;
            i64 first = 0, second = -(1LL << 40);
            int k = a.m;
            for (int r = 0; r < a.m; ++r) {
                int open = a.order[c * a.m + r];
                if (a.left[open] < a.demand[c]) continue;
                if (k < a.m) { second = worth(a, c, open); break; }
                k = open, first = worth(a, c, open);
            }
            if (k == a.m) continue;
            i64 lost = first - second;
            if (lost > regret || (lost == regret && a.demand[c] > demand))
                regret = lost, demand = a.demand[c], chosen = c, target = k;
        }
        for (int offset = 16; offset; offset >>= 1) {
            i64 r = __shfl_xor_sync(everyone, regret, offset);
            i64 d = __shfl_xor_sync(everyone, demand, offset);
            int c = __shfl_xor_sync(everyone, chosen, offset);
            int k = __shfl_xor_sync(everyone, target, offset);
            bool earlier = r == regret && (d > demand || (d == demand && c < chosen));
            if (r > regret || earlier) regret = r, demand = d, chosen = c, target = k;
        }
        if (regret < 0) break;
        if (a.lane == 0) move(a, chosen, target);
        __syncwarp();
    }
}

__device__ inline double between(const Instance& a, int from, int to) {
    return a.distance[(i64)from * a.n + to];
}

// Sort (value, index): the largest value, and of equal values the least index.
__device__ inline void reduce_max_sync(double& value, int& index) {
    for (int offset = 16; offset; offset >>= 1) {
        double v = __shfl_xor_sync(everyone, value, offset);
        int i = __shfl_xor_sync(everyone, index, offset);
        if (v > value || (v == value && i < index)) value = v, index = i;
    }
}

// Write the customers of a vehicle to tour[1 ...] by farthest insertion; return how many.
__device__ int insert_farthest(const Instance& a, int k, double& scale) {
    if (a.lane == 0) a.tour[0] = a.tour[1] = 0;
    scale = 0.0;
    for (int c = a.head[k]; c; c = a.next[c]) {
        double out = between(a, 0, c), back = between(a, c, 0);
        scale = fmax(scale, fmax(out, back));
        if (a.lane == 0) a.near[c] = out;
    }
    __syncwarp();
    int count = 0;
    for (;; ++count) {
        double far = -1.0;
        int stop = 0;
        for (int c = a.head[k]; c; c = a.next[c])
            if (a.near[c] > far) far = a.near[c], stop = c;
        if (stop == 0) break;
        double least = nothing;
        int place = 0;
        for (int p = a.lane; p <= count; p += lanes) {
            int x = a.tour[p], y = a.tour[p + 1];
            double detour = between(a, x, stop) + between(a, stop, y) - between(a, x, y);
            if (-detour > least) least = -detour, place = p;
        }
        if (count < a.lane) place = a.n;
        reduce_max_sync(least, place);
        if (a.lane == 0) {
            for (int p = count + 1; p > place; --p) a.tour[p + 1] = a.tour[p];
            a.tour[place + 1] = stop;
            for (int c = a.head[k]; c; c = a.next[c])
                if (a.near[c] >= 0.0) a.near[c] = fmin(a.near[c], between(a, stop, c));
            a.near[stop] = -1.0;
        }
        __syncwarp();
    }
    __syncwarp();  // before `near` is used for something else
    return count;
}

// What the best way to move or reverse the segment that begins at i, with respect to p,
// saves. Kinds: 0 reverses i ... p; 2l - 1 moves i ... i + l - 1 behind p, and 2l also
// reverses it.
__device__ inline double saving(const Instance& a, int count, int i, int p, int& kind) {
    const Index* t = a.tour;
    double most = nothing;
    kind = 0;
    if (p > i)
        most = between(a, t[i - 1], t[i]) + between(a, t[p], t[p + 1])
               - between(a, t[i - 1], t[p]) - between(a, t[i], t[p + 1])
               - (a.turn[p] - a.turn[i]);
    for (int l = 1; l <= longest_segment && i + l - 1 <= count; ++l) {
        int e = i + l - 1;
        if (p >= i - 1 && p <= e) continue;
        double saved = between(a, t[i - 1], t[i]) + between(a, t[e], t[e + 1])
                       - between(a, t[i - 1], t[e + 1]) + between(a, t[p], t[p + 1]);
        double as_is = saved - between(a, t[p], t[i]) - between(a, t[e], t[p + 1]);
        double turned = saved - between(a, t[p], t[e]) - between(a, t[i], t[p + 1])
                        - (a.turn[e] - a.turn[i]);
        if (as_is > most) most = as_is, kind = 2 * l - 1;
        if (turned > most) most = turned, kind = 2 * l;
    }
    return most;
}

__device__ void reverse(Index* tour, int i, int e) {
    for (; i < e; ++i, --e) {
        Index stop = tour[i];
        tour[i] = tour[e], tour[e] = stop;
    }
}

// Moving a segment is three reversals: of the two parts that change places, and of both.
__device__ void change(Index* tour, int i, int p, int kind) {
    if (kind == 0) return reverse(tour, i, p);
    int e = i + (kind - 1) / 2;
    bool turned = kind % 2 == 0;
    if (p > e) {
        reverse(tour, i, p);
        reverse(tour, i, p - (e - i) - 1);
        if (!turned) reverse(tour, p - (e - i), p);
    } else {
        reverse(tour, p + 1, e);
        reverse(tour, p + 1 + (e - i) + 1, e);
        if (!turned) reverse(tour, p + 1, p + 1 + (e - i));
    }
}

// Make the best change of a tour until none shortens it.
__device__ void shorten(const Instance& a, int count, double scale) {
    for (int step = 0; step < 10 * count; ++step) {
        for (int p = 1 + a.lane; p <= count; p += lanes)
            a.near[p] = between(a, a.tour[p], a.tour[p - 1])
                        - between(a, a.tour[p - 1], a.tour[p]);
        __syncwarp();
        if (a.lane == 0) {
            a.turn[0] = 0.0;
            for (int p = 1; p <= count; ++p) a.turn[p] = a.turn[p - 1] + a.near[p];
        }
        __syncwarp();
        double most = nothing;
        int best = 0;
        for (int pair = a.lane; pair < count * (count + 1); pair += lanes) {
            int kind, i = 1 + pair / (count + 1), p = pair % (count + 1);
            double saved = saving(a, count, i, p, kind);
            if (saved > most) most = saved, best = pair * 8 + kind;
        }
        reduce_max_sync(most, best);
        if (!(most > rounding * scale)) break;
        if (a.lane == 0) {
            int pair = best / 8;
            change(a.tour, 1 + pair / (count + 1), pair % (count + 1), best % 8);
        }
        __syncwarp();
    }
}

extern "C" __global__ void __launch_bounds__(32) plan(
    const int* value, const Index* order, const i64* demands, const bool* customers,
    const i64* room, const double* distances, i64* routes, int n, int m) {
    extern __shared__ __align__(16) char memory[];
    i64 row = blockIdx.x;
    Instance a;
    a.n = n, a.m = m, a.lane = threadIdx.x;
    a.value = value + row * n * m;
    a.order = order + row * n * m;
    a.distance = distances + row * n * n;
    a.customer = customers + row * n;
    a.demand = reinterpret_cast<i64*>(memory);
    a.room = a.demand + n;
    a.left = a.room + m;
    a.near = reinterpret_cast<double*>(a.left + m);
    a.turn = a.near + n;
    a.vehicle = reinterpret_cast<Index*>(a.turn + n + 1);
    a.next = a.vehicle + n;
    a.head = a.next + n;
    a.tour = a.head + m;
    a.capacity = 1;
    for (int k = 0; k < m; ++k)
        if (room[row * m + k] > a.capacity) a.capacity = room[row * m + k];
    for (int k = a.lane; k < m; k += lanes) a.room[k] = a.left[k] = room[row * m + k];
    for (int c = a.lane; c < n; c += lanes) {
        a.demand[c] = demands[row * n + c];
        a.vehicle[c] = m;
    }
    __syncwarp();
    assign_by_regret(a);
    improve_all(a);
    for (int k = 0; k < m; ++k) {
        double scale;
        int count = insert_farthest(a, k, scale);
        shorten(a, count, scale);
        i64* route = routes + (row * m + k) * (n - 1);
        for (int p = a.lane; p < count; p += lanes) route[p] = a.tour[p + 1];
        __syncwarp();
    }
}
