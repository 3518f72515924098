// Command healthy asks a URL of its own container, and exits with 0 if the answer is 200: it is the health check of
// images that have no shell.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"
)

// patience is shorter than the time that deploy/compose gives a check.
const patience = 4 * time.Second

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "healthy:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("a URL is needed, not %d arguments", len(args))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, args[0], nil)
	if err != nil {
		return err
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", args[0], r.Status)
	}
	return nil
}
