// Command cmd serves what the conformance suite asks for, on the handlers that
// "ingero mcp --http" uses: at an address of this machine, which it prints.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/ingero-io/ingero/internal/mcpconformance"
	"github.com/ingero-io/ingero/mcpserver"
)

func main() {
	address := flag.String("http", "127.0.0.1:0", "where to serve")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *address); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, address string) error {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := mcpconformance.NewServer(ctx)
	mcpserver.Protect(server, io.Discard, mcpserver.DefaultLimits(), nil)
	fmt.Printf("http://%s%s\n", ln.Addr(), mcpserver.Path)
	return mcpserver.Serve(ctx, ln, server, nil, mcpserver.Options{})
}
