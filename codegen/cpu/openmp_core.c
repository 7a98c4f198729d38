/* The OpenMP entry points that LLVM emits, served by the runtime already loaded.
 *
 * LLVM lowers `omp.parallel` and `omp.wsloop` to calls of `__kmpc_*`. PyTorch brings
 * its own OpenMP runtime (libgomp, or libiomp5). A second runtime would mean a second
 * pool of threads that fights the first, so these few functions run parallel regions
 * through `GOMP_parallel` of the runtime in this process (libiomp5 exports it too):
 * one pool, and `torch.set_num_threads` is obeyed.
 *
 * A worksharing loop asks which part of the iterations is its own. The answer comes
 * from thread-local state that a region sets when it starts, not from the runtime:
 * code that runs a region serially may itself be inside someone else's team.
 *
 * Source: openmp/runtime/src/kmp.h and kmp_sched.cpp of the LLVM project describe the
 * protocol; the GOMP ABI is that of GCC's libgomp.
 */
#define _GNU_SOURCE
#include "openmp_core.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <link.h>
#endif

typedef void (*microtask_t)(int32_t *thread, int32_t *bound, void *arguments);
typedef void (*gomp_parallel_t)(void (*body)(void *), void *data, unsigned threads,
                                unsigned flags);

/* The runtime's functions. `parallel` is written last, and NULL until one is found:
 * other threads may run regions meanwhile. */
static struct {
    _Atomic(gomp_parallel_t) parallel;
    void (*barrier)(void);
    int (*thread_num)(void);
    int (*num_threads)(void);
    char path[1024];
} runtime;

/* The team of the innermost region of ours that this thread runs. */
typedef struct {
    int32_t thread;
    int32_t threads;
    uint32_t next_size; /* set by __kmpc_push_num_threads for the next region */
} team_t;

static _Thread_local team_t team = {0, 1, 0};

/* --- finding the runtime ----------------------------------------------------- */

static bool
bind_from(void *handle, const char *path)
{
    gomp_parallel_t parallel = (gomp_parallel_t)dlsym(handle, "GOMP_parallel");
    int (*thread_num)(void) = (int (*)(void))dlsym(handle, "omp_get_thread_num");
    int (*num_threads)(void) = (int (*)(void))dlsym(handle, "omp_get_num_threads");
    void (*barrier)(void) = (void (*)(void))dlsym(handle, "GOMP_barrier");

    if (parallel == NULL || thread_num == NULL || num_threads == NULL || !barrier)
        return false;
    Dl_info info;
    if (dladdr((void *)parallel, &info) && info.dli_fname != NULL)
        path = info.dli_fname;
    strncpy(runtime.path, path, sizeof(runtime.path) - 1);
    runtime.barrier = barrier;
    runtime.thread_num = thread_num;
    runtime.num_threads = num_threads;
    runtime.parallel = parallel;
    return true;
}

#ifdef __linux__
/* Wheels rename the library (libgomp-a34b3233.so.1), so names are searched. */
static int
bind_if_openmp(struct dl_phdr_info *info, size_t size, void *data)
{
    const char *name = strrchr(info->dlpi_name, '/');
    name = name ? name + 1 : info->dlpi_name;
    if (!strstr(name, "gomp") && !strstr(name, "iomp") && !strstr(name, "libomp"))
        return 0;
    void *handle = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return handle != NULL && bind_from(handle, info->dlpi_name);
}
#endif

void
bind_openmp(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    if (runtime.parallel == NULL && !bind_from(RTLD_DEFAULT, "(process)")) {
#ifdef __linux__
        dl_iterate_phdr(bind_if_openmp, NULL);
#endif
    }
    pthread_mutex_unlock(&mutex);
}

const char *
openmp_path(void)
{
    return runtime.parallel == NULL ? NULL : runtime.path;
}

static void
bug(const char *what)
{
    fprintf(stderr, "girih bug: %s\n", what);
    abort();
}

/* --- parallel regions -------------------------------------------------------- */

typedef struct {
    microtask_t task;
    void *arguments;
} region_t;

static void
run_member(const region_t *region, int32_t thread, int32_t threads)
{
    team_t outer = team;
    team = (team_t){thread, threads, 0};
    int32_t bound = thread;
    region->task(&thread, &bound, region->arguments);
    team = outer;
}

static void
enter_region(void *data)
{
    run_member(data, runtime.thread_num(), runtime.num_threads());
}

static void
fork_call(microtask_t task, void *arguments, bool parallel)
{
    region_t region = {task, arguments};
    uint32_t size = team.next_size;
    team.next_size = 0;
    /* A thread that is alone in its team may fork; one among others runs nested
     * regions itself, as torch's own parallel loops do. */
    gomp_parallel_t fork = parallel && team.threads == 1 ? runtime.parallel : NULL;
    if (fork != NULL)
        fork(enter_region, &region, size, 0);
    else
        run_member(&region, 0, 1);
}

static void
kmpc_fork_call(void *location, int32_t count, microtask_t task, ...)
{
    void *arguments = NULL;
    if (count > 1)
        bug("parallel regions pass one aggregate argument");
    if (count == 1) {
        va_list list;
        va_start(list, task);
        arguments = va_arg(list, void *);
        va_end(list);
    }
    fork_call(task, arguments, true);
}

static void
kmpc_fork_call_if(void *location, int32_t count, microtask_t task, int32_t condition,
                  void *arguments)
{
    fork_call(task, arguments, condition != 0);
}

static void
kmpc_push_num_threads(void *location, int32_t thread, int32_t threads)
{
    team.next_size = threads > 0 ? (uint32_t)threads : 0;
}

/* The caller runs the region's body itself between these two, so the team it had is
 * kept on a small per-thread stack. */
enum { SERIAL_DEPTH = 16 };
static _Thread_local team_t serial_stack[SERIAL_DEPTH];
static _Thread_local int serial_depth;

static void
kmpc_serialized_parallel(void *location, int32_t thread)
{
    if (serial_depth == SERIAL_DEPTH)
        bug("serialized parallel regions nested too deeply");
    serial_stack[serial_depth++] = team;
    team = (team_t){0, 1, 0};
}

static void
kmpc_end_serialized_parallel(void *location, int32_t thread)
{
    team = serial_stack[--serial_depth];
}

static int32_t
kmpc_global_thread_num(void *location)
{
    return team.thread;
}

static void
kmpc_barrier(void *location, int32_t thread)
{
    if (team.threads > 1)
        runtime.barrier();
}

/* --- worksharing loops ------------------------------------------------------- */

enum { STATIC_CHUNKED = 33, STATIC = 34 };
enum { MODIFIERS = (1 << 29) | (1 << 30) }; /* monotonic, nonmonotonic: no effect */

/* Each thread gets one contiguous part (STATIC), or every n-th chunk; bounds are
 * inclusive, and an empty part has upper = lower - 1, which LLVM's code counts as 0.
 * A loop without iterations arrives as [0, -1], whose count wraps to 0 too. */
#define STATIC_INIT(suffix, T, U)                                                      \
    static void kmpc_for_static_init_##suffix(                                         \
        void *location, int32_t gtid, int32_t schedule, int32_t *last, T *lower,       \
        T *upper, T *stride, T increment, T chunk)                                     \
    {                                                                                  \
        U id = (U)team.thread, n = (U)team.threads;                                    \
        U step = (U)(increment > 0 ? increment : (T)0 - increment);                    \
        U span = increment > 0 ? (U)*upper - (U)*lower : (U)*lower - (U)*upper;        \
        U count = span / step + 1;                                                     \
        U begin, mine;                                                                 \
        schedule &= ~MODIFIERS;                                                        \
        if (schedule == STATIC_CHUNKED) {                                              \
            mine = chunk > 0 ? (U)chunk : 1;                                           \
            begin = id * mine;                                                         \
            *stride = (T)(mine * n * step);                                            \
            *last = count != 0 && ((count - 1) / mine) % n == id;                      \
        } else if (schedule == STATIC) {                                               \
            U rest = count % n;                                                        \
            mine = count / n + (id < rest);                                            \
            begin = id * (count / n) + (id < rest ? id : rest);                        \
            *stride = (T)(count * step);                                               \
            *last = mine != 0 && begin + mine == count;                                \
        } else {                                                                       \
            bug("only static loop schedules are served");         \
        }                                                                              \
        U sign = increment > 0 ? step : (U)0 - step;                                   \
        *lower = (T)((U)*lower + begin * sign);                                        \
        *upper = (T)((U)*lower + (mine - 1) * sign);                                   \
    }

STATIC_INIT(4, int32_t, uint32_t)
STATIC_INIT(4u, uint32_t, uint32_t)
STATIC_INIT(8, int64_t, uint64_t)
STATIC_INIT(8u, uint64_t, uint64_t)

static void
kmpc_for_static_fini(void *location, int32_t thread)
{
}

/* --- the table ------------------------------------------------------------------ */

#define ENTRY(name) {"__" #name, (void *)name}
const openmp_entry_t openmp_entries[] = {
    ENTRY(kmpc_barrier),
    ENTRY(kmpc_end_serialized_parallel),
    ENTRY(kmpc_for_static_fini),
    ENTRY(kmpc_for_static_init_4),
    ENTRY(kmpc_for_static_init_4u),
    ENTRY(kmpc_for_static_init_8),
    ENTRY(kmpc_for_static_init_8u),
    ENTRY(kmpc_fork_call),
    ENTRY(kmpc_fork_call_if),
    ENTRY(kmpc_global_thread_num),
    ENTRY(kmpc_push_num_threads),
    ENTRY(kmpc_serialized_parallel),
    {NULL, NULL},
};
