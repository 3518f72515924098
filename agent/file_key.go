package agent

import (
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/privilege"
	"github.com/ingero-io/ingero/capture/probe"
)

// How long a file system may take to say what a process has mapped, and how long to read a library and place probes in
// it: meanwhile nothing is drained. What takes longer goes on, and is taken when it is asked for again. Before the
// first drain there is time.
const (
	startPatience  = 30 * time.Second
	patience       = time.Second
	attachPatience = 5 * time.Second
)

// attachment is one that came late.
type attachment struct {
	*probe.Attachment
	name string // what the process calls the file
}

// keyOf is keyOf for a file that a stranger may have put on a file system that does not answer.
func (x *targets) keyOf(path string) (fileKey, error) {
	return limit.Within(&x.files, func() (fileKey, error) { return keyOf(path) }, nil)
}

// attachTo attaches to the file that has a key, which path opened a moment ago.
func (x *targets) attachTo(key fileKey, lib *probe.Library, path, name string) (*probe.Attachment, error) {
	if a, ok := x.arrived.Take(key); ok {
		return a.Attachment, nil
	}
	return limit.Within(&x.probing, func() (*probe.Attachment, error) { return x.attachNow(key, lib, path) },
		func(a *probe.Attachment) { x.arrived.Put(key, attachment{a, name}) })
}

// keepAttached notes an attachment.
func (x *targets) keepAttached(key fileKey, a *probe.Attachment, name string, now time.Time) {
	x.attached[key], x.names[key] = a, name
	if len(x.used) < maxUsed {
		x.used[name] = true
	}
	x.users.attached(key, now)
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
