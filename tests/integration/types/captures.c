// SPDX-License-Identifier: Apache-2.0
/* Blocks of C with captures of every kind, for any machine: it includes nothing. */
extern int use(const void *first, ...);
extern const void *keep(const void *block);

struct point {
    unsigned x : 4, y : 12;
    double z;
};
typedef int (^adder)(int, const char *);

int captures(int count, const char *const *names)
{
    const int limit = 42;
    static int calls;
    long total = count;
    struct point here = {1, 2, 3};
    struct {
        char bytes[3];
    } small = {{1, 2, 3}};
    float vector __attribute__((vector_size(16))) = {1, 2, 3, 4};
    int (*function)(const void *, ...) = use;
    __block int shared = count;
    __block struct point there = here;
    __block _Alignas(32) short aligned = 1;
    __block adder again = (adder)0;
    again = (adder)keep(^(int n, const char *text) {
      int own = n;
      calls += own;
      return use(text, again, shared, total);
    });
    return use(keep(^(char letter) {
      const int own = letter;
      shared += own + limit + calls;
      return function(names[0], here.x, small.bytes[0], vector[0], there.z, aligned, again);
    }));
}
