package main

import "github.com/ingero-io/ingero/lib/commands"

// version and commit are set by the linker (see the Makefile).
var version, commit = commands.Unset, ""

func build() commands.Build { return commands.Of(version, commit) }
