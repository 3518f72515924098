package export_test

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ingero-io/ingero/export"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// events is the events view of a recording, as a format has it and as it is.
func events(t *testing.T, f *export.Format, path string) (written []byte, want [][]any) {
	t.Helper()
	ask := func() *sqlite.Rows {
		rows, err := sqlite.Query(t.Context(), path, "select * from events", store.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { rows.Close() })
		return rows
	}
	var b bytes.Buffer
	if err := f.Table(&b, ask()); err != nil {
		t.Fatal(err)
	}
	rows := ask()
	for rows.Next() {
		want = append(want, slices.Clone(rows.Values()))
	}
	if rows.Err() != nil || len(want) == 0 {
		t.Fatalf("%d rows, %v", len(want), rows.Err())
	}
	return b.Bytes(), want
}

func TestCSVExportHasTheEventsOfEachNode(t *testing.T) {
	r := merged(t)
	b, want := events(t, format(t, "csv"), r.path)
	lines, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil || len(lines) != 1+len(want) {
		t.Fatalf("%d lines of %d rows, %v", len(lines), len(want), err)
	}
	node, nodes := slices.Index(lines[0], "node"), map[string]int{}
	for i, line := range lines[1:] {
		nodes[line[node]]++
		for k, v := range want[i] {
			if v != nil && line[k] != fmt.Sprint(v) || v == nil && line[k] != "" {
				t.Fatalf("row %d, %s: %q, want %v", i, lines[0][k], line[k], v)
			}
		}
	}
	if nodes["node-a"] == 0 || nodes["node-b"] == 0 {
		t.Errorf("rows by node: %v", nodes)
	}
}

// The file is framed as the format says; what is in it, others read in
// TestParquetIsReadByOthers.
func TestParquetBeginsAndEndsAsTheFormatSays(t *testing.T) {
	r := recordings(t)["memory-leak"]
	b, _ := events(t, format(t, "parquet"), r.path)
	const magic = "PAR1"
	if !bytes.HasPrefix(b, []byte(magic)) || !bytes.HasSuffix(b, []byte(magic)) {
		t.Fatal("the file does not begin and end with " + magic)
	}
	footer := binary.LittleEndian.Uint32(b[len(b)-8:])
	if at := len(b) - 8 - int(footer); at < 4 || !bytes.Contains(b[at:], []byte("duration_ns")) {
		t.Errorf("the last %d of %d bytes do not name the columns", footer, len(b))
	}
}

// parquetReaderEnv says that a reader of Parquet files was installed, and is to be
// asked: make test-parquet.
const parquetReaderEnv = "INGERO_PARQUET_READER"

func TestParquetIsReadByOthers(t *testing.T) {
	if os.Getenv(parquetReaderEnv) == "" {
		t.Skip(parquetReaderEnv + " is not set: make test-parquet installs a reader of other people and asks it")
	}
	all := map[string]string{
		"several groups of rows": (&made{node: "a node", steps: 6000, scale: 1}).write(t, t.TempDir()),
		"two machines":           merged(t).path,
	}
	for name, r := range recordings(t) {
		all[name] = r.path
	}
	for name, path := range all {
		t.Run(name, func(t *testing.T) {
			b, want := events(t, format(t, "parquet"), path)
			file := filepath.Join(t.TempDir(), "events.parquet")
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "node", "testdata/parquet/read.mjs", file)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			lines := splitLines(out)
			if len(lines) != len(want) {
				t.Fatalf("%d rows are read, want %d", len(lines), len(want))
			}
			for i, line := range lines {
				var got []any
				if err := json.Unmarshal(line, &got); err != nil {
					t.Fatal(err)
				}
				for k, v := range want[i] {
					if (got[k] == nil) != (v == nil) || v != nil && got[k] != fmt.Sprint(v) {
						t.Fatalf("row %d, column %d: %v, want %v", i, k, got[k], v)
					}
				}
			}
		})
	}
}
