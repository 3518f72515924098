package mcpserver

import (
	"bufio"
	"errors"
	"io"
)

// errLong says that a line is longer than is accepted. The reader goes on after it.
var errLong = errors.New("line too long")

// lineReader reads lines of a bounded length. Of a longer one nothing is kept.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 16<<10), max: limit}
}

// next returns a line without its end, in memory of its own. The last line needs no
// end. A line that is too long is skipped, and errLong returned at its end.
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
			err = nil // the end comes with the next call
		}
		if err == nil && long {
			err = errLong
		}
		return line, err
	}
}
