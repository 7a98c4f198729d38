/* Loads relocatable ELF objects into this process.
 *
 * The objects are those that LLVM makes for its JIT: code and constants of a few
 * functions, in the large code model, so nearly all relocations are absolute
 * addresses. Sections go to one mapping, grouped by their permissions; nothing is
 * writable and executable at a time. Unwind tables are left out: kernels raise nothing.
 *
 * Every offset and index of the file is checked before it is used.
 *
 * Source: System V ABI, chapters 4 and 5, and its AMD64 supplement, section 4.4.
 */
#define _GNU_SOURCE
#include "loader_core.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef SHT_X86_64_UNWIND
#define SHT_X86_64_UNWIND 0x70000001
#endif

enum group { READ_ONLY, EXECUTABLE, WRITABLE, GROUPS };
static const int group_protection[GROUPS] = {
    [READ_ONLY] = PROT_READ,
    [EXECUTABLE] = PROT_READ | PROT_EXEC,
    [WRITABLE] = PROT_READ | PROT_WRITE,
};

typedef struct {
    const unsigned char *data;
    size_t size;
    const Elf64_Ehdr *header;
    const Elf64_Shdr *sections;
    size_t count;
    unsigned char **placed; /* where each section lies now, or NULL */
    const Elf64_Sym *symbols;
    size_t symbol_count;
    const char *names;
    size_t names_size;
    const imports_t *imports;
    load_error_t *error;
} object_t;

__attribute__((format(printf, 2, 3))) static bool
wrong(const object_t *object, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    object->error->number = 0;
    vsnprintf(object->error->text, sizeof(object->error->text), format, arguments);
    va_end(arguments);
    return false;
}

static bool
bad(const object_t *object, const char *what)
{
    return wrong(object, "not a loadable object: %s", what);
}

static bool
failed_call(const object_t *object)
{
    int number = errno;
    wrong(object, "%s", strerror(number));
    object->error->number = number;
    return false;
}

/* --- reading the file ---------------------------------------------------------- */

static const void *
span(const object_t *object, uint64_t offset, uint64_t size)
{
    if (offset > object->size || size > object->size - offset || offset % 8 != 0)
        return NULL;
    return object->data + offset;
}

static bool
read_header(object_t *object)
{
    const Elf64_Ehdr *header = span(object, 0, sizeof(Elf64_Ehdr));
    if (header == NULL || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return bad(object, "no ELF header");
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_REL)
        return bad(object, "not a relocatable 64-bit object");
    if (header->e_machine != EM_X86_64)
        return bad(object, "made for another processor");
    object->header = header;
    object->count = header->e_shnum;
    object->sections =
        span(object, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr));
    if (object->sections == NULL || header->e_shentsize != sizeof(Elf64_Shdr))
        return bad(object, "no section table");
    return true;
}

static bool
read_symbols(object_t *object)
{
    for (size_t i = 0; i < object->count; i++) {
        const Elf64_Shdr *section = &object->sections[i];
        if (section->sh_type != SHT_SYMTAB)
            continue;
        if (section->sh_link >= object->count)
            return bad(object, "no symbol names");
        const Elf64_Shdr *names = &object->sections[section->sh_link];
        object->symbols = span(object, section->sh_offset, section->sh_size);
        object->symbol_count = section->sh_size / sizeof(Elf64_Sym);
        if (names->sh_offset > object->size ||
            names->sh_size > object->size - names->sh_offset || names->sh_size == 0)
            return bad(object, "no symbol names");
        object->names = (const char *)object->data + names->sh_offset;
        object->names_size = names->sh_size;
        if (object->symbols == NULL || object->names[names->sh_size - 1] != '\0')
            return bad(object, "damaged symbol table");
        return true;
    }
    return bad(object, "no symbol table");
}

static const char *
symbol_name(const object_t *object, const Elf64_Sym *symbol)
{
    return symbol->st_name < object->names_size ? object->names + symbol->st_name : "";
}

/* --- placing sections ------------------------------------------------------------ */

static bool
is_loaded(const Elf64_Shdr *section)
{
    return (section->sh_flags & SHF_ALLOC) && section->sh_size > 0 &&
           section->sh_type != SHT_X86_64_UNWIND;
}

static enum group
group_of(const Elf64_Shdr *section)
{
    if (section->sh_flags & SHF_EXECINSTR)
        return EXECUTABLE;
    return section->sh_flags & SHF_WRITE ? WRITABLE : READ_ONLY;
}

static size_t
round_up(size_t offset, size_t alignment)
{
    return (offset + alignment - 1) / alignment * alignment;
}

/* Sets each loaded section's offset, and where groups begin; returns the end. */
static size_t
lay_out(const object_t *object, size_t *offsets, size_t *begins, size_t page)
{
    size_t end = 0;
    for (int group = 0; group < GROUPS; group++) {
        begins[group] = end = round_up(end, page);
        for (size_t i = 0; i < object->count; i++) {
            const Elf64_Shdr *section = &object->sections[i];
            if (!is_loaded(section) || (int)group_of(section) != group)
                continue;
            end = round_up(end, section->sh_addralign ? section->sh_addralign : 1);
            offsets[i] = end;
            end += section->sh_size;
        }
    }
    begins[GROUPS] = round_up(end, page);
    return begins[GROUPS];
}

static bool
check_sections(const object_t *object, size_t page)
{
    const uint64_t limit = (uint64_t)1 << 32;
    for (size_t i = 0; i < object->count; i++) {
        const Elf64_Shdr *section = &object->sections[i];
        if (!is_loaded(section))
            continue;
        if (section->sh_size > limit || section->sh_addralign > page)
            return bad(object, "a section is too large");
        if (section->sh_type != SHT_NOBITS &&
            (section->sh_offset > object->size ||
             section->sh_size > object->size - section->sh_offset))
            return bad(object, "a section is cut off");
    }
    return true;
}

static bool
copy_sections(object_t *object, const mapping_t *mapping, const size_t *offsets)
{
    for (size_t i = 0; i < object->count; i++) {
        const Elf64_Shdr *section = &object->sections[i];
        if (!is_loaded(section))
            continue;
        object->placed[i] = mapping->base + offsets[i];
        if (section->sh_type != SHT_NOBITS)
            memcpy(object->placed[i], object->data + section->sh_offset,
                   section->sh_size);
    }
    return true;
}

/* --- relocations ------------------------------------------------------------------ */

static bool
import_address(const object_t *object, const char *name, uint64_t *address)
{
    const imports_t *imports = object->imports;
    if (!imports->address(imports->context, name, address))
        return false; /* the callback has its own error */
    if (*address == 0)
        *address = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, name);
    return *address != 0 || wrong(object, "no address is known for '%.200s'", name);
}

static bool
symbol_address(const object_t *object, uint64_t index, uint64_t *address)
{
    if (index >= object->symbol_count)
        return bad(object, "a symbol that does not exist");
    const Elf64_Sym *symbol = &object->symbols[index];
    if (symbol->st_shndx == SHN_UNDEF)
        return import_address(object, symbol_name(object, symbol), address);
    if (symbol->st_shndx >= object->count || !object->placed[symbol->st_shndx])
        return bad(object, "a symbol outside of the loaded sections");
    *address = (uint64_t)(uintptr_t)object->placed[symbol->st_shndx] + symbol->st_value;
    return true;
}

static bool
relocate(const object_t *object, unsigned char *place, uint64_t type, uint64_t value)
{
    uint64_t here = (uint64_t)(uintptr_t)place;
    int64_t distance = (int64_t)(value - here);
    int32_t narrow = (int32_t)distance;

    switch (type) {
    case R_X86_64_64:
        memcpy(place, &value, sizeof(value));
        return true;
    case R_X86_64_PC64:
        memcpy(place, &distance, sizeof(distance));
        return true;
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
        if (narrow != distance)
            return bad(object, "a call over more than 2 GiB");
        memcpy(place, &narrow, sizeof(narrow));
        return true;
    default:
        return wrong(object, "relocation type %llu is not supported",
                     (unsigned long long)type);
    }
}

static bool
apply_relocations(const object_t *object, const Elf64_Shdr *table)
{
    unsigned char *target = object->placed[table->sh_info];
    uint64_t limit = object->sections[table->sh_info].sh_size;
    const Elf64_Rela *entries = span(object, table->sh_offset, table->sh_size);
    if (entries == NULL)
        return bad(object, "relocations are cut off");
    for (size_t i = 0; i < table->sh_size / sizeof(Elf64_Rela); i++) {
        const Elf64_Rela *entry = &entries[i];
        uint64_t address;
        if (limit < 8 || entry->r_offset > limit - 4 ||
            (entry->r_offset > limit - 8 &&
             ELF64_R_TYPE(entry->r_info) != R_X86_64_PC32 &&
             ELF64_R_TYPE(entry->r_info) != R_X86_64_PLT32))
            return bad(object, "a relocation outside of its section");
        if (!symbol_address(object, ELF64_R_SYM(entry->r_info), &address) ||
            !relocate(object, target + entry->r_offset, ELF64_R_TYPE(entry->r_info),
                      address + (uint64_t)entry->r_addend))
            return false;
    }
    return true;
}

static bool
relocate_all(const object_t *object)
{
    for (size_t i = 0; i < object->count; i++) {
        const Elf64_Shdr *section = &object->sections[i];
        if (section->sh_type != SHT_RELA || section->sh_info >= object->count ||
            object->placed[section->sh_info] == NULL)
            continue;
        if (!apply_relocations(object, section))
            return false;
    }
    return true;
}

/* --- loading ----------------------------------------------------------------------- */

static bool
protect(const object_t *object, const mapping_t *mapping, const size_t *begins)
{
    for (int group = 0; group < GROUPS; group++) {
        size_t size = begins[group + 1] - begins[group];
        if (size != 0 &&
            mprotect(mapping->base + begins[group], size, group_protection[group]))
            return failed_call(object);
    }
    __builtin___clear_cache((char *)mapping->base, (char *)mapping->base + mapping->size);
    return true;
}

static bool
map_object(object_t *object, mapping_t *mapping, size_t *offsets)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t begins[GROUPS + 1];
    if (!check_sections(object, page))
        return false;
    mapping->size = lay_out(object, offsets, begins, page);
    if (mapping->size == 0)
        return bad(object, "it is empty");
    mapping->base = mmap(NULL, mapping->size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping->base == MAP_FAILED) {
        mapping->base = NULL;
        return failed_call(object);
    }
    return copy_sections(object, mapping, offsets) && relocate_all(object) &&
           protect(object, mapping, begins);
}

/* Calls `found` for each global symbol; false as soon as it returns false. */
static bool
export_symbols(const object_t *object, const exports_t *exports)
{
    for (size_t i = 0; i < object->symbol_count; i++) {
        const Elf64_Sym *symbol = &object->symbols[i];
        uint64_t address;
        if (ELF64_ST_BIND(symbol->st_info) != STB_GLOBAL ||
            symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= object->count ||
            object->placed[symbol->st_shndx] == NULL)
            continue;
        if (!symbol_address(object, i, &address) ||
            !exports->found(exports->context, symbol_name(object, symbol), address))
            return false;
    }
    return true;
}

static bool
load_copy(object_t *object, const exports_t *exports, mapping_t *mapping)
{
    if (!read_header(object) || !read_symbols(object))
        return false;
    size_t *offsets = calloc(object->count + 1, sizeof(*offsets));
    object->placed = calloc(object->count + 1, sizeof(*object->placed));
    bool done = false;
    if (offsets == NULL || object->placed == NULL) {
        errno = ENOMEM;
        failed_call(object);
    } else
        done = map_object(object, mapping, offsets) && export_symbols(object, exports);
    if (!done)
        unload_object(mapping);
    free(offsets);
    free(object->placed);
    return done;
}

bool
load_object(const void *data, size_t size, const imports_t *imports,
            const exports_t *exports, mapping_t *mapping, load_error_t *error)
{
    object_t object = {.imports = imports, .error = error, .size = size};
    *mapping = (mapping_t){NULL, 0};
    *error = (load_error_t){0, ""};
    /* Tables are read in place, so the copy is aligned as malloc aligns. */
    unsigned char *copy = malloc(size ? size : 1);
    if (copy == NULL) {
        errno = ENOMEM;
        return failed_call(&object);
    }
    if (size != 0)
        memcpy(copy, data, size);
    object.data = copy;
    bool done = load_copy(&object, exports, mapping);
    free(copy);
    return done;
}

void
unload_object(mapping_t *mapping)
{
    if (mapping->base != NULL)
        munmap(mapping->base, mapping->size);
    mapping->base = NULL;
}
