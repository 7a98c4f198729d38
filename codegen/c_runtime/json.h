/* A strict reader of JSON, with limits. */
#ifndef GIRIH_C_RUNTIME_JSON_H
#define GIRIH_C_RUNTIME_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_kind {
    JSON_NULL,
    JSON_BOOL,
    JSON_INTEGER, /* one that int64 holds */
    JSON_REAL,    /* any other number; its value is not kept */
    JSON_TEXT,
    JSON_LIST,
    JSON_OBJECT
};

typedef struct json json_t;
struct json {
    enum json_kind kind;
    int64_t number;    /* of JSON_INTEGER and JSON_BOOL */
    const char *text;  /* of JSON_TEXT: UTF-8 without NUL */
    const char *key;   /* of a member of an object */
    size_t count;      /* of items, or members */
    json_t *first;     /* the first item or member, in the order of the text */
    json_t *next;      /* the item or member behind this one */
    json_t **by_key;   /* members of an object, sorted by key */
};

typedef struct json_document json_document_t;

/* Reads a text. A key that an object has twice, a number that is none, more than 128
 * levels or more than four million values are errors. Returns NULL with a reason in
 * `*problem`. */
json_document_t *json_read(const char *text, size_t size, const char **problem);
const json_t *json_root(const json_document_t *document);
void json_free(json_document_t *document);

/* The member of an object, or NULL; also where `value` is NULL or no object. */
const json_t *json_member(const json_t *value, const char *key);

/* What a member is, or NULL: a text, a list, an object. */
const char *json_text(const json_t *value, const char *key);
const json_t *json_list(const json_t *value, const char *key);
const json_t *json_object(const json_t *value, const char *key);

/* Whether a member is an integer that is not negative, which `*number` gets. */
bool json_count(const json_t *value, const char *key, int64_t *number);

/* Whether a member is true or false, which `*found` gets. */
bool json_bool(const json_t *value, const char *key, bool *found);

/* Whether all items of a list are texts. */
bool json_is_texts(const json_t *list);

#endif
