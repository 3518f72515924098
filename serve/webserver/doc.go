// Package webserver protects an HTTP handler: TLS 1.3, tokens, client certificates, allowed host
// names, and limits on the size and duration of requests and on how many run at a time. It does not
// know what is served.
//
// Whatever a peer sends, other peers are served, and the memory of this process stays bounded.
package webserver
