package store

import "github.com/ingero-io/ingero/event"

// HostIO is the host's work for its processes: at block devices, on TCP connections, and for
// memory. It has sums of all requests, not single ones.
type HostIO struct {
	Sums        []event.RequestSum
	Devices     []event.DeviceName
	Files       []event.File
	Connections []event.Connection
	Memory      []event.HostMemory
	Pages       []event.PageSum
}
