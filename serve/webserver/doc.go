// Package webserver is what stands between an HTTP handler and its callers: TLS 1.3,
// tokens, client certificates, the names the server may be called by, and bounds on what
// a peer may send, how long it may take, and how much runs at a time. It knows nothing of
// what is served.
//
// Whatever a peer sends, the other peers get their answers, and the memory of this
// process stays bounded.
package webserver
