// Package mcpserver serves an MCP server to AI agents: on standard input and output,
// and over HTTP, where package webserver checks who may ask. It knows nothing of the
// tools. It is what stands between them and their callers: it bounds what a peer may send
// and how much runs at a time, and it writes down who called what.
//
// Whatever a peer sends, it gets an answer, the other peers get theirs, and the memory
// of this process stays bounded.
package mcpserver

// MaxMessage is the longest message, in bytes, that is accepted from a peer: requests
// are a statement of SQL at most.
const MaxMessage = 256 << 10
