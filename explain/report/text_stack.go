package report

import (
	"fmt"
	"regexp"
)

// How many frames are written: the innermost say most. Lines of a Python program come first, as
// users look for those, with fewer others after them.
const (
	maxStack       = 12
	maxWithPython  = 6
	stackLabel     = "  stack  "
	pythonLabel    = "  python "
	stackLabelSize = len(stackLabel)
)

// pythonLine is a Python frame in words, as event.Frame writes it: "train.py:74 in step".
var pythonLine = regexp.MustCompile(`^\S.*:\d+ in \S`)

// stack writes a call's callers, innermost first.
func (t *text) stack(frames []string) {
	var python, native []string
	for _, f := range frames {
		if pythonLine.MatchString(f) {
			python = append(python, f)
		} else {
			native = append(native, f)
		}
	}
	if len(python) == 0 {
		t.frames(stackLabel, native, maxStack)
		return
	}
	t.frames(pythonLabel, python, maxWithPython)
	t.frames(stackLabel, native, maxWithPython)
}

func (t *text) frames(label string, frames []string, most int) {
	for i, s := range frames {
		if i == most-1 && len(frames) > most {
			t.wrap(label, fmt.Sprintf("… %d more (--json has them)", len(frames)-i))
			return
		}
		t.wrap(label, ShortName(s, t.width-stackLabelSize))
		label = "         "
	}
}
