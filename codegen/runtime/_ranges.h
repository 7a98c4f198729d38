/* Ranges of memory that a program reads or writes. */
#ifndef GIRIH_CODEGEN_RUNTIME_RANGES_H
#define GIRIH_CODEGEN_RUNTIME_RANGES_H

#include <stdint.h>

typedef struct {
    int64_t start, end;
    int is_written;
} Range;

/* Whether a written range shares a byte with another range; sorts them. */
int written_ranges_overlap(Range *ranges, int64_t count);

#endif
