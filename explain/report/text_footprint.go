package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
)

// WriteFootprint writes a footprint as text: processes, system calls, and what they used. Lists are
// cut; JSON has all entries.
func WriteFootprint(w io.Writer, f *Footprint, o TextOptions) error {
	if o.Width == 0 {
		o.Width = 80
	}
	t := &text{width: max(o.Width, minWidth), color: o.Color}
	t.footprint(f)
	_, err := io.WriteString(w, strings.TrimPrefix(t.b.String(), "\n"))
	return err
}

// How many lines of each list are written.
const (
	maxProcesses = 12
	maxSyscalls  = 16
	maxFiles     = 16
	maxSockets   = 12
	maxPrograms  = 12
)

func (t *text) footprint(f *Footprint) {
	if f == nil {
		return
	}
	if f.UntilNS > 0 {
		t.line("")
		t.wrap("",
			fmt.Sprintf("footprint until CUDA was loaded (%s); it ended there, so that tracing CUDA calls costs less; "+
				"with --footprint it goes on", span(f.UntilNS)))
	}
	t.processTable(f)
	t.syscallTable(f)
	t.fileTable(f)
	t.missingTable(f)
	t.socketTable(f)
	t.unseen(f)
	t.programTable(f)
	t.libraryTable(f)
	if f.LeftOut > 0 {
		t.line("")
		t.wrap(t.paint(yellow, "left out: "),
			Count(f.LeftOut)+" entries beyond what is kept in memory; the recording has them")
	}
}

// columns writes a table. The first column is as wide as needed and possible, the others are at the
// right. A note in the last column is wrapped.
func (t *text) columns(title string, heads []string, rows [][]string, more int) {
	t.line("")
	width := make([]int, len(heads))
	for i, h := range heads {
		width[i] = visible(h)
		for _, r := range rows {
			width[i] = max(width[i], visible(r[i]))
		}
	}
	rest := 0
	for _, n := range width {
		rest += 2 + n
	}
	first := visible(title)
	for _, r := range rows {
		first = max(first, visible(r[len(heads)]))
	}
	first = max(min(first, t.width-rest), min(24, visible(title)), 12)
	put := func(name string, cells []string, paint func(string) string) {
		line := fit(name, first)
		line += strings.Repeat(" ", first-visible(line))
		for i := range heads {
			line += strings.Repeat(" ", 2+width[i]-visible(cells[i])) + cells[i]
		}
		t.line(paint(line))
	}
	put(title, heads, func(s string) string { return t.paint(bold, s) })
	for _, r := range rows {
		put(r[len(heads)], r, func(s string) string { return s })
		if len(r) > len(heads)+1 && r[len(heads)+1] != "" {
			t.wrap("    failed: ", r[len(heads)+1])
		}
	}
	t.more(more)
}

func (t *text) more(n int) {
	if n > 0 {
		t.line(t.paint(dim, fmt.Sprintf("… %s more (--json has them)", Count(uint64(n)))))
	}
}

// fit cuts s in its middle: the end of a path says most, then its beginning.
func fit(s string, width int) string {
	r := []rune(Printable(s))
	if len(r) <= width {
		return string(r)
	}
	head := (width - 1) / 3
	return string(r[:head]) + "…" + string(r[len(r)-(width-1-head):])
}

func number(n uint64) string {
	if n == 0 {
		return ""
	}
	return Count(n)
}

func bytesOf(n uint64) string {
	if n == 0 {
		return ""
	}
	return Bytes(n)
}

func span(ns uint64) string {
	if ns == 0 {
		return "0"
	}
	return Duration(ns)
}

func (t *text) processTable(f *Footprint) {
	var rows [][]string
	n := min(len(f.Processes), maxProcesses)
	for i := range f.Processes[:n] {
		p := &f.Processes[i]
		rows = append(rows, []string{
			strconv.Itoa(int(p.PID)), span(p.CPUNS), span(p.UserNS), span(p.KernelNS), Count(p.Syscalls), number(p.Errors),
			cmp.Or(p.Process, "?"),
		})
	}
	t.columns("PROCESS", []string{"PID", "ON CPU", "USER", "KERNEL", "CALLS", "ERRORS"}, rows, len(f.Processes)-n)
}

// syscallTable adds up the processes' calls.
func (t *text) syscallTable(f *Footprint) {
	by := map[string]*FootprintSyscall{}
	for i := range f.Syscalls {
		c := &f.Syscalls[i]
		x := by[c.Syscall]
		if x == nil {
			x = &FootprintSyscall{Syscall: c.Syscall, Errnos: map[string]uint64{}}
			by[c.Syscall] = x
		}
		x.Calls += c.Calls
		x.Errors += c.Errors
		x.TotalNS += c.TotalNS
		x.CPUNS += c.CPUNS
		x.MaxNS = max(x.MaxNS, c.MaxNS)
		for name, n := range c.Errnos {
			x.Errnos[name] += n
		}
	}
	all := slices.SortedFunc(maps.Values(by), func(a, b *FootprintSyscall) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Syscall, b.Syscall))
	})
	if len(all) == 0 {
		return
	}
	var rows [][]string
	n := min(len(all), maxSyscalls)
	for _, x := range all[:n] {
		rows = append(rows, []string{
			Count(x.Calls), Duration(x.TotalNS), Duration(x.MaxNS), Duration(x.CPUNS),
			number(x.Errors), x.Syscall, errnos(x.Errnos),
		})
	}
	t.columns("SYSTEM CALL", []string{"CALLS", "TOTAL", "WORST", "ON CPU", "ERRORS"}, rows, len(all)-n)
}

// errnos lists errors, most first.
func errnos(m map[string]uint64) string {
	names := slices.SortedFunc(maps.Keys(m),
		func(a, b string) int { return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %s", Count(m[name]), name)
	}
	return strings.Join(names, ", ")
}

// fileTable adds up what the processes did with the same path.
func (t *text) fileTable(f *Footprint) {
	by := map[string]*FootprintFile{}
	var order []*FootprintFile
	for i := range f.Files {
		x := &f.Files[i]
		have := by[x.Path]
		if have == nil {
			have = &FootprintFile{Path: x.Path}
			by[x.Path] = have
			order = append(order, have)
		}
		have.Opens += x.Opens
		have.Reads += x.Reads
		have.ReadBytes += x.ReadBytes
		have.Writes += x.Writes
		have.WriteBytes += x.WriteBytes
	}
	if len(order) == 0 {
		return
	}
	slices.SortStableFunc(order, func(a, b *FootprintFile) int {
		return cmp.Or(cmp.Compare(b.ReadBytes+b.WriteBytes, a.ReadBytes+a.WriteBytes), cmp.Compare(b.Opens, a.Opens))
	})
	var rows [][]string
	n := min(len(order), maxFiles)
	for _, x := range order[:n] {
		rows = append(rows, []string{number(x.Opens), bytesOf(x.ReadBytes), bytesOf(x.WriteBytes), x.Path})
	}
	t.columns("FILE", []string{"OPENED", "READ", "WRITTEN"}, rows, len(order)-n)
}

func (t *text) missingTable(f *Footprint) {
	by := map[[2]string]uint64{}
	for _, m := range f.Missing {
		by[[2]string{m.Path, m.Error}] += m.Count
	}
	if len(by) == 0 {
		return
	}
	keys := slices.SortedFunc(maps.Keys(by), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	var rows [][]string
	n := min(len(keys), maxPrograms)
	for _, k := range keys[:n] {
		rows = append(rows, []string{Count(by[k]), k[1], k[0]})
	}
	t.columns("NOT OPENED", []string{"TIMES", "ERROR"}, rows, len(keys)-n)
}

func (t *text) socketTable(f *Footprint) {
	if len(f.Sockets) == 0 {
		return
	}
	var order []*FootprintSocket
	times := map[*FootprintSocket]uint64{}
	by := map[FootprintSocket]*FootprintSocket{}
	for i := range f.Sockets {
		s := f.Sockets[i]
		k := FootprintSocket{Family: s.Family, Protocol: s.Protocol, Role: s.Role, Remote: s.Remote, RemotePort: s.RemotePort}
		if s.Role != "connect" {
			k.LocalPort = s.LocalPort
		}
		if s.Role == "accept" { // one line for the service, not one for each client's port
			k.RemotePort = 0
		}
		x := by[k]
		if x == nil {
			c := k
			x = &c
			by[k] = x
			order = append(order, x)
		}
		times[x]++
		x.ReadBytes += s.ReadBytes
		x.WriteBytes += s.WriteBytes
		x.Errors += s.Errors
	}
	slices.SortStableFunc(order, func(a, b *FootprintSocket) int {
		return cmp.Compare(b.ReadBytes+b.WriteBytes, a.ReadBytes+a.WriteBytes)
	})
	var rows [][]string
	n := min(len(order), maxSockets)
	for _, x := range order[:n] {
		rows = append(rows,
			[]string{Count(times[x]), bytesOf(x.ReadBytes), bytesOf(x.WriteBytes), number(x.Errors), socketName(x)})
	}
	t.columns("SOCKET", []string{"NUMBER", "RECEIVED", "SENT", "ERRORS"}, rows, len(order)-n)
}

// unseen says which uses of files and sockets are not recorded, if there were any.
func (t *text) unseen(f *Footprint) {
	var calls uint64
	for i := range f.Syscalls {
		if c := &f.Syscalls[i]; c.Syscall == "io_uring_enter" {
			calls += c.Calls - min(c.Errors, c.Calls)
		}
	}
	if calls > 0 {
		t.line("")
		t.wrap(t.paint(yellow, "not seen: "), fmt.Sprintf("I/O by io_uring (entered %s): its files, sockets and "+
			"bytes are not known", times(calls)))
	}
}

func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return Count(n) + " times"
}

// socketName formats a socket: tcp to 10.0.0.7:443.
func socketName(s *FootprintSocket) string {
	name := cmp.Or(s.Protocol, s.Family)
	remote := s.Remote
	if remote != "" && s.Protocol != "" && s.RemotePort != 0 {
		remote = net.JoinHostPort(remote, strconv.Itoa(int(s.RemotePort)))
	}
	local := ""
	if s.LocalPort != 0 {
		local = " on port " + strconv.Itoa(int(s.LocalPort))
	}
	switch {
	case s.Role == "connect":
		return name + " to " + cmp.Or(remote, "?")
	case s.Role == "accept":
		return strings.TrimRight(name+" from "+remote, " ") + local
	case s.Role == "listen":
		return name + " listening" + local
	case remote != "":
		return name + " with " + remote
	}
	return name + local
}

func (t *text) programTable(f *Footprint) {
	if len(f.Programs) == 0 {
		return
	}
	t.line("")
	t.line(t.paint(bold, "PROGRAM EXECUTED"))
	n := min(len(f.Programs), maxPrograms)
	for _, p := range f.Programs[:n] {
		command := p.Path
		if len(p.Args) > 1 {
			command += " " + strings.Join(p.Args[1:], " ")
		}
		t.line(fmt.Sprintf("%7d  %s", p.PID, fit(command, t.width-9)))
	}
	t.more(len(f.Programs) - n)
}

// libraryTable names the files; their folders say little.
func (t *text) libraryTable(f *Footprint) {
	var names []string
	for _, l := range f.Libraries {
		names = append(names, Printable(l.Path[strings.LastIndexByte(l.Path, '/')+1:]))
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	names = slices.Compact(names)
	t.line("")
	t.wrap(t.paint(bold, "MAPPED")+"  ", strings.Join(names, ", "))
}
