// SPDX-License-Identifier: Apache-2.0
/* The frames of the calling thread, for code that the thread itself calls.
 *
 * A thread's frames do not change while it is in a call of native code. A thread that holds the
 * interpreter's lock reads them where they are. One that does not hold it may be a daemon thread of
 * an interpreter that ends, whose memory another thread frees: it reads copies by a call that never
 * faults, some frames at once. The same is done until the layout has proven right. Takes no lock
 * and changes nothing. Context: handler. */
#ifndef SONDE_PYTHON_OWN_H
#define SONDE_PYTHON_OWN_H

#include "python_layout.h"

/* Python's default limit is 1000. A thread with more has none here. */
#define PYTHON_OWN_FRAMES 1024u

/* Copies MEMORY, and never faults. Returns the bytes copied from `address` on. */
typedef size_t python_own_copy(uint64_t address, void *ret_bytes, size_t size);

enum { PYTHON_OWN_WINDOW = 2048 };
struct python_own_reader {
    const struct python_layout *layout;
    python_own_copy *copy; /* null: read memory where it is */
    uint32_t copies_left;  /* then none is made: a chain of frame objects has one for each */
    uint64_t start;        /* of the last copy */
    size_t size;
    uint8_t bytes[PYTHON_OWN_WINDOW];
};

/* As the interpreter has it: a pointer to code, and flags in its low bits. */
struct python_own_frame {
    uint64_t code; /* 0: a call of the loop that runs no frame */
    uint64_t at; /* 3.11 on: from the code object's start to the instruction; else the index of the
                    instruction + 1, or with LINE a line */
};
enum {
    PYTHON_OWN_ENDS_RUN = 1,  /* the outermost frame of a call of the loop */
    PYTHON_OWN_GENERATOR = 2, /* its frame belongs to a generator or coroutine */
    PYTHON_OWN_LINE = 4,      /* the frame states its line (3.10, while it is traced) */
    PYTHON_OWN_FLAGS = 7,
};

enum python_own_result {
    PYTHON_OWN_READ,
    PYTHON_OWN_UNREADABLE, /* a frame cannot be read, or too many copies would be needed */
    PYTHON_OWN_ENDLESS,    /* more than PYTHON_OWN_FRAMES */
    PYTHON_OWN_UNFIT,      /* they do not fit the calls of the loop */
    PYTHON_OWN_ENTERS,     /* it enters the interpreter's loop */
};

struct python_own_stack {
    struct python_own_frame *frames; /* of PYTHON_OWN_FRAMES; innermost first */
    uint32_t count;
    bool is_switched; /* further calls on the native stack are another greenlet's */
};

/* Read the frames of the thread with this state (PyThreadState). */
enum python_own_result sonde__python_own_read(struct python_own_reader *reader, uint64_t state,
                                              struct python_own_stack *stack);

/* The bytes at an address; null: unreadable. size: at most the window's */
const uint8_t *sonde__python_own_at(struct python_own_reader *reader, uint64_t address,
                                    size_t size);

/* A str object's bytes, with its head, as far as names are decoded. head: layout->text_ascii_bytes
 */
uint32_t sonde__python_text_bytes(const struct python_layout *layout, const uint8_t *head);

#endif
