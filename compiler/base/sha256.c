/* SPDX-License-Identifier: Apache-2.0 */
/* The round constants are the fractional parts of cube roots of the first 64 primes, the initial
 * state those of square roots of the first 8: both are worked out here in integers, as FIPS 180-4
 * 4.2.2 and 5.3.3 define them, instead of being copied. */
#include "base/sha256.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct sha256 {
	uint32_t state[8], constants[64];
};

static bool is_prime(uint32_t n)
{
	for (uint32_t d = 2; d * d <= n; d++)
		if (n % d == 0)
			return false;
	return true;
}

/* floor(2^32 * n^(1 / power)) modulo 2^32: the largest r with r^power <= n * 2^(32 * power). */
static uint32_t root_fraction(uint32_t n, int power)
{
	uint64_t r = 0;
	for (int bit = 39; bit >= 0; bit--) {
		uint64_t t = r | (uint64_t)1 << bit;
		unsigned __int128 square = (unsigned __int128)t * t;
		bool fits;
		if (power == 2)
			fits = square <= (unsigned __int128)n << 64;
		else /* t^3 <= n * 2^96, with t < 2^40: compare t^2 * t in two halves */
			fits = (square >> 32) * t + (((square & 0xffffffffu) * t) >> 32) <
			       (unsigned __int128)n << 64;
		if (fits)
			r = t;
	}
	return (uint32_t)r;
}

static void sha256_start(struct sha256 *s)
{
	for (uint32_t prime = 2, i = 0; i < 64; prime++) {
		if (!is_prime(prime))
			continue;
		s->constants[i] = root_fraction(prime, 3);
		if (i < 8)
			s->state[i] = root_fraction(prime, 2);
		i++;
	}
}

static uint32_t rotate(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static void expand(const unsigned char *block, uint32_t w[64])
{
	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];
		w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
		       (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
	}
}

static void sha256_block(struct sha256 *s, const unsigned char *block)
{
	uint32_t w[64], v[8];
	expand(block, w);
	memcpy(v, s->state, sizeof v);
	for (int i = 0; i < 64; i++) {
		uint32_t e = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
		uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
		uint32_t t1 = v[7] + e + choice + s->constants[i] + w[i];
		uint32_t a = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
		uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
		memmove(v + 1, v, 7 * sizeof *v);
		v[4] += t1;
		v[0] = t1 + a + majority;
	}
	for (int i = 0; i < 8; i++)
		s->state[i] += v[i];
}

char *sha256_hex(struct arena *arena, const char *bytes, size_t length)
{
	struct sha256 s;
	unsigned char tail[128] = {0};
	size_t whole = length / 64 * 64, rest = length - whole;
	size_t padded = rest < 56 ? 64 : 128;
	char *hex = arena_alloc(arena, 65);
	sha256_start(&s);
	for (size_t i = 0; i < whole; i += 64)
		sha256_block(&s, (const unsigned char *)bytes + i);
	if (rest)
		memcpy(tail, bytes + whole, rest);
	tail[rest] = 0x80;
	for (int i = 0; i < 8; i++)
		tail[padded - 1 - (size_t)i] = (unsigned char)((uint64_t)length * 8 >> (8 * i));
	for (size_t i = 0; i < padded; i += 64)
		sha256_block(&s, tail + i);
	for (int i = 0; i < 64; i++)
		hex[i] = "0123456789abcdef"[s.state[i / 8] >> (28 - 4 * (i % 8)) & 15];
	return hex;
}
