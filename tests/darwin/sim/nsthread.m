// SPDX-License-Identifier: Apache-2.0
/* NSThread: as Foundation's, a name is kept as a text and given to the thread itself. */
#include <objc/runtime.h>
#include <string.h>

#include "foundation.h"
#include "sim.h"

id objc_retain(id object);
void objc_release(id object);

static _Thread_local NSThread *current;
/* Injected by tests: names do not reach the threads; names that were set. */
uint32_t sim_names_are_kept, sim_names_set;

@implementation NSThread
+ (NSThread *)currentThread
{
    if (current == 0) {
        current = [[self alloc] init];
        current->_thread = pthread_self();
        current->_hasBegun = 1;
    }
    return current;
}
static void *run(void *argument)
{
    current = (NSThread *)argument;
    current->_thread = pthread_self();
    current->_hasBegun = 1;
    [current main];
    current->_hasEnded = 1;
    return argument;
}
- (void)start
{
    pthread_t thread;
    pthread_create(&thread, 0, run, (void *)self);
}
- (void)main
{
}
- (BOOL)isMainThread
{
    return sim_thread_of(_thread) == sim_threads && _hasBegun;
}
- (BOOL)isExecuting
{
    return _hasBegun && !_hasEnded;
}
- (NSString *)name
{
    return _name;
}
- (void)setName:(NSString *)name
{
    NSString *before = _name;
    const char *bytes = name != 0 ? [name UTF8String] : "";
    _name = name != 0 ? objc_retain(name) : 0;
    objc_release(before);
    sim_names_set++;
    if (_hasBegun && !sim_names_are_kept) {
        strlcpy(sim_thread_of(_thread)->name, bytes, SIM_NAME_MAX);
    }
}
@end
