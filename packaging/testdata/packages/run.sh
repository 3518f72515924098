#!/bin/bash
# Runs in a Debian with systemd as PID 1, as root: installs, uses, upgrades and removes what was built, as the scripts
# beside it say, one after the other. Prints a line for each check, how long each installation took, and at the end how
# many checks of each script passed and failed.
set -u
here=${0%/*}
. "$here/checks.sh"
result=
everything >/tmp/before
for script in deb echo fleet slurm remove rpm; do
	echo
	echo "== $script"
	passed=0
	failed=
	. "$here/$script.sh"
	result="$result${result:+,}{\"package\":\"$script\",\"passed\":$passed,\"failed\":[$failed]}"
done
echo
echo "vm-result: {\"release\":\"$(uname -r)\",\"steps\":[$result]}"
sync
