/* The program of an entry point: read, and its kernels linked. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cpu/half_core.h"
#include "../cpu/openmp_core.h"
#include "operators.h"
#include "package.h"

typedef struct {
    girih_entry *entry;
    const json_t *exports;
} linking_t;

/* Functions that LLVM calls on its own. */
static void *own_function(const char *name) {
    for (const openmp_entry_t *each = openmp_entries; each->name != NULL; each++)
        if (strcmp(each->name, name) == 0) return each->address;
    for (const half_entry_t *each = half_entries; each->name != NULL; each++)
        if (strcmp(each->name, name) == 0) return each->address;
    return NULL;
}

static bool find_import(void *context, const char *name, uint64_t *address) {
    (void)context;
    *address = (uint64_t)(uintptr_t)own_function(name);
    return true;
}

static bool take_export(void *context, const char *name, uint64_t address) {
    linking_t *linking = context;
    size_t number = 0;
    for (const json_t *each = linking->exports->first; each; each = each->next, number++)
        if (strcmp(each->text, name) == 0)
            linking->entry->functions[number] = (function_t)(uintptr_t)address;
    return true;
}

/* Adds a name to the text that says why the entry point can't run. */
static void refuse(girih_entry *entry, const char *what, const char *name) {
    size_t used = strlen(entry->refusal), size = sizeof(entry->refusal);
    if (used == 0)
        snprintf(entry->refusal, size, "%s: %s %.100s", entry->where, what, name);
    else
        snprintf(entry->refusal + used, size - used, ", %.100s", name);
}

/* Packages that call operators need torch: the text names them where there is none. */
static void refuse_operators(girih_entry *entry, const json_t *operators) {
    const json_t *made_by = json_object(entry->package->container.manifest, "made_by");
    const char *made_with = json_text(made_by, "torch"), *problem;
    if (operators->count == 0) return;
    problem = torch_problem(made_with == NULL ? "" : made_with);
    if (problem == NULL) return;
    for (const json_t *each = operators->first; each != NULL; each = each->next)
        refuse(entry, "it can't run without torch, because it calls", each->text);
    size_t used = strlen(entry->refusal), size = sizeof(entry->refusal);
    snprintf(entry->refusal + used, size - used, "; %.400s", problem);
}

static void refuse_python(girih_entry *entry, const json_t *written) {
    const json_t *problem = json_member(written, "c_problem");
    entry->refusal[0] = '\0';
    if (problem != NULL && problem->kind == JSON_TEXT)
        refuse(entry, "it can't run without Python, because of", problem->text);
    else
        refuse(entry, "the package has no part for C. Make it again with girih",
               GIRIH_VERSION);
}

static bool read_texts(girih_entry *entry, const json_t *texts, girih_error *error) {
    size_t count = texts == NULL ? 0 : texts->count;
    entry->texts = calloc(count + 1, sizeof(char *));
    if (entry->texts == NULL) return fail_memory(error);
    entry->program.texts = entry->texts;
    for (const json_t *each = count ? texts->first : NULL; each != NULL; each = each->next)
        entry->texts[entry->program.text_count++] = each->text;
    return true;
}

static void refuse_imports(girih_entry *entry, const json_t *imports) {
    for (const json_t *each = imports->first; each != NULL; each = each->next)
        if (own_function(each->text) == NULL && dlsym(RTLD_DEFAULT, each->text) == NULL)
            refuse(entry, "this process lacks functions that its kernels call:",
                   each->text);
}

static bool link_kernels(girih_entry *entry, const json_t *kernels, const json_t *exports,
                         girih_error *error) {
    girih_package *package = entry->package;
    linking_t linking = {entry, exports};
    imports_t from = {find_import, NULL};
    exports_t to = {take_export, &linking};
    load_error_t problem;
    entry->functions = calloc(exports->count + 1, sizeof(function_t));
    if (entry->functions == NULL) return fail_memory(error);
    entry->program.functions = entry->functions;
    if (exports->count == 0) return true;
    if (kernels->kind != JSON_TEXT)
        return wrong_manifest(package, error, "there are no kernels");
    const part_t *part = container_part(&package->container, kernels->text, error);
    if (part == NULL) return false;
    bind_openmp();
    if (!load_object(package->container.bytes + part->offset, part->size, &from, &to,
                     &entry->code, &problem))
        return wrong_manifest(package, error, problem.text);
    for (size_t i = 0; i < exports->count; i++)
        if (entry->functions[i] == NULL)
            return wrong_manifest(package, error, "a function is not in its kernels");
    return true;
}

static bool read_program(girih_entry *entry, const char *name, size_t functions,
                         girih_error *error) {
    girih_package *package = entry->package;
    const part_t *part = container_part(&package->container, name, error);
    if (part == NULL) return false;
    int64_t results = entry->program.results;
    char text[200];
    const char *problem = program_read(
        &entry->program, package->container.bytes + part->offset, part->size, functions);
    if (problem == NULL && entry->program.inputs != (int64_t)entry->given_count)
        problem = "another number of tensors";
    if (problem == NULL && entry->program.results < results)
        problem = "as many results as are used";
    if (problem == NULL) return true;
    snprintf(text, sizeof(text), "expected in %.50s %s", name, problem);
    return wrong_manifest(package, error, text);
}

bool code_read(girih_entry *entry, const json_t *written, girih_error *error) {
    const json_t *exports = json_list(written, "exports");
    const json_t *imports = json_list(written, "imports");
    const json_t *operators = json_list(written, "operators");
    const json_t *program = json_member(written, "c_instructions");
    const json_t *kernels = json_member(written, "kernels");
    girih_package *package = entry->package;
    entry->program.kept = &package->kept;
    const json_t *texts = json_member(written, "c_texts");
    if ((texts != NULL && texts->kind != JSON_NULL && !json_is_texts(texts)) ||
        !json_is_texts(exports) || !json_is_texts(imports) || !json_is_texts(operators) ||
        kernels == NULL || json_text(written, "instructions") == NULL)
        return wrong_manifest(package, error, "a program is not described");
    if (container_part(&package->container, json_text(written, "instructions"), error) ==
        NULL)
        return false;
    refuse_operators(entry, operators);
    if (program == NULL || program->kind != JSON_TEXT) refuse_python(entry, written);
    refuse_imports(entry, imports);
    if (program == NULL || program->kind != JSON_TEXT) return true;
    if (texts != NULL && texts->kind == JSON_NULL) texts = NULL;
    if (!read_texts(entry, texts, error) ||
        !read_program(entry, program->text, exports->count, error))
        return false;
    return entry->refusal[0] != '\0' || link_kernels(entry, kernels, exports, error);
}
