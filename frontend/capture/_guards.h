/* The guard tree as data; see _guards.c. */
#ifndef GIRIH_GUARDS_H
#define GIRIH_GUARDS_H

#include "_frame.h"

enum Access {
    ACCESS_LOCAL, ACCESS_CONSTANT, ACCESS_FUNCTION, ACCESS_ATTRIBUTE, ACCESS_DICT,
    ACCESS_DICT_ITEM, ACCESS_INDEX, ACCESS_ITEM, ACCESS_CELL, ACCESS_TYPE,
    ACCESS_TYPE_LOOKUP, ACCESS_CLOSURE, ACCESS_REFERENT, ACCESS_KEY_AT, ACCESS_VALUE_AT,
    ACCESS_COUNT
};

enum CheckKind {
    CHECK_IS, CHECK_TYPE, CHECK_EQUALS, CHECK_LENGTH, CHECK_CONTAINS, CHECK_ABSENT,
    CHECK_KEYS, CHECK_CODE, CHECK_CLASS, CHECK_CALL, CHECK_EMPTY_CELL, CHECK_COUNT
};

typedef struct {
    int kind;
    int record;         /* index of the guard's record, for messages */
    PyObject *operand;
    Py_ssize_t number;  /* of CHECK_CLASS the version tag with which it held */
} Check;

typedef struct Node {
    int access;
    int stable;         /* may be pinned: see [Note: pinned regions] */
    PyObject *key;
    Py_ssize_t index;
    Py_ssize_t slot;    /* -1: not stored */
    Py_ssize_t check_count, child_count;
    Check *checks;
    struct Node *children;
} Node;

typedef struct {
    PyObject *owner;    /* borrowed: the dict, the object, the type or the function */
    PyTypeObject *type; /* of an object whose dict is watched, else NULL */
    PyObject *dict;     /* borrowed; NULL: `owner` is no dict, or only its type matters */
    uint64_t version;   /* a version tag; of a function the address of its code */
} Pin;

typedef struct {
    const Node *node;
    PyObject *parent;   /* borrowed: kept alive by the pinned dicts */
} Residual;

typedef struct {
    Py_ssize_t slot;
    PyObject *value;    /* borrowed, as above */
} PinnedSlot;

/* One root of the tree and its pinned region. */
typedef struct {
    Node node;
    int pinned;
    int recording;
    int busy;           /* being evaluated: a nested or concurrent call walks without pins */
    int misses;         /* consecutive re-walks; a region that keeps changing is not pinned */
    PyObject *root;     /* borrowed: only compared; the version tags below it are unique */
    Pin *pins;
    PinnedSlot *pinned_slots;
    Residual *residuals;
    Py_ssize_t pin_count, pin_room, slot_count, slot_room, residual_count, residual_room;
} Group;

/* Two slots that hold the same object, or two that must not. */
typedef struct {
    Py_ssize_t left, right;
    int same, record;
} Relation;

/* Slots that hold as many objects. */
typedef struct {
    Py_ssize_t *slots, count;
    PyObject **table;   /* of the addresses, for the time of a check */
    size_t room;        /* a power of two */
    int record;
} DistinctSet;

enum { FINGERPRINT_BYTES = 160 };

/* What a tensor was like when it was last checked: [Note: fingerprints] in _tensors.c. */
typedef struct {
    PyObject *tensor;   /* borrowed, as is the type: only compared */
    PyTypeObject *type;
    const char *impl;
    int requires_grad;
    char bytes[FINGERPRINT_BYTES];
} Fingerprint;

/* The checks of all tensors of an entry; they are in its first slots. */
typedef struct {
    Py_ssize_t count, few_count, other_count, static_count;
    PyObject *check;        /* of all; NULL: there is none */
    PyObject *few_check;    /* of those in `few` */
    Py_ssize_t *few;        /* slots: what is not static, then a static one of each kind */
    Py_ssize_t *statics;    /* slots of parameters and buffers */
    Fingerprint *prints;    /* of these, in their order */
    PyObject **sorted;      /* these, by address */
    int taken, misses;
} TensorChecks;

struct Guards {
    PyObject_HEAD
    Group *groups;
    Relation *relations;
    DistinctSet *sets;
    TensorChecks tensors;
    Py_ssize_t group_count, slot_count, relation_count, set_count;
    PyObject *state_check, *shape_check;
    Py_ssize_t failed;
};

enum { FAILED_TENSORS = -2, FAILED_STATE = -3, FAILED_SHAPES = -4, MAXIMAL_MISSES = 16 };

int girih_has_child(const Node *node, int access);
int girih_has_check(const Node *node, int first, int last);

/* Fills a Guards object from the tuples that guard.py makes. */
int girih_read_guards(Guards *self, PyObject *roots, PyObject *relations, PyObject *sets);
void girih_free_guards(Guards *self);

/* Whether two values are the same, in type and in the sign of a zero, too. */
int girih_equal_values(PyObject *value, PyObject *expected);

/* New references to what stands at a place in the order of a dict, or NULL. */
PyObject *girih_key_at(PyObject *dict, Py_ssize_t index);
PyObject *girih_value_at(PyObject *dict, Py_ssize_t index);

/* Whether `check(*args)` is True; an exception counts as no, and stays set. */
int girih_ask(PyObject *check, PyObject *const *args, Py_ssize_t count);

int girih_tensors_hold(TensorChecks *self, PyObject *const *slots);
int girih_read_tensor_checks(TensorChecks *self, Py_ssize_t count, PyObject *check,
                             PyObject *statics);
void girih_free_tensor_checks(TensorChecks *self);

/* Static methods of Guards. */
PyObject *girih_set_tensor_layout(PyObject *module, PyObject *args);
PyObject *girih_fingerprint(PyObject *module, PyObject *tensor);

#endif
