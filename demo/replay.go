package demo

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ingero-io/ingero/internal/cudastub"
)

// recorded has a recording and its truth for each scenario, made by this project's own tracer
// (make demo-record).
//
//go:embed recorded
var recorded embed.FS

// maxRecording is the largest size of an unpacked recording, bytes.
const maxRecording = 64 << 20

// replay explains the scenario's recording.
func replay(ctx context.Context, s *Scenario, o *Options, dir, why string) (*Result, error) {
	o.Begin(Recorded, why)
	path := o.Keep
	if path == "" {
		path = filepath.Join(dir, "recorded.db")
	}
	truth, err := unpack(recorded, s.Name, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil,
			fmt.Errorf("%s, and there is no recording of %q to replay; run it as root, or choose another: ingero demo", why,
				s.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("unpack the recording of %q: %w", s.Name, err)
	}
	r, err := explain(ctx, s, o, path, truth)
	if err != nil {
		return nil, err
	}
	r.Mode, r.Reason = Recorded, why
	return r, nil
}

// The names of a scenario's files below recorded/.
func databaseName(scenario string) string { return scenario + ".db.gz" }
func truthName(scenario string) string    { return scenario + ".json" }

// unpack writes a recording to path and returns the truth that belongs to it.
func unpack(files fs.FS, name, path string) (truth cudastub.Truth, err error) {
	b, err := fs.ReadFile(files, "recorded/"+truthName(name))
	if err != nil {
		return truth, err
	}
	if err := json.Unmarshal(b, &truth); err != nil {
		return truth, fmt.Errorf("read its truth: %w", err)
	}
	if b, err = fs.ReadFile(files, "recorded/"+databaseName(name)); err != nil {
		return truth, err
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return truth, err
	}
	db, err := io.ReadAll(io.LimitReader(z, maxRecording))
	if err != nil {
		return truth, err
	}
	return truth, os.WriteFile(path, db, 0o600)
}

// Pack stores a recording and its truth in dir, in the form that replay reads.
func Pack(dir string, r *Result, path string) error {
	db, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("pack recording: %w", err)
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return fmt.Errorf("pack recording: %w", err)
	}
	if _, err := z.Write(db); err != nil {
		return fmt.Errorf("pack recording: %w", err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("pack recording: %w", err)
	}
	truth, err := json.MarshalIndent(r.Truth, "", "  ")
	if err != nil {
		return fmt.Errorf("pack truth: %w", err)
	}
	name := r.Scenario.Name
	return errors.Join(
		os.WriteFile(filepath.Join(dir, databaseName(name)), b.Bytes(), 0o644),
		os.WriteFile(filepath.Join(dir, truthName(name)), append(truth, '\n'), 0o644),
	)
}
