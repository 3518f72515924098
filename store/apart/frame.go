package apart

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/ingero-io/ingero/store"
)

// The two processes speak in frames: four bytes with the length of what follows, one that says what it is, and the
// data. A frame is a whole row, so its length is bounded.
const (
	frameRequest = 'q'
	frameColumns = 'c' // JSON: their names
	frameRow     = 'r'
	frameBatch   = 'b' // the batch is complete, there are more rows
	frameEnd     = 'd' // there are no more; 1: because of a limit
	frameNotes   = 'n'
	frameError   = 'e'
)

// What is asked for after the columns, a byte each.
const (
	wantMore  = 'm'
	wantNotes = 'n'
)

// mostFrame is how long a frame may be, in bytes: a row, with a few bytes for each value.
const mostFrame = mostRow + 64<<10

var errFrame = errors.New("what it says is not understood")

func writeFrame(w io.Writer, kind byte, data []byte) error {
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(data)))
	_, err := w.Write(append(append(head, kind), data...))
	return err
}

// reader reads frames. The data is valid until the next one.
type reader struct {
	r    io.Reader
	most int
	data []byte
}

func newReader(r io.Reader) *reader {
	return &reader{r: bufio.NewReaderSize(r, 32<<10), most: mostFrame}
}

func (r *reader) next() (kind byte, data []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return 0, nil, err
	}
	n := int(binary.LittleEndian.Uint32(head[:]))
	if n > r.most {
		return 0, nil, errFrame
	}
	r.data = slices.Grow(r.data[:0], n)[:n]
	_, err = io.ReadFull(r.r, r.data)
	return head[4], r.data, err
}

// writer writes frames, and sends them when the other side waits for them.
type writer struct {
	w    *bufio.Writer
	line []byte
}

func newWriter(w io.Writer) *writer { return &writer{w: bufio.NewWriterSize(w, 32<<10)} }

func (w *writer) frame(kind byte, data []byte) error {
	if err := writeFrame(w.w, kind, data); err != nil {
		return err
	}
	return w.w.Flush()
}

func (w *writer) json(kind byte, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.frame(kind, b)
}

func unmarshal(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%w: %w", errFrame, err)
	}
	return nil
}

// The kinds of values, as store.Rows has them.
const (
	valueNull  = 'n'
	valueInt   = 'i'
	valueFloat = 'f'
	valueText  = 't'
	valueBlob  = 'b'
)

// row writes a row, and returns its length.
func (w *writer) row(values []any) (int, error) {
	w.line = appendRow(w.line[:0], values)
	b := w.line
	if len(b) > mostFrame {
		return 0, fmt.Errorf("%w: a row has more than %d MiB; take a part of its values with substr", store.ErrTooLarge,
			mostRow>>20)
	}
	return len(b), writeFrame(w.w, frameRow, b)
}

func appendRow(b []byte, values []any) []byte {
	for _, v := range values {
		switch v := v.(type) {
		case int64:
			b = binary.AppendVarint(append(b, valueInt), v)
		case float64:
			b = binary.LittleEndian.AppendUint64(append(b, valueFloat), math.Float64bits(v))
		case string:
			b = append(binary.AppendUvarint(append(b, valueText), uint64(len(v))), v...)
		case []byte:
			b = append(binary.AppendUvarint(append(b, valueBlob), uint64(len(v))), v...)
		default:
			b = append(b, valueNull)
		}
	}
	return b
}

// readRow fills the values, and has to use all of the data.
func readRow(b []byte, values []any) error {
	for i := range values {
		if len(b) == 0 {
			return errFrame
		}
		kind := b[0]
		b = b[1:]
		switch kind {
		case valueNull:
			values[i] = nil
		case valueInt:
			v, n := binary.Varint(b)
			if n <= 0 {
				return errFrame
			}
			values[i], b = v, b[n:]
		case valueFloat:
			if len(b) < 8 {
				return errFrame
			}
			values[i], b = math.Float64frombits(binary.LittleEndian.Uint64(b)), b[8:]
		case valueText, valueBlob:
			v, n := binary.Uvarint(b)
			if n <= 0 || v > uint64(len(b)-n) {
				return errFrame
			}
			data := b[n : n+int(v)]
			if b = b[n+int(v):]; kind == valueText {
				values[i] = string(data)
			} else {
				values[i] = bytes.Clone(data)
			}
		default:
			return errFrame
		}
	}
	if len(b) > 0 {
		return errFrame
	}
	return nil
}

// note is a store.Note whose exact rows keep their types.
type note struct {
	Text, Of string
	Exact    []sent
}

// sent is a row as appendRow writes it, with the number of its values.
type sent struct {
	Values int
	Row    []byte
}

func (w *writer) notes(list []store.Note) error {
	out := make([]note, 0, len(list))
	for _, n := range list {
		o := note{Text: n.Text, Of: n.Of}
		for _, r := range n.Exact {
			o.Exact = append(o.Exact, sent{len(r), appendRow(nil, r)})
		}
		out = append(out, o)
	}
	return w.json(frameNotes, out)
}

func readNotes(data []byte) (list []store.Note, err error) {
	var in []note
	if err := unmarshal(data, &in); err != nil {
		return nil, err
	}
	for _, n := range in {
		o := store.Note{Text: n.Text, Of: n.Of}
		for _, r := range n.Exact {
			if r.Values < 0 || r.Values > len(r.Row) {
				return nil, errFrame
			}
			values := make([]any, r.Values)
			if err := readRow(r.Row, values); err != nil {
				return nil, err
			}
			o.Exact = append(o.Exact, values)
		}
		list = append(list, o)
	}
	return list, nil
}

// reasons are the errors that callers check for, by name.
var reasons = map[string]error{
	"refused": store.ErrRefused, "syntax": store.ErrSyntax, "too long": store.ErrTooLong, "too large": store.ErrTooLarge,
	"too much": store.ErrTooMuch, "not found": store.ErrNotFound, "foreign": store.ErrForeign,
	"corrupt": store.ErrCorrupt, "newer": store.ErrNewer, "full": store.ErrFull, "permission": store.ErrPermission,
}

// failure is an error between the processes.
type failure struct{ Reason, Text string }

func (w *writer) fail(err error) error {
	f := failure{Text: err.Error()}
	for name, reason := range reasons {
		if errors.Is(err, reason) {
			f.Reason = name
		}
	}
	return w.json(frameError, f)
}

// toldError is an error that the other process had.
type toldError struct {
	text   string
	reason error
}

func (e *toldError) Error() string { return e.text }

func (e *toldError) Unwrap() error { return e.reason }

func readError(data []byte) error {
	var f failure
	if err := unmarshal(data, &f); err != nil {
		return err
	}
	return &toldError{f.Text, reasons[f.Reason]}
}

// outOfMemory reports whether a process says that Go had no more memory.
func outOfMemory(said []byte) bool {
	return bytes.Contains(said, []byte("out of memory")) || bytes.Contains(said, []byte("cannot allocate memory"))
}

func tooMuch() error {
	return fmt.Errorf("%w: more than %d MiB; narrow it with a condition on timestamp, or add up less", store.ErrTooMuch,
		Memory>>20)
}
