// Package mcpserver serves an MCP server to AI agents: on standard input and output, and over HTTP,
// where package webserver checks access. It does not know the tools. It limits what a peer may send
// and how much runs at a time, and it logs who called what.
//
// Whatever a peer sends, it gets an answer, other peers are served, and the memory of this process
// stays bounded.
package mcpserver

// MaxMessage is the longest message, in bytes, that is accepted from a peer: the largest requests
// are SQL statements.
const MaxMessage = 256 << 10
