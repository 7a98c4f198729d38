/* Conversions of 16-bit floats, for processors without F16C (x86-64-v2).
 *
 * LLVM calls these functions there. Some compilers' libraries have them, of which none
 * need be in a process. Values, rounding and NaNs are those of F16C's instructions, so
 * results do not depend on the processor.
 *
 * Source: IEEE 754-2019, section 5.4.2; VCVTPS2PH and VCVTPH2PS in Intel's manual.
 */
#include "half_core.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <emmintrin.h>

/* A half is passed in the lowest 16 bits of a vector register, says the psABI. */
typedef __m128i half_t;

static uint16_t
bits_of(half_t half)
{
    return (uint16_t)_mm_extract_epi16(half, 0);
}

static half_t
half_of(uint16_t bits)
{
    return _mm_cvtsi32_si128(bits);
}

static float
extend(half_t half)
{
    uint16_t given = bits_of(half);
    uint32_t sign = (uint32_t)(given & 0x8000) << 16;
    uint32_t exponent = given >> 10 & 31, fraction = given & 0x3ff, bits;
    float found;
    if (exponent == 31) { /* infinity or NaN, which becomes a quiet one */
        bits = 0x7f800000 | fraction << 13 | (fraction ? 0x400000 : 0);
    } else if (exponent == 0) { /* zero or subnormal: a normal float */
        found = (float)fraction * 0x1p-24f;
        memcpy(&bits, &found, sizeof(bits));
    } else {
        bits = (exponent + 127 - 15) << 23 | fraction << 13;
    }
    bits |= sign;
    memcpy(&found, &bits, sizeof(found));
    return found;
}

static half_t
truncate_to_half(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000)
        return half_of(sign | 0x7e00 | (bits >> 13 & 0x3ff));
    if (bits >= 0x477ff000) /* 65520, the middle of the largest half and 2**16 */
        return half_of(sign | 0x7c00);
    if (bits >= 0x38800000) { /* 2**-14, the smallest normal half */
        bits -= (uint32_t)(127 - 15) << 23;
        bits += 0xfff + (bits >> 13 & 1);
        return half_of((uint16_t)(sign | bits >> 13));
    }
    uint32_t exponent = bits >> 23;
    if (exponent < 102) /* below 2**-25, half of the smallest half */
        return half_of(sign);
    uint32_t fraction = (bits & 0x7fffff) | 0x800000, shift = 126 - exponent;
    uint32_t found = fraction >> shift, middle = 1u << (shift - 1);
    uint32_t rest = fraction & ((1u << shift) - 1);
    found += rest > middle || (rest == middle && (found & 1));
    return half_of((uint16_t)(sign | found));
}

const half_entry_t half_entries[] = {
    {"__extendhfsf2", (void *)extend},
    {"__truncsfhf2", (void *)truncate_to_half},
    {NULL, NULL},
};
#else
const half_entry_t half_entries[] = {{NULL, NULL}};
#endif
