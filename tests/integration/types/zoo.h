// SPDX-License-Identifier: Apache-2.0
#ifndef SONDE_TEST_ZOO_H
#define SONDE_TEST_ZOO_H

int zoo_more(void);

#endif
