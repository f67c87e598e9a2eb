// SPDX-License-Identifier: Apache-2.0
/* Which thread an NSThread is: the main one, the calling one, one that is registered, others, those
 * that have not begun or have ended, and objects that are none. Names are as before. */
#include <string.h>
#include <unistd.h>

#include <sonde/thread.h>

#include "../sim/foundation.h"
#include "workers.h"

extern uint32_t sim_names_are_kept, sim_names_set;

enum { SIM_PATIENCE_US = 2000 };
static volatile int are_over;

@interface Worker : NSThread {
  @public
    volatile uint64_t _tid, _mainTid;
    NSThread *_main;
    int _registers;
}
@end

@implementation Worker
- (void)main
{
    uint64_t tid = 0;
    CHECK(sonde_thread_find_nsthread((__bridge void *)self, &tid) == SONDE_OK);
    CHECK(tid == sonde_thread_self());
    CHECK(sonde_thread_find_nsthread((__bridge void *)_main, &tid) == SONDE_OK);
    _mainTid = tid;
    CHECK(!_registers || sonde_thread_register_nsthread() == SONDE_OK);
    _tid = sonde_thread_self();
    while (!are_over) {
        usleep(100);
    }
}
@end

static Worker *both[2];

static Worker *begin(int registers, const char *name)
{
    Worker *made = [[Worker alloc] init];
    made->_main = [NSThread currentThread];
    made->_registers = registers;
    if (name != NULL) {
        [made setName:[NSString stringWithUTF8String:name]];
    }
    [made start];
    while (made->_tid == 0) {
        usleep(10);
    }
    CHECK(made->_mainTid == sonde_thread_main());
    return made;
}

static enum sonde_status find(NSObject *thread, uint64_t *ret_tid)
{
    return sonde_thread_find_nsthread((__bridge void *)thread, ret_tid);
}

static void check_names(Worker *named, Worker *nameless)
{
    uint64_t tid = 0;
    uint32_t set = sim_names_set;
    CHECK(find(named, &tid) == SONDE_OK && tid == named->_tid);
    CHECK(strcmp([[named name] UTF8String], "parser") == 0 && sim_names_set == set + 2);
    CHECK(find(nameless, &tid) == SONDE_OK && tid == nameless->_tid);
    CHECK([nameless name] == 0);
    CHECK(sonde_thread_find_name("parser", &tid) == SONDE_OK && tid == named->_tid);
    sim_names_are_kept = 1;
    tid = 77;
    CHECK(find(nameless, &tid) == SONDE_UNSUPPORTED && tid == 77);
    sim_names_are_kept = 0;
    CHECK([nameless name] == 0);
    sim_list_result = KERN_FAILURE;
    CHECK(find(named, &tid) == SONDE_UNREADABLE && tid == 77);
    sim_list_result = KERN_SUCCESS;
    CHECK(strcmp([[named name] UTF8String], "parser") == 0);
    check_nothing_is_left();
}

/* The program gives another name while ours is there: that one stays. */
static void set_newer(void)
{
    sim_after_list = NULL;
    [both[0] setName:[NSString stringWithUTF8String:"newer"]];
}

static void check_newer_name(void)
{
    uint64_t tid = 77;
    sim_after_list = set_newer;
    CHECK(find(both[0], &tid) == SONDE_UNSUPPORTED && tid == 77);
    CHECK(strcmp([[both[0] name] UTF8String], "newer") == 0);
    [both[0] setName:[NSString stringWithUTF8String:"parser"]];
    CHECK(find(both[0], &tid) == SONDE_OK && tid == both[0]->_tid);
    check_nothing_is_left();
}

static void check_exact(Worker *registered)
{
    uint64_t tid = 0;
    uint32_t set = sim_names_set;
    CHECK(find([NSThread currentThread], &tid) == SONDE_OK && tid == sonde_thread_main());
    CHECK(find(registered, &tid) == SONDE_OK && tid == registered->_tid);
    CHECK(sim_names_set == set);
    check_nothing_is_left();
}

static void check_none(void)
{
    uint64_t tid = 77;
    CHECK(find([[Worker alloc] init], &tid) == SONDE_ABSENT);
    CHECK(find([[NSObject alloc] init], &tid) == SONDE_USAGE);
    CHECK(sonde_thread_find_nsthread(NULL, &tid) == SONDE_USAGE && tid == 77);
}

/* Two threads ask for the same one: the second one waits until its name is back. */
static const void *asked; /* not counted here: the simulation's counts are not atomic */
static uint64_t asked_tid;
static volatile int is_second_done, was_second_done;
static pthread_t second;

static void *ask_second(void *argument)
{
    uint64_t tid = 0;
    CHECK(sonde_thread_find_nsthread(asked, &tid) == SONDE_OK && tid == asked_tid);
    is_second_done = 1;
    return argument;
}

static void start_second(void)
{
    sim_after_list = NULL;
    CHECK(pthread_create(&second, NULL, ask_second, NULL) == 0);
    usleep(SIM_PATIENCE_US);
    was_second_done = is_second_done;
}

static void check_both(Worker *named)
{
    uint64_t tid = 0;
    asked = (__bridge void *)named;
    asked_tid = named->_tid;
    sim_after_list = start_second;
    CHECK(find(named, &tid) == SONDE_OK && tid == asked_tid);
    pthread_join(second, NULL);
    CHECK(!was_second_done && is_second_done);
    CHECK(strcmp([[named name] UTF8String], "parser") == 0);
    sim_allocations_while_suspended = sim_maps_while_suspended = 0; /* of the second thread */
    check_nothing_is_left();
}

/* Threads that have ended leave room for others to register. */
@interface Brief : NSThread {
  @public
    volatile int _status;
}
@end

@implementation Brief
- (void)main
{
    _status = sonde_thread_register_nsthread();
}
@end

static void check_many(void)
{
    for (unsigned i = 0; i < SONDE_NSTHREADS_MAX + 6; i++) {
        Brief *made = [[Brief alloc] init];
        made->_status = -1;
        [made start];
        while (made->_status < 0 || [made isExecuting]) {
            usleep(10);
        }
        CHECK(made->_status == SONDE_OK);
    }
    check_nothing_is_left();
}

int main(void)
{
    uint64_t tid = 77;
    Worker *registered = begin(1, "registered");
    both[0] = begin(0, "parser");
    both[1] = begin(0, NULL);
    check_exact(registered);
    check_names(both[0], both[1]);
    check_newer_name();
    check_none();
    check_both(both[0]);
    check_many();
    check_exact(registered);
    are_over = 1;
    while ([registered isExecuting] || [both[0] isExecuting]) {
        usleep(10);
    }
    CHECK(find(registered, &tid) == SONDE_ABSENT && find(both[0], &tid) == SONDE_ABSENT);
    CHECK(tid == 77);
    check_nothing_is_left();
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
