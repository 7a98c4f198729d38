/* SHA-256 and CRC-32, and the checksums of parts that are made of them.
 *
 * Source: FIPS 180-4, sections 4.1.2, 5.1.1 and 6.2; RFC 1952, section 8, whose table
 * is that of one byte. Eight tables take eight bytes at once.
 */
#include "checksums.h"

#include <pthread.h>
#include <string.h>

#define CHUNK ((size_t)4 << 20)
#define BLOCK 64

typedef struct {
    uint32_t state[8];
    unsigned char rest[BLOCK];
    uint64_t size;
} sha256_t;

static uint32_t crc_tables[8][256];
static uint32_t constants[64];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The first 32 bits of the fraction of a root: of the number r with r ** power = prime,
 * found bit by bit. r is below 32 in fixed point, with 32 bits behind the point, so 111
 * bits hold its cube. */
static uint32_t fraction_of_root(uint32_t prime, int power) {
    uint64_t low = 0, high = (uint64_t)32 << 32;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        unsigned __int128 found = middle;
        for (int i = 1; i < power; i++) found *= middle;
        if (found > (unsigned __int128)prime << (32 * power))
            high = middle;
        else
            low = middle;
    }
    return (uint32_t)low;
}

static uint32_t initial[8];

static void make_tables(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0);
        crc_tables[0][i] = value;
    }
    for (int table = 1; table < 8; table++)
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t before = crc_tables[table - 1][i];
            crc_tables[table][i] = before >> 8 ^ crc_tables[0][before & 255];
        }
    int count = 0;
    for (uint32_t number = 2; count < 64; number++) {
        int is_prime = 1;
        for (uint32_t i = 2; i * i <= number; i++) is_prime &= number % i != 0;
        if (!is_prime) continue;
        if (count < 8) initial[count] = fraction_of_root(number, 2);
        constants[count++] = fraction_of_root(number, 3);
    }
}

static uint32_t turned(uint32_t value, int bits) {
    return value >> bits | value << (32 - bits);
}

static uint32_t big_endian(const unsigned char *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
           bytes[3];
}

static void add_block(uint32_t state[8], const unsigned char *block) {
    uint32_t words[64], a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 16; i++) words[i] = big_endian(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t one = words[i - 15], two = words[i - 2];
        words[i] = words[i - 16] + words[i - 7] +
                   (turned(one, 7) ^ turned(one, 18) ^ one >> 3) +
                   (turned(two, 17) ^ turned(two, 19) ^ two >> 10);
    }
    for (int i = 0; i < 64; i++) {
        uint32_t first = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) +
                         ((e & f) ^ (~e & g)) + constants[i] + words[i];
        uint32_t second = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) +
                          ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + first;
        d = c, c = b, b = a, a = first + second;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

static void begin(sha256_t *hash) {
    pthread_once(&once, make_tables);
    memcpy(hash->state, initial, sizeof(initial));
    hash->size = 0;
}

static void add(sha256_t *hash, const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    size_t used = hash->size % BLOCK;
    hash->size += size;
    while (size > 0) {
        if (used == 0 && size >= BLOCK) {
            add_block(hash->state, at);
            at += BLOCK, size -= BLOCK;
            continue;
        }
        size_t count = size < BLOCK - used ? size : BLOCK - used;
        memcpy(hash->rest + used, at, count);
        at += count, size -= count, used += count;
        if (used == BLOCK) {
            add_block(hash->state, hash->rest);
            used = 0;
        }
    }
}

static void end(sha256_t *hash, unsigned char digest[SHA256_BYTES]) {
    uint64_t bits = hash->size * 8;
    unsigned char padding[BLOCK + 8] = {0x80};
    size_t used = hash->size % BLOCK;
    size_t count = (used < 56 ? 56 : 120) - used;
    for (int i = 0; i < 8; i++) padding[count + i] = (unsigned char)(bits >> (56 - 8 * i));
    add(hash, padding, count + 8);
    for (int i = 0; i < SHA256_BYTES; i++)
        digest[i] = (unsigned char)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256(const void *bytes, size_t size, unsigned char digest[SHA256_BYTES]) {
    sha256_t hash;
    begin(&hash);
    add(&hash, bytes, size);
    end(&hash, digest);
}

uint32_t crc32_of(const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    uint32_t value = 0xffffffffu;
    pthread_once(&once, make_tables);
    for (; size >= 8; at += 8, size -= 8) {
        uint64_t word = 0;
        for (int i = 0; i < 8; i++) word |= (uint64_t)at[i] << (8 * i);
        word ^= value;
        value = 0;
        for (int i = 0; i < 8; i++) value ^= crc_tables[7 - i][word >> (8 * i) & 255];
    }
    for (; size > 0; at++, size--) value = value >> 8 ^ crc_tables[0][(value ^ *at) & 255];
    return ~value;
}

void part_checksum(const void *bytes, size_t size, int is_quick,
                   char text[2 * SHA256_BYTES + 1]) {
    const unsigned char *at = bytes;
    unsigned char digest[SHA256_BYTES];
    sha256_t hash;
    begin(&hash);
    do {
        size_t count = size < CHUNK ? size : CHUNK, length = SHA256_BYTES;
        if (is_quick) {
            uint32_t value = crc32_of(at, count);
            for (length = 0; length < 4; length++)
                digest[length] = (unsigned char)(value >> (8 * length));
        } else {
            sha256(at, count, digest);
        }
        add(&hash, digest, length);
        at += count, size -= count;
    } while (size > 0);
    end(&hash, digest);
    for (int i = 0; i < SHA256_BYTES; i++) {
        text[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    text[2 * SHA256_BYTES] = '\0';
}
