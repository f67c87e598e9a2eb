// SPDX-License-Identifier: Apache-2.0
/* Field numbers of proto/sonde/v1/report.proto. */
#ifndef SONDE_REPORT_SCHEMA_H
#define SONDE_REPORT_SCHEMA_H

/* A file is these two things over and over: the tag of Report.records, the length of the record. */
#define SONDE__SCHEMA_RECORDS_TAG 0x0a
#define SONDE__SCHEMA_CRC_TAG     0x7d /* Record.crc32c, its last field */
#define SONDE__SCHEMA_CRC_BYTES   5u   /* tag and value */

enum sonde__schema_record {
    SONDE__RECORD_HEADER = 1,
    SONDE__RECORD_STRINGS = 2,
    SONDE__RECORD_IMAGES = 3,
    SONDE__RECORD_FRAMES = 4,
    SONDE__RECORD_STACKS = 5,
    SONDE__RECORD_THREADS = 6,
    SONDE__RECORD_STALLS = 7,
    SONDE__RECORD_END = 8,
    SONDE__RECORD_NOTES = 9,
    SONDE__RECORD_CALLS = 10,
    SONDE__RECORD_CRC32C = 15,
};

enum sonde__schema_header {
    SONDE__HEADER_FORMAT = 1,
    SONDE__HEADER_KIND = 2,
    SONDE__HEADER_TOOL = 3,
    SONDE__HEADER_TIME = 4,
    SONDE__HEADER_PID = 5,
    SONDE__HEADER_EXECUTABLE = 6,
    SONDE__HEADER_OS = 7,
    SONDE__HEADER_ARCH = 8,
    SONDE__HEADER_THRESHOLD = 9,
    SONDE__HEADER_SOURCE = 10,
    SONDE__HEADER_PAUSE = 11,
};

enum sonde__schema_image {
    SONDE__IMAGE_FIELD_PATH = 1,
    SONDE__IMAGE_FIELD_BUILD_ID = 2,
    SONDE__IMAGE_FIELD_FLAGS = 3,
    SONDE__IMAGE_FIELD_ARCH = 4,
    SONDE__IMAGE_FIELD_CODE_ID = 5,
};

enum sonde__schema_frame {
    SONDE__FRAME_IMAGE = 1,
    SONDE__FRAME_OFFSET = 2,
    SONDE__FRAME_HOW = 3,
    SONDE__FRAME_NAME = 4,
    SONDE__FRAME_NAME_OFFSET = 5,
    SONDE__FRAME_NAME_SOURCE = 6,
    SONDE__FRAME_LOST_COUNT = 7,
    SONDE__FRAME_KIND = 8,
    SONDE__FRAME_FILE = 9,
    SONDE__FRAME_LINE = 10,
    SONDE__FRAME_INLINED = 11,
    SONDE__FRAME_ALTERNATIVES = 12,
    SONDE__FRAME_CODE_ID = 13,
};

enum sonde__schema_inlined {
    SONDE__INLINED_NAME = 1,
    SONDE__INLINED_FILE = 2,
    SONDE__INLINED_LINE = 3,
};

enum sonde__schema_node {
    SONDE__NODE_PARENT = 1,
    SONDE__NODE_FRAME = 2,
    SONDE__NODE_TAIL_CALLS = 3,
};

enum sonde__schema_call {
    SONDE__CALL_FUNCTION = 1,
    SONDE__CALL_STACK = 2,
    SONDE__CALL_COUNT = 3,
};

enum sonde__schema_thread {
    SONDE__THREAD_TID = 1,
    SONDE__THREAD_NAME = 2,
    SONDE__THREAD_STATE = 3,
    SONDE__THREAD_MAIN = 4,
    SONDE__THREAD_STACK = 5,
    SONDE__THREAD_END = 6,
    SONDE__THREAD_END_AT = 7,
    SONDE__THREAD_CAPTURED_BY = 8,
    SONDE__THREAD_SYSCALL = 9,
    SONDE__THREAD_PAUSE = 10,
    SONDE__THREAD_NOTE = 11,
    SONDE__THREAD_FRAME_COUNT = 12,
    SONDE__THREAD_TIME = 13,
    SONDE__THREAD_DETAIL = 14,
};

enum sonde__schema_sample {
    SONDE__SAMPLE_TIME = 1,
    SONDE__SAMPLE_WEIGHT = 2,
    SONDE__SAMPLE_STACK = 3,
    SONDE__SAMPLE_END = 4,
    SONDE__SAMPLE_PHASE = 5,
    SONDE__SAMPLE_CAPTURED_BY = 6,
    SONDE__SAMPLE_SYSCALL = 7,
    SONDE__SAMPLE_DETAIL = 8,
};

enum sonde__schema_stall {
    SONDE__STALL_BEGIN = 1,
    SONDE__STALL_DURATION = 2,
    SONDE__STALL_TID = 3,
    SONDE__STALL_THREAD_NAME = 4,
    SONDE__STALL_LOOP = 5,
    SONDE__STALL_LOOP_DETAIL = 6,
    SONDE__STALL_LOOP_TURNS = 7,
    SONDE__STALL_SAMPLES = 8,
    SONDE__STALL_THREADS = 9,
    SONDE__STALL_CPU = 10,
    SONDE__STALL_RUNQUEUE = 11,
    SONDE__STALL_OPEN = 12,
    SONDE__STALL_OVERHEAD = 13,
    SONDE__STALL_SAMPLES_EARLY = 14,
    SONDE__STALL_SAMPLER = 15,
    SONDE__STALL_MAIN = 16,
};

enum sonde__schema_end {
    SONDE__END_STALL_COUNT = 1,
    SONDE__END_TURN_COUNT = 2,
    SONDE__END_LOST_RECORDS = 3,
    SONDE__END_WATCHED = 4,
};

#endif
