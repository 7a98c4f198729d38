/* How an entry point is called: read from the manifest. */
#include <stdlib.h>
#include <string.h>

#include "expressions.h"
#include "package.h"

/* Inputs are tensors alone: the number of each leaf among them, or -1. */
typedef struct {
    girih_entry *entry;
    int64_t *inputs;
    size_t count;
    girih_error *error;
} leaves_t;

bool wrong_manifest(const girih_package *package, girih_error *error, const char *what) {
    return fail(error, GIRIH_ERROR_PACKAGE, "%.300s is no package of girih: %s",
                package->container.path, what);
}

static bool wrong(const leaves_t *leaves, const char *what) {
    return wrong_manifest(leaves->entry->package, leaves->error, what);
}

static bool are_expressions(const json_t *list, const json_t *symbols) {
    if (list == NULL || list->kind != JSON_LIST) return false;
    for (const json_t *each = list->first; each != NULL; each = each->next)
        if (!expression_is_valid(each, symbols)) return false;
    return true;
}

static bool read_same_as(const leaves_t *leaves, const json_t *written, leaf_t *leaf) {
    const json_t *same = json_member(written, "same_as");
    leaf->same_as = -1;
    if (same == NULL) return wrong(leaves, "an argument lacks `same_as`");
    if (same->kind == JSON_NULL) return true;
    /* Only an argument before this one has a number here. */
    if (same->kind != JSON_INTEGER || same->number < 0 ||
        (size_t)same->number >= leaves->count || leaves->inputs[same->number] < 0)
        return wrong(leaves, "an argument is the same as none before it");
    leaf->same_as = leaves->inputs[same->number];
    return true;
}

static bool read_leaf(const leaves_t *leaves, const json_t *written, leaf_t *leaf) {
    const char *dtype = json_text(json_object(written, "dtype"), "torch");
    const json_t *symbols = leaves->entry->symbols;
    leaf->name = json_text(written, "name");
    leaf->sizes = json_list(written, "sizes");
    leaf->strides = json_list(written, "strides");
    if (leaf->name == NULL || dtype == NULL || (leaf->dtype = dtype_named(dtype)) == 0 ||
        !json_bool(written, "written", &leaf->is_written))
        return wrong(leaves, "an argument has no name or dtype");
    if (!are_expressions(leaf->sizes, symbols) ||
        !are_expressions(leaf->strides, symbols) ||
        leaf->sizes->count != leaf->strides->count || leaf->sizes->count > MOST_DIMS)
        return wrong(leaves, "an argument has wrong sizes");
    leaf->dims = (int32_t)leaf->sizes->count;
    for (const json_t *each = leaf->strides->first; each != NULL; each = each->next)
        leaf->is_repeated |= each->kind == JSON_INTEGER && each->number == 0;
    return read_same_as(leaves, written, leaf);
}

static bool read_leaves(leaves_t *leaves, const json_t *list) {
    girih_entry *entry = leaves->entry;
    for (const json_t *each = list->first; each != NULL; each = each->next) {
        const char *kind = json_text(each, "kind");
        if (kind == NULL || (strcmp(kind, "tensor") && strcmp(kind, "constant")))
            return wrong(leaves, "an argument is of no kind");
        leaves->inputs[leaves->count] = -1;
        if (strcmp(kind, "tensor") == 0) {
            if (!read_leaf(leaves, each, &entry->leaves[entry->leaf_count])) return false;
            leaves->inputs[leaves->count] = (int64_t)entry->leaf_count++;
        }
        leaves->count++;
    }
    return true;
}

/* --- symbols --- */

static bool is_a_size(const girih_entry *entry, const char *symbol) {
    for (size_t i = 0; i < entry->leaf_count; i++)
        for (const json_t *each = entry->leaves[i].sizes->first; each; each = each->next)
            if (each->kind == JSON_TEXT && strcmp(each->text, symbol) == 0) return true;
    return false;
}

/* Each symbol is the size of an argument, so a call says what it is. */
static bool check_symbols(const leaves_t *leaves) {
    const json_t *symbols = leaves->entry->symbols;
    for (const json_t *each = symbols->first; each != NULL; each = each->next) {
        const json_t *most = json_member(each, "max");
        int64_t least;
        if (!json_count(each, "min", &least) || json_text(each, "text") == NULL ||
            most == NULL || (most->kind != JSON_NULL && most->kind != JSON_INTEGER) ||
            !is_a_size(leaves->entry, each->key))
            return wrong(leaves, "a symbol stands for no size");
    }
    return true;
}

/* --- what the program takes, and what is returned --- */

static bool find_weight(const girih_package *package, const char *name, size_t *number) {
    for (size_t i = 0; i < package->weight_count; i++)
        if (strcmp(package->weights[i].name, name) == 0) {
            *number = i;
            return true;
        }
    return false;
}

/* A pair of a kind and a number or name. A leaf that is no tensor is skipped. */
static bool read_source(const leaves_t *leaves, const json_t *pair, int64_t results,
                        source_t *source, bool *is_tensor) {
    girih_entry *entry = leaves->entry;
    const json_t *kind = pair->kind == JSON_LIST ? pair->first : NULL;
    const json_t *value = kind == NULL ? NULL : kind->next;
    if (value == NULL || pair->count != 2 || kind->kind != JSON_TEXT)
        return wrong(leaves, "a pair is none");
    *is_tensor = true;
    if (strcmp(kind->text, "weight") == 0 && value->kind == JSON_TEXT) {
        source->kind = FROM_WEIGHT;
        if (!find_weight(entry->package, value->text, &source->number))
            return wrong(leaves, "there is no such weight");
        entry->uses_state |= entry->package->weights[source->number].is_written;
        return true;
    }
    bool is_input = strcmp(kind->text, "input") == 0;
    bool is_result = strcmp(kind->text, "result") == 0;
    int64_t limit = is_input ? (int64_t)leaves->count : results;
    if ((!is_input && !is_result) || value->kind != JSON_INTEGER || value->number < 0 ||
        value->number >= limit)
        return wrong(leaves, "there is no such argument or result");
    source->kind = is_input ? FROM_INPUT : FROM_RESULT;
    source->number = (size_t)value->number;
    if (is_input) {
        *is_tensor = leaves->inputs[value->number] >= 0;
        source->number = (size_t)leaves->inputs[value->number];
    }
    return true;
}

static bool read_given(const leaves_t *leaves, const json_t *list) {
    girih_entry *entry = leaves->entry;
    for (const json_t *each = list->first; each != NULL; each = each->next) {
        bool is_tensor;
        if (!read_source(leaves, each, 0, &entry->given[entry->given_count++], &is_tensor))
            return false;
        if (!is_tensor) return wrong(leaves, "an argument of the program is no tensor");
    }
    return true;
}

static bool read_outputs(const leaves_t *leaves, const json_t *written) {
    girih_entry *entry = leaves->entry;
    int64_t results;
    if (!json_count(written, "results", &results))
        return wrong(leaves, "there is no number of results");
    const json_t *list = json_list(written, "outputs");
    for (const json_t *each = list->first; each != NULL; each = each->next) {
        const json_t *kind = each->kind == JSON_LIST ? each->first : NULL;
        bool is_tensor = true;
        if (kind != NULL && kind->kind == JSON_TEXT && !strcmp(kind->text, "constant"))
            continue;
        source_t *output = &entry->outputs[entry->output_count];
        if (!read_source(leaves, each, results, output, &is_tensor)) return false;
        entry->output_count += is_tensor;
    }
    entry->program.results = results;
    return true;
}

/* The leaves of a structure, as `treespec_dumps` of torch writes it; -1: it is none. */
static int64_t count_leaves(const json_t *tree, bool *is_right) {
    const json_t *kind = json_member(tree, "type");
    const json_t *children = json_list(tree, "children_spec");
    int64_t count = 0;
    *is_right &= kind != NULL && children != NULL;
    if (!*is_right) return 0;
    if (kind->kind == JSON_NULL) return 1;
    for (const json_t *each = children->first; each != NULL; each = each->next)
        count += count_leaves(each, is_right);
    return count;
}

static bool check_tree(const leaves_t *leaves, const json_t *written, const char *key,
                       size_t wanted) {
    const char *text = json_text(written, key), *problem;
    json_document_t *document =
        text == NULL ? NULL : json_read(text, strlen(text), &problem);
    if (document == NULL) return wrong(leaves, "there is no structure");
    const json_t *root = json_root(document);
    bool is_right = root->kind == JSON_LIST && root->count == 2;
    int64_t count = is_right ? count_leaves(root->first->next, &is_right) : 0;
    json_free(document);
    return (is_right && (size_t)count == wanted) ||
           wrong(leaves, "the structure of arguments or results has other leaves");
}

/* A program of some target may take other weights than the first target's. */
static const json_t *given_to(const json_t *written, const json_t *program) {
    bool has_own = json_member(program, "given") != NULL;
    return json_list(has_own ? program : written, "given");
}

static bool read_lists(leaves_t *leaves, const json_t *written, const json_t *program) {
    girih_entry *entry = leaves->entry;
    const json_t *inputs = json_list(written, "inputs");
    const json_t *given = given_to(written, program);
    const json_t *outputs = json_list(written, "outputs");
    entry->symbols = json_object(written, "symbols");
    entry->guards = json_list(written, "guards");
    if (!inputs || !given || !outputs || !entry->symbols || !entry->guards ||
        !json_is_texts(json_list(written, "parameters")))
        return wrong(leaves, "an entry point is not described");
    entry->leaves = calloc(inputs->count + 1, sizeof(leaf_t));
    entry->given = calloc(given->count + 1, sizeof(source_t));
    entry->outputs = calloc(outputs->count + 1, sizeof(source_t));
    leaves->inputs = calloc(inputs->count + 1, sizeof(int64_t));
    if (!entry->leaves || !entry->given || !entry->outputs || !leaves->inputs)
        return fail_memory(leaves->error);
    if (!are_expressions(entry->guards, entry->symbols))
        return wrong(leaves, "a guard is no expression of sizes");
    return read_leaves(leaves, inputs) && check_symbols(leaves) &&
           read_given(leaves, given) && read_outputs(leaves, written) &&
           check_tree(leaves, written, "tree", leaves->count) &&
           check_tree(leaves, written, "result_tree", outputs->count);
}

bool signature_read(girih_entry *entry, const json_t *written, const json_t *program,
                    girih_error *error) {
    leaves_t leaves = {.entry = entry, .error = error};
    bool done = read_lists(&leaves, written, program);
    free(leaves.inputs);
    return done;
}
