// SPDX-License-Identifier: Apache-2.0
// Functions that compilers describe by a plain name only, each with code of its own.
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#define KEEP __attribute__((noinline, noclone))

namespace outer {
namespace {
struct Hidden {
    int value;
    KEEP explicit Hidden(int v) : value(v) { asm volatile("" ::"r"(&value) : "memory"); }
    KEEP ~Hidden() { asm volatile("" ::"r"(&value) : "memory"); }
    KEEP Hidden &operator+=(const Hidden &other)
    {
        value += other.value;
        asm volatile("" ::: "memory");
        return *this;
    }
    KEEP operator bool() const
    {
        asm volatile("" ::: "memory");
        return value != 0;
    }
    template <class T> KEEP int times(T n)
    {
        asm volatile("" ::: "memory");
        return static_cast<int>(value * n);
    }
};
KEEP int hidden(int n)
{
    Hidden h(n);
    h += Hidden(2);
    asm volatile("" ::: "memory");
    return h ? h.times(2) + h.times(2.5) : 0;
}
} // namespace

template <class T> struct Box {
    std::vector<T> all;
    KEEP void add(const T &t)
    {
        all.push_back(t);
        asm volatile("" ::: "memory");
    }
};

static KEEP int only_here(int n)
{
    asm volatile("" ::: "memory");
    return n * 3;
}

KEEP int run(int n)
{
    auto lambda = [n](int k) KEEP {
        asm volatile("" ::: "memory");
        return hidden(k) + n;
    };
    std::function<int(int)> held = [](int k) { return only_here(k) + 1; };
    Box<std::string> box;
    box.add(std::string(static_cast<size_t>(n), 'x'));
    std::map<std::string, int> map;
    map[box.all[0]] = lambda(n);
    std::vector<int> v{3, 1, n};
    std::sort(v.begin(), v.end(), [](int a, int b) KEEP { return a > b; });
    return held(v[0]) + static_cast<int>(map.size());
}
} // namespace outer

int main(int argc, char **)
{
    return outer::run(argc) == 77;
}
