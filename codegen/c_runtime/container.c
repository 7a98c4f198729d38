/* The file of a package: mapped, and all of its bytes checked.
 *
 * docs/package-format.md describes it. girih/packaging/container.py writes it.
 */
#define _GNU_SOURCE
#include "container.h"
#include "checksums.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "girih package 1\n"
#define MAGIC_BYTES 16
#define SAME_IN_ALL_VERSIONS 14
#define HEAD_BYTES (MAGIC_BYTES + 8 + SHA256_BYTES)
#define ALIGNMENT 64
#define MOST_MANIFEST_BYTES ((uint64_t)1 << 26)

bool damaged(const container_t *container, girih_error *error, const char *what,
             const char *name) {
    return fail(error, GIRIH_ERROR_PACKAGE,
                "%.300s is damaged: %s%s%.100s%s. Nothing of it was run. Copy or make it "
                "again.",
                container->path, what, name ? " '" : "", name ? name : "",
                name ? "'" : "");
}

/* --- mapping --- */

static bool failed_file(const container_t *container, girih_error *error) {
    return fail(error, GIRIH_ERROR_FILE, "%.300s can't be read: %s", container->path,
                strerror(errno));
}

static void *map(int file, size_t size, int protection) {
    void *found = mmap(NULL, size, protection, MAP_PRIVATE, file, 0);
    return found == MAP_FAILED ? NULL : found;
}

static bool map_file(container_t *container, int file, girih_error *error) {
    struct stat status;
    if (fstat(file, &status) != 0) return failed_file(container, error);
    if (!S_ISREG(status.st_mode) || status.st_size < HEAD_BYTES)
        return fail(error, GIRIH_ERROR_PACKAGE,
                    "%.300s is no package of girih: it has %lld bytes", container->path,
                    (long long)status.st_size);
    container->size = (size_t)status.st_size;
    container->bytes = map(file, container->size, PROT_READ | PROT_WRITE);
    container->original = map(file, container->size, PROT_READ);
    if (container->bytes == NULL || container->original == NULL)
        return failed_file(container, error);
    return true;
}

/* --- checks --- */

static size_t round_up(size_t offset) {
    return (offset + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bool read_manifest(container_t *container, size_t *end, girih_error *error) {
    const char *bytes = container->bytes, *problem;
    unsigned char digest[SHA256_BYTES];
    uint64_t size = 0;
    if (memcmp(bytes, MAGIC, MAGIC_BYTES) != 0) {
        bool known = memcmp(bytes, MAGIC, SAME_IN_ALL_VERSIONS) == 0;
        return fail(error, GIRIH_ERROR_PACKAGE, "%.300s is %s of girih", container->path,
                    known ? "a package of another version" : "no package");
    }
    for (int i = 0; i < 8; i++)
        size |= (uint64_t)(unsigned char)bytes[MAGIC_BYTES + i] << (8 * i);
    if (size > MOST_MANIFEST_BYTES || size > container->size - HEAD_BYTES)
        return damaged(container, error, "its manifest would be too large", NULL);
    sha256(bytes + HEAD_BYTES, (size_t)size, digest);
    if (memcmp(digest, bytes + MAGIC_BYTES + 8, SHA256_BYTES) != 0)
        return damaged(container, error, "the checksum of its manifest is wrong", NULL);
    container->document = json_read(bytes + HEAD_BYTES, (size_t)size, &problem);
    if (container->document == NULL)
        return damaged(container, error, "its manifest has", problem);
    container->manifest = json_root(container->document);
    *end = HEAD_BYTES + (size_t)size;
    return true;
}

/* Whether a name is small letters and digits, and at most one ending. */
static bool is_name(const char *name) {
    const char *letters = "abcdefghijklmnopqrstuvwxyz", *digits = "0123456789";
    bool has_ending = false;
    if (strchr(letters, *name) == NULL || *name == '\0') return false;
    for (const char *at = name + 1; *at != '\0'; at++) {
        if (strchr(letters, *at) || strchr(digits, *at)) continue;
        if (*at != '.' || has_ending || at[1] == '\0') return false;
        has_ending = true;
    }
    return true;
}

static const part_t *found_part(const container_t *container, const char *name) {
    for (size_t i = 0; i < container->part_count; i++)
        if (strcmp(container->parts[i].name, name) == 0) return &container->parts[i];
    return NULL;
}

static bool ends_with(const char *text, const char *ending) {
    size_t size = strlen(text), length = strlen(ending);
    return size >= length && strcmp(text + size - length, ending) == 0;
}

static bool has_checksum(const container_t *container, const part_t *part,
                         const json_t *place) {
    char found[2 * SHA256_BYTES + 1];
    bool is_quick = ends_with(part->name, ".safetensors");
    const char *wanted = json_text(place, is_quick ? "crc32" : "sha256");
    if (wanted == NULL) return false;
    part_checksum(container->bytes + part->offset, part->size, is_quick, found);
    return strcmp(wanted, found) == 0;
}

static bool read_part(container_t *container, const json_t *place, size_t *end,
                      girih_error *error) {
    const char *name = json_text(place, "name");
    int64_t offset, size;
    if (name == NULL || !json_count(place, "offset", &offset) ||
        !json_count(place, "size", &size))
        return damaged(container, error, "its manifest describes no part", NULL);
    if ((size_t)offset != round_up(*end) || (size_t)offset > container->size ||
        (size_t)size > container->size - (size_t)offset)
        return damaged(container, error, "outside of its place lies the part", name);
    bool is_empty = true;
    for (size_t at = *end; at < (size_t)offset; at++) is_empty &= !container->bytes[at];
    if (!is_empty || !is_name(name) || found_part(container, name) != NULL)
        return damaged(container, error, "there are bytes before the part", name);
    part_t part = {name, (size_t)offset, (size_t)size};
    container->parts[container->part_count++] = part;
    *end = (size_t)offset + (size_t)size;
    return has_checksum(container, &part, place) ||
           damaged(container, error, "the checksum is wrong of the part", name);
}

static bool read_parts(container_t *container, size_t end, girih_error *error) {
    const json_t *table = json_list(container->manifest, "parts");
    if (table == NULL)
        return damaged(container, error, "its manifest has no table of parts", NULL);
    if (table->count > 1 << 16)
        return damaged(container, error, "it has too many parts", NULL);
    container->parts = calloc(table->count + 1, sizeof(part_t));
    if (container->parts == NULL) return fail_memory(error);
    for (const json_t *place = table->first; place != NULL; place = place->next)
        if (!read_part(container, place, &end, error)) return false;
    if (end == container->size) return true;
    return damaged(container, error, "it does not end with its last part", NULL);
}

bool container_open(container_t *container, const char *path, girih_error *error) {
    *container = (container_t){.path = strdup(path)};
    if (container->path == NULL) return fail_memory(error);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return failed_file(container, error);
    bool is_mapped = map_file(container, file, error);
    close(file);
    size_t end = 0;
    return is_mapped && read_manifest(container, &end, error) &&
           read_parts(container, end, error);
}

void container_close(container_t *container) {
    if (container->bytes != NULL) munmap(container->bytes, container->size);
    if (container->original != NULL)
        munmap((void *)(uintptr_t)container->original, container->size);
    json_free(container->document);
    free(container->parts);
    free(container->path);
    *container = (container_t){0};
}

const part_t *container_part(const container_t *container, const char *name,
                             girih_error *error) {
    const part_t *found = name == NULL ? NULL : found_part(container, name);
    if (found == NULL)
        damaged(container, error, "it has no part", name == NULL ? "" : name);
    return found;
}
