/* Errors as codes with a text. */
#ifndef GIRIH_C_RUNTIME_ERRORS_H
#define GIRIH_C_RUNTIME_ERRORS_H

#include <stdbool.h>

#include "library/girih_runtime.h"

/* Sets an error, if there is a place for it; returns false. */
__attribute__((format(printf, 3, 4))) bool fail(girih_error *error, int code,
                                                const char *format, ...);

/* The same for the want of memory. */
bool fail_memory(girih_error *error);

#endif
