/* Features of this processor, by the names that Linux has for them. */
#ifndef GIRIH_C_RUNTIME_PROCESSOR_H
#define GIRIH_C_RUNTIME_PROCESSOR_H

#include <stdbool.h>

/* Whether the processor has a feature, and the system saves what it needs. An unknown
 * name is no feature of it. */
bool has_feature(const char *name);

#endif
