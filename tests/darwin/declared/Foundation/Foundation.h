// SPDX-License-Identifier: Apache-2.0
/* What examples/apple uses of Foundation, as Apple's reference declares it: for the compiler only.
 * Apple's headers of frameworks are in no package for other systems. */
#ifndef SONDE_DECLARED_FOUNDATION_H
#define SONDE_DECLARED_FOUNDATION_H

#include <dispatch/dispatch.h>
#include <objc/NSObject.h>
#include <stdarg.h>
#include <string.h>

typedef double NSTimeInterval;
@class NSArray<T>, NSData, NSDictionary<K, V>, NSError, NSOperationQueue, NSString, NSURL;
@class NSHTTPURLResponse, NSURLRequest, NSURLResponse, NSURLSession, NSURLSessionTask;

typedef struct {
    unsigned long state;
    id __unsafe_unretained *itemsPtr;
    unsigned long *mutationsPtr;
    unsigned long extra[5];
} NSFastEnumerationState;
@protocol NSFastEnumeration
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState *)state
                                  objects:(id __unsafe_unretained[])buffer
                                    count:(NSUInteger)count;
@end

@interface NSString : NSObject
@property(readonly) const char *UTF8String;
@property(readonly) const char *fileSystemRepresentation;
+ (instancetype)stringWithUTF8String:(const char *)text;
+ (instancetype)stringWithFormat:(NSString *)format, ...;
- (NSArray<NSString *> *)componentsSeparatedByString:(NSString *)separator;
- (NSString *)stringByAppendingPathComponent:(NSString *)name;
@end
@interface NSArray<T> : NSObject <NSFastEnumeration>
@property(readonly) T firstObject;
- (T)objectAtIndexedSubscript:(NSUInteger)index;
@end
@interface NSDictionary<K, V> : NSObject <NSFastEnumeration>
- (V)objectForKeyedSubscript:(K)key;
@end
@interface NSData : NSObject
@property(readonly) const void *bytes;
@property(readonly) NSUInteger length;
+ (instancetype)dataWithBytes:(const void *)bytes length:(NSUInteger)length;
@end
@interface NSError : NSObject
@property(readonly) NSInteger code;
@property(readonly) NSString *localizedDescription;
@end
@interface NSURL : NSObject
+ (instancetype)URLWithString:(NSString *)text;
@end
@interface NSBundle : NSObject
@property(class, readonly) NSBundle *mainBundle;
- (id)objectForInfoDictionaryKey:(NSString *)key;
@end
void NSLog(NSString *format, ...);

typedef enum { NSCachesDirectory = 13 } NSSearchPathDirectory;
typedef enum { NSUserDomainMask = 1 } NSSearchPathDomainMask;
NSArray<NSString *> *NSSearchPathForDirectoriesInDomains(NSSearchPathDirectory directory,
                                                         NSSearchPathDomainMask domain, BOOL tilde);

/* --- <Foundation/NSURLSession.h> and its neighbours --- */

enum {
    NSURLErrorCancelled = -999,
    NSURLErrorTimedOut = -1001,
    NSURLErrorNetworkConnectionLost = -1005,
    NSURLErrorSecureConnectionFailed = -1200,
    NSURLErrorServerCertificateUntrusted = -1202,
};
@interface NSURLRequest : NSObject
@end
@interface NSMutableURLRequest : NSURLRequest
@property(copy) NSString *HTTPMethod;
@property(copy) NSData *HTTPBody;
@property NSTimeInterval timeoutInterval;
+ (instancetype)requestWithURL:(NSURL *)url;
- (void)setValue:(NSString *)value forHTTPHeaderField:(NSString *)field;
@end
@interface NSURLResponse : NSObject
@end
@interface NSHTTPURLResponse : NSURLResponse
@property(readonly) NSInteger statusCode;
@property(readonly, copy) NSDictionary *allHeaderFields;
@end
@interface NSURLSessionConfiguration : NSObject
@property(class, readonly) NSURLSessionConfiguration *ephemeralSessionConfiguration;
@property BOOL HTTPShouldSetCookies;
@property BOOL waitsForConnectivity;
@end
@interface NSURLSessionTask : NSObject
- (void)resume;
- (void)cancel;
@end
@interface NSURLSessionDataTask : NSURLSessionTask
@end
@protocol NSURLSessionDelegate <NSObject>
@end
@protocol NSURLSessionTaskDelegate <NSURLSessionDelegate>
@optional
- (void)URLSession:(NSURLSession *)session
                          task:(NSURLSessionTask *)task
    willPerformHTTPRedirection:(NSHTTPURLResponse *)response
                    newRequest:(NSURLRequest *)request
             completionHandler:(void (^)(NSURLRequest *))completionHandler;
@end
@interface NSURLSession : NSObject
+ (NSURLSession *)sessionWithConfiguration:(NSURLSessionConfiguration *)configuration
                                  delegate:(id<NSURLSessionDelegate>)delegate
                             delegateQueue:(NSOperationQueue *)queue;
- (NSURLSessionDataTask *)dataTaskWithRequest:(NSURLRequest *)request
                            completionHandler:(void (^)(NSData *data, NSURLResponse *response,
                                                        NSError *error))handler;
@end

#endif
