/* Runs a package without Python: classify PACKAGE
 *
 * It calls the only entry point of the package once. Inputs are float32 of as many
 * numbers as stdin has: their sizes are [1 row, all numbers], given twice because
 * symbolic sizes begin at 2. */
#include <girih_runtime.h>

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4096, ROWS = 2 };

static int read_row(float *row) {
    int count = 0;
    while (count < MOST && scanf("%f", &row[count]) == 1) count++;
    return count;
}

static int failed(const girih_error *error) {
    fprintf(stderr, "error %d: %s\n", error->code, girih_error_text(error));
    return 1;
}

int main(int count, char **arguments) {
    static float row[MOST], rows[ROWS * MOST];
    girih_package *package;
    const girih_entry *entry;
    girih_error error;
    if (count != 2) {
        fprintf(stderr, "usage: %s PACKAGE < numbers\n", arguments[0]);
        return 2;
    }
    if (girih_load(arguments[1], NULL, &package, &error)) return failed(&error);
    if (girih_entry_point(package, NULL, &entry, &error)) return failed(&error);

    int size = read_row(row);
    for (int i = 0; i < ROWS * size; i++) rows[i] = row[i % size];
    int64_t sizes[] = {ROWS, size};
    DLManagedTensor input = {.dl_tensor = {.data = rows,
                                           .device = {.device_type = kDLCPU},
                                           .ndim = 2,
                                           .dtype = {kDLFloat, 32, 1},
                                           .shape = sizes}};
    DLManagedTensor *in[] = {&input}, *out[1];
    if (girih_call(entry, in, 1, out, 1, &error)) return failed(&error);

    const DLTensor *scores = &out[0]->dl_tensor;
    const float *numbers = scores->data;
    for (int64_t i = 0; i < scores->shape[1]; i++)
        printf("%.6f\n", numbers[i * scores->strides[1]]);
    out[0]->deleter(out[0]);
    girih_free(package);
    return 0;
}
