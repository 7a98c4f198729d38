/* A strict reader of JSON, with limits.
 *
 * Source: RFC 8259.
 */
#include "json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LEVELS 128
#define MOST_VALUES ((size_t)4 << 20)
#define BLOCK_BYTES ((size_t)64 << 10)

typedef struct block block_t;
struct block {
    block_t *next;
    size_t used, size;
    max_align_t bytes[];
};

struct json_document {
    block_t *blocks;
    json_t *root;
};

typedef struct {
    json_document_t *document;
    const char *at, *end;
    size_t values;
    const char *problem;
} reader_t;

/* --- memory --- */

static void *take(reader_t *reader, size_t size) {
    block_t *block = reader->document->blocks;
    size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (block == NULL || size > block->size - block->used) {
        size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        block = malloc(sizeof(*block) + room);
        if (block == NULL) {
            reader->problem = "there is no memory left";
            return NULL;
        }
        *block = (block_t){.next = reader->document->blocks, .size = room};
        reader->document->blocks = block;
    }
    void *found = (char *)block->bytes + block->used;
    block->used += size;
    return found;
}

void json_free(json_document_t *document) {
    if (document == NULL) return;
    for (block_t *block = document->blocks, *next; block != NULL; block = next) {
        next = block->next;
        free(block);
    }
    free(document);
}

/* --- texts and numbers --- */

static bool refuse(reader_t *reader, const char *problem) {
    if (reader->problem == NULL) reader->problem = problem;
    return false;
}

static void skip_spaces(reader_t *reader) {
    while (reader->at < reader->end && *reader->at != '\0' &&
           strchr(" \t\r\n", *reader->at))
        reader->at++;
}

static bool take_if(reader_t *reader, char wanted) {
    skip_spaces(reader);
    if (reader->at == reader->end || *reader->at != wanted) return false;
    reader->at++;
    return true;
}

static bool take_word(reader_t *reader, const char *word) {
    size_t size = strlen(word);
    if ((size_t)(reader->end - reader->at) < size || memcmp(reader->at, word, size))
        return refuse(reader, "a word that is none");
    reader->at += size;
    return true;
}

static bool read_hex(reader_t *reader, uint32_t *found) {
    *found = 0;
    for (int i = 0; i < 4; i++) {
        if (reader->at == reader->end) return refuse(reader, "a text that is cut off");
        char given = *reader->at++;
        const char *digits = "0123456789abcdef";
        if (given >= 'A' && given <= 'F') given = (char)(given - 'A' + 'a');
        const char *place = given == '\0' ? NULL : strchr(digits, given);
        if (place == NULL) return refuse(reader, "a wrong escape in a text");
        *found = *found << 4 | (uint32_t)(place - digits);
    }
    return true;
}

static char *write_utf8(char *to, uint32_t code) {
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* The code point of an escape with `u`; a pair of halves is one. */
static bool read_point(reader_t *reader, uint32_t *point) {
    uint32_t low;
    if (!read_hex(reader, point)) return false;
    if (*point == 0) return refuse(reader, "a NUL in a text");
    if (*point < 0xd800 || *point > 0xdfff) return true;
    bool has_low = *point < 0xdc00 && reader->end - reader->at >= 6 &&
                   memcmp(reader->at, "\\u", 2) == 0;
    if (!has_low) return refuse(reader, "half of a character in a text");
    reader->at += 2;
    if (!read_hex(reader, &low)) return false;
    if (low < 0xdc00 || low > 0xdfff)
        return refuse(reader, "half of a character in a text");
    *point = 0x10000 + ((*point - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

static bool read_escape(reader_t *reader, char **to) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (reader->at == reader->end) return refuse(reader, "a text that is cut off");
    char kind = *reader->at++;
    if (kind == 'u') {
        uint32_t point;
        if (!read_point(reader, &point)) return false;
        *to = write_utf8(*to, point);
        return true;
    }
    const char *place = kind == '\0' ? NULL : strchr(names, kind);
    if (place == NULL) return refuse(reader, "a wrong escape in a text");
    *(*to)++ = values[place - names];
    return true;
}

/* How many bytes a character has that begins here; 0 where it is none of UTF-8. */
static int utf8_length(const unsigned char *at, size_t room) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int length = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;
    if (length <= 1 || *at > 0xf4 || (size_t)length > room) return length == 1;
    uint32_t code = *at & (0xffu >> (length + 1));
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (at[i] & 0x3fu);
    }
    bool is_half = code >= 0xd800 && code <= 0xdfff;
    return code < least[length] || code > 0x10ffff || is_half ? 0 : length;
}

/* Copies the character that begins here. */
static bool read_character(reader_t *reader, const char *stop, char **to) {
    const unsigned char *at = (const unsigned char *)reader->at;
    int length = utf8_length(at, (size_t)(stop - reader->at));
    if (length == 0) return refuse(reader, "a text that is not UTF-8");
    if (*at < 0x20) return refuse(reader, "a control character in a text");
    memcpy(*to, at, (size_t)length);
    *to += length;
    reader->at += length;
    return true;
}

static const char *read_text(reader_t *reader) {
    const char *stop = reader->at;
    while (stop < reader->end && *stop != '"') stop += *stop == '\\' ? 2 : 1;
    if (stop >= reader->end) {
        refuse(reader, "a text that is cut off");
        return NULL;
    }
    char *found = take(reader, (size_t)(stop - reader->at) + 1), *to = found;
    while (found != NULL && reader->at < stop) {
        bool is_escape = *reader->at == '\\';
        reader->at += is_escape;
        if (!(is_escape ? read_escape(reader, &to) : read_character(reader, stop, &to)))
            return NULL;
    }
    if (found == NULL) return NULL;
    *to = '\0';
    reader->at++;
    return found;
}

static size_t take_digits(reader_t *reader) {
    const char *start = reader->at;
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9')
        reader->at++;
    return (size_t)(reader->at - start);
}

static bool at_one_of(const reader_t *reader, const char *wanted) {
    return reader->at < reader->end && *reader->at != '\0' && strchr(wanted, *reader->at);
}

/* A number; `text` and `size` are its digits and sign. */
static bool read_number(reader_t *reader, json_t *value) {
    const char *start = reader->at;
    if (at_one_of(reader, "-")) reader->at++;
    bool has_zero = at_one_of(reader, "0");
    size_t digits = take_digits(reader);
    if (digits == 0 || (has_zero && digits > 1))
        return refuse(reader, "a number that is none");
    value->kind = JSON_INTEGER;
    if (at_one_of(reader, ".")) {
        reader->at++;
        value->kind = JSON_REAL;
        if (take_digits(reader) == 0) return refuse(reader, "a number that is none");
    }
    if (at_one_of(reader, "eE")) {
        reader->at++;
        value->kind = JSON_REAL;
        if (at_one_of(reader, "+-")) reader->at++;
        if (take_digits(reader) == 0) return refuse(reader, "a number that is none");
    }
    char text[24] = "";
    size_t size = (size_t)(reader->at - start);
    if (value->kind == JSON_REAL || size >= sizeof(text)) {
        value->kind = JSON_REAL;
        return true;
    }
    memcpy(text, start, size);
    errno = 0;
    value->number = strtoll(text, NULL, 10);
    if (errno != 0) value->kind = JSON_REAL;
    return true;
}

/* --- values --- */

static bool read_value(reader_t *reader, json_t *value, int level);

static bool read_member(reader_t *reader, json_t *value) {
    if (!take_if(reader, '"')) return refuse(reader, "a member without a key");
    value->key = read_text(reader);
    if (value->key == NULL) return false;
    return take_if(reader, ':') || refuse(reader, "a key without a value");
}

static int compare_keys(const void *lhs, const void *rhs) {
    return strcmp((*(json_t *const *)lhs)->key, (*(json_t *const *)rhs)->key);
}

static bool sort_members(reader_t *reader, json_t *value) {
    value->by_key = take(reader, (value->count + 1) * sizeof(json_t *));
    if (value->by_key == NULL) return false;
    size_t number = 0;
    for (json_t *each = value->first; each != NULL; each = each->next)
        value->by_key[number++] = each;
    qsort(value->by_key, number, sizeof(json_t *), compare_keys);
    for (size_t i = 1; i < number; i++)
        if (strcmp(value->by_key[i - 1]->key, value->by_key[i]->key) == 0)
            return refuse(reader, "a key that stands twice");
    return true;
}

static bool read_items(reader_t *reader, json_t *value, char end, int level) {
    json_t **last = &value->first;
    if (take_if(reader, end)) return true;
    do {
        json_t *item = take(reader, sizeof(*item));
        if (item == NULL) return false;
        *item = (json_t){0};
        if (value->kind == JSON_OBJECT && !read_member(reader, item)) return false;
        if (!read_value(reader, item, level + 1)) return false;
        *last = item;
        last = &item->next;
        value->count++;
    } while (take_if(reader, ','));
    return take_if(reader, end) || refuse(reader, "a list or object that is cut off");
}

static bool read_value(reader_t *reader, json_t *value, int level) {
    skip_spaces(reader);
    if (level > MOST_LEVELS) return refuse(reader, "too many levels");
    if (++reader->values > MOST_VALUES) return refuse(reader, "too many values");
    if (reader->at == reader->end) return refuse(reader, "no value");
    switch (*reader->at) {
    case '{':
        reader->at++;
        value->kind = JSON_OBJECT;
        return read_items(reader, value, '}', level) && sort_members(reader, value);
    case '[':
        reader->at++;
        value->kind = JSON_LIST;
        return read_items(reader, value, ']', level);
    case '"':
        reader->at++;
        value->kind = JSON_TEXT;
        value->text = read_text(reader);
        return value->text != NULL;
    case 't':
        value->kind = JSON_BOOL;
        value->number = 1;
        return take_word(reader, "true");
    case 'f': value->kind = JSON_BOOL; return take_word(reader, "false");
    case 'n': return take_word(reader, "null");
    default: return read_number(reader, value);
    }
}

json_document_t *json_read(const char *text, size_t size, const char **problem) {
    json_document_t *document = calloc(1, sizeof(*document));
    reader_t reader = {document, text, text + size, 0, NULL};
    *problem = "there is no memory left";
    if (document == NULL) return NULL;
    document->root = take(&reader, sizeof(json_t));
    if (document->root != NULL) {
        *document->root = (json_t){0};
        if (read_value(&reader, document->root, 0)) {
            skip_spaces(&reader);
            if (reader.at != reader.end) refuse(&reader, "more than one value");
        }
    }
    *problem = reader.problem;
    if (reader.problem == NULL) return document;
    json_free(document);
    return NULL;
}

const json_t *json_root(const json_document_t *document) { return document->root; }

/* --- looking --- */

const json_t *json_member(const json_t *value, const char *key) {
    if (value == NULL || value->kind != JSON_OBJECT) return NULL;
    size_t low = 0, high = value->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(value->by_key[middle]->key, key);
        if (order == 0) return value->by_key[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static const json_t *member_of(const json_t *value, const char *key,
                               enum json_kind kind) {
    const json_t *found = json_member(value, key);
    return found != NULL && found->kind == kind ? found : NULL;
}

const char *json_text(const json_t *value, const char *key) {
    const json_t *found = member_of(value, key, JSON_TEXT);
    return found == NULL ? NULL : found->text;
}

const json_t *json_list(const json_t *value, const char *key) {
    return member_of(value, key, JSON_LIST);
}

const json_t *json_object(const json_t *value, const char *key) {
    return member_of(value, key, JSON_OBJECT);
}

bool json_count(const json_t *value, const char *key, int64_t *number) {
    const json_t *found = member_of(value, key, JSON_INTEGER);
    if (found == NULL || found->number < 0) return false;
    *number = found->number;
    return true;
}

bool json_bool(const json_t *value, const char *key, bool *found) {
    const json_t *member = member_of(value, key, JSON_BOOL);
    if (member == NULL) return false;
    *found = member->number != 0;
    return true;
}

bool json_is_texts(const json_t *list) {
    if (list == NULL || list->kind != JSON_LIST) return false;
    for (const json_t *each = list->first; each != NULL; each = each->next)
        if (each->kind != JSON_TEXT) return false;
    return true;
}
