// SPDX-License-Identifier: Apache-2.0
#include "target.h"

enum sonde_thread_state sonde__target_thread_state(char letter)
{
    switch (letter) {
    case 'R':
        return SONDE_THREAD_RUNNING;
    case 'S':
    case 'I':
        return SONDE_THREAD_BLOCKED;
    case 'D':
        return SONDE_THREAD_DISK;
    case 'T':
    case 't':
        return SONDE_THREAD_STOPPED;
    case 'Z':
    case 'X':
        return SONDE_THREAD_DEAD;
    default:
        return SONDE_THREAD_UNKNOWN;
    }
}
