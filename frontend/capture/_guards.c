/* The guard tree.
 *
 * A node reaches a value from its parent (a local, an attribute, a dict item, ...),
 * checks it, and may store it in a slot: slots are what the compiled code takes, so
 * that guarding and fetching inputs are one walk. Then torch's global state is checked,
 * tensors, which occupy the first slots, together (_tensors.c), and relations between
 * symbolic sizes.
 *
 * [Note: pinned regions] Attributes of modules and globals almost never change, and
 * walking hundreds of them would cost more than the work. A region of the tree that is
 * reached through dicts and types alone is walked once; then the version tags of those
 * dicts and types are compared instead (a version tag changes at every write). When
 * one differs the region is walked again. */
#include "_guards.h"

/* ---- version tags ------------------------------------------------------------- */

#if PY_VERSION_HEX < 0x030C0000
#define DICT_VERSION(dict) (((PyDictObject *)(dict))->ma_version_tag)
#else
/* The low eight bits belong to dict watchers; the rest still counts the writes. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define DICT_VERSION(dict) (((PyDictObject *)(dict))->ma_version_tag >> 8)
#endif

/* 3.13 may store attributes without touching the dict's version tag. */
#define CAN_PIN (PY_VERSION_HEX < 0x030D0000)

static void *grow(void *items, Py_ssize_t *room, Py_ssize_t count, size_t size) {
    if (count < *room) return items;
    Py_ssize_t wanted = *room ? *room * 2 : 16;
    void *larger = PyMem_Realloc(items, (size_t)wanted * size);
    if (larger) *room = wanted;
    return larger;
}

/* Remembers a dict of `owner` (or `owner` itself, a plain dict). */
static void pin_dict(Group *group, PyObject *owner, PyTypeObject *type, PyObject *dict) {
    void *pins = grow(group->pins, &group->pin_room, group->pin_count, sizeof(Pin));
    if (!pins) { group->recording = 0; return; }
    group->pins = pins;
    group->pins[group->pin_count++] = (Pin){owner, type, dict, DICT_VERSION(dict)};
}

static void pin_type(Group *group, PyTypeObject *type) {
    if (type->tp_version_tag == 0) { group->recording = 0; return; }
    void *pins = grow(group->pins, &group->pin_room, group->pin_count, sizeof(Pin));
    if (!pins) { group->recording = 0; return; }
    group->pins = pins;
    group->pins[group->pin_count++] = (Pin){(PyObject *)type, NULL, NULL, type->tp_version_tag};
}

static void pin_instance(Group *group, PyObject *owner) {
    void *pins = grow(group->pins, &group->pin_room, group->pin_count, sizeof(Pin));
    if (!pins) { group->recording = 0; return; }
    group->pins = pins;
    group->pins[group->pin_count++] = (Pin){owner, Py_TYPE(owner), NULL, 0};
}

static void pin_residual(Group *group, const Node *node, PyObject *parent) {
    void *items = grow(group->residuals, &group->residual_room, group->residual_count,
                       sizeof(Residual));
    if (!items) { group->recording = 0; return; }
    group->residuals = items;
    group->residuals[group->residual_count++] = (Residual){node, parent};
}

static void pin_slot(Group *group, Py_ssize_t slot, PyObject *value) {
    void *items = grow(group->pinned_slots, &group->slot_room, group->slot_count,
                       sizeof(PinnedSlot));
    if (!items) { group->recording = 0; return; }
    group->pinned_slots = items;
    group->pinned_slots[group->slot_count++] = (PinnedSlot){slot, value};
}

/* Remembers which code a function has: assigning it touches no dict. */
static void pin_code(Group *group, PyObject *function) {
    void *pins = grow(group->pins, &group->pin_room, group->pin_count, sizeof(Pin));
    if (!pins) { group->recording = 0; return; }
    group->pins = pins;
    uint64_t code = (uint64_t)(uintptr_t)PyFunction_GET_CODE(function);
    group->pins[group->pin_count++] = (Pin){function, NULL, NULL, code};
}

static int pin_holds(const Pin *pin) {
    if (!pin->dict && !pin->type && PyFunction_Check(pin->owner))
        return (uint64_t)(uintptr_t)PyFunction_GET_CODE(pin->owner) == pin->version;
    if (!pin->dict && pin->type) return Py_TYPE(pin->owner) == pin->type;
    if (!pin->dict) return ((PyTypeObject *)pin->owner)->tp_version_tag == pin->version;
    if (pin->type) {
        if (Py_TYPE(pin->owner) != pin->type) return 0;
        PyObject *dict = PyObject_GenericGetDict(pin->owner, NULL);
        if (!dict) { PyErr_Clear(); return 0; }
        Py_DECREF(dict);  /* the owner holds it */
        if (dict != pin->dict) return 0;
    }
    return DICT_VERSION(pin->dict) == pin->version;
}

/* ---- accessors ---------------------------------------------------------------- */

static PyObject *item_of_dict(PyObject *dict, PyObject *key) {
    if (!PyDict_Check(dict)) return NULL;
    return Py_XNewRef(PyDict_GetItemWithError(dict, key));
}

static PyObject *item_at(PyObject *sequence, Py_ssize_t index) {
    if (PyList_Check(sequence) && index < PyList_GET_SIZE(sequence))
        return Py_NewRef(PyList_GET_ITEM(sequence, index));
    if (PyTuple_Check(sequence) && index < PyTuple_GET_SIZE(sequence))
        return Py_NewRef(PyTuple_GET_ITEM(sequence, index));
    return NULL;
}

static PyObject *closure_cell(PyObject *function, Py_ssize_t index) {
    if (!PyFunction_Check(function)) return NULL;
    PyObject *cells = PyFunction_GET_CLOSURE(function);
    return cells ? item_at(cells, index) : NULL;
}

static PyObject *cell_contents(PyObject *cell) {
    return PyCell_Check(cell) ? Py_XNewRef(PyCell_GET(cell)) : NULL;
}

static PyObject *type_lookup(PyObject *type, PyObject *name) {
    if (!PyType_Check(type)) return NULL;
    return Py_XNewRef(_PyType_Lookup((PyTypeObject *)type, name));
}

/* What a weak reference refers to, and None where that is gone. */
static PyObject *referent(PyObject *reference) {
    return PyWeakref_CheckRef(reference) ? PyObject_CallNoArgs(reference) : NULL;
}

/* A new reference, or NULL (with or without an exception) when out of reach. */
static PyObject *reach(const Node *node, PyObject *parent) {
    switch (node->access) {
    case ACCESS_ATTRIBUTE: return PyObject_GetAttr(parent, node->key);
    case ACCESS_DICT: return PyObject_GenericGetDict(parent, NULL);
    case ACCESS_DICT_ITEM: return item_of_dict(parent, node->key);
    case ACCESS_INDEX: return item_at(parent, node->index);
    case ACCESS_ITEM: return PyObject_GetItem(parent, node->key);
    case ACCESS_CELL: return cell_contents(parent);
    case ACCESS_TYPE: return Py_NewRef((PyObject *)Py_TYPE(parent));
    case ACCESS_TYPE_LOOKUP: return type_lookup(parent, node->key);
    case ACCESS_CLOSURE: return closure_cell(parent, node->index);
    case ACCESS_REFERENT: return referent(parent);
    case ACCESS_KEY_AT: return girih_key_at(parent, node->index);
    case ACCESS_VALUE_AT: return girih_value_at(parent, node->index);
    default: return NULL;
    }
}

/* ---- checks ------------------------------------------------------------------- */

static int contains(PyObject *value, PyObject *key) {
    if (PyDict_Check(value)) return PyDict_Contains(value, key);
    if (PyAnySet_Check(value)) return PySet_Contains(value, key);
    return PySequence_Contains(value, key);
}

/* By the hash first, as dicts do: `==` of two tensors is no answer. */
static int same_key(PyObject *key, PyObject *expected) {
    if (key == expected) return 1;
    if (Py_TYPE(key) != Py_TYPE(expected)) return 0;
    Py_hash_t hash = PyObject_Hash(key), wanted = PyObject_Hash(expected);
    if (hash == -1 || wanted == -1) return -1;
    if (hash != wanted) return 0;
    if (!PyTuple_CheckExact(key)) return girih_equal_values(key, expected);
    Py_ssize_t size = PyTuple_GET_SIZE(key);
    int same = size == PyTuple_GET_SIZE(expected);
    while (size-- && same == 1)
        same = same_key(PyTuple_GET_ITEM(key, size), PyTuple_GET_ITEM(expected, size));
    return same;
}

static int same_keys(PyObject *dict, PyObject *keys) {
    if (!PyDict_Check(dict) || PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(keys)) return 0;
    PyObject *key;
    Py_ssize_t position = 0, index = 0;
    while (index < PyTuple_GET_SIZE(keys) && PyDict_Next(dict, &position, &key, NULL)) {
        int same = same_key(key, PyTuple_GET_ITEM(keys, index++));
        if (same != 1) return same;
    }
    return 1;
}

static int has_length(PyObject *value, Py_ssize_t length) {
    Py_ssize_t size = PyDict_Check(value)    ? PyDict_GET_SIZE(value)
                      : PyList_Check(value)  ? PyList_GET_SIZE(value)
                      : PyTuple_Check(value) ? PyTuple_GET_SIZE(value)
                                             : PyObject_Size(value);
    return size == length;
}

static int call_check(PyObject *callable, PyObject *value) {
    PyObject *result = PyObject_CallOneArg(callable, value);
    if (!result) return -1;
    int truth = PyObject_IsTrue(result);
    Py_DECREF(result);
    return truth;
}

/* Whether `found` is NULL, or takes no assignment. */
static int is_plain(PyObject *found) { return !found || !Py_TYPE(found)->tp_descr_set; }

static int own_has(PyTypeObject *type, PyObject *name) {
#if PY_VERSION_HEX < 0x030C0000
    return PyDict_Contains(type->tp_dict, name) != 0;
#else
    PyObject *own = PyType_GetDict(type);
    int has = PyDict_Contains(own, name) != 0;
    Py_DECREF(own);
    return has;
#endif
}

/* See ClassFacts.spec in class_facts.py. */
enum { FACT_META, FACT_MRO, FACT_MEMBERS, FACT_ABSENT, FACT_PLAIN, FACT_OWN_ABSENT };

static int facts_hold(PyObject *facts, PyTypeObject *type) {
    PyObject *name, *member, *mro = PyTuple_GET_ITEM(facts, FACT_MRO);
    Py_ssize_t at = 0;
    if (mro != Py_None && type->tp_mro != mro &&
        PyObject_RichCompareBool(type->tp_mro, mro, Py_EQ) != 1)
        return 0;
    while (PyDict_Next(PyTuple_GET_ITEM(facts, FACT_MEMBERS), &at, &name, &member))
        if (_PyType_Lookup(type, name) != member) return 0;
    for (at = 0; PyDict_Next(PyTuple_GET_ITEM(facts, FACT_ABSENT), &at, &name, NULL);)
        if (_PyType_Lookup(type, name)) return 0;
    for (at = 0; PyDict_Next(PyTuple_GET_ITEM(facts, FACT_PLAIN), &at, &name, NULL);)
        if (!is_plain(_PyType_Lookup(type, name))) return 0;
    for (at = 0; PyDict_Next(PyTuple_GET_ITEM(facts, FACT_OWN_ABSENT), &at, &name, NULL);)
        if (own_has(type, name)) return 0;
    return 1;
}

/* Every change of a class or of its bases takes its version tag away. */
static int class_holds(Check *check, PyObject *value) {
    if (!PyType_Check(value)) return 0;
    PyTypeObject *type = (PyTypeObject *)value;
    if ((PyObject *)Py_TYPE(value) != PyTuple_GET_ITEM(check->operand, FACT_META)) return 0;
    if (type->tp_version_tag && check->number == (Py_ssize_t)type->tp_version_tag) return 1;
    if (!facts_hold(check->operand, type)) return 0;
    check->number = (Py_ssize_t)type->tp_version_tag;
    return 1;
}

static int check_holds(Check *check, PyObject *value) {
    switch (check->kind) {
    case CHECK_IS: return value == check->operand;
    case CHECK_TYPE: return (PyObject *)Py_TYPE(value) == check->operand;
    case CHECK_EQUALS: return girih_equal_values(value, check->operand);
    case CHECK_LENGTH: return has_length(value, check->number);
    case CHECK_CONTAINS: return contains(value, check->operand);
    case CHECK_ABSENT: return contains(value, check->operand) == 0;
    case CHECK_KEYS: return same_keys(value, check->operand);
    case CHECK_CODE:
        return PyFunction_Check(value) && PyFunction_GET_CODE(value) == check->operand;
    case CHECK_CLASS: return class_holds(check, value);
    case CHECK_CALL: return call_check(check->operand, value);
    case CHECK_EMPTY_CELL: return PyCell_Check(value) && !PyCell_GET(value);
    default: return 0;
    }
}

/* ---- evaluation --------------------------------------------------------------- */

/* False for a value whose content is checked but has no version tag (a list, a set). */
static int has_version(const Node *node, PyObject *value) {
    return PyDict_Check(value) || !girih_has_check(node, CHECK_LENGTH, CHECK_KEYS);
}

/* Notes what the node's own checks and the pinned nodes below it rest on. */
static void record_value(Group *group, const Node *node, PyObject *value) {
    if (node->slot >= 0) pin_slot(group, node->slot, value);
    if (PyDict_Check(value) && node->access != ACCESS_DICT)
        pin_dict(group, value, NULL, value);
    if (girih_has_check(node, CHECK_CODE, CHECK_CODE)) pin_code(group, value);
    if (PyType_Check(value)) {
        int has_facts = girih_has_check(node, CHECK_CLASS, CHECK_CLASS);
        if (has_facts) pin_instance(group, value);
        if (has_facts || girih_has_child(node, ACCESS_TYPE_LOOKUP))
            pin_type(group, (PyTypeObject *)value);
    } else if (girih_has_child(node, ACCESS_DICT)) {
        PyObject *dict = PyObject_GenericGetDict(value, NULL);
        if (!dict) { PyErr_Clear(); group->recording = 0; return; }
        pin_dict(group, value, Py_TYPE(value), dict);
        Py_DECREF(dict);
    } else if (node->slot < 0 && girih_has_check(node, CHECK_TYPE, CHECK_TYPE) &&
               PyType_HasFeature(Py_TYPE(value), Py_TPFLAGS_HEAPTYPE)) {
        pin_instance(group, value);
    }
}

static int evaluate_node(Guards *self, Group *group, const Node *node, PyObject *value,
                         PyObject **slots);

/* `group` is NULL outside a region that is being recorded. */
static int evaluate_child(Guards *self, Group *group, const Node *child, PyObject *parent,
                          PyObject **slots) {
    PyObject *value = reach(child, parent);
    if (!value) {
        self->failed = child->check_count ? child->checks[0].record : -1;
        return 0;
    }
    if (group && !(child->stable && has_version(child, value))) {
        pin_residual(group, child, parent);
        group = NULL;
    }
    int held = evaluate_node(self, group, child, value, slots);
    Py_DECREF(value);
    return held;
}

static int evaluate_node(Guards *self, Group *group, const Node *node, PyObject *value,
                         PyObject **slots) {
    for (Py_ssize_t i = 0; i < node->check_count; i++) {
        if (check_holds(&node->checks[i], value) != 1) {
            self->failed = node->checks[i].record;
            return 0;
        }
    }
    if (node->slot >= 0) Py_XSETREF(slots[node->slot], Py_NewRef(value));
    if (group) record_value(group, node, value);
    for (Py_ssize_t i = 0; i < node->child_count; i++)
        if (!evaluate_child(self, group, &node->children[i], value, slots)) return 0;
    return 1;
}

static int pins_hold(const Group *group) {
    for (Py_ssize_t i = 0; i < group->pin_count; i++)
        if (!pin_holds(&group->pins[i])) return 0;
    return 1;
}

static int evaluate_pinned(Guards *self, Group *group, PyObject **slots) {
    for (Py_ssize_t i = 0; i < group->slot_count; i++) {
        PinnedSlot *pinned = &group->pinned_slots[i];
        Py_XSETREF(slots[pinned->slot], Py_NewRef(pinned->value));
    }
    for (Py_ssize_t i = 0; i < group->residual_count; i++) {
        Residual *residual = &group->residuals[i];
        if (!evaluate_child(self, NULL, residual->node, residual->parent, slots)) return 0;
    }
    return 1;
}

static int walk_group(Guards *self, Group *group, PyObject *value, PyObject **slots) {
    group->pinned = 0;
    group->pin_count = group->slot_count = group->residual_count = 0;
    group->recording = CAN_PIN && group->node.stable && group->node.child_count &&
                       group->misses < MAXIMAL_MISSES && has_version(&group->node, value);
    int held = evaluate_node(self, group->recording ? group : NULL, &group->node, value, slots);
    if (held && group->recording) {
        group->root = value;
        group->pinned = 1;
        group->misses++;
    }
    group->recording = 0;
    return held;
}

static int evaluate_group(Guards *self, Group *group, PyObject *value, PyObject **slots) {
    if (group->busy) return evaluate_node(self, NULL, &group->node, value, slots);
    int held;
    group->busy = 1;
    if (group->pinned && group->root == value && pins_hold(group)) {
        group->misses = 0;
        held = evaluate_pinned(self, group, slots);
    } else {
        held = walk_group(self, group, value, slots);
    }
    group->busy = 0;
    return held;
}

static PyObject *root_value(const Node *node, PyObject *function, PyObject *const *locals,
                            Py_ssize_t count) {
    switch (node->access) {
    case ACCESS_LOCAL: return node->index < count ? locals[node->index] : NULL;
    case ACCESS_FUNCTION: return function;
    default: return node->key;
    }
}

static int relations_hold(Guards *self, PyObject *const *slots) {
    for (Py_ssize_t i = 0; i < self->relation_count; i++) {
        const Relation *relation = &self->relations[i];
        if ((slots[relation->left] == slots[relation->right]) == relation->same) continue;
        self->failed = relation->record;
        return 0;
    }
    return 1;
}

/* Nothing in it runs Python code, so that one table for all calls is enough. */
static int are_distinct(const DistinctSet *set, PyObject *const *slots) {
    size_t mask = set->room - 1;
    memset(set->table, 0, sizeof(PyObject *) * set->room);
    for (Py_ssize_t i = 0; i < set->count; i++) {
        PyObject *value = slots[set->slots[i]];
        size_t place = (((uintptr_t)value >> 4) * 0x9E3779B1u) & mask;
        while (set->table[place] && set->table[place] != value) place = (place + 1) & mask;
        if (set->table[place]) return 0;
        set->table[place] = value;
    }
    return 1;
}

static int sets_hold(Guards *self, PyObject *const *slots) {
    for (Py_ssize_t i = 0; i < self->set_count; i++) {
        if (are_distinct(&self->sets[i], slots)) continue;
        self->failed = self->sets[i].record;
        return 0;
    }
    return 1;
}

static int evaluate_together(Guards *self, PyObject **slots) {
    if (!relations_hold(self, slots) || !sets_hold(self, slots)) return 0;
    if (self->state_check && !girih_ask(self->state_check, NULL, 0)) {
        self->failed = FAILED_STATE;
        return 0;
    }
    if (!girih_tensors_hold(&self->tensors, slots)) {
        self->failed = FAILED_TENSORS;
        return 0;
    }
    if (self->shape_check && !girih_ask(self->shape_check, slots, self->slot_count)) {
        self->failed = FAILED_SHAPES;
        return 0;
    }
    return 1;
}

static int evaluate_once(Guards *self, PyObject *function, PyObject *const *locals,
                         Py_ssize_t count, PyObject **slots) {
    memset(slots, 0, sizeof(PyObject *) * (size_t)self->slot_count);
    int held = 1;
    for (Py_ssize_t i = 0; held && i < self->group_count; i++) {
        Group *group = &self->groups[i];
        PyObject *value = root_value(&group->node, function, locals, count);
        if (!value) self->failed = -1;
        held = value && evaluate_group(self, group, value, slots);
    }
    held = held && evaluate_together(self, slots);
    if (held) return 1;
    for (Py_ssize_t i = 0; i < self->slot_count; i++) Py_CLEAR(slots[i]);
    return 0;
}

/* [Note: guards that raise] A guard that raises does not hold. But the handler of a
 * signal raises wherever Python runs, also in a guard, and that is no answer. Asked
 * again, a guard raises again, and the handler does not. */
int Guards_evaluate(Guards *self, PyObject *function, PyObject *const *locals,
                    Py_ssize_t count, PyObject **slots) {
    int held = evaluate_once(self, function, locals, count, slots);
    if (held || !PyErr_Occurred()) return held;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    held = evaluate_once(self, function, locals, count, slots);
    int raises = PyErr_Occurred() != NULL;
    if (raises) PyErr_Clear();
    if (raises && PyErr_GivenExceptionMatches(type, PyExc_Exception)) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return 0;
    }
    if (held)
        for (Py_ssize_t i = 0; i < self->slot_count; i++) Py_CLEAR(slots[i]);
    PyErr_Restore(type, value, traceback);
    return -1;
}

Py_ssize_t Guards_slot_count(Guards *self) { return self->slot_count; }

/* ---- the type ----------------------------------------------------------------- */

static int visit_node(Node *node, visitproc visit, void *arg) {
    Py_VISIT(node->key);
    for (Py_ssize_t i = 0; i < node->check_count; i++) Py_VISIT(node->checks[i].operand);
    for (Py_ssize_t i = 0; i < node->child_count; i++) {
        int stop = visit_node(&node->children[i], visit, arg);
        if (stop) return stop;
    }
    return 0;
}

static int Guards_traverse(Guards *self, visitproc visit, void *arg) {
    for (Py_ssize_t i = 0; i < self->group_count; i++) {
        int stop = visit_node(&self->groups[i].node, visit, arg);
        if (stop) return stop;
    }
    Py_VISIT(self->tensors.check);
    Py_VISIT(self->tensors.few_check);
    Py_VISIT(self->state_check);
    Py_VISIT(self->shape_check);
    return 0;
}

static int Guards_clear(Guards *self) {
    girih_free_guards(self);
    girih_free_tensor_checks(&self->tensors);
    Py_CLEAR(self->state_check);
    Py_CLEAR(self->shape_check);
    return 0;
}

static void Guards_dealloc(Guards *self) {
    PyObject_GC_UnTrack(self);
    Guards_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *none_to_null(PyObject *value) {
    return value == Py_None ? NULL : Py_NewRef(value);
}

static PyObject *Guards_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *roots, *relations, *sets, *tensor_check, *statics, *state_check, *shape_check;
    Py_ssize_t slot_count, tensor_count;
    if (!PyArg_ParseTuple(args, "O!O!O!nnOOOO", &PyTuple_Type, &roots, &PyTuple_Type,
                          &relations, &PyTuple_Type, &sets, &slot_count, &tensor_count,
                          &tensor_check, &statics, &state_check, &shape_check))
        return NULL;
    Guards *self = (Guards *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->slot_count = slot_count;
    self->state_check = none_to_null(state_check);
    self->shape_check = none_to_null(shape_check);
    if (girih_read_guards(self, roots, relations, sets) < 0 ||
        girih_read_tensor_checks(&self->tensors, tensor_count, tensor_check, statics) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

/* check(function, locals) -> the slots, or None when a guard fails (see `failed`). */
static PyObject *Guards_check(Guards *self, PyObject *args) {
    PyObject *function, *locals;
    if (!PyArg_ParseTuple(args, "OO!", &function, &PyTuple_Type, &locals)) return NULL;
    PyObject **slots = PyMem_Calloc((size_t)self->slot_count + 1, sizeof(PyObject *));
    if (!slots) return PyErr_NoMemory();
    PyObject *result = NULL;
    int held = Guards_evaluate(self, function, &PyTuple_GET_ITEM(locals, 0),
                               PyTuple_GET_SIZE(locals), slots);
    if (held == 0) {
        result = Py_NewRef(Py_None);
    } else if (held == 1 && (result = PyTuple_New(self->slot_count))) {
        for (Py_ssize_t i = 0; i < self->slot_count; i++)
            PyTuple_SET_ITEM(result, i, slots[i] ? slots[i] : Py_NewRef(Py_None));
    }
    PyMem_Free(slots);
    return result;
}

static PyObject *Guards_get_failed(Guards *self, void *closure) {
    return PyLong_FromSsize_t(self->failed);
}

static PyMethodDef Guards_methods[] = {
    {"check", (PyCFunction)Guards_check, METH_VARARGS,
     "check(function, locals): the slots as a tuple, or None when a guard fails."},
    {"set_tensor_layout", girih_set_tensor_layout, METH_VARARGS | METH_STATIC,
     "set_tensor_layout(impl, first, last, requires_grad): see tensor_layout.py."},
    {"fingerprint", girih_fingerprint, METH_O | METH_STATIC,
     "fingerprint(tensor): what is compared of a parameter, or None."},
    {NULL},
};

static PyGetSetDef Guards_getset[] = {
    {"failed", (getter)Guards_get_failed, NULL, "Record of the guard that failed last.", NULL},
    {NULL},
};

PyTypeObject Guards_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "girih.frontend.capture._frame.Guards",
    .tp_basicsize = sizeof(Guards),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Guards(roots, relations, sets, slots, tensors, tensor_check, statics, "
              "state_check, shape_check)",
    .tp_new = Guards_new,
    .tp_dealloc = (destructor)Guards_dealloc,
    .tp_traverse = (traverseproc)Guards_traverse,
    .tp_clear = (inquiry)Guards_clear,
    .tp_methods = Guards_methods,
    .tp_getset = Guards_getset,
};
