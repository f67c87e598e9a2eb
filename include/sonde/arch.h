// SPDX-License-Identifier: Apache-2.0
/* Processor architectures, numbered alike in calls, index files and report files. */
#ifndef SONDE_ARCH_H
#define SONDE_ARCH_H

/* The numbers are part of the ABI and of the file formats: new ones are added at the end. */
enum sonde_arch { SONDE_ARCH_OTHER, SONDE_ARCH_X86_64, SONDE_ARCH_AARCH64 };

#endif
