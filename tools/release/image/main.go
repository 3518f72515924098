// Command image writes a container image of static programs, for several architectures, as one tar file in the OCI
// layout, without a container engine: "ctr images import" reads it. The same input gives the same bytes.
package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// options are what the command line says.
type options struct {
	name     string   // of the image, with a tag: "ghcr.io/ingero-io/ingero:1.2.0"
	version  string   // label
	revision string   // label: the commit
	title    string   // label
	time     int64    // of all files, seconds since the epoch
	entry    string   // the program that is started
	user     string   // "65532:65532"
	files    []string // "ARCH:FROM:TO", and without an architecture ":FROM:TO"
	out      string
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func parse(args []string) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("image", flag.ContinueOnError)
	f.StringVar(&o.name, "name", "", "name of the image, with a tag")
	f.StringVar(&o.version, "version", "", "version of what is in it")
	f.StringVar(&o.revision, "revision", "", "commit of what is in it")
	f.StringVar(&o.title, "title", "", "what it is")
	f.Int64Var(&o.time, "time", 0, "time of all files, in seconds since 1970")
	f.StringVar(&o.entry, "entrypoint", "", "program that is started")
	f.StringVar(&o.user, "user", "", "UID:GID that it runs as; default: root")
	f.Func("file", "ARCH:FROM:TO, or :FROM:TO for all; may be repeated", func(s string) error {
		if strings.Count(s, ":") != 2 {
			return errors.New("not ARCH:FROM:TO")
		}
		o.files = append(o.files, s)
		return nil
	})
	f.StringVar(&o.out, "out", "", "file to write")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if o.out == "" || o.name == "" || o.entry == "" || len(o.files) == 0 {
		return nil, errors.New("-out, -name, -entrypoint and -file are needed")
	}
	return o, nil
}

func run(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	index := v1.ImageIndex(empty.Index)
	for _, arch := range o.architectures() {
		img, err := o.image(arch)
		if err != nil {
			return fmt.Errorf("make the image for %s: %w", arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{
			MediaType: types.OCIManifestSchema1, Platform: &v1.Platform{OS: "linux", Architecture: arch},
		}})
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	if err := o.write(index); err != nil {
		return fmt.Errorf("write %s: %w", o.out, err)
	}
	fmt.Println(o.name, digest)
	return nil
}

// architectures are those of the files, in order.
func (o *options) architectures() []string {
	var list []string
	for _, f := range o.files {
		if arch, _, _ := strings.Cut(f, ":"); arch != "" && !slices.Contains(list, arch) {
			list = append(list, arch)
		}
	}
	slices.Sort(list)
	return list
}

func (o *options) at() time.Time { return time.Unix(o.time, 0).UTC() }

// entry is a file in a layer.
type entry struct {
	name string
	mode int64
	data []byte
}

// image makes the image for an architecture: a layer of certificates, which rarely changes, and one of programs.
func (o *options) image(arch string) (v1.Image, error) {
	var programs []entry
	for _, f := range o.files {
		parts := strings.SplitN(f, ":", 3)
		if parts[0] != "" && parts[0] != arch {
			continue
		}
		data, err := os.ReadFile(parts[1])
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(parts[1])
		if err != nil {
			return nil, err
		}
		mode := int64(0o644) // not the file's own: that depends on the umask of who built it
		if info.Mode().Perm()&0o111 != 0 {
			mode = 0o755
		}
		programs = append(programs, entry{strings.TrimPrefix(parts[2], "/"), mode, data})
	}
	base := []entry{
		{"etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
		{"etc/group", 0o644, []byte("root:x:0:\nnonroot:x:65532:\n")},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, certificates()},
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, l := range []struct {
		what    string
		entries []entry
	}{{"certificates", base}, {"programs", programs}} {
		layer, err := o.layer(l.entries)
		if err != nil {
			return nil, err
		}
		img, err = mutate.Append(img, mutate.Addendum{
			Layer: layer, History: v1.History{Created: v1.Time{Time: o.at()}, CreatedBy: l.what},
		})
		if err != nil {
			return nil, err
		}
	}
	c, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	c = c.DeepCopy()
	c.OS, c.Architecture, c.Created = "linux", arch, v1.Time{Time: o.at()}
	c.Config.Entrypoint = []string{o.entry}
	c.Config.User = o.user
	c.Config.Env = []string{"PATH=/usr/bin:/bin", "HOME=/root"}
	c.Config.Labels = map[string]string{
		"org.opencontainers.image.title":    o.title,
		"org.opencontainers.image.version":  o.version,
		"org.opencontainers.image.revision": o.revision,
		"org.opencontainers.image.source":   "https://github.com/ingero-io/ingero",
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	return mutate.ConfigFile(img, c)
}

// certificates are those of Mozilla's list, as Go's own package has them: which ones is pinned with its version.
func certificates() []byte {
	var b bytes.Buffer
	for r := range bundle.Roots() {
		if r.Constraint == nil { // a file cannot say for which certificates a root is trusted
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate}) // in memory
		}
	}
	return b.Bytes()
}

func (o *options) layer(entries []entry) (v1.Layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	slices.SortFunc(entries, func(a, c entry) int { return cmp.Compare(a.name, c.name) })
	made := map[string]bool{".": true}
	for _, e := range entries {
		if err := o.folders(w, made, path.Dir(e.name)); err != nil {
			return nil, err
		}
		if err := o.file(w, e.name, e.mode, e.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

func (o *options) folders(w *tar.Writer, made map[string]bool, dir string) error {
	if made[dir] {
		return nil
	}
	made[dir] = true
	if err := o.folders(w, made, path.Dir(dir)); err != nil {
		return err
	}
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: o.at()})
}

func (o *options) file(w *tar.Writer, name string, mode int64, data []byte) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(data)), ModTime: o.at()}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

// write writes the layout, whose index names one image: the index of all architectures.
func (o *options) write(index v1.ImageIndex) error {
	dir, err := os.MkdirTemp(filepath.Dir(o.out), "image")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	err = p.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"io.containerd.image.name":          o.name,
		"org.opencontainers.image.ref.name": o.name[strings.LastIndex(o.name, ":")+1:],
	}))
	if err != nil {
		return err
	}
	f, err := os.Create(o.out)
	if err != nil {
		return err
	}
	w := tar.NewWriter(f)
	made := map[string]bool{".": true}
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if err := o.folders(w, made, path.Dir(name)); err != nil {
			return err
		}
		return o.file(w, name, 0o644, data)
	})
	return errors.Join(err, w.Close(), f.Close())
}
