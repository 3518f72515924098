// Package blockio holds the programs on the tracepoints of requests to block
// devices: who asked which device for what, how long the request waited for the
// device, and how long the device took. A request costs about a microsecond
// more; nothing else on the machine costs anything, but that a write to a file looks
// at whether its thread is accounted for.
//
// Devices without a request queue (device mapper, md, zram, brd) have no such
// tracepoints: what they pass on to others is seen there.
package blockio

//go:generate go tool bpf2go -cc clang -target amd64,arm64 -go-package blockio Blockio blockio.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I../../bpf/include

// Programs lists the programs and the tracepoint each is for. Without the first two
// there are no requests; without the others less is known about them.
var Programs = []struct{ Program, Tracepoint string }{
	{"rq_issue", "block_rq_issue"},
	{"rq_complete", "block_rq_complete"},
	{"rq_insert", "block_rq_insert"},
	{"dirty_inode", "writeback_mark_inode_dirty"},
}
