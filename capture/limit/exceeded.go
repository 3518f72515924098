package limit

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ingero-io/ingero/capture/privilege"
)

// Exceeded says which limit something exceeds.
type Exceeded struct {
	What string // "names of symbols"
	Has  uint64 // what there is, as far as it is known; 0: more than Most
	Most uint64 // 0: it is never read
	Unit string // "bytes"
}

func (e *Exceeded) Error() string {
	if e.Most == 0 {
		return e.What + " are not read"
	}
	if e.Has <= e.Most {
		return fmt.Sprintf("more than %d %s of %s, which is the limit", e.Most, e.Unit, e.What)
	}
	return fmt.Sprintf("%d %s of %s, more than the limit of %d", e.Has, e.Unit, e.What, e.Most)
}

// Check returns an *Exceeded if has is more than most.
func Check(what string, has, most uint64, unit string) error {
	if has <= most {
		return nil
	}
	return &Exceeded{What: what, Has: has, Most: most, Unit: unit}
}

// Is reports whether an error says that a limit is exceeded.
func Is(err error) bool {
	var e *Exceeded
	return errors.As(err, &e)
}

// ErrNotRegular says that a path is no regular file: a FIFO, a device or a folder.
var ErrNotRegular = errors.New("not a regular file")

// Open opens a regular file for reading that a stranger may have chosen.
func Open(path string) (*os.File, error) {
	f, err := privilege.Open(path)
	if err != nil {
		return nil, err
	}
	i, err := f.Stat()
	if err == nil && !i.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", path, ErrNotRegular)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ReadFile reads a file, but no more than most bytes of it. whole is false if there are more.
func ReadFile(path string, most int) (b []byte, whole bool, err error) {
	f, err := privilege.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	b, err = io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err != nil {
		return nil, false, err
	}
	return b[:min(len(b), most)], len(b) <= most, nil
}
