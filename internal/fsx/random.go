package fsx

import (
	"encoding/hex"
	"math/rand/v2"
)

// RandomID returns 128 random bits as 32 hex digits.
func RandomID() string {
	b := randomBytes()
	return hex.EncodeToString(b[:])
}

// UUID returns a random UUID (version 4) in its usual form.
func UUID() string {
	b := randomBytes()
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	var s [36]byte
	hex.Encode(s[0:8], b[0:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:36], b[10:16])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}

// randomBytes asks the system itself: crypto/rand would add the start of the
// FIPS module to every run of the command. Should the system refuse, the
// generator of the runtime, which the kernel seeded, is as good for ids.
func randomBytes() (b [16]byte) {
	if osRandom(b[:]) {
		return b
	}
	for i := 0; i < len(b); i += 8 {
		r := rand.Uint64()
		for j := range 8 {
			b[i+j] = byte(r >> (8 * j))
		}
	}
	return b
}
