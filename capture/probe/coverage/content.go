package coverage

import (
	"syscall"

	"github.com/ingero-io/ingero/capture/host/cudalib"
	"github.com/ingero-io/ingero/capture/privilege"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/discover"
)

// fileKey is a file, whatever it is called.
type fileKey struct{ dev, inode uint64 }

// content is what a library file holds, read once however many processes use it.
type content struct {
	soname, buildID string
	found           *probe.Found // never nil
	err             error
}

func (e *exam) content(f *discover.File) *content {
	var key fileKey
	if i, err := privilege.Stat(f.Path); err == nil {
		if s, ok := i.Sys().(*syscall.Stat_t); ok {
			key = fileKey{uint64(s.Dev), s.Ino}
			if c := e.functions[key]; c != nil {
				return c
			}
		}
	}
	c := &content{found: &probe.Found{}}
	if i, err := cudalib.OpenImage(f.Path); err == nil {
		c.soname, c.buildID = i.Soname(), i.BuildID()
		i.Close()
	}
	if f.Library != nil {
		if found, err := f.Library.Find(f.Path); err != nil {
			c.err = err
		} else {
			c.found = found
		}
	}
	e.functions[key] = c
	return c
}
