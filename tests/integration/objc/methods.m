// SPDX-License-Identifier: Apache-2.0
/* Methods whose compiler-made names are ambiguous: underscores in classes, categories and
 * selectors, beside colons. */
__attribute__((objc_root_class)) @interface My_Class {
    void *isa;
}
- (int)do_it:(int)a with_that:(int)b;
- (int)plain;
+ (int)make_:(int)a;
@end
@interface My_Class (Some_Category)
- (int)more_:(int)a;
+ (int)other;
@end
__attribute__((objc_root_class)) @interface My {
    void *isa;
}
- (int)_Class:(int)a;
@end

volatile int sink;

@implementation My_Class
- (int)do_it:(int)a with_that:(int)b
{
    sink = a + b;
    return sink;
}
- (int)plain
{
    sink = 2;
    return sink;
}
+ (int)make_:(int)a
{
    sink = a + 3;
    return sink;
}
@end
@implementation My_Class (Some_Category)
- (int)more_:(int)a
{
    sink = a + 4;
    return sink;
}
+ (int)other
{
    sink = 5;
    return sink;
}
@end
@implementation My
- (int)_Class:(int)a
{
    sink = a + 6;
    return sink;
}
@end
