//go:build man

package commands

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// It is not part of the programs that are shipped: the library behind it is needed only where packages are made.
func init() {
	man = func() *cobra.Command {
		return &cobra.Command{
			Use:    "man FOLDER SECTION",
			Hidden: true,
			Args:   cobra.ExactArgs(2),
			RunE: func(cmd *cobra.Command, args []string) error {
				epoch := time.Unix(0, 0).UTC() // the same pages for each build
				err := doc.GenManTree(cmd.Root(), &doc.GenManHeader{Section: args[1], Source: "Ingero", Date: &epoch}, args[0])
				if err != nil {
					return fmt.Errorf("write man pages: %w", err)
				}
				return nil
			},
		}
	}
}
