// SPDX-License-Identifier: Apache-2.0
/* Input of the Mach-O tests: no header, so that it compiles for Darwin without its SDK. Inlined
 * calls, methods, imports, pointers in data, a block. */
__attribute__((objc_root_class)) @interface R {
    void *isa;
}
- (int)foo;
- (int)sum:(int)a with:(int)b;
+ (int)cls_with:(int)a;
@end

extern int import_data;
extern int import_function(int x);
extern int import_weak(int x) __attribute__((weak_import));

int *pointer_to_import = &import_data;
int (*pointer_to_function)(int) = import_function;
static int local = 3;
int *pointer_to_local = &local;
int *pointers[40] = {&local, &import_data, &local, 0, 0, &import_data, [39] = &local};
char *addend = (char *)&import_data + 24;

__attribute__((noinline)) static int helper(int x)
{
    int sum = 0;
    for (int i = 0; i < x; i++) {
        sum += import_function(sum ^ i);
    }
    return sum;
}

static inline __attribute__((always_inline)) int inner(int x)
{
    return helper(x) + 1;
}

static inline __attribute__((always_inline)) int middle(int x)
{
    int y = inner(x);
    return y > 4 ? inner(y) * 3 : y;
}

__attribute__((noinline)) static int call(int (^block)(int), int x)
{
    return block(x) + 1;
}

@implementation R
- (int)foo
{
    return middle(4) + (import_weak != 0 ? import_weak(2) : 0);
}
- (int)sum:(int)a with:(int)b
{
    return middle(a) + middle(b);
}
+ (int)cls_with:(int)a
{
    return middle(a) + 2;
}
@end

int exported(int x)
{
    return middle(x) + import_data;
}

int exported_too(int x)
{
    return call(^(int y) { return middle(y) - x; }, x);
}

int main(int argc, char **argv)
{
    return middle(argc) + exported(argc) + exported_too(**argv) + *pointer_to_local;
}
