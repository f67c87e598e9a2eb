// SPDX-License-Identifier: Apache-2.0
// libstdc++ and libgcc: streams, expressions, containers, exceptions through frames that clean up.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "victim.h"

struct Guard {
    explicit Guard(int &count) : count_(count) { ++count_; }
    ~Guard() { --count_; }
    int &count_;
};

struct Base {
    virtual ~Base() = default;
};
struct Left : virtual Base {};
struct Both : Left {};

NOINLINE static int thrower(int depth, int &alive)
{
    Guard guard(alive);
    std::string text("some text that does not fit into the object itself");
    if (depth == 0) {
        throw std::runtime_error(text);
    }
    return thrower(depth - 1, alive) + static_cast<int>(text.size());
}

static int compare_throwing(const void *a, const void *b)
{
    if (*static_cast<const int *>(a) == 3) {
        throw 3;
    }
    return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

NOINLINE static void exceptions()
{
    int alive = 0;
    try {
        try {
            thrower(3, alive);
        } catch (const std::logic_error &) {
            alive = 1;
        } catch (...) {
            throw;
        }
    } catch (const std::exception &error) {
        std::ostringstream out;
        out << error.what() << alive;
    }
    int numbers[] = {5, 3, 4, 1};
    try {
        std::qsort(numbers, 4, sizeof numbers[0], compare_throwing);
    } catch (int) {
        alive = 2;
    }
    try {
        (void)std::vector<int>().at(7);
    } catch (const std::out_of_range &) {
        alive = 3;
    }
}

NOINLINE static void streams()
{
    std::ostringstream out;
    out << 1 << ' ' << 2.5 << ' ' << std::hex << 255 << std::boolalpha << true;
    std::istringstream in("12 3.5 word");
    int a = 0;
    double b = 0;
    std::string c;
    in >> a >> b >> c;
    std::cout << out.str() << a << b << c << std::endl;
}

NOINLINE static void containers()
{
    std::map<std::string, std::vector<int>> map;
    for (int i = 0; i < 20; i++) {
        map[std::to_string(i * 37 % 11)].push_back(i);
    }
    std::vector<std::string> words;
    for (const auto &entry : map) {
        words.push_back(entry.first + " and some more text");
    }
    std::function<bool(const std::string &, const std::string &)> order = std::greater<>();
    std::stable_sort(words.begin(), words.end(), order);
    std::unique_ptr<Base> base(new Both);
    if (dynamic_cast<Left *>(base.get()) == nullptr) {
        std::abort();
    }
}

NOINLINE static void expressions()
{
    std::regex expression("([a-z]+) ([0-9]+)");
    std::smatch match;
    std::string text("word 12");
    (void)std::regex_match(text, match, expression);
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1;
    if (argc > 2) {
        MARK();
    }
    for (unsigned i = 0; i < rounds; i++) {
        exceptions();
        streams();
        containers();
        expressions();
    }
    return 0;
}
