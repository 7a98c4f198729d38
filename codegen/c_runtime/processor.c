/* Features of this processor, by the names that Linux has for them in /proc/cpuinfo.
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, CPUID
 * and XGETBV; AMD64 Architecture Programmer's Manual, volume 3, appendix E.
 */
#include "processor.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum output { EAX, EBX, ECX, EDX };

/* Which registers the system has to save for a feature: bits of XCR0. */
enum { PLAIN = 0, AVX = 0x6, AVX512 = 0xe6, AMX = 0x60000 };

typedef struct {
    const char *name;
    uint32_t leaf, part;
    enum output output;
    int bit;
    uint64_t saved;
} feature_t;

#define EXTENDED 0x80000001u

static const feature_t features[] = {
    {"3dnowprefetch", EXTENDED, 0, ECX, 8, PLAIN},
    {"abm", EXTENDED, 0, ECX, 5, PLAIN},
    {"adx", 7, 0, EBX, 19, PLAIN},
    {"aes", 1, 0, ECX, 25, PLAIN},
    {"amx_bf16", 7, 0, EDX, 22, AMX},
    {"amx_complex", 7, 1, EDX, 8, AMX},
    {"amx_fp16", 7, 1, EAX, 21, AMX},
    {"amx_int8", 7, 0, EDX, 25, AMX},
    {"amx_tile", 7, 0, EDX, 24, AMX},
    {"avx", 1, 0, ECX, 28, AVX},
    {"avx2", 7, 0, EBX, 5, AVX},
    {"avx512_4fmaps", 7, 0, EDX, 3, AVX512},
    {"avx512_4vnniw", 7, 0, EDX, 2, AVX512},
    {"avx512_bf16", 7, 1, EAX, 5, AVX512},
    {"avx512_bitalg", 7, 0, ECX, 12, AVX512},
    {"avx512_fp16", 7, 0, EDX, 23, AVX512},
    {"avx512_vbmi2", 7, 0, ECX, 6, AVX512},
    {"avx512_vnni", 7, 0, ECX, 11, AVX512},
    {"avx512_vp2intersect", 7, 0, EDX, 8, AVX512},
    {"avx512_vpopcntdq", 7, 0, ECX, 14, AVX512},
    {"avx512bw", 7, 0, EBX, 30, AVX512},
    {"avx512cd", 7, 0, EBX, 28, AVX512},
    {"avx512dq", 7, 0, EBX, 17, AVX512},
    {"avx512er", 7, 0, EBX, 27, AVX512},
    {"avx512f", 7, 0, EBX, 16, AVX512},
    {"avx512ifma", 7, 0, EBX, 21, AVX512},
    {"avx512pf", 7, 0, EBX, 26, AVX512},
    {"avx512vbmi", 7, 0, ECX, 1, AVX512},
    {"avx512vl", 7, 0, EBX, 31, AVX512},
    {"avx_ifma", 7, 1, EAX, 23, AVX},
    {"avx_ne_convert", 7, 1, EDX, 5, AVX},
    {"avx_vnni", 7, 1, EAX, 4, AVX},
    {"avx_vnni_int16", 7, 1, EDX, 10, AVX},
    {"avx_vnni_int8", 7, 1, EDX, 4, AVX},
    {"bmi1", 7, 0, EBX, 3, PLAIN},
    {"bmi2", 7, 0, EBX, 8, PLAIN},
    {"cx16", 1, 0, ECX, 13, PLAIN},
    {"f16c", 1, 0, ECX, 29, AVX},
    {"fma", 1, 0, ECX, 12, AVX},
    {"fma4", EXTENDED, 0, ECX, 16, AVX},
    {"gfni", 7, 0, ECX, 8, PLAIN},
    {"lahf_lm", EXTENDED, 0, ECX, 0, PLAIN},
    {"movbe", 1, 0, ECX, 22, PLAIN},
    {"movdir64b", 7, 0, ECX, 28, PLAIN},
    {"movdiri", 7, 0, ECX, 27, PLAIN},
    {"pclmulqdq", 1, 0, ECX, 1, PLAIN},
    {"pni", 1, 0, ECX, 0, PLAIN},
    {"popcnt", 1, 0, ECX, 23, PLAIN},
    {"rdrand", 1, 0, ECX, 30, PLAIN},
    {"rdseed", 7, 0, EBX, 18, PLAIN},
    {"serialize", 7, 0, EDX, 14, PLAIN},
    {"sha512", 7, 1, EAX, 0, AVX},
    {"sha_ni", 7, 0, EBX, 29, PLAIN},
    {"sse", 1, 0, EDX, 25, PLAIN},
    {"sse2", 1, 0, EDX, 26, PLAIN},
    {"sse4_1", 1, 0, ECX, 19, PLAIN},
    {"sse4_2", 1, 0, ECX, 20, PLAIN},
    {"sse4a", EXTENDED, 0, ECX, 6, PLAIN},
    {"ssse3", 1, 0, ECX, 9, PLAIN},
    {"vaes", 7, 0, ECX, 9, AVX},
    {"vpclmulqdq", 7, 0, ECX, 10, AVX},
    {"xsave", 1, 0, ECX, 26, PLAIN},
    {"xsavec", 0xd, 1, EAX, 1, PLAIN},
    {"xsaveerptr", 0x80000008u, 0, EBX, 2, PLAIN},
    {"xsaveopt", 0xd, 1, EAX, 0, PLAIN},
    {"xsaves", 0xd, 1, EAX, 3, PLAIN},
};

/* What the processor says, asked once: under a hypervisor each CPUID takes long. */
static struct {
    uint32_t leaf, part, found[4];
} leaves[] = {{.leaf = 1}, {.leaf = 7}, {.leaf = 7, .part = 1}, {.leaf = 0xd, .part = 1},
              {.leaf = EXTENDED}, {.leaf = 0x80000008u}};
#define LEAVES (sizeof(leaves) / sizeof(leaves[0]))
static uint64_t saved_registers; /* 0 where the system does not say so */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void ask(void) {
    for (size_t i = 0; i < LEAVES; i++) {
        uint32_t *found = leaves[i].found;
        if (!__get_cpuid_count(leaves[i].leaf, leaves[i].part, &found[EAX], &found[EBX],
                               &found[ECX], &found[EDX]))
            memset(found, 0, sizeof(leaves[i].found));
    }
    if (leaves[0].found[ECX] >> 27 & 1) {
        uint32_t low, high;
        __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        saved_registers = (uint64_t)high << 32 | low;
    }
}

static bool is_there(const feature_t *feature) {
    pthread_once(&once, ask);
    for (size_t i = 0; i < LEAVES; i++)
        if (leaves[i].leaf == feature->leaf && leaves[i].part == feature->part)
            return leaves[i].found[feature->output] >> feature->bit & 1 &&
                   (saved_registers & feature->saved) == feature->saved;
    return false;
}

bool has_feature(const char *name) {
    for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
        if (strcmp(features[i].name, name) == 0) return is_there(&features[i]);
    return false;
}
#else
bool has_feature(const char *name) {
    (void)name;
    return false;
}
#endif
