// Package eventtext is a line format for recordings: calls, gaps, off-CPU intervals
// and everything else that a diagnosis reads. It is written by hand for fixtures,
// rule tests and demo scenarios; Format writes it back. It is not the storage
// format, and it has nothing about causes.
//
// A line is a kind, for most kinds a time, and key=value fields:
//
//	process engine pid=100 traced cgroup=/job
//	library libcudart.so.12 pid=100 path=/cuda/lib/libcudart.so.12.4.127 version=12.4.127 build_id=beef size=12345
//	thread main pid=100 tid=100 comm=engine dispatch
//	thread hog pid=4711 tid=4711 comm=backup-agent
//	call +0 thread=main op=cudaLaunchKernel dur=5us
//	off . thread=main dur=3ms class=runq culprit=hog:3ms
//	gap . thread=main dur=3.2ms next=cudaMemcpyAsync runq=3ms invol=1
//	skip thread=main dur=200us
//	gpu +5s index=0 temp=84 clock=1200 max=1980 util=97 reasons=0x40
//	gpu_device index=0 node=1
//	reclaim . thread=main dur=2ms kind=cgroup
//	flight +1s thread=main op=cudaStreamSynchronize seen=+13s doing=blocked class=futex holder=hog
//	limit pid=100 cgroup=/job bytes=1048576
//	sched pid=200 tid=200 policy=1 nice=0 rt=50
//	nodes cpus=0-1,8 cpus=2-3
//	kernel gemm<128> pid=100 func=0x401000
//	symbol filemap_fault addr=0xf1
//	device nvme0n1 number=259:0
//	file /data/train.bin pid=100 inode=4242
//	requests +1s pid=100 op=block_read device=259:0 count=20 device_time=4ms max=1ms
//	tcp +1s thread=main op=tcp_retransmit local=10.0.0.1:40000 remote=10.0.0.7:5432
//	setting +0 name=clock_source value=hpet
//	loss call count=12
//
// A time is +OFFSET from the start of the enclosing block, @NS in Unix
// nanoseconds, or a dot for the thread's cursor: the end of its latest outermost
// call, gap or skip (.+OFFSET later; LABEL. for another thread's). Durations carry a
// unit (ns, us, ms, s). A range such as 20ms..60ms, or 0x1000..0x2000 among a call's
// args, stands for a value in it, the same one whenever the text is read.
//
//	repeat 200 every 2ms { … }
//
// repeats the lines up to the closing brace, each time 2 ms later; without
// every, the block's start stays, and cursors move the events on. A # begins a
// comment.
package eventtext

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// DefaultBase is the Unix time in ns that +OFFSET counts from unless a base line
// says otherwise.
const DefaultBase = 1_700_000_000_000_000_000

// MaxEvents bounds what a text may expand to.
const MaxEvents = 1 << 20

// Recording is the content of a text, in the order it was written.
type Recording struct {
	Base uint64 // Unix ns
	Self uint32 // PID of the tracer, 0 if not said
	store.Tables
	Names   []string // what other lines call each of Threads
	Symbols []Symbol
	Stacks  []event.Stack
	Nodes   []string // the CPUs of each memory node
	Stats   []Stat
}

// kinds are all kinds, in the order in which Format writes them.
var kinds = []kind{
	baseKind,
	selfKind,
	processKind,
	libraryKind,
	threadKind,
	skipKind,
	callKind,
	gapKind,
	offKind,
	totalKind,
	lifeKind,
	throttleKind,
	stallKind,
	gpuKind,
	gpuDeviceKind,
	gpuMemoryKind,
	xidKind,
	memoryKind,
	siteKind,
	reclaimKind,
	flightKind,
	symbolKind,
	framesKind,
	codeKind,
	kernelKind,
	limitKind,
	schedKind,
	nodesKind,
	deviceKind,
	fileKind,
	requestsKind,
	tcpKind,
	pagesKind,
	settingKind,
	lossKind,
	statKind,
}

// Symbol names a kernel address.
type Symbol struct {
	Addr uint64
	Name string
}

// Stat is the statistics of one operation on one thread, for texts that do not
// list every call.
type Stat struct {
	event.Thread
	Op            event.Op
	Calls, Errors uint64
	SumNS, MaxNS  uint64
	Bytes         uint64
	First, Last   uint64 // Unix ns
	Ledger        event.Ledger
	Durations     []Count // ascending
}

// Count is how many calls took NS nanoseconds.
type Count struct {
	NS uint64
	N  uint32
}
