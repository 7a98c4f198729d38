/* The file of a package: mapped, and all of its bytes checked. */
#ifndef GIRIH_C_RUNTIME_CONTAINER_H
#define GIRIH_C_RUNTIME_CONTAINER_H

#include "errors.h"
#include "json.h"

typedef struct {
    const char *name;
    size_t offset, size;
} part_t;

typedef struct {
    char *path;
    char *bytes;          /* writes to them stay in this process */
    const char *original; /* the same bytes, as they are in the file */
    size_t size;
    json_document_t *document;
    const json_t *manifest;
    part_t *parts;
    size_t part_count;
} container_t;

/* Maps a file and checks it; whatever becomes of it, close it. */
bool container_open(container_t *container, const char *path, girih_error *error);
void container_close(container_t *container);

/* A part, or NULL with an error. */
const part_t *container_part(const container_t *container, const char *name,
                             girih_error *error);

/* Sets the error of a file that is damaged; returns false. */
bool damaged(const container_t *container, girih_error *error, const char *what,
             const char *name);

#endif
