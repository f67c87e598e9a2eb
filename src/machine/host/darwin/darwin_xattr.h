// SPDX-License-Identifier: Apache-2.0
/* Attributes of files: the declarations of <sys/xattr.h>, which sets of Apple's headers for other
 * compilers lack. */
#ifndef SONDE_HOST_DARWIN_XATTR_H
#define SONDE_HOST_DARWIN_XATTR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

ssize_t fgetxattr(int fd, const char *name, void *value, size_t size, uint32_t position,
                  int options);
int fsetxattr(int fd, const char *name, const void *value, size_t size, uint32_t position,
              int options);
int fremovexattr(int fd, const char *name, int options);

#endif
