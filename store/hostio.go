package store

import "github.com/ingero-io/ingero/event"

// HostIO is what the host did for its processes: at block devices, on TCP
// connections, with memory. Single requests are not in it: the sums hold all of them.
type HostIO struct {
	Sums        []event.RequestSum
	Devices     []event.DeviceName
	Files       []event.File
	Connections []event.Connection
	Memory      []event.HostMemory
	Pages       []event.PageSum
}
