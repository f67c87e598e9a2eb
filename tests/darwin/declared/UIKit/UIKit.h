// SPDX-License-Identifier: Apache-2.0
/* What examples/apple uses of UIKit, as Apple's reference declares it: for the compiler only. */
#ifndef SONDE_DECLARED_UIKIT_H
#define SONDE_DECLARED_UIKIT_H

#import <Foundation/Foundation.h>

typedef NSUInteger UIBackgroundTaskIdentifier;
extern const UIBackgroundTaskIdentifier UIBackgroundTaskInvalid;

@interface UIResponder : NSObject
@end
@interface UIApplication : UIResponder
@property(nonatomic, readonly) NSTimeInterval backgroundTimeRemaining;
- (UIBackgroundTaskIdentifier)beginBackgroundTaskWithExpirationHandler:(void (^)(void))handler;
- (void)endBackgroundTask:(UIBackgroundTaskIdentifier)identifier;
@end
@protocol UIApplicationDelegate <NSObject>
@end

#endif
