package event

import (
	"fmt"
	"strings"
)

// Device is a block device's number: major<<20 | minor, as the kernel keeps it.
type Device uint32

// String returns "254:0".
func (d Device) String() string { return fmt.Sprintf("%d:%d", d>>20, d&(1<<20-1)) }

// RequestFlags say how a request was made. The bits are in databases and
// append-only.
type RequestFlags uint8

// The flags: REQ_* of the kernel's blk_types.h.
const (
	RequestSync     RequestFlags = 1 << iota // a thread waits for it
	RequestMeta                              // metadata of a file system
	RequestFUA                               // past the device's cache
	RequestPreflush                          // after emptying the device's cache
	RequestAhead                             // reading ahead
)

var requestFlagNames = [...]string{"sync", "meta", "fua", "preflush", "ahead"}

// String returns the names of the flags with commas in between, as in SQL.
func (f RequestFlags) String() string {
	var names []string
	for i, n := range requestFlagNames {
		if f&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return strings.Join(names, ",")
}

// Request is one completed request to a block device. Thread caused it: it made the
// request or, for data that the kernel writes back later, it wrote to the file. If
// that is not known, Thread is the kernel's thread.
type Request struct {
	Start    uint64 // Unix ns at which it was made
	Duration uint64 // ns until it was done
	Queue    uint64 // ns of Duration before the device was given it
	Thread
	Comm   string
	Op     Op // block_read, block_write, …
	Flags  RequestFlags
	Device Device // the whole disk
	Sector uint64 // of 512 bytes
	Bytes  uint32
	Inode  uint64 // of the file whose pages come first, 0 if none or unknown
	By     uint32 // TID of the kernel's thread that made it for Thread, 0 none
	Error  uint8  // the kernel's blk_status_t, 0 is success
}

// DeviceNS is the time in which the device had the request.
func (r *Request) DeviceNS() uint64 { return r.Duration - min(r.Queue, r.Duration) }

// End is the Unix time in ns at which it was done.
func (r *Request) End() uint64 { return r.Start + r.Duration }

// RequestSum is what a process did at a device in one second: all of its requests
// that completed in it, also those that are not recorded one by one. PID 0 stands
// for the processes for which there was no room.
type RequestSum struct {
	At       uint64 // Unix ns at which the second began
	PID      uint32
	Comm     string
	Op       Op
	Device   Device
	Requests uint64
	Errors   uint64
	Bytes    uint64
	QueueNS  uint64
	DeviceNS uint64
	MaxNS    uint64 // longest, queue and device together
}

// DeviceName names a block device.
type DeviceName struct {
	Device Device
	Name   string // "nvme0n1"
}

// File is a path by which a process had a file open or mapped.
type File struct {
	PID   uint32
	Inode uint64
	Path  string
}
