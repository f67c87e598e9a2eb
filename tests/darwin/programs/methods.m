// SPDX-License-Identifier: Apache-2.0
/* Calls of Objective-C methods are counted with their stacks: own ones, those of the class itself,
 * inherited ones, whatever their signature. Afterwards the classes are as before. */
#include <objc/runtime.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/audit.h>
#include <sonde/depot.h>

#include "../sim/foundation.h"
#include "workers.h"

struct point {
    double x, y, z;
};

@interface Base : NSObject
- (int)value;
- (int)secret:(int)number;
- (struct point)pointWith:(double)x and:(float)y count:(int)count;
+ (const char *)text;
@end

@interface Derived : Base
- (int)twice;
@end

@interface Other : Base
- (int)value;
- (int)secret:(int)number;
@end

@implementation Base
- (int)value
{
    return 21;
}
- (int)secret:(int)number
{
    return number;
}
- (struct point)pointWith:(double)x and:(float)y count:(int)count
{
    return (struct point){x, (double)y, count};
}
+ (const char *)text
{
    return "text";
}
@end

@implementation Derived
- (int)twice
{
    return 2 * [self value];
}
@end

@implementation Other
- (int)value
{
    return 1 + [super value];
}
- (int)secret:(int)number
{
    return number + 1;
}
@end

/* The inherited one comes before that of its superclass. */
enum { DERIVED, BASE, POINT, TEXT, TWICE, OTHER, SECRET, NOTHING, NOBODY, NAMES };
static const char *const names[] = {
    "-[Derived value]", "-[Base value]",      "-[Base pointWith:and:count:]",
    "+[Base text]",     "-[Derived twice]",   "-[Other value]",
    "-[Base secret:]",  "-[Derived nothing]", "-[Nobody nothing]"};

static struct sonde_depot *depot;
static uint64_t calls[NAMES];

static int add_entry(void *ctx, const struct sonde_audit_entry *entry)
{
    (void)ctx;
    calls[entry->label] += entry->count;
    return 0;
}

static unsigned unseen, overridden;
static int see_blind_spot(void *ctx, const struct sonde_audit_blind_spot *spot)
{
    int is_override = strstr(spot->why, " it calls super") != NULL;
    (void)ctx;
    overridden += is_override && strcmp(spot->function, "-[Base secret:]") == 0 &&
                  strncmp(spot->why, "subclass Other overrides it: ", 29) == 0;
    unseen += spot->function != NULL && spot->function[0] == '-';
    return 0;
}

static int is_called(const uint64_t wanted[NAMES])
{
    memset(calls, 0, sizeof calls);
    CHECK(sonde_audit_entries(depot, add_entry, NULL) == SONDE_OK);
    return memcmp(calls, wanted, sizeof calls) == 0;
}

static void call_all(void)
{
    Base *base = [Base alloc], *derived = [Derived alloc], *other = [Other alloc];
    struct point point = [base pointWith:1.5 and:2.5f count:3];
    CHECK([base value] == 21 && [derived value] == 21 && [other value] == 22);
    CHECK([(Derived *)derived twice] == 42);
    CHECK([base secret:1] == 1 && [derived secret:2] == 2 && [other secret:3] == 4);
    CHECK(point.x == 1.5 && point.y == 2.5 && point.z == 3);
    CHECK(strcmp([Derived text], "text") == 0);
}

int main(void)
{
    const uint64_t once[NAMES] = {2, 4, 1, 1, 1, 1, 2, 0, 0},
                   twice[NAMES] = {4, 8, 2, 2, 2, 2, 4, 0, 0};
    Method method = class_getInstanceMethod(objc_getClass("Other"), @selector(value));
    IMP before = method_getImplementation(method);
    struct sonde_error error;
    CHECK(sonde_depot_create(1 << 12, &depot) == SONDE_OK);
    for (unsigned i = 0; i < 2; i++) { /* again: as if for the first time */
        struct sonde_audit *audit = NULL;
        CHECK(sonde_audit_start(depot, names, NAMES, &audit, &error) == SONDE_OK);
        CHECK(method_getImplementation(method) != before);
        call_all();
        unseen = overridden = 0;
        CHECK(sonde_audit_blind_spots(audit, see_blind_spot, NULL) == SONDE_OK && unseen == 3);
        CHECK(overridden == 1); /* value is hooked in all classes; Derived inherits secret: */
        sonde_audit_stop(audit);
        CHECK(method_getImplementation(method) == before);
        CHECK(is_called(i == 0 ? once : twice));
        call_all();
        CHECK(is_called(i == 0 ? once : twice));
    }
    sonde_depot_destroy(depot);
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
