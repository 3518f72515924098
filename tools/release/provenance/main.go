// Command provenance writes what a release was made of and by what, in the form of SLSA (in-toto statement, SLSA
// provenance 1): for each file its digest, the commit, and the version of Go. It has no times: the same commit gives
// the same statement. A signature of checksums.txt, in which the statement's digest is, covers it.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

const source = "git+https://github.com/ingero-io/ingero"

type digest map[string]string

type resource struct {
	URI    string `json:"uri,omitempty"`
	Name   string `json:"name,omitempty"`
	Digest digest `json:"digest,omitempty"`
}

type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     predicate  `json:"predicate"`
}

type predicate struct {
	BuildDefinition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   map[string]string `json:"externalParameters"`
		ResolvedDependencies []resource        `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID      string            `json:"id"`
			Version map[string]string `json:"version"`
		} `json:"builder"`
	} `json:"runDetails"`
}

func main() {
	version := flag.String("version", "", "of the release")
	commit := flag.String("commit", "", "of which it was built")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *version, *commit); err != nil {
		fmt.Fprintln(os.Stderr, "provenance:", err)
		os.Exit(1)
	}
}

// run reads lines of "sha256sum", and writes the statement.
func run(in io.Reader, out io.Writer, version, commit string) error {
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		hash, name, ok := strings.Cut(lines.Text(), "  ")
		if !ok || len(hash) != 64 {
			return fmt.Errorf("%q is not a line of checksums", lines.Text())
		}
		s.Subject = append(s.Subject, resource{Name: name, Digest: digest{"sha256": hash}})
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if len(s.Subject) == 0 {
		return fmt.Errorf("there are no checksums")
	}
	b := &s.Predicate.BuildDefinition
	b.BuildType = source + "/packaging@v1"
	b.ExternalParameters = map[string]string{"source": source, "revision": commit, "version": version}
	b.ResolvedDependencies = []resource{{URI: source + "@" + commit, Digest: digest{"gitCommit": commit}}}
	r := &s.Predicate.RunDetails.Builder
	r.ID = source + "/Makefile#release-snapshot"
	r.Version = map[string]string{"go": runtime.Version()}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(s)
}
