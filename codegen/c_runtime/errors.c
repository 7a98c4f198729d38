/* Errors as codes with a text. */
#include "errors.h"

#include <stdarg.h>
#include <stdio.h>

bool fail(girih_error *error, int code, const char *format, ...) {
    if (error == NULL) return false;
    va_list arguments;
    va_start(arguments, format);
    error->code = code;
    vsnprintf(error->text, sizeof(error->text), format, arguments);
    va_end(arguments);
    for (char *at = error->text; *at != '\0'; at++) /* names may come from a file */
        if ((unsigned char)*at < 0x20 || *at == 0x7f) *at = '?';
    return false;
}

bool fail_memory(girih_error *error) {
    return fail(error, GIRIH_ERROR_MEMORY, "there is no memory left");
}
