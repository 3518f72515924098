package report

import (
	"strings"
	"unicode/utf8"
)

// NameWidth is the maximum length of a function's name in a sentence or a table.
const NameWidth = 80

// ShortName shortens the name of a C++ function to at most width characters if leaving out arguments is enough: first
// the function's parameters, then template arguments and parameters of function types, the innermost first. An
// ellipsis marks them: "at::native::reduce_kernel<512, 1, at::native::ReduceOp<…> >(…)". Other names, such as those
// of files and of Python functions, stay as they are. JSON has the whole names.
func ShortName(name string, width int) string {
	if utf8.RuneCountInString(name) <= width || !strings.ContainsAny(name, "<(") || isPath(name) {
		return name
	}
	list, depth := parseName(strings.TrimPrefix(name, "void "))
	for d := depth; d >= 0; d-- {
		var b strings.Builder
		render(&b, list, 0, d)
		if d == 0 || utf8.RuneCountInString(b.String()) <= width {
			return b.String()
		}
	}
	return name
}

// isPath reports whether there is a slash before the first bracket, as in a Python frame.
func isPath(name string) bool {
	slash := strings.IndexByte(name, '/')
	return slash >= 0 && slash < strings.IndexAny(name, "<(")
}

// namePart is a part of a name: text, or the content of brackets.
type namePart struct {
	text  string
	open  byte // '<', '(' or '{'; 0: text
	args  bool // of a template or a function: can be left out
	ended bool // has its closing bracket: long names are cut
	parts []namePart
}

const (
	maxDepth = 64 // of brackets; deeper ones are text
	ellipsis = "…"
)

func closing(open byte) string {
	return map[byte]string{'<': ">", '(': ")", '{': "}"}[open]
}

// nameParser splits a name at its brackets, in one pass: traced programs choose names.
type nameParser struct {
	s     string
	at    int
	from  int        // start of the text that is in no part yet
	stack []namePart // open parts; the first is the whole name
	depth int        // maximum depth of brackets that can be left out
}

// parseName returns the parts of a name, and how deep its arguments are nested.
func parseName(s string) ([]namePart, int) {
	p := nameParser{s: s, stack: []namePart{{}}}
	callable := false // the text before may have arguments
	for p.at < len(s) {
		if n := operator(s, p.at); n > 0 {
			p.at += n
			callable = true
			continue
		}
		switch c := s[p.at]; {
		case c == '-' && strings.HasPrefix(s[p.at:], "->"):
			p.at++ // also over the '>' below
			callable = false
		case (c == '<' && callable || c == '(' || c == '{') && len(p.stack) <= maxDepth:
			p.push(c, callable && c != '{')
			callable = false
			continue
		case c == '>' || c == ')' || c == '}':
			callable = p.pop(c)
			continue
		default:
			blank := c == ' ' && (operatorEnds(s[:p.at]) || callable && inFunctionType(s, p.at))
			callable = c == '_' || c == ']' || c >= 0x80 || isAlphanumeric(c) || blank
		}
		p.at++
	}
	p.flush()
	for len(p.stack) > 1 {
		p.fold(false)
	}
	return p.stack[0].parts, p.depth
}

func isAlphanumeric(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// flush adds the text so far to the innermost open part.
func (p *nameParser) flush() {
	if top := &p.stack[len(p.stack)-1]; p.from < p.at {
		top.parts = append(top.parts, namePart{text: p.s[p.from:p.at]})
	}
	p.from = p.at
}

func (p *nameParser) push(open byte, args bool) {
	p.flush()
	p.stack = append(p.stack, namePart{open: open, args: args})
	p.at++
	p.from = p.at
	n := 0
	for i := range p.stack {
		if p.stack[i].args {
			n++
		}
	}
	p.depth = max(p.depth, n)
}

// pop closes the part that a closing bracket belongs to. A '<' inside it without a closing bracket was a comparison.
// It returns false if the bracket closes nothing, and is text.
func (p *nameParser) pop(c byte) bool {
	at := len(p.stack) - 1
	for at > 0 && c != '>' && p.stack[at].open == '<' {
		at--
	}
	if closing(p.stack[at].open) != string(c) {
		p.at++
		return false
	}
	p.flush()
	for len(p.stack)-1 > at {
		last := p.stack[len(p.stack)-1]
		p.stack = p.stack[:len(p.stack)-1]
		top := &p.stack[len(p.stack)-1]
		top.parts = append(append(top.parts, namePart{text: "<"}), last.parts...)
	}
	p.fold(true)
	p.at++
	p.from = p.at
	return true
}

// fold adds the innermost open part to the one around it.
func (p *nameParser) fold(ended bool) {
	last := p.stack[len(p.stack)-1]
	last.ended = ended
	p.stack = p.stack[:len(p.stack)-1]
	top := &p.stack[len(p.stack)-1]
	top.parts = append(top.parts, last)
}

// operators are the names of C++ operators that contain brackets, long ones before short ones.
var operators = []string{"()", "<=>", "<<=", ">>=", "->*", "->", "<<", ">>", "<=", ">=", "<", ">"}

// operator returns the length of an operator's name with brackets at an index, 0 if there is none.
func operator(s string, at int) int {
	const word = "operator"
	if !strings.HasPrefix(s[at:], word) || at > 0 && (isAlphanumeric(s[at-1]) || s[at-1] == '_') {
		return 0
	}
	for _, o := range operators {
		if strings.HasPrefix(s[at+len(word):], o) {
			return len(word) + len(o)
		}
	}
	return 0
}

// inFunctionType reports whether a blank is between the result and the parameters of a function
// type, as in "std::vector<int> (long)".
func inFunctionType(s string, at int) bool {
	return at > 0 && s[at-1] == '>' && strings.HasPrefix(s[at:], " (")
}

// operatorEnds reports whether a name ends in an operator's: a blank stands between it and template arguments.
func operatorEnds(s string) bool {
	i := strings.LastIndex(s, "operator")
	return i >= 0 && operator(s, i) == len(s)-i
}

// render writes parts without the arguments that are deeper than keep; those of the function itself, which come last,
// are never kept.
func render(b *strings.Builder, parts []namePart, depth, keep int) {
	for i := range parts {
		p := &parts[i]
		switch {
		case p.open == 0:
			b.WriteString(p.text)
			continue
		case p.args && len(p.parts) > 0 && (depth >= keep || depth == 0 && p.open == '('):
			b.WriteByte(p.open)
			b.WriteString(ellipsis)
			if !p.ended { // the text behind it was cut
				return
			}
		default:
			b.WriteByte(p.open)
			inner := depth
			if p.args {
				inner++
			}
			render(b, p.parts, inner, keep)
		}
		if p.ended {
			b.WriteString(closing(p.open))
		}
	}
}
