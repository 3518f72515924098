package mcpserver

import (
	"bufio"
	"errors"
	"io"
)

// errLong says that a line is too long. The reader continues with the next one.
var errLong = errors.New("line too long")

// lineReader reads lines of a bounded length. Longer lines are skipped.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 16<<10), max: limit}
}

// next returns a line without its line end, in memory of its own. The last line needs no line end.
// A line that is too long is skipped, and errLong is returned at its end.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		if long = long || len(line)+len(part) > l.max+len("\r\n"); long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (long || len(line) > 0):
			err = nil // the next call returns it
		}
		if err == nil && long {
			err = errLong
		}
		return line, err
	}
}
