package probe

import "github.com/cilium/ebpf"

// OpenSmallFootprint is OpenFootprint with tables of so many entries.
func (t *Tracer) OpenSmallFootprint(entries uint32) (*Footprint, error) {
	return t.openFootprint(entries)
}

// Entries is how many entries the tables hold.
func (f *Footprint) Entries() (n int, err error) {
	for _, m := range f.c.Maps {
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

// OpenSmallPages is OpenPages with room for so many processes.
func (t *Tracer) OpenSmallPages(processes uint32) (*Pages, error) { return t.openPages(processes) }
