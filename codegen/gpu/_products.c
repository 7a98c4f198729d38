/* Products of matrices by cuBLASLt, planned once and called from launch tables.
 *
 * A plan holds the library's descriptions of one product and the algorithm that its
 * heuristic chose. The library, which torch has loaded before, is opened when the
 * first plan is made; no header of CUDA is needed.
 *
 * Source: the manual of cuBLAS, section cuBLASLt (enumerations by value, the layout of
 * cublasLtMatmulHeuristicResult_t).
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "../runtime/_launch.h"

#define MAX_DEVICES 64
#define ALIGNMENT 16 /* bytes: what launch programs promise of pointers */
#define BEST 1       /* how many algorithms the heuristic is asked for */

enum description { DESC_TRANSA = 3, DESC_TRANSB = 4, DESC_EPILOGUE = 7, DESC_BIAS = 8 };
enum layout { LAYOUT_BATCH = 5, LAYOUT_STRIDE = 6 };
enum preference { PREFER_WORKSPACE = 1, PREFER_ALIGNMENT_A = 5 };
enum epilogue { EPILOGUE_NONE = 1, EPILOGUE_BIAS = 4 };

typedef struct {
    uint64_t algorithm[8];
    size_t workspace;
    int status;
    float waves;
    int reserved[4];
} Heuristic;

static struct {
    int (*create)(void **handle);
    int (*create_description)(void **description, int compute, int scale_type);
    int (*set_description)(void *description, int name, const void *value, size_t size);
    int (*free_description)(void *description);
    int (*create_layout)(void **layout, int type, uint64_t rows, uint64_t columns,
                         int64_t leading);
    int (*set_layout)(void *layout, int name, const void *value, size_t size);
    int (*free_layout)(void *layout);
    int (*create_preference)(void **preference);
    int (*set_preference)(void *preference, int name, const void *value, size_t size);
    int (*free_preference)(void *preference);
    int (*choose)(void *handle, void *description, void *a, void *b, void *c, void *d,
                  void *preference, int count, Heuristic *found, int *found_count);
    int (*multiply)(void *handle, void *description, const void *alpha, const void *a,
                    void *a_layout, const void *b, void *b_layout, const void *beta,
                    const void *c, void *c_layout, void *d, void *d_layout,
                    const void *algorithm, void *workspace, size_t workspace_size,
                    void *stream);
    int is_open;
} api;

static const struct {
    void *place;
    const char *name;
} entries[] = {
    {&api.create, "cublasLtCreate"},
    {&api.create_description, "cublasLtMatmulDescCreate"},
    {&api.set_description, "cublasLtMatmulDescSetAttribute"},
    {&api.free_description, "cublasLtMatmulDescDestroy"},
    {&api.create_layout, "cublasLtMatrixLayoutCreate"},
    {&api.set_layout, "cublasLtMatrixLayoutSetAttribute"},
    {&api.free_layout, "cublasLtMatrixLayoutDestroy"},
    {&api.create_preference, "cublasLtMatmulPreferenceCreate"},
    {&api.set_preference, "cublasLtMatmulPreferenceSetAttribute"},
    {&api.free_preference, "cublasLtMatmulPreferenceDestroy"},
    {&api.choose, "cublasLtMatmulAlgoGetHeuristic"},
    {&api.multiply, "cublasLtMatmul"},
};

static void *handles[MAX_DEVICES]; /* made at first use and kept; the GIL guards them */

/* A plan: d = a @ b, with a and b as the library sees them (columns first). */
typedef struct {
    DeviceCall base;
    void *handle, *description, *layouts[3];
    Heuristic choice;
    int is_double, has_bias, adds, has_workspace;
    pthread_mutex_t mutex; /* the address of the bias is part of the description */
} Plan;

typedef struct {
    int type, compute, scale_type;
    int turned[2];
    long long rows, columns, depth, batch, leading[3], strides[3];
    int has_bias, adds;
    long long max_workspace;
} Shape;

static int multiply(const DeviceCall *call, const int64_t *words, void *stream) {
    static const double one = 1, zero = 0;
    static const float single_one = 1, single_zero = 0;
    Plan *plan = (Plan *)call;
    const void *alpha = plan->is_double ? (const void *)&one : &single_one;
    const void *beta = plan->adds        ? alpha
                       : plan->is_double ? (const void *)&zero
                                         : &single_zero;
    const void *bias = plan->has_bias ? (const void *)(intptr_t)words[2] : NULL;
    void *result = (void *)(intptr_t)words[2 + plan->has_bias];
    void *workspace =
        plan->has_workspace ? (void *)(intptr_t)words[3 + plan->has_bias] : NULL;
    int status = 0;
    if (plan->has_bias) {
        pthread_mutex_lock(&plan->mutex);
        status = api.set_description(plan->description, DESC_BIAS, &bias, sizeof bias);
    }
    if (status == 0)
        status = api.multiply(plan->handle, plan->description, alpha,
                              (const void *)(intptr_t)words[1], plan->layouts[0],
                              (const void *)(intptr_t)words[0], plan->layouts[1], beta,
                              result, plan->layouts[2], result, plan->layouts[2],
                              plan->choice.algorithm, workspace,
                              plan->choice.workspace, stream);
    if (plan->has_bias) pthread_mutex_unlock(&plan->mutex);
    return status;
}

/* --- the library --- */

static int open_library(const char *path) {
    if (api.is_open) return 1;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        PyErr_Format(PyExc_OSError, "cuBLASLt cannot be loaded: %s", dlerror());
        return 0;
    }
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        void *address = dlsym(library, entries[i].name);
        if (address == NULL) {
            PyErr_Format(PyExc_OSError, "%s has no function %s", path, entries[i].name);
            return 0;
        }
        memcpy(entries[i].place, &address, sizeof address);
    }
    return api.is_open = 1;
}

static int failed(int status, const char *what) {
    if (status == 0) return 0;
    PyErr_Format(PyExc_RuntimeError, "cuBLASLt failed at %s, with status %d", what,
                 status);
    return 1;
}

/* --- making plans --- */

static void free_plan(Plan *plan) {
    if (plan->description != NULL) api.free_description(plan->description);
    for (int i = 0; i < 3; i++)
        if (plan->layouts[i] != NULL) api.free_layout(plan->layouts[i]);
    pthread_mutex_destroy(&plan->mutex);
    PyMem_Free(plan);
}

static void free_capsule(PyObject *capsule) {
    free_plan(PyCapsule_GetPointer(capsule, DEVICE_CALL_NAME));
}

static int describe(Plan *plan, const Shape *shape) {
    int epilogue = shape->has_bias ? EPILOGUE_BIAS : EPILOGUE_NONE;
    void **description = &plan->description;
    return failed(
               api.create_description(description, shape->compute, shape->scale_type),
               "describing a product") ||
           failed(api.set_description(*description, DESC_TRANSA, &shape->turned[0],
                                      sizeof(int)),
                  "turning a matrix") ||
           failed(api.set_description(*description, DESC_TRANSB, &shape->turned[1],
                                      sizeof(int)),
                  "turning a matrix") ||
           failed(api.set_description(*description, DESC_EPILOGUE, &epilogue,
                                      sizeof epilogue),
                  "adding a bias");
}

/* Rows and columns are those in memory, before a matrix is turned. */
static int lay_out(Plan *plan, const Shape *shape) {
    long long sizes[3][2] = {{shape->rows, shape->depth},
                             {shape->depth, shape->columns},
                             {shape->rows, shape->columns}};
    int32_t batch = (int32_t)shape->batch;
    for (int i = 0; i < 3; i++) {
        int is_turned = i < 2 && shape->turned[i];
        int64_t stride = shape->strides[i];
        if (failed(api.create_layout(&plan->layouts[i], shape->type,
                                     (uint64_t)sizes[i][is_turned],
                                     (uint64_t)sizes[i][!is_turned], shape->leading[i]),
                   "laying out a matrix") ||
            failed(api.set_layout(plan->layouts[i], LAYOUT_BATCH, &batch, sizeof batch),
                   "laying out a batch") ||
            failed(api.set_layout(plan->layouts[i], LAYOUT_STRIDE, &stride,
                                  sizeof stride),
                   "laying out a batch"))
            return 1;
    }
    return 0;
}

static int choose(Plan *plan, const Shape *shape) {
    void *preference = NULL;
    uint64_t workspace = (uint64_t)shape->max_workspace;
    uint32_t alignment = ALIGNMENT;
    int found = 0;
    if (failed(api.create_preference(&preference), "making a preference")) return 1;
    int status = api.set_preference(preference, PREFER_WORKSPACE, &workspace,
                                    sizeof workspace);
    for (int i = 0; i < 4 && status == 0; i++)
        status = api.set_preference(preference, PREFER_ALIGNMENT_A + i, &alignment,
                                    sizeof alignment);
    if (status == 0)
        status = api.choose(plan->handle, plan->description, plan->layouts[0],
                            plan->layouts[1], plan->layouts[2], plan->layouts[2],
                            preference, BEST, &plan->choice, &found);
    api.free_preference(preference);
    if (status == 0 && found == 0) status = plan->choice.status;
    return failed(found == 0 && status == 0 ? -1 : status, "choosing an algorithm");
}

static Plan *make_plan(int device, const Shape *shape) {
    Plan *plan = PyMem_Calloc(1, sizeof(Plan));
    if (plan == NULL) return (Plan *)PyErr_NoMemory();
    pthread_mutex_init(&plan->mutex, NULL);
    if (handles[device] == NULL &&
        failed(api.create(&handles[device]), "starting the library")) {
        free_plan(plan);
        return NULL;
    }
    plan->handle = handles[device];
    plan->has_bias = shape->has_bias;
    plan->adds = shape->adds;
    plan->is_double = shape->scale_type == 1;
    if (describe(plan, shape) || lay_out(plan, shape) || choose(plan, shape)) {
        free_plan(plan);
        return NULL;
    }
    plan->has_workspace = plan->choice.workspace > 0;
    plan->base = (DeviceCall){3 + plan->has_bias + plan->has_workspace,
                              "a product of cuBLASLt", multiply};
    return plan;
}

static PyObject *product(PyObject *Py_UNUSED(module), PyObject *args) {
    Shape s;
    const char *path;
    int device;
    if (!PyArg_ParseTuple(args, "si(iii)(pp)(LLLL)(LLL)(LLL)ppL", &path, &device,
                          &s.type, &s.compute, &s.scale_type, &s.turned[0],
                          &s.turned[1], &s.rows, &s.columns, &s.depth, &s.batch,
                          &s.leading[0], &s.leading[1], &s.leading[2], &s.strides[0],
                          &s.strides[1], &s.strides[2], &s.has_bias, &s.adds,
                          &s.max_workspace))
        return NULL;
    if (device < 0 || device >= MAX_DEVICES)
        return PyErr_Format(PyExc_ValueError, "expected a device below %d, got %d",
                            MAX_DEVICES, device);
    if (!open_library(path)) return NULL;
    Plan *plan = make_plan(device, &s);
    if (plan == NULL) return NULL;
    PyObject *capsule = PyCapsule_New(plan, DEVICE_CALL_NAME, free_capsule);
    if (capsule == NULL) {
        free_plan(plan);
        return NULL;
    }
    return Py_BuildValue("(Nn)", capsule, (Py_ssize_t)plan->choice.workspace);
}

/* --- the module --- */

static PyMethodDef module_methods[] = {
    {"product", product, METH_VARARGS,
     "product(library, device, (type, compute type, scale type), turned, (rows, "
     "columns, depth, batch), leading dims, batch strides, has_bias, adds, "
     "max_workspace)"
     "\n--\n\nA plan and the bytes of its workspace. Sizes are the library's, which "
     "counts along columns; the device has to be current."},
    {NULL}};
static PyModuleDef_Slot module_slots[] = {{0, NULL}};
static struct PyModuleDef module_definition = {PyModuleDef_HEAD_INIT,
                                               .m_name = "_products",
                                               .m_doc = "Products by cuBLASLt.",
                                               .m_methods = module_methods,
                                               .m_slots = module_slots};

PyMODINIT_FUNC PyInit__products(void) { return PyModuleDef_Init(&module_definition); }
