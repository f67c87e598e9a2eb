// SPDX-License-Identifier: Apache-2.0
// Calls that a compiler inlines, of several depths, under the standard library's own: it waits in
// the innermost, or with an argument works for ever.
#include <algorithm>
#include <cstdio>
#include <map>
#include <poll.h>
#include <string>
#include <vector>

volatile unsigned long sink;

static inline void wait_or_work(bool work)
{
    if (!work) {
        std::puts("ready");
        std::fflush(stdout);
        poll(nullptr, 0, -1);
    }
    sink = sink * 31 + 7;
}

template <typename T> struct Heap {
    std::vector<T> items;
    bool work;
    inline bool less(const T &a, const T &b) const
    {
        if (items.size() > 2 && sink % 1024 == 0) {
            wait_or_work(work);
        }
        sink = sink + static_cast<unsigned long>(a.size() * 3 + b.size());
        return a < b;
    }
    __attribute__((noinline)) void order()
    {
        std::sort(items.begin(), items.end(),
                  [this](const T &a, const T &b) { return less(a, b); });
    }
};

namespace
{
struct Table {
    std::map<unsigned long, unsigned long> map;
    inline unsigned long mix(unsigned long key)
    {
        key ^= key >> 13;
        key *= 0x9e3779b97f4a7c15u;
        return key ^ key >> 7;
    }
    __attribute__((noinline)) unsigned long fill(unsigned n)
    {
        unsigned long sum = 0;
        for (unsigned i = 0; i < n; i++) {
            map[mix(i) % 64] += i;
            sum += mix(sum);
        }
        return sum;
    }
};
} // namespace

__attribute__((noinline)) static void round(bool work, unsigned depth)
{
    if (depth > 0) {
        round(work, depth - 1);
        sink = sink + 1;
        return;
    }
    Table table;
    sink = sink + table.fill(50);
    Heap<std::string> heap;
    heap.work = work;
    for (unsigned i = 0; i < 40; i++) {
        heap.items.push_back(std::string(i % 7 + 20, static_cast<char>('a' + i % 26)));
    }
    sink = 0;
    heap.order();
}

int main(int argc, char **)
{
    if (argc > 1) {
        std::puts("ready");
        std::fflush(stdout);
    }
    do {
        round(argc > 1, 3);
    } while (argc > 1);
    return 0;
}
