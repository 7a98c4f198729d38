/* Loading and freeing of packages. */
#include "package.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "processor.h"

#define FORMAT 2

const char *girih_error_text(const girih_error *error) {
    return error->code == GIRIH_OK ? "" : error->text;
}

/* --- which target --- */

static bool check_versions(const girih_package *package, girih_error *error) {
    const json_t *manifest = package->container.manifest;
    const char *made = json_text(json_object(manifest, "made_by"), "girih");
    int64_t format;
    if (!json_count(manifest, "format", &format) || made == NULL ||
        json_text(manifest, "name") == NULL)
        return wrong_manifest(package, error, "its manifest lacks its format");
    if (format != FORMAT)
        return fail(error, GIRIH_ERROR_PACKAGE,
                    "%.300s can't be loaded: its format is %lld, this girih reads %d",
                    package->container.path, (long long)format, FORMAT);
    if (strcmp(made, GIRIH_VERSION) == 0) return true;
    return fail(error, GIRIH_ERROR_PACKAGE,
                "%.300s was made with girih %.50s, here is %s. Make it again.",
                package->container.path, made, GIRIH_VERSION);
}

/* Adds why a target can't run here to a text; returns whether it can. */
static bool is_fitting(const json_t *target, char *reasons, size_t size) {
    const json_t *features = json_list(target, "features");
    const char *system = json_text(target, "system");
    const char *machine = json_text(target, "machine");
    size_t used = strlen(reasons);
    bool is_fitting = true;
    used += (size_t)snprintf(reasons + used, size - used, "%s%.60s lacks",
                             used ? "; " : "", json_text(target, "processor"));
    if (strcmp(system, "linux") != 0 || strcmp(machine, "x86_64") != 0) {
        is_fitting = false;
        if (used < size)
            snprintf(reasons + used, size - used, " linux on x86_64");
        return false;
    }
    for (const json_t *each = features->first; each != NULL; each = each->next)
        if (!has_feature(each->text)) {
            is_fitting = false;
            if (used < size)
                used += (size_t)snprintf(reasons + used, size - used, " %.30s", each->text);
        }
    return is_fitting;
}

static bool is_target(const json_t *target) {
    return json_is_texts(json_list(target, "features")) && json_text(target, "system") &&
           json_text(target, "machine") && json_text(target, "processor") &&
           json_object(target, "code");
}

static const json_t *chosen(const girih_package *package, const char *name,
                            girih_error *error) {
    const json_t *targets = json_list(package->container.manifest, "targets");
    const json_t *best = NULL;
    char reasons[640] = "", one[640];
    bool is_known = false;
    for (const json_t *each = targets ? targets->first : NULL; each; each = each->next) {
        if (!is_target(each)) {
            wrong_manifest(package, error, "a target is not described");
            return NULL;
        }
        if (name != NULL && strcmp(name, json_text(each, "processor")) != 0) continue;
        is_known = true;
        memcpy(one, reasons, sizeof(one));
        size_t count = json_list(each, "features")->count;
        if (!is_fitting(each, one, sizeof(one)))
            memcpy(reasons, one, sizeof(one));
        else if (best == NULL || count > json_list(best, "features")->count)
            best = each;
    }
    if (best != NULL) return best;
    if (name != NULL && !is_known)
        fail(error, GIRIH_ERROR_TARGET, "%.300s has no code for '%.60s'",
             package->container.path, name);
    else
        fail(error, GIRIH_ERROR_TARGET,
             "%.300s can't run here. This processor lacks what the package needs: %s. "
             "Make it for this processor, too: girih-package add-target",
             package->container.path, reasons);
    return NULL;
}

/* --- entry points --- */

static bool is_entry_name(const char *name) {
    if (!isalpha((unsigned char)*name)) return false;
    for (; *name != '\0'; name++)
        if (!isalnum((unsigned char)*name) && *name != '_') return false;
    return true;
}

static bool read_entry(girih_package *package, const json_t *written, const json_t *code,
                       bool is_alone, girih_error *error) {
    girih_entry *entry = &package->entries[package->entry_count++];
    const char *name = json_text(package->container.manifest, "name");
    const json_t *program = json_object(code, written->key);
    entry->package = package;
    entry->name = written->key;
    snprintf(entry->where, sizeof(entry->where), "%.80s (%.300s)",
             is_alone ? name : entry->name, package->container.path);
    if (!is_entry_name(entry->name) || program == NULL)
        return wrong_manifest(package, error, "there is code of other entry points");
    return signature_read(entry, written, program, error) &&
           code_read(entry, program, error);
}

static bool read_entries(girih_package *package, const json_t *target,
                         girih_error *error) {
    const json_t *entries = json_object(package->container.manifest, "entries");
    const json_t *code = json_object(target, "code");
    if (entries == NULL || entries->count == 0 || code->count != entries->count)
        return wrong_manifest(package, error, "there is code of other entry points");
    package->entries = calloc(entries->count, sizeof(girih_entry));
    if (package->entries == NULL) return fail_memory(error);
    for (const json_t *each = entries->first; each != NULL; each = each->next)
        if (!read_entry(package, each, code, entries->count == 1, error)) return false;
    return true;
}

static bool load(girih_package *package, const char *path, const char *target,
                 girih_error *error) {
    package->has_mutex = pthread_mutex_init(&package->mutex, NULL) == 0;
    if (!package->has_mutex) return fail_memory(error);
    if (!container_open(&package->container, path, error) ||
        !check_versions(package, error))
        return false;
    const json_t *found = chosen(package, target, error);
    if (found == NULL) return false;
    package->target = json_text(found, "processor");
    return weights_read(&package->container, &package->weights, &package->weight_count,
                        error) &&
           read_entries(package, found, error);
}

int girih_load(const char *path, const char *target, girih_package **package,
               girih_error *error) {
    girih_error own;
    if (error == NULL) error = &own;
    error->code = GIRIH_OK;
    *package = NULL;
    girih_package *found = calloc(1, sizeof(*found));
    if (found == NULL) {
        fail_memory(error);
    } else if (load(found, path, target, error)) {
        *package = found;
    } else {
        girih_free(found);
    }
    return error->code;
}

void girih_free(girih_package *package) {
    if (package == NULL) return;
    for (size_t i = 0; i < package->entry_count; i++) {
        girih_entry *entry = &package->entries[i];
        unload_object(&entry->code);
        free(entry->functions);
        free(entry->texts);
        free(entry->leaves);
        free(entry->given);
        free(entry->outputs);
    }
    free(package->entries);
    free(package->weights);
    free(package->kept);
    container_close(&package->container);
    if (package->has_mutex) pthread_mutex_destroy(&package->mutex);
    free(package);
}

int girih_reset(girih_package *package, girih_error *error) {
    if (error != NULL) error->code = GIRIH_OK;
    pthread_mutex_lock(&package->mutex);
    for (size_t i = 0; i < package->weight_count; i++)
        if (package->weights[i].is_written)
            tensor_copy(&package->weights[i].tensor, &package->weights[i].original);
    pthread_mutex_unlock(&package->mutex);
    return GIRIH_OK;
}

const char *girih_target(const girih_package *package) { return package->target; }

size_t girih_entry_count(const girih_package *package) { return package->entry_count; }

const char *girih_entry_name(const girih_package *package, size_t number) {
    return number < package->entry_count ? package->entries[number].name : NULL;
}

int girih_entry_point(const girih_package *package, const char *name,
                      const girih_entry **entry, girih_error *error) {
    girih_error own;
    if (error == NULL) error = &own;
    error->code = GIRIH_OK;
    *entry = NULL;
    const girih_entry *found = NULL;
    if (name == NULL && package->entry_count == 1) found = package->entries;
    for (size_t i = 0; name != NULL && i < package->entry_count; i++)
        if (strcmp(package->entries[i].name, name) == 0) found = &package->entries[i];
    if (found == NULL)
        fail(error, GIRIH_ERROR_ARGUMENT, "%.300s has %s %.100s", package->container.path,
             name == NULL ? "several entry points" : "no entry point",
             name == NULL ? "" : name);
    else if (found->refusal[0] != '\0')
        fail(error, GIRIH_ERROR_OPERATOR, "%s", found->refusal);
    else
        *entry = found;
    return error->code;
}
