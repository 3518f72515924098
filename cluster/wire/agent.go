package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MaxAgentStatus bounds an agent's status, in bytes.
const MaxAgentStatus = 1 << 20

// AgentStatus is what an agent knows of the ranks on its node.
type AgentStatus struct {
	Node    string `json:"node_id"`
	Cluster string `json:"cluster_id"`
	Fleet   string `json:"fleet"` // its address
	// Reachable: the fleet has answered lately. Failing is the error of the last request, empty if it succeeded.
	Reachable bool        `json:"fleet_reachable"`
	Failing   string      `json:"failing,omitempty"`
	Ranks     []AgentRank `json:"ranks"`
}

// AgentRank is a process that is, or may be, a rank. Times are per step, in milliseconds; unknown ones are left out.
type AgentRank struct {
	PID       uint32  `json:"pid"`
	Process   string  `json:"process,omitempty"` // its name
	Rank      *int32  `json:"rank,omitempty"`    // nil: it is not compared with peers
	WorldSize int32   `json:"world_size,omitempty"`
	Cohort    string  `json:"cohort,omitempty"` // 16 hexadecimal digits
	State     string  `json:"state,omitempty"`
	Mode      string  `json:"detection_mode,omitempty"`
	OwnMS     float64 `json:"own_ms,omitempty"`
	PeerMS    float64 `json:"peer_ms,omitempty"` // median of the others' own work
	WaitMS    float64 `json:"wait_ms,omitempty"` // in collectives
	StepMS    float64 `json:"step_ms,omitempty"`
	G         float64 `json:"g"` // evidence that the rank is slow
	H         float64 `json:"h,omitempty"`
	Measured  string  `json:"measured,omitempty"` // "device" or "host"
	// Note is why it is not measured, or a note on the measurement.
	Note    string `json:"note,omitempty"`
	Skipped uint64 `json:"skipped_steps,omitempty"` // because records were dropped
	Spare   bool   `json:"spare,omitempty"`         // its host has time to spare: nobody waits for it
	Exited  bool   `json:"exited,omitempty"`
	Event   *Event `json:"event,omitempty"` // the rank's last event, with its cause
}

// AppendAgentStatus appends a status to b as a line of JSON. Processes that do not fit are left out.
func AppendAgentStatus(b []byte, s *AgentStatus) ([]byte, error) {
	c := *s
	for {
		line := bytes.NewBuffer(b)
		j := json.NewEncoder(line) // adds the newline
		j.SetEscapeHTML(false)
		if err := j.Encode(&c); err != nil {
			return b, wrong(Value, "", "%v", err)
		}
		if line.Len()-len(b) <= MaxAgentStatus || len(c.Ranks) == 0 {
			return line.Bytes(), nil
		}
		c.Ranks = c.Ranks[:len(c.Ranks)/2]
	}
}

// ParseAgentStatus parses what AppendAgentStatus wrote. Texts are made printable.
func ParseAgentStatus(b []byte) (*AgentStatus, error) {
	if len(b) > MaxAgentStatus {
		return nil, wrong(Limit, "", "the answer has more than %d bytes", MaxAgentStatus)
	}
	var s AgentStatus
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, wrong(Malformed, "", "the answer is not an agent's status")
	}
	s.Node, s.Cluster, s.Fleet, s.Failing = clip(s.Node), clip(s.Cluster), clip(s.Fleet), printable(s.Failing, maxWhy)
	for i := range s.Ranks {
		r := &s.Ranks[i]
		r.Process, r.Cohort, r.State, r.Mode = clip(r.Process), clip(r.Cohort), clip(r.State), clip(r.Mode)
		r.Measured, r.Note = clip(r.Measured), clip(r.Note)
		if r.Event == nil {
			continue
		}
		if err := r.Event.check(); err != nil {
			return nil, within(fmt.Sprintf("ranks[%d].event", i), err)
		}
		r.Event.Cause = r.Event.Cause.clipped()
	}
	return &s, nil
}

// Text returns the columns of the rank's line in a table.
func (r *AgentRank) Text() (own, peer, slower, state string) {
	c := CohortRank{State: r.State, OwnMS: r.OwnMS, PeerMS: r.PeerMS}
	own, peer, slower, state = c.Text()
	if r.Spare {
		state += ", its host has time to spare"
	}
	if r.Exited {
		state += ", has ended"
	}
	return own, peer, slower, state
}
