// SPDX-License-Identifier: Apache-2.0
/* A class of a library that is loaded later. */
__attribute__((objc_root_class)) @interface Later {
    void *isa;
}
+ (int)ping:(int)value;
@end
@implementation Later
+ (int)ping:(int)value
{
    return value;
}
@end
