// SPDX-License-Identifier: Apache-2.0
/* The few classes of Foundation that the sim has, as it and the programs of the tests declare
 * them. */
#ifndef SONDE_SIM_FOUNDATION_H
#define SONDE_SIM_FOUNDATION_H

#include <objc/objc.h>
#include <pthread.h>

@class NSString;

__attribute__((objc_root_class))
@interface NSObject {
    Class isa;
}
+ (id)alloc;
- (id)init;
- (NSString *)description;
- (NSString *)debugDescription;
@end

@interface NSString : NSObject {
    char *_text;
}
+ (NSString *)stringWithUTF8String:(const char *)text;
- (const char *)UTF8String;
@end

@interface NSThread : NSObject {
    pthread_t _thread;
    NSString *_name;
    volatile int _hasBegun, _hasEnded;
}
+ (NSThread *)currentThread;
- (void)start;
- (void)main;
- (BOOL)isMainThread;
- (BOOL)isExecuting;
- (NSString *)name;
- (void)setName:(NSString *)name;
@end

#endif
