// SPDX-License-Identifier: Apache-2.0
/* An app for iOS that watches its main run loop and sends its reports: at the start, and in the time
 * that it gets when it enters the background. The transport is NSURLSession.
 *
 * It is compiled here, against declarations of what it uses (tests/darwin/declared), and cannot be
 * run here: there is no Foundation. It has not been run on a device. */
#import <Foundation/Foundation.h>
#import <UIKit/UIKit.h>

#include <sonde/upload.h>
#include <sonde/watch.h>

#define COLLECTOR "https://collector.example/"

/* --- the transport --- */

/* An answer's header may not lead to another server. */
@interface Redirects : NSObject <NSURLSessionTaskDelegate>
@end
@implementation Redirects
- (void)URLSession:(NSURLSession *)session
                          task:(NSURLSessionTask *)task
    willPerformHTTPRedirection:(NSHTTPURLResponse *)response
                    newRequest:(NSURLRequest *)request
             completionHandler:(void (^)(NSURLRequest *))completionHandler
{
    completionHandler(nil);
}
@end

static NSURLSession *session_of_reports(void)
{
    static NSURLSession *session;
    static dispatch_once_t once;
    dispatch_once(&once, ^{
      /* no cookies, no cache: a report says no more than the report */
      NSURLSessionConfiguration *how = [NSURLSessionConfiguration ephemeralSessionConfiguration];
      how.HTTPShouldSetCookies = NO;
      how.waitsForConnectivity = NO;
      session = [NSURLSession sessionWithConfiguration:how
                                              delegate:[Redirects new]
                                         delegateQueue:nil];
    });
    return session;
}

static NSURLRequest *request_of(const struct sonde_upload_request *from)
{
    NSMutableURLRequest *request =
        [NSMutableURLRequest requestWithURL:[NSURL URLWithString:@(from->url)]];
    request.HTTPMethod = @"POST";
    request.HTTPBody = [NSData dataWithBytes:from->body length:from->body_bytes];
    request.timeoutInterval = (double)from->timeout_ns / 1e9;
    for (const char *const *line = from->headers; *line != NULL; line++) {
        NSArray<NSString *> *parts = [@(*line) componentsSeparatedByString:@": "];
        [request setValue:parts[1] forHTTPHeaderField:parts[0]];
    }
    return request;
}

static enum sonde_upload_failure failure_of(NSError *error)
{
    switch (error.code) {
    case NSURLErrorTimedOut:
        return SONDE_UPLOAD_TIMED_OUT;
    case NSURLErrorCancelled:
        return SONDE_UPLOAD_CANCELLED;
    case NSURLErrorNetworkConnectionLost:
        return SONDE_UPLOAD_BROKEN_OFF;
    case NSURLErrorSecureConnectionFailed:
    case NSURLErrorServerCertificateUntrusted:
        return SONDE_UPLOAD_NOT_TRUSTED;
    default:
        return SONDE_UPLOAD_UNREACHABLE;
    }
}

static void give(struct sonde_upload_reply *reply, NSHTTPURLResponse *response, NSData *body,
                 NSError *error)
{
    if (response == nil || error != nil) {
        reply->failed(reply, failure_of(error), error.localizedDescription.UTF8String);
        return;
    }
    for (NSString *name in response.allHeaderFields) {
        NSString *line =
            [NSString stringWithFormat:@"%@: %@", name, response.allHeaderFields[name]];
        reply->header(reply, line.UTF8String, strlen(line.UTF8String));
    }
    (void)reply->body(reply, body.bytes, body.length);
    reply->status(reply, (int32_t)response.statusCode);
}

/* On the sender's thread, which waits for the answer, and asks once a second whether it is still
 * wanted. The reply's functions are called on this thread only. */
static void post(void *ctx, const struct sonde_upload_request *request,
                 struct sonde_upload_reply *reply)
{
    __block NSHTTPURLResponse *answer;
    __block NSData *bytes;
    __block NSError *failed;
    dispatch_semaphore_t done = dispatch_semaphore_create(0);
    NSURLSessionDataTask *task = [session_of_reports()
        dataTaskWithRequest:request_of(request)
          completionHandler:^(NSData *body, NSURLResponse *response, NSError *error) {
            bytes = body;
            answer = (NSHTTPURLResponse *)response;
            failed = error;
            dispatch_semaphore_signal(done);
          }];
    (void)ctx;
    [task resume];
    while (dispatch_semaphore_wait(
               done, dispatch_time(DISPATCH_TIME_NOW, (int64_t)NSEC_PER_SEC)) != 0) {
        if (reply->wanted(reply) == 0) {
            [task cancel]; /* the completion handler is called with NSURLErrorCancelled */
        }
    }
    give(reply, answer, bytes, failed);
}

/* `metered` is null: sonde asks Network.framework whether the path is expensive or constrained. */
static const struct sonde_upload_transport transport = {.struct_bytes = sizeof transport,
                                                        .send = post};

/* --- the app --- */

static NSString *spool_folder(void)
{
    NSArray<NSString *> *caches =
        NSSearchPathForDirectoriesInDomains(NSCachesDirectory, NSUserDomainMask, YES);
    return [caches.firstObject stringByAppendingPathComponent:@"sonde/spool"];
}

static void send_reports(double seconds)
{
    NSString *folder = spool_folder();
    const struct sonde_upload_options options = {.struct_bytes = sizeof options,
                                                 .folder = folder.fileSystemRepresentation,
                                                 .to = COLLECTOR,
                                                 .transport = &transport,
                                                 .within_ns = (uint64_t)(seconds * 1e9)};
    struct sonde_error error;
    if (sonde_upload_now(&options, NULL, &error) != SONDE_OK) {
        NSLog(@"reports are not sent: %s", error.what); /* BUSY: another call sends them */
    }
}

@interface AppDelegate : UIResponder <UIApplicationDelegate>
@end
@implementation AppDelegate
- (BOOL)application:(UIApplication *)application
    didFinishLaunchingWithOptions:(NSDictionary *)launchOptions
{
    NSString *folder = spool_folder(), *build = [[NSBundle mainBundle]
                           objectForInfoDictionaryKey:@"CFBundleVersion"];
    const struct sonde_watch_options options = {.struct_bytes = sizeof options,
                                                .spool = folder.fileSystemRepresentation,
                                                .build = build.UTF8String};
    struct sonde_watch *watch; /* it lasts as long as the app */
    struct sonde_error error;
    if (sonde_watch_start(&options, &watch, &error) != SONDE_OK ||
        sonde_watch_run_loop(&error) != SONDE_OK) {
        NSLog(@"stalls are not watched: %s", error.what);
    }
    dispatch_async(dispatch_get_global_queue(QOS_CLASS_UTILITY, 0), ^{
      send_reports(0); /* those of earlier runs, also of one that was killed */
    });
    return YES;
}

/* The system gives some seconds; a second is kept for the rest. */
- (void)applicationDidEnterBackground:(UIApplication *)application
{
    __block UIBackgroundTaskIdentifier task = [application
        beginBackgroundTaskWithExpirationHandler:^{
          [application endBackgroundTask:task];
        }];
    double seconds = application.backgroundTimeRemaining - 1;
    if (task == UIBackgroundTaskInvalid || seconds <= 0) {
        return;
    }
    dispatch_async(dispatch_get_global_queue(QOS_CLASS_UTILITY, 0), ^{
      send_reports(seconds < 25 ? seconds : 25); /* it is not known for long if the app is active */
      [application endBackgroundTask:task];
    });
}
@end
