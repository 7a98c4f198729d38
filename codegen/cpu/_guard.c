/* Runs LLVM's code generator where its failures cost one compilation.
 *
 * A code generator fails in three ways that no caller sees as an error: it reports a
 * fatal error and ends the process, it crashes, or it never ends. So it runs in a thread
 * of its own, on a large stack. Where it reports a fatal error, or a signal finds it at
 * fault in its own code, the thread is parked: it sleeps for as long as the process
 * lives. Nothing is unwound, no destructor runs on what is half built, and no lock that
 * it holds is released: its memory is lost. What it shares with later compilations,
 * tables of targets and passes, code generation only reads.
 *
 * A thread that exceeds its time is parked as well, but only where it is interrupted in
 * LLVM's own code: in the C library it may hold the lock of malloc. Where that can't be
 * had it goes on with the lowest priority.
 *
 * Faults elsewhere (a damaged heap, other threads) go to the handlers that were there.
 */
#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)64 << 20) /* reserved; LLVM recurses on its graphs */
#define HANDLER_STACK_BYTES ((size_t)64 << 10)
#define STOP_SIGNAL SIGURG /* ignored where nobody handles it */
#define STEP_NANOSECONDS 20000000L
#define STOP_ATTEMPTS 2000 /* of a millisecond each */
#define IDLE_FACTOR 10.0 /* elapsed time, for threads that wait and use no time */

/* --- the C interface of the library ------------------------------------------------ */

typedef struct {
    void *pointer;
} handle_t; /* MlirModule, MlirExecutionEngine */

typedef struct {
    const char *data;
    size_t length;
} string_t; /* MlirStringRef */

typedef struct {
    handle_t (*create)(handle_t, int, int, const string_t *, bool, bool);
    void (*destroy)(handle_t);
    void *(*lookup)(handle_t, string_t);
    void (*register_symbol)(handle_t, string_t, void *);
    void (*dump)(handle_t, string_t);
    void (*install_handler)(void (*)(const char *));
    void (*reset_handler)(void);
} library_t;

static const char *const function_names[] = {
    "mlirExecutionEngineCreate",         "mlirExecutionEngineDestroy",
    "mlirExecutionEngineLookup",         "mlirExecutionEngineRegisterSymbol",
    "mlirExecutionEngineDumpToObjectFile", "LLVMInstallFatalErrorHandler",
    "LLVMResetFatalErrorHandler",
};
#define FUNCTIONS (sizeof(function_names) / sizeof(function_names[0]))

static library_t library;
static uintptr_t code_start, code_end; /* where LLVM's own instructions lie */

/* --- jobs -------------------------------------------------------------------------- */

enum state { RUNNING, DONE, EMPTY, FATAL, CRASHED, STOPPED, ABANDONED };
static const char *const state_names[] = {
    "running", "done", "empty", "fatal", "crashed", "stopped", "abandoned",
};

typedef struct {
    handle_t module;
    int opt_level;
    char *function; /* looked up, which compiles the module */
    char *path;     /* of the object file */
    char **names;
    void **addresses;
    size_t symbols;
    atomic_int state;
    atomic_int owners; /* who waits, and the thread */
    sem_t finished;
    char *message;
    int signal;
    void *handler_stack;
} job_t;

/* In every thread; no access to it may allocate, since signal handlers read it. */
static __thread job_t *current __attribute__((tls_model("initial-exec")));

static void
release(job_t *job)
{
    if (atomic_fetch_sub(&job->owners, 1) != 1)
        return;
    for (size_t i = 0; i < job->symbols; i++)
        free(job->names[i]);
    free(job->names);
    free(job->addresses);
    free(job->function);
    free(job->path);
    free(job->message);
    free(job->handler_stack);
    sem_destroy(&job->finished);
    free(job);
}

static void
finish(job_t *job, enum state state)
{
    int expected = RUNNING;
    atomic_compare_exchange_strong(&job->state, &expected, state);
    sem_post(&job->finished);
}

static void
park(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    for (;;)
        pause();
}

/* --- what LLVM, and the system, report --------------------------------------------- */

static void
on_fatal_error(const char *reason)
{
    if (current == NULL)
        return; /* LLVM then ends the process, as it would have */
    current->message = strdup(reason);
    finish(current, FATAL);
    park();
}

static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, STOP_SIGNAL};
#define FAULTS (sizeof(faults) / sizeof(faults[0]))
#define SIGNALS 65
static struct sigaction previous[SIGNALS]; /* of all signals, by number */
static int guarded_runs; /* protected by the GIL */

static bool
is_code_of_library(uintptr_t at)
{
    return code_start <= at && at < code_end;
}

static bool
is_in_library(const void *context)
{
#if defined(__x86_64__)
    const ucontext_t *state = context;
    return is_code_of_library((uintptr_t)state->uc_mcontext.gregs[REG_RIP]);
#else
    return false;
#endif
}

static void
hand_on(int number)
{
    /* The instruction runs again, and meets the handler that was there before. */
    sigaction(number, &previous[number], NULL);
}

static void
on_signal(int number, siginfo_t *information, void *context)
{
    bool ours = current != NULL && is_in_library(context);
    if (number == STOP_SIGNAL) {
        if (!ours)
            return;
        finish(current, STOPPED);
        park();
    }
    if (!ours || information->si_code <= 0) {
        hand_on(number);
        if (information->si_code <= 0)
            raise(number); /* sent by a program: nothing would run again */
        return;
    }
    current->signal = number;
    finish(current, CRASHED);
    park();
}

static void
install_handlers(void)
{
    if (guarded_runs++ > 0)
        return;
    struct sigaction action = {0};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigfillset(&action.sa_mask);
    for (int number = 1; number < SIGNALS; number++)
        sigaction(number, NULL, &previous[number]);
    for (size_t i = 0; i < FAULTS; i++)
        sigaction(faults[i], &action, NULL);
    library.install_handler(on_fatal_error);
}

static void
remove_handlers(void)
{
    if (--guarded_runs > 0)
        return;
    library.reset_handler();
    /* LLVM, where it first writes a file, takes the handlers of a dozen signals, once. */
    for (int number = 1; number < SIGNALS; number++) {
        struct sigaction now;
        if (sigaction(number, NULL, &now) != 0)
            continue;
        uintptr_t handler = (uintptr_t)now.sa_sigaction; /* or sa_handler: one place */
        if (handler == (uintptr_t)on_signal || is_code_of_library(handler))
            sigaction(number, &previous[number], NULL);
    }
}

/* --- the thread -------------------------------------------------------------------- */

static string_t
string_of(const char *text)
{
    return (string_t){text, strlen(text)};
}

static enum state
generate_code(job_t *job)
{
    handle_t engine =
        library.create(job->module, job->opt_level, 0, NULL, true, false);
    if (engine.pointer == NULL)
        return EMPTY;
    for (size_t i = 0; i < job->symbols; i++)
        library.register_symbol(engine, string_of(job->names[i]), job->addresses[i]);
    /* The first lookup compiles; the object's text is kept for the dump. */
    bool made = library.lookup(engine, string_of(job->function)) != NULL;
    if (made)
        library.dump(engine, string_of(job->path));
    library.destroy(engine);
    return made ? DONE : EMPTY;
}

static void *
run_job(void *argument)
{
    job_t *job = argument;
    stack_t stack = {.ss_sp = job->handler_stack, .ss_size = HANDLER_STACK_BYTES};
    sigset_t handled;

    current = job;
    sigaltstack(&stack, NULL);
    sigemptyset(&handled);
    for (size_t i = 0; i < FAULTS; i++)
        sigaddset(&handled, faults[i]);
    pthread_sigmask(SIG_UNBLOCK, &handled, NULL);
    enum state state = generate_code(job);
    pthread_sigmask(SIG_BLOCK, &handled, NULL);
    current = NULL;
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    finish(job, state);
    release(job);
    return NULL;
}

static int
start_thread(job_t *job, pthread_t *thread)
{
    pthread_attr_t attributes;
    sigset_t all, before;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    /* Signals of the program, Ctrl-C among them, are for its own threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(thread, &attributes, run_job, job);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return failed;
}

/* --- waiting ----------------------------------------------------------------------- */

static double
seconds_of(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        return 0.0;
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool
wait_a_little(job_t *job, long nanoseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += nanoseconds;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    return sem_timedwait(&job->finished, &until) == 0;
}

static bool
exceeds(clockid_t clock, double started, double limit)
{
    if (limit <= 0)
        return false;
    double elapsed = seconds_of(CLOCK_MONOTONIC) - started;
    return seconds_of(clock) > limit || elapsed > IDLE_FACTOR * limit;
}

/* Waits until the job has ended, or has used its time; false with an exception set where
 * a signal's handler, such as Ctrl-C's, raised one. */
static bool
wait_for(job_t *job, pthread_t thread, double limit)
{
    clockid_t clock;
    double started = seconds_of(CLOCK_MONOTONIC);
    bool has_clock = pthread_getcpuclockid(thread, &clock) == 0;

    for (;;) {
        bool ended;
        Py_BEGIN_ALLOW_THREADS
        ended = wait_a_little(job, STEP_NANOSECONDS);
        Py_END_ALLOW_THREADS
        if (ended || (has_clock && exceeds(clock, started, limit)))
            return true;
        if (PyErr_CheckSignals() < 0)
            return false;
    }
}

/* Parks the thread, or leaves it to what the processor has to spare. */
static void
stop(job_t *job, pthread_t thread)
{
    Py_BEGIN_ALLOW_THREADS
    for (int i = 0; i < STOP_ATTEMPTS; i++) {
        if (pthread_kill(thread, STOP_SIGNAL) != 0 || wait_a_little(job, 1000000L))
            break;
    }
    int expected = RUNNING;
    if (atomic_compare_exchange_strong(&job->state, &expected, ABANDONED)) {
        struct sched_param none = {0};
        pthread_setschedparam(thread, SCHED_IDLE, &none);
    }
    Py_END_ALLOW_THREADS
}

/* --- Python ------------------------------------------------------------------------ */

static bool
copy_symbols(job_t *job, PyObject *symbols)
{
    PyObject *name, *address;
    Py_ssize_t position = 0;
    size_t count = (size_t)PyDict_Size(symbols);

    job->names = calloc(count + 1, sizeof(*job->names));
    job->addresses = calloc(count + 1, sizeof(*job->addresses));
    if (job->names == NULL || job->addresses == NULL)
        return false;
    while (PyDict_Next(symbols, &position, &name, &address)) {
        const char *text = PyUnicode_AsUTF8(name);
        void *pointer = PyLong_AsVoidPtr(address);
        if (text == NULL || PyErr_Occurred())
            return false;
        job->names[job->symbols] = strdup(text);
        job->addresses[job->symbols++] = pointer;
    }
    return true;
}

static job_t *
make_job(PyObject *module, int opt_level, const char *function, const char *path,
         PyObject *symbols)
{
    const char *name = PyCapsule_GetName(module);
    void *pointer = PyCapsule_GetPointer(module, name);
    if (pointer == NULL)
        return NULL;
    job_t *job = calloc(1, sizeof(*job));
    if (job == NULL)
        return (job_t *)PyErr_NoMemory();
    sem_init(&job->finished, 0, 0);
    atomic_init(&job->owners, 1);
    atomic_init(&job->state, RUNNING);
    job->module.pointer = pointer;
    job->opt_level = opt_level;
    job->function = strdup(function);
    job->path = strdup(path);
    job->handler_stack = malloc(HANDLER_STACK_BYTES);
    bool copied = copy_symbols(job, symbols);
    if (copied && job->function && job->path && job->handler_stack)
        return job;
    if (!PyErr_Occurred())
        PyErr_NoMemory();
    release(job);
    return NULL;
}

/* The end of a job that was started: what became of it, as Python sees it. */
static PyObject *
outcome(job_t *job, pthread_t thread, bool waited)
{
    if (atomic_load(&job->state) == RUNNING)
        stop(job, thread);
    int state = atomic_load(&job->state);
    if (state == DONE || state == EMPTY)
        pthread_join(thread, NULL);
    else
        pthread_detach(thread);
    if (state != ABANDONED)
        remove_handlers(); /* an abandoned thread may still fail */
    PyObject *result = NULL;
    if (waited)
        result = Py_BuildValue("szi", state_names[state], job->message, job->signal);
    release(job);
    return result;
}

static PyObject *
generate(PyObject *self, PyObject *args)
{
    PyObject *module, *symbols;
    const char *function, *path;
    int opt_level;
    double limit;
    pthread_t thread;

    if (!PyArg_ParseTuple(args, "OissO!d", &module, &opt_level, &function, &path,
                          &PyDict_Type, &symbols, &limit))
        return NULL;
    if (library.create == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "bind must be called first");
        return NULL;
    }
    job_t *job = make_job(module, opt_level, function, path, symbols);
    if (job == NULL)
        return NULL;
    install_handlers();
    atomic_fetch_add(&job->owners, 1);
    int failed = start_thread(job, &thread);
    if (failed) {
        remove_handlers();
        release(job);
        release(job);
        errno = failed;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    bool waited = wait_for(job, thread, limit);
    return outcome(job, thread, waited);
}

static int
find_code(struct dl_phdr_info *information, size_t size, void *argument)
{
    uintptr_t inside = (uintptr_t)argument;
    for (int i = 0; i < information->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &information->dlpi_phdr[i];
        uintptr_t start = information->dlpi_addr + segment->p_vaddr;
        uintptr_t end = start + segment->p_memsz;
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        if (start <= inside && inside < end) {
            code_start = start;
            code_end = end;
            return 1;
        }
    }
    return 0;
}

static PyObject *
bind(PyObject *self, PyObject *addresses)
{
    void *found[FUNCTIONS];

    if (!PyDict_Check(addresses)) {
        PyErr_SetString(PyExc_TypeError, "bind expects a dict");
        return NULL;
    }
    for (size_t i = 0; i < FUNCTIONS; i++) {
        PyObject *address = PyDict_GetItemString(addresses, function_names[i]);
        found[i] = address == NULL ? NULL : PyLong_AsVoidPtr(address);
        if (PyErr_Occurred())
            return NULL;
        if (found[i] == NULL)
            return PyErr_Format(PyExc_ValueError, "no address of %s",
                                function_names[i]);
    }
    memcpy(&library, found, sizeof(library));
    dl_iterate_phdr(find_code, found[0]);
    Py_RETURN_NONE;
}

static PyObject *
names_of_functions(PyObject *self, PyObject *unused)
{
    PyObject *names = PyTuple_New(FUNCTIONS);
    for (size_t i = 0; names != NULL && i < FUNCTIONS; i++) {
        PyObject *name = PyUnicode_FromString(function_names[i]);
        if (name == NULL)
            Py_CLEAR(names);
        else
            PyTuple_SET_ITEM(names, i, name);
    }
    return names;
}

static PyMethodDef methods[] = {
    {"bind", bind, METH_O,
     "bind(addresses)\n\n"
     "Say where the functions of the library lie: a dict with each of needs()."},
    {"generate", generate, METH_VARARGS,
     "generate(module, opt_level, function, path, symbols, limit)\n"
     "-> (state, message, signal)\n\n"
     "Compile a module, given as the capsule of its C interface, to an object file.\n"
     "symbols: addresses of what it calls; function: one that it exports. limit:\n"
     "seconds of processor time, 0 for any; ten times as many may pass by the clock.\n"
     "state: done; empty (no code, LLVM said why on stderr); fatal (message says why);\n"
     "crashed (by signal); stopped and abandoned: it took too long, and its thread\n"
     "sleeps, or goes on at the lowest priority. But for the first two the module must\n"
     "be kept alive for as long as the process lives."},
    {"needs", names_of_functions, METH_NOARGS,
     "needs() -> names of the functions that bind wants."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "girih.codegen.cpu._guard",
    .m_doc = "Runs LLVM's code generator where its failures cost one compilation.",
    .m_size = 0,
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit__guard(void)
{
    return PyModuleDef_Init(&definition);
}
