package syscalls

import (
	"github.com/cilium/ebpf"
)

// EndpointOf is the other end of a socket.
var EndpointOf = endpoint

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
