package gate

import (
	"fmt"
	"math"
	"regexp"
	"strings"
)

// maxParsed bounds the bytes of a statement, with those that the engine's parser copies: a byte may become 70 of its
// tree.
const maxParsed = 1 << 20

// searched is a CASE without an operand.
var searched = regexp.MustCompile(`(?i)case\s+when[\s('"]`)

// Parse returns why a statement may not even be parsed, which nothing can interrupt; empty: it may. The parser copies
// the operand of a CASE for each WHEN, also of one in an operand, and a named window for each OVER. So words are
// counted wherever they are, also in texts: there may be fewer that matter.
func Parse(statement string) (refused string) {
	lower := strings.ToLower(statement)
	operands := strings.Count(lower, "case") - len(searched.FindAllString(statement, -1))
	whens, most := float64(strings.Count(lower, "when")), 1.0
	for n := range operands { // of so many in each other
		most = max(most, math.Pow(whens/float64(n+1), float64(n+1)))
	}
	if most*float64(len(statement)) > maxParsed {
		return fmt.Sprintf("it has %d CASE with an operand and %.0f WHEN; write CASE WHEN a = 1 THEN instead of "+
			"CASE a WHEN 1 THEN", operands, whens)
	}
	if n := strings.Count(lower, "over"); strings.Contains(lower, "window") && n*len(statement) > maxParsed {
		return fmt.Sprintf("it has a named window and OVER %d times; write the window after each OVER, or use fewer", n)
	}
	return ""
}
