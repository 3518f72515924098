package mcpserver

import (
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/serve/webserver"
)

// idHeader has a session's number, in requests and answers.
const idHeader = "Mcp-Session-Id"

// sessions knows which sessions are in use. At the limit the idlest one makes room, as clients that end without ending
// their session must not keep others out.
type sessions struct {
	server *mcp.Server

	mu    sync.Mutex // guards the rest
	byID  map[string]*session
	order uint64 // of what is done last
}

// session is the use of a session.
type session struct {
	running   int    // requests in flight
	listening int    // event streams, which say that its client is there
	last      uint64 // order of its last request
	closing   bool
}

func newSessions(server *mcp.Server) *sessions {
	return &sessions{server: server, byID: map[string]*session{}}
}

// enter marks a session as in use until the result is called. ok is false if it is being closed.
func (s *sessions) enter(id string, listens bool) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.byID[id]
	if u == nil {
		return func() {}, true // the SDK answers that there is none
	}
	if u.closing {
		return nil, false
	}
	n := &u.running
	if listens {
		n = &u.listening
	}
	*n++
	s.touch(u)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		*n--
		s.touch(u)
	}, true
}

func (s *sessions) touch(u *session) {
	s.order++
	u.last = s.order
}

// begun notes a session that has begun.
func (s *sessions) begun(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := &session{}
	s.touch(u)
	s.byID[id] = u
}

// makeRoom reports whether another session may begin. If there are as many as may be, it closes the idlest one; one
// with a request in flight stays.
func (s *sessions) makeRoom() bool {
	idlest, ok := s.full()
	if idlest != nil {
		_ = idlest.Close() // it is no longer in the list, whatever its end says
	}
	return ok
}

// full returns the session to close, nil if there is none. ok is false if there is no room and none can be made.
func (s *sessions) full() (idlest *mcp.ServerSession, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, live := 0, map[string]*session{}
	var use *session
	for one := range s.server.Sessions() {
		n++
		u := s.byID[one.ID()]
		if u == nil { // it is beginning, or has no number
			continue
		}
		live[one.ID()] = u
		if u.running > 0 || u.closing {
			continue
		}
		if use == nil || (u.listening > 0) == (use.listening > 0) && u.last < use.last ||
			u.listening == 0 && use.listening > 0 {
			idlest, use = one, u
		}
	}
	s.byID = live
	if n < maxSessions {
		return nil, true
	}
	if use == nil {
		return nil, false
	}
	use.closing = true
	return idlest, true
}

// serve passes a request on to the SDK's sessions.
func (s *sessions) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	id := r.Header.Get(idHeader)
	switch {
	case id != "":
		leave, ok := s.enter(id, r.Method == http.MethodGet)
		if !ok {
			http.Error(w, "session not found", http.StatusNotFound) // its client begins another one
			return
		}
		defer leave()
	case r.Method == http.MethodPost:
		if !s.makeRoom() {
			webserver.Busy(w, "too many sessions, all with a request in flight")
			return
		}
		defer func() {
			if id := w.Header().Get(idHeader); id != "" {
				s.begun(id)
			}
		}()
	}
	next.ServeHTTP(w, r)
}
