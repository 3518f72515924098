package python

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/ingero-io/ingero/capture/host/proc"
)

// Finder looks for interpreters in processes. What it learns of a file is kept.
// It is for one goroutine.
type Finder struct {
	proc   proc.FS
	images map[imageKey]*image
}

// imageKey identifies a file on the machine.
type imageKey struct {
	dev   string
	inode uint64
}

// maxImages bounds the known files. When there are so many, all are dropped.
const maxImages = 1024

// NewFinder returns a finder of processes in fs.
func NewFinder(fs proc.FS) *Finder {
	return &Finder{proc: fs, images: map[imageKey]*image{}}
}

// Find returns the interpreter that a process runs; nil if it runs none, or has
// not loaded it yet. An *UnsupportedError says that it runs one whose frames
// cannot be read. Other errors mean that the process could not be read.
func (f *Finder) Find(pid int) (*Interpreter, error) {
	maps, err := f.proc.Maps(pid)
	if err != nil {
		return nil, err
	}
	var why error
	for _, m := range candidates(maps) {
		img, err := f.image(pid, m)
		named := IsInterpreter(path.Base(m.Path))
		switch {
		case err != nil && named && why == nil:
			why = &UnsupportedError{m.Path, err.Error()}
			continue
		case err != nil || img == nil:
			continue
		case img.runtime == 0:
			if named && why == nil && !img.needsPython {
				why = withoutRuntime(m.Path)
			}
			continue
		}
		return img.interpreter(m)
	}
	return nil, why
}

// candidates returns the executable mappings that may be of an interpreter: those
// with its name, and the first, which is the program itself.
func candidates(maps []proc.Mapping) []proc.Mapping {
	var r []proc.Mapping
	for _, m := range maps {
		if !m.Exec || slices.ContainsFunc(r, func(o proc.Mapping) bool { return o.Path == m.Path }) {
			continue
		}
		if len(r) == 0 || IsInterpreter(path.Base(m.Path)) {
			r = append(r, m)
		}
	}
	return r
}

// withoutRuntime says why a file with an interpreter's name cannot be used as one.
func withoutRuntime(file string) error {
	if v := versionOf(path.Base(file)); v != 0 && v.Minor() < Oldest {
		return &UnsupportedError{file, unknownVersion(v).Error()}
	}
	return &UnsupportedError{file, "it has no symbol _PyRuntime: it is stripped of it, or not CPython"}
}

// image returns what is known of a mapping's file.
func (f *Finder) image(pid int, m proc.Mapping) (*image, error) {
	name, err := f.proc.Open(pid, m)
	if err != nil {
		return nil, err
	}
	key := imageKey{m.Dev, m.Inode}
	stamp, err := stampOf(name)
	if err != nil {
		return nil, err
	}
	if img := f.images[key]; img != nil && img.stamp == stamp {
		return img, img.err
	}
	img, err := readImage(name)
	if err != nil {
		img = &image{err: err} // not read again until it changes
	}
	if len(f.images) >= maxImages {
		clear(f.images)
	}
	img.stamp = stamp
	f.images[key] = img
	return img, err
}

// interpreter returns the interpreter of a file that has a _PyRuntime and is mapped at m.
func (img *image) interpreter(m proc.Mapping) (*Interpreter, error) {
	fail := func(err error) (*Interpreter, error) { return nil, &UnsupportedError{m.Path, err.Error()} }
	bias, ok := img.bias(m)
	if !ok {
		return fail(errors.New("it is not mapped as its program headers say"))
	}
	v := img.version
	if v == 0 {
		v = versionOf(path.Base(m.Path))
	}
	var known fields
	switch {
	case v == 0:
		return fail(errors.New("its version is not known: it is in no symbol and not in the file's name"))
	case v.development():
		return fail(fmt.Errorf("Python %s is not a release", v))
	case v.Minor() > 12:
		var err error
		if v, known, err = parseOffsets(img.offsets); err != nil {
			return fail(err)
		}
	case img.debug:
		return fail(fmt.Errorf("Python %s is a debug build", v))
	default:
		if known, ok = old[v.Minor()]; !ok {
			return fail(unknownVersion(v))
		}
	}
	l, err := known.layout(img.runtime + bias)
	if err != nil {
		return fail(err)
	}
	return &Interpreter{Version: v, Path: m.Path, Layout: l}, nil
}
