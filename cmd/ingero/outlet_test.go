package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// A reader that pauses delays nothing. What was dropped meanwhile is reported, and neither findings nor the
// summary are among it.
func TestTracingContinuesWhileNobodyReadsTheOutput(t *testing.T) {
	read, write := io.Pipe() // which has no room at all
	v := newJSONView(write, nil)
	launch, _ := event.ByName("cudaLaunchKernel")
	failed := event.Call{Op: launch.Op, Duration: 1000, Ret: 1}
	const seconds, perSecond = 20, 500
	for range seconds {
		b := &store.Batch{}
		for range perSecond {
			b.Calls = append(b.Calls, failed)
		}
		v.Batch(b) // would never return
		v.Second(&agent.Status{At: time.Unix(1000, 0)})
	}
	v.found(&report.Report{Chains: []report.Chain{{ID: "1", Severity: "HIGH"}}})

	var calls, ticks, findings uint64
	var last jsonSummary
	done := make(chan error)
	go func() {
		lines := json.NewDecoder(read)
		for {
			var line json.RawMessage
			if err := lines.Decode(&line); err != nil {
				done <- err
				return
			}
			var kind struct{ Type string }
			_ = json.Unmarshal(line, &kind) // it was just decoded
			switch kind.Type {
			case "call":
				calls++
			case "second":
				ticks++
			case "finding":
				findings++
			case "summary":
				_ = json.Unmarshal(line, &last) // likewise
			}
		}
	}()
	if err := v.summary(&agent.Summary{}, ""); err != nil {
		t.Fatal(err)
	}
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if last.Dropped == 0 || calls+ticks+last.Dropped != seconds*(perSecond+1) || findings != 1 {
		t.Errorf("%d calls, %d seconds and %d findings were read; %d lines dropped", calls, ticks, findings, last.Dropped)
	}
}

// Nobody reads on after a failure: the run ends.
func TestLinesThatCannotBeWrittenEndTheRun(t *testing.T) {
	ended := make(chan struct{})
	o := newOutlet(failing{}, func() { close(ended) })
	o.print([]byte("first\n"), true)
	<-ended
	o.print([]byte("second\n"), true)
	if err := o.close(); !errors.Is(err, errFailing) {
		t.Errorf("the error is %v", err)
	}
}

var errFailing = errors.New("nobody reads")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFailing }

// A full disk does not end the run: the lines are written once there is room, each whole.
func TestLinesWaitWhileTheDiskIsFull(t *testing.T) {
	disk := &smallDisk{room: 3, full: make(chan struct{})}
	o := newOutlet(disk, func() { t.Error("the run ends") })
	o.print([]byte("first\n"), true)
	<-disk.full
	disk.grow(1000)
	o.print([]byte("second\n"), true)
	if err := o.close(); err != nil || disk.String() != "first\nsecond\n" {
		t.Errorf("%v; written is %q", err, disk.String())
	}
}

// What waits for a disk that stays full has bounds, also of lines that are required.
func TestLinesThatWaitForADiskAreBounded(t *testing.T) {
	disk := &smallDisk{full: make(chan struct{})}
	o := newOutlet(disk, func() {})
	line := bytes.Repeat([]byte("x"), 1<<10)
	o.print(line, true)
	<-disk.full
	for range 4 * maxWaiting / len(line) {
		o.print(line, true)
	}
	if err := o.close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the error is %v", err)
	}
	if o.bytes > 3*maxWaiting {
		t.Errorf("%d bytes wait", o.bytes)
	}
}

// smallDisk has room for some bytes.
type smallDisk struct {
	mu   sync.Mutex
	room int
	once sync.Once
	full chan struct{} // closed when it is first full
	bytes.Buffer
}

func (d *smallDisk) grow(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room += n
}

func (d *smallDisk) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := min(len(b), d.room)
	d.room -= n
	d.Buffer.Write(b[:n])
	if n < len(b) {
		d.once.Do(func() { close(d.full) })
		return n, syscall.ENOSPC
	}
	return n, nil
}

// Lines are written in their order, each whole.
func TestLinesStayInOrder(t *testing.T) {
	var got, want bytes.Buffer
	o := newOutlet(&got, func() {})
	for i := range 1000 {
		line := []byte{byte('a' + i%26), '\n'}
		want.Write(line)
		o.print(line, i%2 == 0)
		line[0] = '!' // the caller may use it again
	}
	if err := o.close(); err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) || o.lost() != 0 {
		t.Errorf("%v, %d lines dropped, %d bytes of %d", err, o.lost(), got.Len(), want.Len())
	}
}
