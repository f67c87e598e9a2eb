// SPDX-License-Identifier: Apache-2.0
/* Methods of every kind of signature, called so often from known places. As a program, argv[1] is a
 * library with a class that comes later (later.m). Prints what it has computed. */
#include "calls.h"

extern int printf(const char *format, ...);
extern void *calloc(unsigned long count, unsigned long size);
extern void *dlopen(const char *path, int flags);
extern void *objc_lookUpClass(const char *name);

struct big {
    double a, b, c;
    long d;
};

__attribute__((objc_root_class))
@interface Root {
    void *isa;
}
+ (id)make;
+ (double)sum:(int)count, ...;
- (int)plain:(int)value;
- (struct big)bigWith:(double)value and:(float)other;
- (int)replaced;
@end
@interface Root (Category)
- (int)added:(int)value;
- (int)replaced;
@end
@interface Quiet : Root
- (int)added:(int)value;
@end
@interface Derived : Root
- (int)bySuper:(int)value;
- (int)own;
@end
__attribute__((objc_root_class))
@interface Stranger {
    void *isa;
}
+ (int)other;
@end

@implementation Root
+ (void)load
{
    printf("load\n");
}
+ (void)initialize
{
    printf("initialize\n");
}
+ (id)make
{
    void **object = calloc(1, 64);
    *object = (__bridge void *)self;
    return (id)object;
}
+ (double)sum:(int)count, ...
{
    __builtin_va_list list;
    double sum = 0;
    __builtin_va_start(list, count);
    for (int i = 0; i < count; i++) {
        sum += __builtin_va_arg(list, double);
    }
    __builtin_va_end(list);
    return sum;
}
- (int)plain:(int)value
{
    return value + 1;
}
- (struct big)bigWith:(double)value and:(float)other
{
    struct big big = {value, other, value + other, 7};
    return big;
}
- (int)replaced
{
    return 1000;
}
@end
@implementation Root (Category)
- (int)added:(int)value
{
    return value * 2;
}
- (int)replaced
{
    return 1;
}
@end
@implementation Quiet
- (int)added:(int)value
{
    return value;
}
@end

@implementation Derived
- (int)bySuper:(int)value
{
    int from_super = [super plain:value];
    return from_super * 10;
}
- (int)own
{
    return 3;
}
@end
@implementation Stranger
+ (int)other
{
    return 4;
}
@end

@interface Later
+ (int)ping:(int)value;
@end

double run_calls(void)
{
    double sum = 0;
    Root *root = [Root make], *derived = [Derived make];
    for (int i = 0; i < CALLS_PLAIN; i++) {
        sum += [root plain:i];
    }
    for (int i = 0; i < CALLS_INHERITED; i++) {
        sum += [derived plain:i];
    }
    for (int i = 0; i < CALLS_SUPER; i++) {
        sum += [(Derived *)derived bySuper:i];
    }
    for (int i = 0; i < CALLS_BIG; i++) {
        struct big big = [root bigWith:1.5 and:2.5f];
        sum += big.a + big.b + big.c + (double)big.d;
    }
    for (int i = 0; i < CALLS_SUM; i++) {
        sum += [Root sum:3, 1.0, 2.0, 3.5];
    }
    for (int i = 0; i < CALLS_ADDED; i++) {
        sum += [root added:i] + [root replaced];
    }
    return sum + [(Derived *)derived own] + [Stranger other];
}

#if !defined(LIBRARY)
int main(int argc, char **argv)
{
    double sum = run_calls();
    if (argc > 1 && dlopen(argv[1], 2) != 0) {
        id later = (id)objc_lookUpClass("Later");
        for (int i = 0; i < CALLS_LATER; i++) {
            sum += [later ping:i];
        }
    }
    printf("%g\n", sum);
    return 0;
}
#endif
