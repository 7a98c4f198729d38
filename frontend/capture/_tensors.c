/* Guards on tensors.
 *
 * torch's own checker looks at all tensors of an entry in one call: type, dtype, device,
 * dispatch keys, requires_grad, sizes, strides, and that no two are the same. That costs
 * 40 ns for each.
 *
 * [Note: fingerprints] Parameters and buffers are the same objects at each call, and hardly
 * ever change in place (`p.data = other`, `requires_grad_()`). After a full check that held,
 * their fingerprints are kept: the object, its type, its TensorImpl, the bytes of that from
 * the sizes to the dispatch keys, and requires_grad. As long as these are the same, so is
 * all that the full check looks at, and only the other tensors are checked by torch, with
 * one parameter of each set of dispatch keys, since this thread's dispatch state counts
 * too. A fingerprint that differs leads to the full check. Where the bytes are is found
 * out, and tried on tensors that change in each of these ways, by tensor_layout.py; as
 * long as it has not given its word, or where it can't, every check is a full one. */
#include "_guards.h"

enum { MAXIMAL_FEW = 64, MAXIMAL_INLINE_DIMS = 5 };

static struct {
    Py_ssize_t impl;                 /* of the TensorImpl's address in the Python object */
    Py_ssize_t first, last;          /* of the bytes in the TensorImpl */
    int (*requires_grad)(const void *impl);
} layout;

/* ---- fingerprints --------------------------------------------------------------- */

static const char *impl_of(PyObject *tensor) {
    return *(const char *const *)((const char *)tensor + layout.impl);
}

/* The C++ function returns a bool: only the low byte of the register is defined. */
static int requires_grad(const char *impl) { return layout.requires_grad(impl) & 0xff; }

/* Larger ranks have their sizes elsewhere. The first word of the bytes is the rank. */
static int has_fingerprint(const char *impl) {
    return *(const uint64_t *)(impl + layout.first) <= MAXIMAL_INLINE_DIMS;
}

static int fingerprint_holds(const Fingerprint *kept, PyObject *tensor) {
    if (tensor != kept->tensor || Py_TYPE(tensor) != kept->type) return 0;
    const char *impl = impl_of(tensor);
    return impl == kept->impl &&
           memcmp(impl + layout.first, kept->bytes, (size_t)(layout.last - layout.first)) == 0 &&
           requires_grad(impl) == kept->requires_grad;
}

static int take_fingerprint(Fingerprint *kept, PyObject *tensor) {
    const char *impl = impl_of(tensor);
    if (!impl || !has_fingerprint(impl)) return 0;
    *kept = (Fingerprint){.tensor = tensor, .type = Py_TYPE(tensor), .impl = impl,
                          .requires_grad = requires_grad(impl)};
    memcpy(kept->bytes, impl + layout.first, (size_t)(layout.last - layout.first));
    return 1;
}

static int compare_addresses(const void *left, const void *right) {
    uintptr_t a = *(const uintptr_t *)left, b = *(const uintptr_t *)right;
    return (a > b) - (a < b);
}

/* After a full check that held. A call with other objects is no reason to give up, but
 * taking fingerprints again and again costs more than it saves. */
static void take_fingerprints(TensorChecks *self, PyObject *const *slots) {
    self->taken = 0;
    if (!layout.requires_grad || !self->static_count || self->misses >= MAXIMAL_MISSES) return;
    self->misses++;
    for (Py_ssize_t i = 0; i < self->static_count; i++) {
        PyObject *tensor = slots[self->statics[i]];
        if (!take_fingerprint(&self->prints[i], tensor)) return;
        self->sorted[i] = tensor;
    }
    qsort(self->sorted, (size_t)self->static_count, sizeof(PyObject *), compare_addresses);
    self->taken = 1;
}

static int is_static(const TensorChecks *self, PyObject *tensor) {
    return bsearch(&tensor, self->sorted, (size_t)self->static_count, sizeof(PyObject *),
                   compare_addresses) != NULL;
}

static int fingerprints_hold(const TensorChecks *self, PyObject *const *slots) {
    for (Py_ssize_t i = 0; i < self->static_count; i++)
        if (!fingerprint_holds(&self->prints[i], slots[self->statics[i]])) return 0;
    for (Py_ssize_t i = 0; i < self->other_count; i++)
        if (is_static(self, slots[self->few[i]])) return 0;
    return 1;
}

/* ---- checks --------------------------------------------------------------------- */

int girih_ask(PyObject *check, PyObject *const *args, Py_ssize_t count) {
    PyObject *result = PyObject_Vectorcall(check, args, (size_t)count, NULL);
    int held = result == Py_True;
    Py_XDECREF(result);
    return held;
}

static int few_hold(const TensorChecks *self, PyObject *const *slots) {
    PyObject *chosen[MAXIMAL_FEW];
    for (Py_ssize_t i = 0; i < self->few_count; i++) chosen[i] = slots[self->few[i]];
    return girih_ask(self->few_check, chosen, self->few_count);
}

int girih_tensors_hold(TensorChecks *self, PyObject *const *slots) {
    if (self->taken && fingerprints_hold(self, slots)) {
        self->misses = 0;
        return few_hold(self, slots);
    }
    if (self->check && !girih_ask(self->check, slots, self->count)) return 0;
    take_fingerprints(self, slots);
    return 1;
}

/* ---- making and freeing --------------------------------------------------------- */

static Py_ssize_t *read_slots(PyObject *indices, Py_ssize_t slot_count) {
    Py_ssize_t count = PyTuple_GET_SIZE(indices);
    Py_ssize_t *slots = PyMem_Calloc(count ? (size_t)count : 1, sizeof(Py_ssize_t));
    if (!slots) return (Py_ssize_t *)PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++) {
        slots[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(indices, i));
        if (slots[i] >= 0 && slots[i] < slot_count) continue;
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "slot out of range");
        PyMem_Free(slots);
        return NULL;
    }
    return slots;
}

/* (few_check, few slots, how many of them are not static, static slots) */
static int read_statics(TensorChecks *self, PyObject *spec) {
    PyObject *check, *few, *statics;
    if (!PyArg_ParseTuple(spec, "OO!nO!", &check, &PyTuple_Type, &few, &self->other_count,
                          &PyTuple_Type, &statics))
        return -1;
    if (PyTuple_GET_SIZE(few) > MAXIMAL_FEW) return 0;
    if (!(self->few = read_slots(few, self->count))) return -1;
    if (!(self->statics = read_slots(statics, self->count))) return -1;
    size_t count = (size_t)PyTuple_GET_SIZE(statics);
    self->prints = PyMem_Calloc(count + 1, sizeof(Fingerprint));
    self->sorted = PyMem_Calloc(count + 1, sizeof(PyObject *));
    if (!self->prints || !self->sorted) return PyErr_NoMemory(), -1;
    self->few_check = Py_NewRef(check);
    self->few_count = PyTuple_GET_SIZE(few);
    self->static_count = (Py_ssize_t)count;
    return 0;
}

int girih_read_tensor_checks(TensorChecks *self, Py_ssize_t count, PyObject *check,
                             PyObject *statics) {
    self->count = count;
    self->check = check == Py_None ? NULL : Py_NewRef(check);
    return statics == Py_None ? 0 : read_statics(self, statics);
}

void girih_free_tensor_checks(TensorChecks *self) {
    TensorChecks freed = *self;
    memset(self, 0, sizeof *self);
    PyMem_Free(freed.few);
    PyMem_Free(freed.statics);
    PyMem_Free(freed.prints);
    PyMem_Free(freed.sorted);
    Py_XDECREF(freed.check);
    Py_XDECREF(freed.few_check);
}

/* ---- the layout ----------------------------------------------------------------- */

PyObject *girih_set_tensor_layout(PyObject *module, PyObject *args) {
    Py_ssize_t impl, first, last;
    size_t function;
    if (!PyArg_ParseTuple(args, "nnnK", &impl, &first, &last, &function)) return NULL;
    if (last - first > FINGERPRINT_BYTES || last < first) {
        PyErr_SetString(PyExc_ValueError, "too many bytes");
        return NULL;
    }
    layout.impl = impl;
    layout.first = first;
    layout.last = last;
    layout.requires_grad = (int (*)(const void *))(uintptr_t)function;
    Py_RETURN_NONE;
}

PyObject *girih_fingerprint(PyObject *module, PyObject *tensor) {
    Fingerprint kept;
    if (!layout.requires_grad || !take_fingerprint(&kept, tensor)) Py_RETURN_NONE;
    return Py_BuildValue("(KKy#i)", (unsigned long long)(uintptr_t)kept.type,
                         (unsigned long long)(uintptr_t)kept.impl, kept.bytes,
                         layout.last - layout.first, kept.requires_grad);
}
