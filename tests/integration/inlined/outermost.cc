// SPDX-License-Identifier: Apache-2.0
// Functions that debug information and symbol tables name differently: parts (.cold, .part.0),
// clones (.constprop.0, .isra.0), constructors and destructors (C1, C2), functions of one unit,
// lambdas, and two names of one function.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#define KEEP __attribute__((noinline))

struct Shape {
    explicit Shape(int n);
    virtual ~Shape();
    int size;
};
KEEP Shape::Shape(int n) : size(n * 3)
{
    if (n > 1000) {
        throw std::runtime_error("too large: " + std::to_string(n));
    }
}
KEEP Shape::~Shape()
{
    size = 0;
}

struct Square : virtual Shape {
    explicit Square(int n) : Shape(n), edge(n) {}
    int edge;
};

namespace {
struct Wide {
    long a, b, c, d, e;
};
KEEP long first_of(const Wide *wide, int unused)
{
    (void)unused;
    return wide->a * 7 + wide->b;
}
KEEP long scaled(long value, long factor)
{
    if (value < 0) {
        std::fprintf(stderr, "negative\n");
        std::abort();
    }
    return value * factor + std::rand();
}
} // namespace

extern "C" {
KEEP int plain_name(int n)
{
    return n ^ 5;
}
int other_name(int n) __attribute__((alias("plain_name")));
}

int main(int argc, char **)
{
    Wide wide = {argc, 2, 3, 4, 5};
    Square square(argc);
    auto twice = [](long n) KEEP { return n * 2 + std::rand(); };
    try {
        return (int)(twice(first_of(&wide, argc)) + scaled(square.size, 12) + scaled(argc, 12) +
                     other_name(argc)) == 77;
    } catch (const std::exception &error) {
        return error.what()[0];
    }
}
