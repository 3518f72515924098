package wire

import (
	"errors"
	"strconv"

	"github.com/ingero-io/ingero/cluster/health"
)

// Answer is the fleet's answer on each response.
type Answer struct {
	// Threshold is the health score below which a rank is slow, 0.1 to 0.99; Quorum says whether enough ranks back it.
	// Earlier agents decide by them. NaN: not set, and Quorum means nothing.
	Threshold float64
	Quorum    bool
	// Reply is the data that agents use for decisions, nil: none.
	Reply *health.Reply
	// Refused says which ranks of the push were not taken, and why. Empty: all were.
	Refused string
}

// AnswerTo returns the answer with the reply to a push or poll. A straggler is 10 % slower than its peers, so that is
// the threshold.
func AnswerTo(r *health.Reply) Answer {
	if r == nil {
		return Answer{Threshold: NoThreshold()}
	}
	return Answer{Threshold: health.SlowScore(), Quorum: r.Quorum(), Reply: r}
}

// Names of an answer's parts in HTTP headers and in gRPC metadata.
var (
	httpNames = [...]string{"X-Ingero-Threshold", "X-Ingero-Quorum-Met", "X-Ingero-Reply", "X-Ingero-Refused"}
	grpcNames = [...]string{"ingero-threshold", "ingero-quorum-met", "ingero-reply", "ingero-refused"}
)

// SetHTTP writes the answer to the headers of an HTTP response (an http.Header). It removes the parts that the answer
// does not have. It returns an error if no agent would accept the reply; the headers are then those of an answer
// without one.
func (a Answer) SetHTTP(header map[string][]string) error { return a.set(header, httpNames) }

// SetGRPC writes the answer to gRPC metadata (a metadata.MD), as SetHTTP does.
func (a Answer) SetGRPC(md map[string][]string) error { return a.set(md, grpcNames) }

func (a Answer) set(h map[string][]string, names [4]string) error {
	for _, n := range names {
		delete(h, n)
	}
	if usableThreshold(a.Threshold) {
		h[names[0]] = []string{strconv.FormatFloat(a.Threshold, 'g', -1, 64)}
		h[names[1]] = []string{strconv.FormatBool(a.Quorum)}
	}
	if a.Refused != "" {
		h[names[3]] = []string{printable(a.Refused, maxRefused)}
	}
	if a.Reply == nil {
		return nil
	}
	text, err := FormatReply(a.Reply)
	if err != nil {
		return within("reply", err)
	}
	h[names[2]] = []string{text}
	return nil
}

// AnswerOfHTTP reads the answer from the headers of an HTTP response (an http.Header). A pair of threshold and quorum
// that is incomplete or out of range counts as none. An error is about the reply; the rest of the answer is valid.
func AnswerOfHTTP(header map[string][]string) (Answer, error) { return answerOf(header, httpNames) }

// AnswerOfGRPC reads the answer from gRPC metadata (a metadata.MD: headers, else trailers), as AnswerOfHTTP does.
func AnswerOfGRPC(md map[string][]string) (Answer, error) { return answerOf(md, grpcNames) }

func answerOf(h map[string][]string, names [4]string) (Answer, error) {
	a := Answer{Threshold: NoThreshold()}
	first := func(name string) string {
		if v := h[name]; len(v) > 0 {
			return v[0]
		}
		return ""
	}
	a.pair(first(names[0]), first(names[1]))
	a.Refused = printable(first(names[3]), maxRefused)
	text := first(names[2])
	if text == "" {
		return a, nil
	}
	r, err := ParseReply(text)
	if err != nil {
		return a, within("reply", err)
	}
	a.Reply = r
	return a, nil
}

// pair sets the published pair, if it is complete and in range.
func (a *Answer) pair(threshold, quorum string) {
	if len(threshold) > 32 {
		return
	}
	v, err := strconv.ParseFloat(threshold, 64)
	if errors.Is(err, strconv.ErrSyntax) || !usableThreshold(v) || quorum != "true" && quorum != "false" {
		return
	}
	a.Threshold, a.Quorum = v, quorum == "true"
}
