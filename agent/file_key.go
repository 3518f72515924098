package agent

import (
	"fmt"
	"io/fs"
	"sync"
	"syscall"
	"time"

	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/privilege"
	"github.com/ingero-io/ingero/capture/probe"
)

// patience is how long a file system may take to say what a file is, and how long to read it and place probes in it:
// meanwhile nothing is drained. What takes longer goes on, and is taken when it is asked for again.
const (
	patience       = 200 * time.Millisecond
	attachPatience = 2 * time.Second
)

// arrived are attachments that nobody waited for any more.
type arrived struct {
	mu   sync.Mutex
	list map[fileKey]*probe.Attachment
}

func (r *arrived) put(k fileKey, a *probe.Attachment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil {
		r.list = map[fileKey]*probe.Attachment{}
	}
	r.list[k] = a
}

// take is the attachment to a file; nil if there is none.
func (r *arrived) take(k fileKey) *probe.Attachment {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.list[k]
	delete(r.list, k)
	return a
}

func (r *arrived) takeAll() map[fileKey]*probe.Attachment {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}

// keyOf is keyOf for a file that a stranger may have put on a file system that does not answer.
func (x *targets) keyOf(path string) (fileKey, error) {
	return limit.Within(&x.files, func() (fileKey, error) { return keyOf(path) }, nil)
}

// attachTo attaches to the file that has a key, which path opened a moment ago.
func (x *targets) attachTo(key fileKey, lib *probe.Library, path string) (*probe.Attachment, error) {
	return limit.Within(&x.probing, func() (*probe.Attachment, error) { return x.attachNow(key, lib, path) },
		func(a *probe.Attachment) { x.arrived.put(key, a) })
}

func (x *targets) attachNow(key fileKey, lib *probe.Library, path string) (*probe.Attachment, error) {
	file, err := limit.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || uint64(s.Dev) != key.dev || s.Ino != key.ino {
		return nil, fmt.Errorf("%s: another file has this name now", path)
	}
	return x.tracer.AttachFile(lib, file, key.pid)
}

func keyOf(path string) (fileKey, error) {
	s, err := statOf(path)
	if err != nil {
		return fileKey{}, err
	}
	return fileKey{dev: uint64(s.Dev), ino: s.Ino}, nil
}

// statOf is what the kernel says of a file.
func statOf(path string) (*syscall.Stat_t, error) {
	i, err := privilege.Stat(path)
	if err != nil {
		return nil, err
	}
	s, ok := i.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, fs.ErrInvalid
	}
	return s, nil
}
