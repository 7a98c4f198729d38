/* Which ranges of memory overlap. */
#include "_ranges.h"
#include <stdlib.h>

static int compare_starts(const void *lhs, const void *rhs) {
    int64_t left = ((const Range *)lhs)->start, right = ((const Range *)rhs)->start;
    return (left > right) - (left < right);
}

int written_ranges_overlap(Range *ranges, int64_t count) {
    int64_t end = INT64_MIN, written_end = INT64_MIN;
    qsort(ranges, (size_t)count, sizeof(Range), compare_starts);
    for (int64_t i = 0; i < count; i++) {
        const Range *range = &ranges[i];
        if (range->start == range->end) continue;
        if (range->start < (range->is_written ? end : written_end)) return 1;
        if (range->end > end) end = range->end;
        if (range->is_written && range->end > written_end) written_end = range->end;
    }
    return 0;
}
