package hostile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ingero-io/ingero/internal/hostile/recording"
)

// file makes a hostile file for an attack.
type file struct {
	Attack
	write func(path string) error
}

// read is a target of programs that read a file and end. Each attack is a file.
type read struct {
	p     *Programs
	dir   string
	files func() ([]file, error)
	name  string                       // of the file that is written
	args  func(path string) [][]string // the command lines that read it
	peak  uint64
	table map[string]file
}

func (r *read) Attacks() ([]Attack, error) {
	files, err := r.files()
	if err != nil {
		return nil, err
	}
	r.table = map[string]file{}
	list := make([]Attack, len(files))
	for i, f := range files {
		list[i], r.table[f.Name] = f.Attack, f
	}
	return list, nil
}

// Try writes the file and lets each command line read it. It counts as refused if all refuse it.
func (r *read) Try(ctx context.Context, a Attack) (Outcome, error) {
	path := filepath.Join(r.dir, r.name)
	defer os.Remove(path)
	if err := r.table[a.Name].write(path); err != nil {
		return Outcome{}, fmt.Errorf("write the file: %w", err)
	}
	o := Outcome{Refused: true, Text: true}
	var said strings.Builder
	for _, args := range r.args(path) {
		peak, text, err := oneShot(ctx, r.dir, r.p.path("ingero"), args...)
		r.peak = max(r.peak, peak)
		said.WriteString(text)
		one, err := judgeExit(text, peak, err)
		if err != nil {
			return one, fmt.Errorf("ingero %s: %w", args[0], err)
		}
		o.Refused = o.Refused && one.Refused
	}
	o.Said = said.String()
	return o, nil
}

func (*read) Healthy(context.Context) error { return nil }

func (r *read) Close() (uint64, string, error) { return r.peak, "", nil }

// judgeExit judges a program that has ended: it may have refused what it was given, but not have been killed or taken
// more memory than a server may.
func judgeExit(said string, peak uint64, err error) (Outcome, error) {
	o := Outcome{Refused: err != nil, Said: said, Text: true}
	var exit *exec.ExitError
	mib := peak >> 20
	switch {
	case err != nil && !errors.As(err, &exit):
		return o, err
	case err != nil && exit.ExitCode() < 0:
		return o, fmt.Errorf("it was ended by %w, with %d MiB", exit, mib)
	case mib > maxServerMiB:
		return o, fmt.Errorf("it took %d MiB", mib)
	}
	return o, nil
}

// written are the attacks of a list whose input is the file.
func written(name string) func() ([]file, error) {
	return func() ([]file, error) {
		list, err := List(name)
		files := make([]file, len(list))
		for i, a := range list {
			files[i] = file{a, func(path string) error { return os.WriteFile(path, a.Input, 0o600) }}
		}
		return files, err
	}
}

func startConfig(_ context.Context, p *Programs) (Trier, error) {
	dir, err := p.home("config")
	if err != nil {
		return nil, err
	}
	return &read{p: p, dir: dir, files: written("config"), name: "hostile.yaml", args: func(path string) [][]string {
		return [][]string{{"query", "--config", path, "select 1"}}
	}}, nil
}

// startRecordings explains and asks recordings that mean harm.
func startRecordings(_ context.Context, p *Programs) (Trier, error) {
	dir, err := p.home("recordings")
	if err != nil {
		return nil, err
	}
	all := func() ([]file, error) {
		var list []file
		for _, a := range recording.Attacks() {
			list = append(list, file{Attack{Name: a.Name}, a.Write})
		}
		return list, nil
	}
	return &read{p: p, dir: dir, files: all, name: "hostile.db", args: func(path string) [][]string {
		return [][]string{{"explain", path}, {"query", path, "select count(*) from cuda_events"}}
	}}, nil
}
