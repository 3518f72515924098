package syscalls

import (
	"github.com/cilium/ebpf"
)

// Entries is how many entries the tables hold.
func (f *Footprint) Entries() (n int, err error) {
	for _, m := range f.probe.Collection.Maps {
		if m.Type() != ebpf.Hash {
			continue
		}
		key, it := make([]byte, m.KeySize()), m.Iterate()
		for value := make([]byte, m.ValueSize()); it.Next(&key, &value); n++ {
		}
		if it.Err() != nil {
			return n, it.Err()
		}
	}
	return n, nil
}
