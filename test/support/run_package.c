/* Runs packages for tests, by lines of stdin; each is answered on stdout.
 *
 *   load PATH               frees the package before; "0" or a code and a text
 *   torch PATH              girih_use_torch
 *   reset
 *   threads ENTRY m         eight threads call an entry point without inputs; how many
 *                           of 800 calls succeeded
 *   call ENTRY n m          followed by n lines, one for each input:
 *     CODE BITS DIMS size... stride... BYTES HEX
 *
 * A call is answered by "0" and a line for each output and then each input, in the same
 * form, or by a code and a text. */
#include "girih_runtime.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 32

typedef struct {
    DLManagedTensor managed;
    int64_t sizes[MOST], strides[MOST];
    size_t bytes;
} input_t;

static void answer(int code, const girih_error *error) {
    if (code == GIRIH_OK)
        printf("0\n");
    else
        printf("%d %s\n", code, girih_error_text(error));
}

static input_t *read_input(void) {
    input_t *input = calloc(1, sizeof(*input));
    DLTensor *tensor = &input->managed.dl_tensor;
    int code, bits;
    if (scanf("%d %d %d", &code, &bits, &tensor->ndim) != 3) exit(2);
    for (int i = 0; i < tensor->ndim; i++)
        if (scanf("%ld", &input->sizes[i]) != 1) exit(2);
    for (int i = 0; i < tensor->ndim; i++)
        if (scanf("%ld", &input->strides[i]) != 1) exit(2);
    if (scanf("%zu", &input->bytes) != 1) exit(2);
    unsigned char *data = aligned_alloc(64, (input->bytes / 64 + 1) * 64);
    for (size_t i = 0; i < input->bytes; i++) {
        unsigned byte;
        if (scanf("%2x", &byte) != 1) exit(2);
        data[i] = (unsigned char)byte;
    }
    tensor->data = data;
    tensor->device.device_type = kDLCPU;
    tensor->dtype.code = (uint8_t)code;
    tensor->dtype.bits = (uint8_t)bits;
    tensor->dtype.lanes = 1;
    tensor->shape = input->sizes;
    tensor->strides = input->strides;
    return input;
}

static void print_tensor(const DLTensor *tensor, size_t bytes) {
    const unsigned char *data = tensor->data;
    printf("%d %d %d", tensor->dtype.code, tensor->dtype.bits, tensor->ndim);
    for (int i = 0; i < tensor->ndim; i++) printf(" %ld", tensor->shape[i]);
    for (int i = 0; i < tensor->ndim; i++) printf(" %ld", tensor->strides[i]);
    printf(" %zu ", bytes);
    for (size_t i = 0; i < bytes; i++) printf("%02x", data[i]);
    printf("\n");
}

static size_t span_of(const DLTensor *tensor) {
    int64_t last = 0;
    for (int i = 0; i < tensor->ndim; i++) {
        if (tensor->shape[i] == 0) return 0;
        last += (tensor->shape[i] - 1) * tensor->strides[i];
    }
    return (size_t)(last + 1) * tensor->dtype.bits / 8;
}

static void call(const girih_package *package) {
    char name[200];
    int n, m;
    if (scanf("%199s %d %d", name, &n, &m) != 3 || n > MOST || m > MOST) exit(2);
    DLManagedTensor *in[MOST], *out[MOST];
    input_t *inputs[MOST];
    for (int i = 0; i < n; i++) {
        inputs[i] = read_input();
        in[i] = &inputs[i]->managed;
    }
    const girih_entry *entry;
    girih_error error;
    int code = girih_entry_point(package, name, &entry, &error);
    if (code == GIRIH_OK)
        code = girih_call(entry, in, (size_t)n, out, (size_t)m, &error);
    answer(code, &error);
    for (int i = 0; code == GIRIH_OK && i < m; i++) {
        print_tensor(&out[i]->dl_tensor, span_of(&out[i]->dl_tensor));
        out[i]->deleter(out[i]);
    }
    for (int i = 0; i < n; i++) {
        if (code == GIRIH_OK) print_tensor(&in[i]->dl_tensor, inputs[i]->bytes);
        free(in[i]->dl_tensor.data);
        free(inputs[i]);
    }
}

typedef struct {
    const girih_entry *entry;
    size_t outputs, done;
} caller_t;

static void *call_often(void *given) {
    caller_t *caller = given;
    DLManagedTensor *out[MOST];
    for (int i = 0; i < 100; i++) {
        if (girih_call(caller->entry, NULL, 0, out, caller->outputs, NULL)) continue;
        caller->done++;
        for (size_t k = 0; k < caller->outputs; k++) out[k]->deleter(out[k]);
    }
    return NULL;
}

static void call_in_threads(const girih_package *package) {
    char name[200];
    size_t outputs, done = 0;
    pthread_t threads[8];
    caller_t callers[8];
    const girih_entry *entry;
    if (scanf("%199s %zu", name, &outputs) != 2 || outputs > MOST) exit(2);
    if (girih_entry_point(package, name, &entry, NULL)) exit(2);
    for (int i = 0; i < 8; i++) {
        callers[i] = (caller_t){entry, outputs, 0};
        if (pthread_create(&threads[i], NULL, call_often, &callers[i])) exit(2);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        done += callers[i].done;
    }
    printf("%zu\n", done);
}

static girih_package *load(const char *target) {
    char path[4096];
    girih_package *package;
    girih_error error;
    if (scanf(" %4095[^\n]", path) != 1) exit(2);
    int code = girih_load(path, target, &package, &error);
    for (size_t i = 0; code == GIRIH_OK && i < girih_entry_count(package); i++) {
        const girih_entry *entry;
        code = girih_entry_point(package, girih_entry_name(package, i), &entry, &error);
    }
    answer(code, &error);
    return package;
}

static void use_torch(void) {
    char path[4096];
    girih_error error;
    if (scanf(" %4095[^\n]", path) != 1) exit(2);
    answer(girih_use_torch(path, &error), &error);
}

int main(int count, char **arguments) {
    const char *target = count > 1 ? arguments[1] : NULL;
    girih_package *package = NULL;
    char word[16];
    while (scanf("%15s", word) == 1) {
        if (strcmp(word, "load") == 0) {
            girih_free(package);
            package = load(target);
        } else if (strcmp(word, "torch") == 0) {
            use_torch();
        } else if (package != NULL && strcmp(word, "reset") == 0) {
            answer(girih_reset(package, NULL), NULL);
        } else if (package != NULL && strcmp(word, "threads") == 0) {
            call_in_threads(package);
        } else if (package != NULL && strcmp(word, "call") == 0) {
            call(package);
        } else {
            return 2;
        }
        fflush(stdout);
    }
    girih_free(package);
    return 0;
}
