/* SHA-256 and CRC-32, and the checksums of parts that are made of them. */
#ifndef GIRIH_C_RUNTIME_CHECKSUMS_H
#define GIRIH_C_RUNTIME_CHECKSUMS_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32

/* The SHA-256 of bytes. */
void sha256(const void *bytes, size_t size, unsigned char digest[SHA256_BYTES]);

/* The CRC-32 of bytes, that of zlib. */
uint32_t crc32_of(const void *bytes, size_t size);

/* The checksum of a part, in hexadecimal: the SHA-256 of the SHA-256 (or CRC-32, which
 * is quick) of each 4 MiB of it. */
void part_checksum(const void *bytes, size_t size, int is_quick,
                   char text[2 * SHA256_BYTES + 1]);

#endif
