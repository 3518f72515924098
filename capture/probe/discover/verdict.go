package discover

import (
	"syscall"

	"github.com/ingero-io/ingero/capture/host/cudalib"
	"github.com/ingero-io/ingero/capture/privilege"
)

// mapKey is a file as /proc/PID/maps shows it.
type mapKey struct {
	dev   string
	inode uint64
}

// fileKey is a file and its contents: inode numbers are used again.
type fileKey struct {
	dev, inode       uint64
	size, modifiedNS int64
}

// content is what a file that is no CUDA library by its name has of one.
type content uint8

const (
	nothing   content = iota
	text              // the runtime's texts, but no symbols
	functions         // a copy of the runtime with symbols
)

// verdict is what is known of a file so far. Looking costs time, so it is done
// in the order of the fields, no further than asked for.
type verdict struct {
	device   bool // it has device code
	imports  bool // it is linked to a shared runtime
	searched bool // for symbols
	found    content
	read     bool // for texts
}

// maxVerdicts bounds what is remembered; a file takes some 100 bytes.
const maxVerdicts = 1 << 16

// verdict begins to look into a file; nil if it is none that could be one.
func (f *Finder) verdict(path string) *verdict {
	info, err := privilege.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	key := fileKey{uint64(s.Dev), s.Ino, info.Size(), info.ModTime().UnixNano()}
	if v, ok := f.files[key]; ok {
		return v
	}
	if len(f.files) >= maxVerdicts {
		clear(f.files)
	}
	var v *verdict
	if i, err := cudalib.OpenImage(path); err == nil {
		v = &verdict{device: i.HasDeviceCode(), imports: i.NeedsRuntime()}
		i.Close()
	}
	f.files[key] = v
	return v
}

// undecided reports whether the file has to be opened again for an answer.
func (v *verdict) undecided(uses bool) bool {
	return !v.imports && (v.device || uses) && !v.searched
}

// carries says what of a runtime the file at path has. Without device code it is
// searched only in a process that uses CUDA; for texts only if asked to.
func (v *verdict) carries(path string, uses, texts bool) content {
	if v.imports || !v.device && !uses {
		return nothing
	}
	if v.searched && (v.read || !texts || v.found == functions) || path == "" {
		return v.found
	}
	i, err := cudalib.OpenImage(path)
	if err != nil {
		return v.found
	}
	defer i.Close()
	// Programs that stand between others and the runtime have its functions'
	// names, too. They do not have its texts.
	if symbols := !v.searched && i.HasRuntimeSymbols(); symbols || texts {
		v.read = true
		switch has := i.HasRuntimeText(); {
		case has && symbols:
			v.found = functions
		case has:
			v.found = text
		}
	}
	v.searched = true
	return v.found
}
