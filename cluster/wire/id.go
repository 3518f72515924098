package wire

import (
	"crypto/sha256"
	"encoding/binary"
)

// Node returns the number of a node in health.Push: the first 8 bytes of the SHA-256 of its name, big-endian. A fleet
// computes it itself, so that a node cannot use another one's number.
func Node(name string) uint64 { return id(name) }

// Cohort returns the number of a cohort: the ranks of a job, pipeline stage and GPU model in a cluster. It is the
// first 8 bytes of the SHA-256 of the four texts, each after its length in 4 bytes, big-endian.
func Cohort(cluster, job, stage, gpu string) uint64 {
	var b []byte
	for _, s := range []string{cluster, job, stage, gpu} {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
	}
	return id(string(b))
}

// id returns a hash that is never 0, which means none.
func id(s string) uint64 {
	h := sha256.Sum256([]byte(s))
	return max(1, binary.BigEndian.Uint64(h[:]))
}
