package probe_test

import (
	"fmt"
	"testing"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// one makes one call and returns its record, nested calls' behind it.
func (b *bench) one(format string, args ...any) []event.Call {
	b.t.Helper()
	_, r := b.do(format, args...)
	if len(r.Calls) == 0 {
		b.t.Fatalf("no call recorded of %s", fmt.Sprintf(format, args...))
	}
	calls := append([]event.Call(nil), r.Calls...)
	for i, c := range calls { // the outermost returned last
		if c.Depth == 0 {
			calls[0], calls[i] = calls[i], calls[0]
		}
	}
	return calls
}

// The life of a graph, through the runtime and through the driver: each argument.
func TestGraphArgumentsAreRecorded(t *testing.T) {
	b := newBench(t, probe.Options{}, cudastub.Options{}, false)
	for _, api := range []struct{ begin, end, to, is, info, make, upload, launch, update, destroyExec, destroy string }{
		{
			"cudaStreamBeginCapture", "cudaStreamEndCapture", "cudaStreamBeginCaptureToGraph", "cudaStreamIsCapturing",
			"cudaStreamGetCaptureInfo_v2",
			"cudaGraphInstantiate", "cudaGraphUpload", "cudaGraphLaunch", "cudaGraphExecUpdate", "cudaGraphExecDestroy",
			"cudaGraphDestroy",
		},
		{
			"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuStreamBeginCaptureToGraph", "cuStreamIsCapturing",
			"cuStreamGetCaptureInfo_v3",
			"cuGraphInstantiateWithFlags", "cuGraphUpload", "cuGraphLaunch", "cuGraphExecUpdate_v2", "cuGraphExecDestroy",
			"cuGraphDestroy",
		},
	} {
		want := func(what string, got, want [4]uint64) {
			t.Helper()
			if got != want {
				t.Errorf("%s arguments %#x, want %#x", what, got, want)
			}
		}
		call := func(format string, args ...any) [4]uint64 {
			t.Helper()
			return b.one(format, args...)[0].Args
		}
		want(api.is, call("call %s 1 stream=0x77", api.is), [4]uint64{0x77, 0})
		want(api.begin, call("call %s 1 stream=0x77 kind=2", api.begin), [4]uint64{0x77, 2})
		want(api.is, call("call %s 1 stream=0x77", api.is), [4]uint64{0x77, 1})
		want(api.info, call("call %s 1 stream=0x77", api.info), [4]uint64{0x77, 1})
		want(api.is, call("call %s 1 stream=0x78", api.is), [4]uint64{0x78, 0})
		ended := call("call %s 1 stream=0x77", api.end)
		if ended[0] != 0x77 || ended[1] == 0 {
			t.Errorf("%s arguments %#x", api.end, ended)
		}
		want(api.to, call("call %s 1 stream=0x79 ptr=%#x kind=1", api.to, ended[1]), [4]uint64{0x79, 1, ended[1]})
		if failed := b.invalidate(api.end); failed.Ret != 901 || failed.Args[1] != 0 {
			t.Errorf("an invalidated capture ends with %d and graph %#x", failed.Ret, failed.Args[1])
		}
		made := call("call %s 1 ptr=%#x", api.make, ended[1])
		if made[0] == 0 || made[1] != ended[1] {
			t.Errorf("%s arguments %#x of graph %#x", api.make, made, ended[1])
		}
		exec := made[0]
		want(api.upload, call("call %s 1 func=%#x stream=5", api.upload, exec), [4]uint64{exec, 5})
		want(api.launch, call("call %s 1 func=%#x stream=5", api.launch, exec), [4]uint64{exec, 5})
		want(api.update, call("call %s 1 func=%#x ptr=0x99", api.update, exec), [4]uint64{exec, 0x99})
		want(api.destroyExec, call("call %s 1 func=%#x", api.destroyExec, exec), [4]uint64{exec})
		want(api.destroy, call("call %s 1 ptr=%#x", api.destroy, ended[1]), [4]uint64{ended[1]})
	}
	b.lost(nil)
}

// invalidate makes an allocation that the capture in progress does not allow, which invalidates it, and ends it.
func (b *bench) invalidate(end string) event.Call {
	b.t.Helper()
	b.do("set cudaMalloc:no-capture")
	if c := b.one("call cudaMalloc 1")[0]; c.Ret != 900 || c.Stack == 0 {
		b.t.Errorf("an allocation inside a capture returned %d, stack %#x", c.Ret, c.Stack)
	}
	if c := b.one("call cudaStreamIsCapturing 1 stream=0x79")[0]; c.Args[1] != 2 {
		b.t.Errorf("the status of an invalidated capture is %d", c.Args[1])
	}
	b.do("set cudaMalloc:none")
	return b.one("call %s 1 stream=0x79", end)[0]
}

// Runtime calls make driver calls: both have the same handles.
func TestDriverCallsHaveTheHandlesOfTheRuntimeCalls(t *testing.T) {
	b := newBench(t, probe.Options{}, cudastub.Options{}, false)
	for runtime, driver := range map[string]string{
		"cudaStreamBeginCapture": "cuStreamBeginCapture", "cudaStreamEndCapture": "cuStreamEndCapture",
		"cudaGraphInstantiate": "cuGraphInstantiate", "cudaGraphUpload": "cuGraphUpload", "cudaGraphLaunch": "cuGraphLaunch",
		"cudaGraphExecUpdate": "cuGraphExecUpdate", "cudaGraphExecDestroy": "cuGraphExecDestroy",
		"cudaGraphDestroy": "cuGraphDestroy",
		"cudaHostRegister": "cuMemHostRegister", "cudaMallocPitch": "cuMemAllocPitch",
		"cudaMallocFromPoolAsync": "cuMemAllocFromPoolAsync",
	} {
		b.do("set %s:nested", runtime)
		calls := b.one("call %s 1 func=0x55 ptr=0x66 stream=0x77", runtime)
		if len(calls) != 2 || calls[1].Op.String() != driver || calls[1].Depth != 1 || calls[1].Args != calls[0].Args {
			t.Errorf("%s recorded as %+v", runtime, calls)
		}
		b.do("set %s:none", runtime)
	}
}

func TestArgumentsOfAllocationsAreRecorded(t *testing.T) {
	b := newBench(t, probe.Options{}, cudastub.Options{}, false)
	for _, op := range []string{
		"cudaMalloc", "cudaMallocManaged", "cudaMallocAsync", "cudaMallocFromPoolAsync", "cudaMallocHost", "cudaHostAlloc",
		"cuMemAlloc_v2", "cuMemAllocManaged", "cuMemAllocAsync", "cuMemAllocFromPoolAsync", "cuMemAllocHost_v2",
		"cuMemHostAlloc", "cuMemCreate",
	} {
		if a := b.one("call %s 1 bytes=12345", op)[0].Args; a[0] != 12345 || a[1] == 0 {
			t.Errorf("%s arguments %#x", op, a)
		}
	}
	for _, op := range []string{"cudaMallocPitch", "cuMemAllocPitch_v2"} { // of two rows
		if a := b.one("call %s 1 bytes=1000", op)[0].Args; a[0] != 2000 || a[1] == 0 {
			t.Errorf("%s arguments %#x", op, a)
		}
	}
	for _, op := range []string{"cudaHostRegister", "cuMemHostRegister_v2"} {
		if a := b.one("call %s 1 bytes=1000 ptr=0x5000", op)[0].Args; a != [4]uint64{1000, 0x5000} {
			t.Errorf("%s arguments %#x", op, a)
		}
	}
	for _, op := range []string{
		"cudaFree", "cudaFreeAsync", "cudaFreeHost", "cudaHostUnregister", "cuMemFree_v2",
		"cuMemRelease", "cuMemHostUnregister",
	} {
		if a := b.one("call %s 1 ptr=0x5000", op)[0].Args; a[0] != 0x5000 {
			t.Errorf("%s arguments %#x", op, a)
		}
	}
}
