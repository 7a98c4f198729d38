/* Making the guard tree from its description, and freeing it. */
#include "_guards.h"

int girih_has_child(const Node *node, int access) {
    for (Py_ssize_t i = 0; i < node->child_count; i++)
        if (node->children[i].access == access) return 1;
    return 0;
}

int girih_has_check(const Node *node, int first, int last) {
    for (Py_ssize_t i = 0; i < node->check_count; i++)
        if (node->checks[i].kind >= first && node->checks[i].kind <= last) return 1;
    return 0;
}

/* ---- building from the Python description ------------------------------------- */

/* (kind, record, operand, number) */
static int read_check(PyObject *spec, Check *check) {
    PyObject *operand;
    if (!PyArg_ParseTuple(spec, "iiOn", &check->kind, &check->record, &operand, &check->number))
        return -1;
    if (check->kind < 0 || check->kind >= CHECK_COUNT) {
        PyErr_Format(PyExc_ValueError, "unknown check %d", check->kind);
        return -1;
    }
    check->operand = Py_NewRef(operand);
    return 0;
}

static int read_node(PyObject *spec, Node *node);

static int read_checks(PyObject *specs, Node *node) {
    Py_ssize_t count = PyTuple_GET_SIZE(specs);
    node->checks = PyMem_Calloc(count ? (size_t)count : 1, sizeof(Check));
    if (!node->checks) return PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (read_check(PyTuple_GET_ITEM(specs, i), &node->checks[i]) < 0) return -1;
        node->check_count++;
    }
    return 0;
}

static int read_children(PyObject *specs, Node *node) {
    Py_ssize_t count = PyTuple_GET_SIZE(specs);
    node->children = PyMem_Calloc(count ? (size_t)count : 1, sizeof(Node));
    if (!node->children) return PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        node->child_count++;
        if (read_node(PyTuple_GET_ITEM(specs, i), &node->children[i]) < 0) return -1;
    }
    return 0;
}

/* Values under a dict or a type change only together with its version tag. */
static int is_stable(const Node *node) {
    switch (node->access) {
    case ACCESS_LOCAL: case ACCESS_CONSTANT: case ACCESS_FUNCTION:
    case ACCESS_DICT: case ACCESS_DICT_ITEM: case ACCESS_TYPE_LOOKUP: case ACCESS_TYPE: break;
    default: return 0;
    }
    return !girih_has_check(node, CHECK_CALL, CHECK_EMPTY_CELL);
}

/* (access, key, index, slot, checks, children) */
static int read_node(PyObject *spec, Node *node) {
    PyObject *key, *checks, *children;
    if (!PyArg_ParseTuple(spec, "iOnnO!O!", &node->access, &key, &node->index, &node->slot,
                          &PyTuple_Type, &checks, &PyTuple_Type, &children))
        return -1;
    if (node->access < 0 || node->access >= ACCESS_COUNT) {
        PyErr_Format(PyExc_ValueError, "unknown access %d", node->access);
        return -1;
    }
    node->key = Py_NewRef(key);
    if (read_checks(checks, node) < 0 || read_children(children, node) < 0) return -1;
    node->stable = is_stable(node);
    return 0;
}

static int read_groups(Guards *self, PyObject *roots) {
    Py_ssize_t count = PyTuple_GET_SIZE(roots);
    self->groups = PyMem_Calloc(count ? (size_t)count : 1, sizeof(Group));
    if (!self->groups) return PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        self->group_count++;
        if (read_node(PyTuple_GET_ITEM(roots, i), &self->groups[i].node) < 0) return -1;
    }
    return 0;
}

static int read_relations(Guards *self, PyObject *specs) {
    Py_ssize_t count = PyTuple_GET_SIZE(specs);
    self->relations = PyMem_Calloc(count ? (size_t)count : 1, sizeof(Relation));
    if (!self->relations) return PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        Relation *relation = &self->relations[i];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(specs, i), "nnpi", &relation->left,
                              &relation->right, &relation->same, &relation->record))
            return -1;
        self->relation_count++;
    }
    return 0;
}

/* (slots, record) */
static int read_set(PyObject *spec, DistinctSet *set) {
    PyObject *slots;
    if (!PyArg_ParseTuple(spec, "O!i", &PyTuple_Type, &slots, &set->record)) return -1;
    set->count = PyTuple_GET_SIZE(slots);
    set->room = 16;
    while (set->room < 2 * (size_t)set->count) set->room *= 2;
    set->slots = PyMem_Calloc((size_t)set->count + 1, sizeof(Py_ssize_t));
    set->table = PyMem_Calloc(set->room, sizeof(PyObject *));
    if (!set->slots || !set->table) return PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i < set->count; i++)
        set->slots[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(slots, i));
    return PyErr_Occurred() ? -1 : 0;
}

static int read_sets(Guards *self, PyObject *specs) {
    Py_ssize_t count = PyTuple_GET_SIZE(specs);
    self->sets = PyMem_Calloc(count ? (size_t)count : 1, sizeof(DistinctSet));
    if (!self->sets) return PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        self->set_count++;
        if (read_set(PyTuple_GET_ITEM(specs, i), &self->sets[i]) < 0) return -1;
    }
    return 0;
}

int girih_read_guards(Guards *self, PyObject *roots, PyObject *relations, PyObject *sets) {
    if (read_groups(self, roots) < 0 || read_relations(self, relations) < 0) return -1;
    return read_sets(self, sets);
}

static void free_node(Node *node) {
    for (Py_ssize_t i = 0; i < node->child_count; i++) free_node(&node->children[i]);
    for (Py_ssize_t i = 0; i < node->check_count; i++) Py_CLEAR(node->checks[i].operand);
    Py_CLEAR(node->key);
    PyMem_Free(node->children);
    PyMem_Free(node->checks);
}

void girih_free_guards(Guards *self) {
    Group *groups = self->groups;
    Py_ssize_t count = self->group_count;
    self->groups = NULL;
    self->group_count = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        free_node(&groups[i].node);
        PyMem_Free(groups[i].pins);
        PyMem_Free(groups[i].pinned_slots);
        PyMem_Free(groups[i].residuals);
    }
    PyMem_Free(groups);
    PyMem_Free(self->relations);
    self->relations = NULL;
    self->relation_count = 0;
    for (Py_ssize_t i = 0; i < self->set_count; i++) {
        PyMem_Free(self->sets[i].slots);
        PyMem_Free(self->sets[i].table);
    }
    PyMem_Free(self->sets);
    self->sets = NULL;
    self->set_count = 0;
}
