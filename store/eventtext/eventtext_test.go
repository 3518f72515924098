package eventtext_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store/eventtext"
)

const everything = `
base 1000s
self 7
process engine pid=100 parent=1 command="python train.py # x" cgroup=/job rank=3 traced
process "odd name" pid=200
thread main pid=100 tid=100 comm=engine dispatch
thread hog pid=4711 tid=4712 comm="backup agent"
call +1.5ms thread=main op=cudaMemcpyAsync dur=5us gpu=2 ret=-1 args=4096,1,0x10 runq=1us vol=1 invol=2 stack=0xfeed weight=3
call .+1ns thread=main op=cuLaunchKernel dur=1us depth=1
off . thread=main dur=3ms class=futex runq=1ms op=cudaLaunchKernel syscall=202 state=1 futex=0xdead holder=hog waker=hog waker_futex=0xdead waker_syscall=202 out_cpu=1 cpu=3 culprit=hog:900us culprit=1/2/a/b:5ns idle=100us inode=9 kernel=1,2
off main.+2ms thread=hog dur=1ms class=poll
off +2s thread=main dur=1ms class=network socket=tcp local=40000 remote=10.0.0.7:5432 inode=4
off +2.1s thread=main dur=1ms class=network socket=tcp local=9 remote=[fe80::1]:50000
off +2.2s thread=main dur=1ms class=network socket=unix peer=300 bound
reclaim +3s thread=main dur=2ms time=1.5ms kind=cgroup parts=7
reclaim +3.1s thread=main dur=2ms kind=compaction
flight +1s thread=main op=cudaStreamSynchronize inner=cuStreamSynchronize seen=+13s since=+1.1s doing=blocked class=futex word=0xdead holder=hog syscall=202 on_cpu=1ms futex=12s stack=0xfeed args=7 gpu=1 kernel=1,2
flight +1s thread=hog seen=+13s end=+14s doing=blocked class=pipe file=/tmp/fifo inode=9 outcome=died
flight +2s thread=main op=cudaFree seen=+4s doing=running outcome=returned
symbol filemap_fault addr=0xf1
kernel "softmax<float, 4>" pid=100 func=0x401000
limit pid=100 cgroup=/job bytes=1048576
library libcudart.so.12 pid=100 path="/a b/libcudart.so.12.4.127" version=12.4.127 build_id=0123abcd size=707904
library libtorch.so
sched pid=4711 tid=4712 policy=1 nice=-5 rt=50
nodes cpus=0-1,8 cpus=2-3
device "nvme0 n1" number=259:3
file "/data/a b" pid=100 inode=9
requests +2s pid=100 comm=engine op=block_write device=259:3 count=5 errors=1 bytes=4096 queue=1us device_time=3ms max=2ms
requests +3s
pages +2s pid=100 comm=engine allocations=5 count=6 bytes=24576 nowait=4096 failed=1
pages +3s
tcp +2s thread=main op=tcp_retransmit dur=1ms local=10.0.0.1:40000 remote=10.0.0.7:5432 state=1 error=-1 bytes=1448 retransmits=3 rtt_us=20 min_rtt_us=10 inode=7
tcp +3s op=tcp_connect_failed comm=x remote=[fe80::1]:80
life +2s oom_kill thread=hog parent=main
gap . thread=main dur=3.2ms next=cudaLaunchKernel futex=2ms runq=1ms
total +1s thread=hog on_cpu=10ms sleep=990ms runtime=10.1ms kernel=4ms followed
life +0 fork thread=main parent=hog
life +1s unfinished thread=main op=cudaFree dur=1s
throttle +1s cgroup=/job periods=10 time=800ms quota=20ms period=100ms version=1
gpu +1s index=1 temp=84 clock=1200 max=1980 util=97 reasons=0x44 mem=100 mem_total=81920
gpu +2s
gpu_device index=1 node=2
gpu_device
memory +1s pid=100 live=300 count=3 peak=400 allocs=5 frees=2 failed=1 bytes=500 alloc_time=1ms free_time=2ms unknown=4 untracked=6
memory +1s pid=100 space=pinned live=7
site +1s pid=100 space=pinned op=cudaHostAlloc stack=0xbeef live=7 count=1 oldest=+3ms
site @5 pid=100 op=cudaMalloc
call . thread=main op=cudaMalloc dur=1us args=10..20,0x1000..0x2000
loss call count=12
stat thread=main op=cudaFree calls=3 errors=1 sum=1ms max=600us bytes=4 first=+0 last=+1s runq=1us durations=200us*2,600us
repeat 3 every 10ms {
  call +1ms..2ms thread=main op=cudaFree dur=1us..9us
  repeat 2 {
    skip thread=main dur=1ms
    call . thread=main op=cudaFree dur=2us
  }
}
`

func mustParse(t *testing.T, text string) *eventtext.Recording {
	t.Helper()
	r, err := eventtext.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFormatRoundTrips(t *testing.T) {
	want := mustParse(t, everything)
	text := eventtext.Format(want)
	got := mustParse(t, text)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("read back differs (-want +got):\n%s\n%s", d, text)
	}
	if again := eventtext.Format(got); again != text {
		t.Errorf("second text differs:\n%s", cmp.Diff(text, again))
	}
}

func TestParseUnderstandsTimesAndLabels(t *testing.T) {
	r := mustParse(t, everything)
	const base = 1000_000_000_000
	o := r.OffCPU[0]
	if o.Start != base+1_505_000 || o.Holder != 4712 || o.WakerComm != "backup agent" || !o.Dispatch {
		t.Errorf("off-CPU row = %+v", o)
	}
	if c := o.Culprits[1]; c.Comm != "a/b" || c.TID != 2 || c.NS != 5 {
		t.Errorf("second culprit = %+v", c)
	}
	if at := r.OffCPU[1].Start; at != base+3_505_000 {
		t.Errorf("row at another thread's cursor starts at +%d", at-base)
	}
	if g := r.Gaps[0]; g.Start != base+1_505_000 || g.Ledger.NS[event.Futex] != 2_000_000 {
		t.Errorf("gap = %+v", g)
	}
	if n := len(r.Calls); n != 3+3*3 {
		t.Fatalf("%d calls, want 12", n)
	}
	if a := r.Calls[2].Args; a[0] < 10 || a[0] > 20 || a[1] < 0x1000 || a[1] > 0x2000 {
		t.Errorf("arguments %v are outside their ranges", a)
	}
	for i, start := range []uint64{0, 10_000_000, 20_000_000} {
		c := r.Calls[3+3*i]
		if at := c.Start - base - start; at < 1e6 || at > 2e6 || c.Duration < 1000 || c.Duration > 9000 {
			t.Errorf("call %d at +%d for %d ns, outside its ranges", i, at, c.Duration)
		}
		if next := r.Calls[4+3*i]; next.Start != c.End()+1e6 {
			t.Errorf("call after skip starts %d ns after the one before", next.Start-c.End())
		}
	}
}

func TestParseSaysWhatIsWrongAndWhere(t *testing.T) {
	for text, want := range map[string]string{
		"nonsense":                          "unknown kind",
		"call +1 thread=1/1":                "bad duration",
		"thread a tid=1\ncall +0 thread=b":  "unknown thread",
		"call +0 thread=1/1 op=cudaNothing": "unknown operation",
		"call +0 thread=1/1 bogus=1":        "bogus",
		"call +0 dur=1us":                   "want thread=",
		"repeat 2 {":                        "closing brace",
		"}":                                 "closing brace",
		"repeat x {\n}":                     "want: repeat",
		"repeat 1000000 {\nrepeat 1000000 {\nself 1\n}\n}": "more than",
		"call +18446744073s thread=1/1 dur=18446744073s":   "overflow",
		"off +0 thread=1/1 dur=1us runq=2us class=poll":    "longer than",
		"off +0 thread=1/1 class=on_cpu":                   "unknown class",
		"process \"x":                                      "unfinished quote",
		"gap +0 thread=1/1 dur=5ms..1ms":                   "ends before",
		"thread a tid=1\nthread a tid=2":                   "twice",
		"life +0 reborn thread=1/1":                        "unknown kind of life",
		"memory +0 pid=1 space=attic":                      "unknown space",
		"call +0 thread=1/1 args=9..3":                     "ends before",
		"loss luggage count=1":                             "unknown loss",
		"reclaim +0 thread=1/1 dur=1us kind=odd":           "unknown reclaim",
		"reclaim +0 thread=1/1 dur=1us time=2us":           "longer than",
		"device x number=5":                                "want MAJOR:MINOR",
		"tcp +0 remote=x":                                  "want ADDRESS:PORT",
		"off +0 thread=1/1 socket=wool":                    "unknown socket",
		"off +0 thread=1/1 remote=10.0.0.7":                "bad address",
	} {
		_, err := eventtext.Parse(text)
		var e *eventtext.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, want an error with a line and %q", text, err, want)
		}
	}
}

var large = regexp.MustCompile(`repeat\s+\w{3}|repeat(?s:.*)repeat`)

func FuzzParse(f *testing.F) {
	f.Add(everything)
	f.Add("off +0 thread=1/1 dur=1us class=runq culprit=1/1/\"a:b\":5ns")
	f.Add("repeat 10 every 1ns {\ncall . thread=0/1 dur=1ns..18446744073709551615ns\n}")
	f.Fuzz(func(t *testing.T, text string) {
		if large.MatchString(text) {
			t.Skip("bounded by MaxEvents, but slow")
		}
		r, err := eventtext.Parse(text)
		if err != nil {
			return
		}
		if len(r.Calls)+len(r.OffCPU) > 2000 {
			return
		}
		again, err := eventtext.Parse(eventtext.Format(r))
		if err != nil {
			t.Fatalf("own output: %v\n%s", err, eventtext.Format(r))
		}
		if d := cmp.Diff(r, again); d != "" {
			t.Errorf("read back differs (-want +got):\n%s", d)
		}
	})
}
