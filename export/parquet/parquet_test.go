package parquet_test

import (
	"errors"
	"io"
	"testing"

	"github.com/ingero-io/ingero/export/parquet"
)

// full is a disk that is.
type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestValuesThatDoNotFitAreRefused(t *testing.T) {
	columns := []parquet.Column{{"n", parquet.Integer}, {"s", parquet.Text}}
	for _, row := range [][]any{{"text", "text"}, {int64(1), int64(1)}, {1.5, nil}, {int64(1)}} {
		if err := parquet.NewWriter(io.Discard, columns).Row(row); err == nil {
			t.Errorf("%v is taken", row)
		}
	}
	w := parquet.NewWriter(full{}, columns)
	if err := errors.Join(w.Row([]any{int64(1), nil}), w.Close()); !errors.Is(err, errFull) {
		t.Errorf("the disk is full, and the error %v", err)
	}
}
