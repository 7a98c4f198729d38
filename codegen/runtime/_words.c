/* The words of programs, as numbers of the module: assembler.py writes them. */
#include "_program.h"

#define WORD(name) {#name, name}
static const struct {
    const char *name;
    int number;
} words[] = {
    WORD(OP_CALL),       WORD(OP_CALL_INT),   WORD(OP_LOAD_INT),   WORD(OP_LOAD_NUMBER),
    WORD(OP_UNPACK),     WORD(OP_ALIGNED),
    WORD(OP_LAYOUT),     WORD(OP_CONSTANT),   WORD(OP_ADD),        WORD(OP_SUB),
    WORD(OP_MUL),        WORD(OP_FLOORDIV),   WORD(OP_CEILDIV),    WORD(OP_MOD),
    WORD(OP_MAX),        WORD(OP_MIN),        WORD(OP_WORKSPACE),  WORD(OP_RELEASE),
    WORD(OP_RUN),        WORD(OP_LAUNCH),     WORD(OP_DISJOINT),   WORD(OP_FREE),       WORD(OP_RETURN),
    WORD(ITEM_CONSTANT), WORD(ITEM_VALUE),    WORD(ITEM_REGISTER), WORD(ITEM_TUPLE),
    WORD(ITEM_LIST),     WORD(ITEM_KIND_BITS)};

int add_words(PyObject *module) {
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (PyModule_AddIntConstant(module, words[i].name, words[i].number) < 0)
            return -1;
    return 0;
}
