// Package hostile attacks the programs, as they are shipped, with what hostile clients, files and processes can send:
// requests, SQL, recordings, configurations, library files, lines at sockets, names of processes.
//
// The attacks are data: a file a kind in attacks, and lists of packages that make files (elffile, recording). A target
// says how one is tried on a running program, and what must hold afterwards: the program lives, it answers others, it
// took no more memory than its bound, and nothing that it must not give away is in what it answered.
//
// A new attack is an entry in a file; a new target is a file of Go and a line in Targets. Nothing here is linked into
// the product.
package hostile

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/tools/txtar"
)

// Attack is one hostile input.
type Attack struct {
	Name    string
	Refused bool // it must be refused; otherwise it may also be answered, if nothing is harmed
	Long    bool // it takes seconds; a short run leaves it out
	Input   []byte
}

// Secret is a text that is in what the programs must not give away: files that they may not read, tokens, lines of a
// configuration. A target fails if an answer has it.
const Secret = "s3cret-that-nobody-may-read"

//go:embed attacks/*.txt
var lists embed.FS

// List returns the attacks of the file attacks/NAME.txt.
//
// It is a txtar archive. The name of an entry may end with flags in brackets: [refused], [long]. Its text is a template
// (package text/template) with the delimiters << and >>, and these functions: repeat N S, hex S, json S (quoted), gzip
// S, base64 S, frame S (with its length before it, as gRPC does), pb FIELD S (a field of a Protocol Buffers message),
// varint FIELD N, streams N HEADERS RESET (requests of HTTP/2, each a stream of its own; whether each is reset),
// secret.
func List(name string) ([]Attack, error) {
	b, err := lists.ReadFile("attacks/" + name + ".txt")
	if err != nil {
		return nil, fmt.Errorf("read the attacks on %s: %w", name, err)
	}
	var list []Attack
	for _, f := range txtar.Parse(b).Files {
		a, err := parse(f)
		if err != nil {
			return nil, fmt.Errorf("attack %q of %s: %w", f.Name, name, err)
		}
		list = append(list, a)
	}
	return list, nil
}

func parse(f txtar.File) (Attack, error) {
	a := Attack{Name: f.Name}
	for {
		name, flag, ok := cutFlag(a.Name)
		if !ok {
			break
		}
		a.Name = name
		switch flag {
		case "refused":
			a.Refused = true
		case "long":
			a.Long = true
		default:
			return a, fmt.Errorf("the flag %q is not known", flag)
		}
	}
	t, err := template.New(a.Name).Delims("<<", ">>").Funcs(functions()).Parse(strings.TrimSuffix(string(f.Data), "\n"))
	if err != nil {
		return a, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, nil); err != nil {
		return a, err
	}
	a.Input = b.Bytes()
	return a, nil
}

// cutFlag cuts the last flag off a name.
func cutFlag(name string) (rest, flag string, ok bool) {
	if !strings.HasSuffix(name, "]") {
		return name, "", false
	}
	i := strings.LastIndexByte(name, '[')
	if i < 0 {
		return name, "", false
	}
	return strings.TrimSpace(name[:i]), name[i+1 : len(name)-1], true
}

func functions() template.FuncMap {
	return template.FuncMap{
		"repeat": func(n int, s string) string { return strings.Repeat(s, n) },
		"hex": func(s string) (string, error) {
			b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
			return string(b), err
		},
		"json": func(s string) (string, error) {
			b, err := json.Marshal(s)
			return string(b), err
		},
		"gzip": func(s string) (string, error) {
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			if _, err := w.Write([]byte(s)); err != nil {
				return "", err
			}
			err := w.Close()
			return b.String(), err
		},
		"base64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"frame": func(s string) string {
			return string(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(s)))) + s
		},
		"pb": func(field int, s string) string {
			b := binary.AppendUvarint(nil, uint64(field)<<3|2)
			return string(binary.AppendUvarint(b, uint64(len(s)))) + s
		},
		"varint": func(field int, n uint64) string {
			return string(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(field)<<3), n))
		},
		"streams": streams,
		"secret":  func() string { return Secret },
	}
}

// streams are requests of HTTP/2 with the same headers, each a stream of its own. reset says that each is reset at
// once.
func streams(n int, headers string, reset bool) string {
	var b []byte
	for i := range n {
		id := binary.BigEndian.AppendUint32(nil, uint32(2*i+1))
		b = append(b, 0, 0, byte(len(headers)), 1, 5) // HEADERS, with the end of both
		b = append(append(b, id...), headers...)
		if reset {
			b = append(append(b, 0, 0, 4, 3, 0), id...) // RST_STREAM
			b = append(b, 0, 0, 0, 8)                   // CANCEL
		}
	}
	return string(b)
}

// short leaves out those that take seconds.
func short(list []Attack) []Attack {
	return slices.DeleteFunc(slices.Clone(list), func(a Attack) bool { return a.Long })
}
