// SPDX-License-Identifier: Apache-2.0
#ifndef SONDE_TEST_AUDIT_FAMILY_H
#define SONDE_TEST_AUDIT_FAMILY_H

enum { OWN_CALLS = 10, FORKED = 5 };

#endif
