/* An allocator whose blocks end where memory ends, to be preloaded (LD_PRELOAD).
 *
 * Aligned allocations, which is what tensors and workspaces are made of, get pages of
 * their own between pages that nobody may touch. A block ends at a page's end, so the
 * access right behind it is a fault at the instruction that makes it, reads as well as
 * writes; one before it is a fault at a page's distance at most. What alignment leaves
 * behind a block is filled with 0xff (NaN, -1), and so is a fresh block: a value that was
 * never written does not look right. Freed blocks stay forbidden, their addresses are
 * not used again.
 *
 * A fault prints which block it is near to, before whoever else handles it. A changed
 * byte behind a block is found when the block is freed, and ends the process.
 *
 * GUARDED_MEMORY_ALIGNMENT: blocks are aligned to so many bytes at the most, however many
 * were asked for; with 4, a tensor of floats ends at the page's end exactly.
 * GUARDED_MEMORY_LIMIT: most blocks at a time (default 15000: each splits mappings, of
 * which Linux allows 65530); further ones are the system's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_memalign(size_t alignment, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void __libc_free(void *block);
extern int __sigaction(int number, const struct sigaction *new, struct sigaction *old);

enum { PAGE = 4096, FILL = 0xff, LARGEST_ALIGNMENT = 4096 };
static const size_t ARENA_PAGES = (size_t)1 << 28; /* one tebibyte of addresses */

typedef struct {
    uint32_t pages;  /* of the block, at its first page; 0: no block begins here */
    uint32_t offset; /* of the block's begin in its first page */
    uint64_t bytes;  /* asked for; the highest bit: freed */
} Block;
static const uint64_t FREED = (uint64_t)1 << 63;

static char *arena;
static Block *blocks;
static size_t next_page = 1;
static long live, limit = 15000, most_alignment = LARGEST_ALIGNMENT;

static int in_arena(const void *address) {
    return arena != NULL && (char *)address >= arena &&
           (char *)address < arena + ARENA_PAGES * PAGE;
}

static Block *block_at(const void *address) {
    return &blocks[(size_t)((char *)address - arena) / PAGE];
}

static void die(const char *what, const void *address, uint64_t bytes) {
    char text[160];
    int length = snprintf(text, sizeof text, "guarded memory: %s block %p of %llu bytes\n",
                          what, address, (unsigned long long)bytes);
    if (write(2, text, (size_t)length) < 0) _exit(3);
    abort();
}

static char *begin_of(const Block *block) {
    return arena + (size_t)(block - blocks) * PAGE + block->offset;
}

/* What is known of an address: the block that it lies in, or the nearer neighbour. */
static void describe(const char *address, char *text, size_t room) {
    size_t page = (size_t)(address - arena) / PAGE, back = 0;
    while (back < page && blocks[page - back].pages == 0) back++;
    const Block *block = &blocks[page - back], *next = &blocks[page + 1];
    const char *end = begin_of(block) + (block->bytes & ~FREED);
    long long behind = address - end;
    const char *where = behind >= 0 ? "behind the end of" : "before the end of";
    if (next->pages != 0 && begin_of(next) - address < behind) {
        block = next;
        behind = begin_of(next) - address;
        where = "before the begin of";
    }
    snprintf(text, room, "guarded memory: access %lld bytes %s a %s block of %llu bytes\n",
             behind < 0 ? -behind : behind, where, block->bytes & FREED ? "freed" : "live",
             (unsigned long long)(block->bytes & ~FREED));
}

static struct sigaction next_handler;
static int handed_over;

/* Says where the access is, then leaves it to the handler that was there. */
static void on_fault(int number, siginfo_t *info, void *context) {
    if (in_arena(info->si_addr)) {
        char text[200];
        describe(info->si_addr, text, sizeof text);
        if (write(2, text, strlen(text)) < 0) _exit(3);
    }
    handed_over = 1;
    __sigaction(number, &next_handler, NULL);
    (void)context;
}

/*
 * Who installs a handler of faults comes behind ours: Python's faulthandler does. After
 * a fault theirs is the one that is installed, and they may take it back: faulthandler
 * does so, then raises the signal again, and it would never end if it was kept.
 */
int sigaction(int number, const struct sigaction *new, struct sigaction *old) {
    if (number != SIGSEGV || arena == NULL || handed_over) return __sigaction(number, new, old);
    if (old != NULL) *old = next_handler;
    if (new != NULL) next_handler = *new;
    return 0;
}

__attribute__((constructor)) static void start(void) {
    if (arena != NULL) return;
    const char *number = getenv("GUARDED_MEMORY_LIMIT");
    if (number != NULL) limit = atol(number);
    number = getenv("GUARDED_MEMORY_ALIGNMENT");
    if (number != NULL) most_alignment = atol(number);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *table = mmap(NULL, ARENA_PAGES * sizeof(Block), PROT_READ | PROT_WRITE, flags, -1, 0);
    void *memory = mmap(NULL, ARENA_PAGES * PAGE, PROT_NONE, flags, -1, 0);
    if (table == MAP_FAILED || memory == MAP_FAILED) die("no address space for", NULL, 0);
    blocks = table;
    arena = memory;
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    __sigaction(SIGSEGV, &action, &next_handler);
}

static void *guarded(size_t alignment, size_t bytes) {
    if (arena == NULL) start();
    if ((long)alignment > most_alignment) alignment = (size_t)most_alignment;
    size_t pages = (bytes + PAGE - 1) / PAGE;
    if (__atomic_add_fetch(&live, 1, __ATOMIC_RELAXED) > limit) goto full;
    size_t first = __atomic_fetch_add(&next_page, pages + 1, __ATOMIC_RELAXED);
    if (first + pages + 1 >= ARENA_PAGES) goto full;
    char *begin = arena + first * PAGE;
    if (mprotect(begin, pages * PAGE, PROT_READ | PROT_WRITE) != 0) goto full;
    memset(begin, FILL, pages * PAGE);
    size_t offset = (pages * PAGE - bytes) & ~(alignment - 1);
    blocks[first] = (Block){(uint32_t)pages, (uint32_t)offset, bytes};
    return begin + offset;
full:
    __atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void *allocate(size_t alignment, size_t bytes) {
    void *block = NULL;
    if (bytes > 0 && alignment <= LARGEST_ALIGNMENT) block = guarded(alignment, bytes);
    return block != NULL ? block : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **result, size_t alignment, size_t bytes) {
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
    *result = allocate(alignment, bytes);
    return *result == NULL ? ENOMEM : 0;
}

void *aligned_alloc(size_t alignment, size_t bytes) { return allocate(alignment, bytes); }
void *memalign(size_t alignment, size_t bytes) { return allocate(alignment, bytes); }

static void check_rest(const char *end, const Block *block) {
    const char *last = arena + ((size_t)(block - blocks) + block->pages) * PAGE;
    for (const char *at = end; at < last; at++)
        if ((unsigned char)*at != FILL)
            die("something wrote behind the end of", end - block->bytes, block->bytes);
}

void free(void *block) {
    if (!in_arena(block)) {
        __libc_free(block);
        return;
    }
    Block *found = block_at(block);
    if (found->pages == 0 || (found->bytes & FREED) || begin_of(found) != block)
        die("free of what is no", block, found->bytes & ~FREED);
    check_rest((char *)block + found->bytes, found);
    found->bytes |= FREED;
    char *first = arena + (size_t)(found - blocks) * PAGE;
    madvise(first, (size_t)found->pages * PAGE, MADV_DONTNEED);
    mprotect(first, (size_t)found->pages * PAGE, PROT_NONE);
    __atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
}

void *realloc(void *block, size_t bytes) {
    if (!in_arena(block)) return __libc_realloc(block, bytes);
    uint64_t before = block_at(block)->bytes;
    void *moved = allocate(16, bytes);
    if (moved == NULL) return NULL;
    memcpy(moved, block, before < bytes ? before : bytes);
    free(block);
    return moved;
}
