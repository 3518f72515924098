package store

import "github.com/ingero-io/ingero/event"

// HostIO is what the host did for its processes: at block devices, on TCP
// connections, with memory.
type HostIO struct {
	Requests    []event.Request // written, and not read back: the sums hold all of them
	Sums        []event.RequestSum
	Devices     []event.DeviceName
	Files       []event.File
	Connections []event.Connection
	Memory      []event.HostMemory
	Pages       []event.PageSum
}

// Empty reports whether there is nothing in it.
func (h *HostIO) Empty() bool {
	return len(h.Requests)+len(h.Sums)+len(h.Devices)+len(h.Files)+len(h.Connections)+len(h.Memory)+len(h.Pages) == 0
}

// Reset empties it and keeps its memory, but for the slices that were handed over.
func (h *HostIO) Reset() {
	h.Requests, h.Connections = nil, nil
	h.Sums, h.Devices, h.Files, h.Memory, h.Pages = h.Sums[:0], h.Devices[:0], h.Files[:0], h.Memory[:0], nil
}
