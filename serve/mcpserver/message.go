package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// refusal is why a message was refused, for a JSON-RPC error.
type refusal struct {
	id   json.RawMessage // of the request, if it could be read
	code int64
	why  string
}

// encode is the answer: one line, with a null id if there is none.
func (r *refusal) encode() []byte {
	id := r.id
	if id == nil {
		id = json.RawMessage("null")
	}
	type wire struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	}
	b, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   wire            `json:"error"`
	}{"2.0", id, wire{r.code, r.why}})
	if err != nil { // an id from valid JSON is valid
		panic(err)
	}
	return append(b, '\n')
}

// tooLong refuses a message that was skipped.
func tooLong() *refusal {
	return &refusal{code: jsonrpc.CodeInvalidRequest, why: fmt.Sprintf("the message is longer than %d bytes", MaxMessage)}
}

// unreadable says why b is not JSON.
func unreadable(b []byte) *refusal {
	why := ""
	var syntax *json.SyntaxError
	switch err := json.Unmarshal(b, new(json.RawMessage)); {
	case !utf8.Valid(b):
		why = "it is not UTF-8"
	case errors.As(err, &syntax):
		why = fmt.Sprintf("%v after %d bytes", syntax, syntax.Offset)
	case err != nil:
		why = err.Error()
	default:
		return nil
	}
	return &refusal{code: jsonrpc.CodeParseError, why: "the message is not JSON: " + why}
}

// decode reads one message, or says why it is not one.
func decode(b []byte) (jsonrpc.Message, *refusal) {
	if r := unreadable(b); r != nil {
		return nil, r
	}
	if bytes.HasPrefix(b, []byte("[")) {
		return nil, &refusal{code: jsonrpc.CodeInvalidRequest, why: "batches are not supported; send one message a line"}
	}
	m, err := jsonrpc.DecodeMessage(b)
	if err != nil {
		return nil, &refusal{
			id: readID(b), code: jsonrpc.CodeInvalidRequest,
			why: fmt.Sprintf("the message is not a JSON-RPC request: %v", err),
		}
	}
	return m, nil
}

// readID finds the id in an invalid request: a string or a number, or nothing.
func readID(b []byte) json.RawMessage {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(b, &m) != nil || len(m.ID) == 0 {
		return nil
	}
	if c := m.ID[0]; c != '"' && c != '-' && (c < '0' || c > '9') {
		return nil
	}
	return m.ID
}
