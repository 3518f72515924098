package replicas_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/replicas"
)

const (
	second = time.Second
	start  = time.Hour
	id     = 7
)

var names = []string{"a", "b", "c"}

// node pushes every two seconds. answer returns a replica's answer: how many of 8 ranks are live, or -1.
type node struct {
	c      *replicas.Chooser
	now    time.Duration
	answer func(replica int) int
	said   []int // notices of the last push
}

func newNode(answer func(replica int) int) *node {
	return &node{c: replicas.New(names), now: start, answer: answer}
}

// push returns the replica that took the push, -1: none.
func (n *node) push() int {
	n.now += 2 * second
	to, notices := n.c.Push(n.now, id)
	for again := true; again; {
		if live := n.answer(to); live >= 0 {
			notices = append(notices, n.c.Answered(n.now, id, to, uint32(live), 8)...)
			n.notice(notices)
			return to
		}
		to, again = n.c.Failed(n.now, id, to, true)
	}
	n.notice(notices)
	return -1
}

func (n *node) notice(to []int) {
	n.said = to
	for _, r := range to {
		if live := n.answer(r); live >= 0 {
			n.said = append(n.said, n.c.Noticed(n.now, id, r, uint32(live))...)
		} else {
			n.c.NoticeFailed(n.now, id, r)
		}
	}
}

// until pushes until a replica takes the push, and returns how long that took.
func (n *node) until(t *testing.T, replica int) time.Duration {
	t.Helper()
	began := n.now
	for n.now-began < time.Hour {
		if n.push() == replica {
			return n.now - began
		}
	}
	t.Fatalf("it never goes to %d", replica)
	return 0
}

var order = replicas.Order(names, id)

func TestCohortsAreSpreadEvenly(t *testing.T) {
	five := []string{"a", "b", "c", "d", "e"}
	first, moved := map[int]int{}, 0
	for cohort := range uint64(10_000) {
		o := replicas.Order(five, cohort)
		first[o[0]]++
		less := replicas.Order(five[:4], cohort) // without e, only its cohorts move
		if five[o[0]] != five[less[0]] {
			moved++
			if o[0] != 4 || less[0] != o[1] {
				t.Fatalf("cohort %d: %v, then %v", cohort, o, less)
			}
		}
	}
	for r, n := range first {
		if n < 1850 || n > 2150 {
			t.Errorf("replica %d has %d of 10,000", r, n)
		}
	}
	if moved != first[4] {
		t.Errorf("%d moved, of %d", moved, first[4])
	}
	if o := replicas.Order([]string{"e", "d", "c", "b", "a"}, 5); o[0] != 4-replicas.Order(five, 5)[0] {
		t.Error("the order in which they are given counts")
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ addresses, want []string }{
		{[]string{"https://f-1:4318", "https://f-2:4318"}, []string{"f-1", "f-2"}},
		{[]string{"grpcs://f-1:4317", "https://f-2:4318"}, []string{"f-1", "f-2"}},
		{[]string{"http://f-1:1", "http://f-1:2"}, []string{"http://f-1:1", "http://f-1:2"}},
		{[]string{"http://[::1]:4318"}, []string{"::1"}},
	} {
		if got := replicas.Names(c.addresses); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v", c.addresses, got)
		}
	}
}

// A replica that does not answer is left within the same push. After it has answered for ten seconds, the node
// returns.
func TestAReplicaThatIsKilled(t *testing.T) {
	dead := false
	n := newNode(func(r int) int {
		if dead && r == order[0] {
			return -1
		}
		return 0
	})
	if n.push() != order[0] || len(n.said) != 0 {
		t.Error("a cohort begins at the first")
	}
	dead = true
	for range 20 {
		if n.push() != order[1] || !slices.Equal(n.said[:min(1, len(n.said))], order[:min(1, len(n.said))]) {
			t.Fatalf("notices to %v of %v", n.said, order)
		}
	}
	dead = false
	if took := n.until(t, order[0]); took < 10*second || took > 14*second {
		t.Errorf("back after %s", took)
	}
	if !slices.Equal(n.said, order[1:2]) {
		t.Errorf("%v were said that it has left, not %v", n.said, order[1:2])
	}
	if n.push(); len(n.said) != 0 {
		t.Errorf("a notice that was answered is repeated: %v", n.said)
	}
}

// A node that only lost a push returns with the next one, because its peers are there.
func TestOnePushIsLost(t *testing.T) {
	lost := false
	n := newNode(func(r int) int {
		switch {
		case r != order[0]:
			return 1
		case lost:
			return -1
		}
		return 7
	})
	n.push()
	lost = true
	if n.push() != order[1] {
		t.Error("the next one is not asked")
	}
	lost = false
	n.push() // its notice is answered
	if n.push() != order[0] {
		t.Error("it is not where most are")
	}
}

// If a replica fails repeatedly, nodes return to it less and less often.
func TestFlapping(t *testing.T) {
	up := true
	n := newNode(func(r int) int {
		if !up && r == order[0] {
			return -1
		}
		return 0
	})
	n.push()
	var took []time.Duration
	for range 8 {
		up = false
		n.until(t, order[1])
		up = true
		took = append(took, n.until(t, order[0]))
	}
	for i := 1; i < len(took); i++ {
		if took[i] < took[i-1] {
			t.Errorf("%v", took)
		}
	}
	if last := took[len(took)-1]; last < 9*time.Minute || last > 11*time.Minute {
		t.Errorf("%v", took)
	}
}

// If a part of the cohort cannot come, the others go there, and send notices to their old place.
func TestPartOfTheCohortIsElsewhere(t *testing.T) {
	elsewhere := 0
	n := newNode(func(r int) int {
		switch r {
		case order[0]:
			return 8 - elsewhere
		case order[1]:
			return elsewhere
		}
		return 0
	})
	for range 10 {
		if n.push() != order[0] || len(n.said) != 0 {
			t.Fatalf("notices to %v though all push", n.said)
		}
	}
	elsewhere = 3
	if took := n.until(t, order[1]); took > 6*second {
		t.Errorf("it goes there after %s", took)
	}
	if !slices.Equal(n.said, order[:1]) {
		t.Errorf("notices to %v, not %v", n.said, order[:1])
	}
	elsewhere = 8
	if took := n.until(t, order[0]); took < 10*second || took > 14*second {
		t.Errorf("back after %s", took)
	}
}

// If ranks push nowhere, nobody moves, and others are asked rarely.
func TestRanksThatDoNotPush(t *testing.T) {
	n := newNode(func(r int) int {
		if r == order[0] {
			return 5
		}
		return 0
	})
	asked := 0
	for range 300 { // ten minutes
		if n.push() != order[0] {
			t.Fatal("it moves")
		}
		asked += len(n.said)
	}
	if asked > 2*25 {
		t.Errorf("others were asked %d times", asked)
	}
}

func TestNoReplicaAnswers(t *testing.T) {
	up := false
	n := newNode(func(int) int {
		if up {
			return 0
		}
		return -1
	})
	tried := map[int]bool{}
	for range 10 {
		to, _ := n.c.Push(n.now+second, id)
		tried[to] = true
		if n.push() != -1 {
			t.Error("nobody answers")
		}
	}
	if len(tried) != 3 {
		t.Errorf("only %v were tried", tried)
	}
	up = true
	if n.push() < 0 {
		t.Error("it is not asked")
	}
	n.until(t, order[0])
}

// A replica that refuses pushes is left after three.
func TestRefusedPushes(t *testing.T) {
	c := replicas.New(names)
	for i := range 3 {
		to, _ := c.Push(start+time.Duration(i)*second, id)
		if to != order[0] {
			t.Fatalf("push %d goes to %d", i, to)
		}
		if to, again := c.Failed(start+time.Duration(i)*second, id, to, false); again != (i == 2) || again && to != order[1] {
			t.Errorf("push %d: %d, %v", i, to, again)
		}
	}
}

func Example() {
	c := replicas.New(replicas.Names([]string{"https://fleet-1:4318", "https://fleet-2:4318"}))
	to, _ := c.Push(time.Hour, 0x9e3779b97f4a7c15)
	next, again := c.Failed(time.Hour, 0x9e3779b97f4a7c15, to, true)
	fmt.Println(to, next, again)
	// Output: 1 0 true
}
