package kernel

import "github.com/cilium/ebpf"

// version is what programs say that they were made for: Linux 5.15. Kernels from 5.0 on ignore it.
const version = 5<<16 | 15<<8

// Load loads an object. Without a version the library would look for the kernel's in /proc/self/mem, which a program
// with capabilities may not read.
func Load(s *ebpf.CollectionSpec, o ebpf.CollectionOptions) (*ebpf.Collection, error) {
	for _, p := range s.Programs {
		if p.Type == ebpf.Kprobe {
			p.KernelVersion = version
		}
	}
	return ebpf.NewCollectionWithOptions(s, o)
}
