// SPDX-License-Identifier: Apache-2.0
#ifndef SPOOLED_H
#define SPOOLED_H

enum { SOME_CALLS = 1000 };

#endif
