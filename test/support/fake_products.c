/* A cuBLASLt on the processor: what _products.c asks for, computed by three loops. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SINGLE = 0, DOUBLE = 1, BRAIN = 14 };

typedef struct {
    int compute, scale_type, transa, transb, epilogue;
    const void *bias;
} Description;

typedef struct {
    int type, batch;
    uint64_t rows, columns;
    int64_t leading, stride;
} Layout;

int refuse_with, calls;       /* tests set the first, and read the second */
size_t wanted_workspace;      /* of the next plans */
static char *workspace_given; /* by the last call */

int cublasLtCreate(void **handle) { return *handle = malloc(1), 0; }

int cublasLtMatmulDescCreate(Description **made, int compute, int scale_type) {
    *made = calloc(1, sizeof(Description));
    **made = (Description){.compute = compute, .scale_type = scale_type, .epilogue = 1};
    return 0;
}
int cublasLtMatmulDescSetAttribute(Description *d, int name, const void *value, size_t size) {
    switch (name) {
    case 3: memcpy(&d->transa, value, size); return 0;
    case 4: memcpy(&d->transb, value, size); return 0;
    case 7: memcpy(&d->epilogue, value, size); return 0;
    case 8: memcpy(&d->bias, value, size); return 0;
    }
    return 7;
}
int cublasLtMatmulDescDestroy(void *d) { return free(d), 0; }

int cublasLtMatrixLayoutCreate(Layout **made, int type, uint64_t rows, uint64_t columns,
                               int64_t leading) {
    if (leading < (int64_t)rows) return 7;
    *made = calloc(1, sizeof(Layout));
    **made = (Layout){.type = type, .batch = 1, .rows = rows, .columns = columns,
                      .leading = leading};
    return 0;
}
int cublasLtMatrixLayoutSetAttribute(Layout *l, int name, const void *value, size_t size) {
    if (name == 5) return memcpy(&l->batch, value, size), 0;
    if (name == 6) return memcpy(&l->stride, value, size), 0;
    return 7;
}
int cublasLtMatrixLayoutDestroy(void *l) { return free(l), 0; }

int cublasLtMatmulPreferenceCreate(void **made) { return *made = calloc(1, 64), 0; }
int cublasLtMatmulPreferenceSetAttribute(void *p, int name, const void *value, size_t size) {
    return p == 0 || value == 0 || size == 0 || (name != 1 && (name < 5 || name > 8));
}
int cublasLtMatmulPreferenceDestroy(void *p) { return free(p), 0; }

typedef struct {
    uint64_t algorithm[8];
    size_t workspace;
    int status;
    float waves;
    int reserved[4];
} Heuristic;

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *d, Layout *a, Layout *b, Layout *c,
                                   Layout *result, void *preference, int count,
                                   Heuristic *found, int *found_count) {
    if (refuse_with != 0) return refuse_with;
    *found = (Heuristic){.workspace = wanted_workspace};
    *found_count = handle && d && a && b && c && result && preference ? count : 0;
    return 0;
}

static double read(const void *memory, int type, int64_t at) {
    if (type == DOUBLE) return ((const double *)memory)[at];
    if (type == SINGLE) return ((const float *)memory)[at];
    uint32_t bits = (uint32_t)((const uint16_t *)memory)[at] << 16;
    float value;
    return memcpy(&value, &bits, 4), value;
}

static void write(void *memory, int type, int64_t at, double value) {
    if (type == DOUBLE) {
        ((double *)memory)[at] = value;
    } else if (type == SINGLE) {
        ((float *)memory)[at] = (float)value;
    } else {
        float narrow = (float)value;
        uint32_t bits;
        memcpy(&bits, &narrow, 4);
        bits += 0x7fff + (bits >> 16 & 1); /* to nearest, ties to even */
        ((uint16_t *)memory)[at] = (uint16_t)(bits >> 16);
    }
}

static double element(const void *memory, const Layout *l, int turned, int64_t batch,
                      int64_t row, int64_t column) {
    int64_t down = turned ? column : row, right = turned ? row : column;
    return read(memory, l->type, batch * l->stride + right * l->leading + down);
}

int cublasLtMatmul(void *handle, const Description *d, const void *alpha, const void *a,
                   const Layout *la, const void *b, const Layout *lb, const void *beta,
                   const void *c, const Layout *lc, void *result, const Layout *lr,
                   const void *algorithm, void *workspace, size_t size, void *stream) {
    double factor = d->scale_type == DOUBLE ? *(double *)beta : *(float *)beta;
    uint64_t depth = d->transa ? la->rows : la->columns;
    if (handle == 0 || alpha == 0 || algorithm == 0 || stream != 0) return 7;
    if (size > 0) memset(workspace, 1, size);
    workspace_given = workspace;
    calls++;
    for (int64_t n = 0; n < lr->batch; n++)
        for (uint64_t i = 0; i < lr->rows; i++)
            for (uint64_t j = 0; j < lr->columns; j++) {
                double sum = d->epilogue == 4 ? read(d->bias, lr->type, i) : 0;
                for (uint64_t k = 0; k < depth; k++)
                    sum += element(a, la, d->transa, n, i, k) *
                           element(b, lb, d->transb, n, k, j);
                if (factor != 0) sum += factor * element(c, lc, 0, n, i, j);
                write(result, lr->type, n * lr->stride + j * lr->leading + i, sum);
            }
    return 0;
}
