#!/bin/sh
# Slurm's prolog on a compute node (Prolog= in slurm.conf), as root: records the GPU work of the job's user into a file of
# the job. epilog.sh ends it. A node that cannot be traced runs jobs as before: this never fails, and says in the system's
# log what it could not do.
#
# Slurm gives it no variables but its own. These can be set in a copy, below "set -u":
#
# INGERO_JOBS         where recordings are kept (/var/lib/ingero-jobs); epilog.sh has it, too
# INGERO_FLAGS        more flags of "ingero trace", such as --fleet https://fleet-1:4318 --cluster east
# INGERO_FLEET_TOKEN  the token of --fleet
set -u
export PATH="${PATH:-/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}" # Slurm sets none
export INGERO_FLEET_TOKEN
jobs=${INGERO_JOBS:-/var/lib/ingero-jobs}
job=${SLURM_JOB_ID:-}
user=${SLURM_JOB_UID:-${SLURM_JOB_USER:-}} # its number: a static program knows no users of LDAP

say() { logger -t ingero "job $job: $1" 2>/dev/null || echo "ingero: job $job: $1" >&2; }

case $job in
'' | *[!0-9]*) exit 0 ;; # not a job
esac
if [ -z "$user" ]; then
	say "not recorded: Slurm did not say whose job it is"
	exit 0
fi
if ! command -v ingero >/dev/null 2>&1; then
	say "not recorded: ingero is not installed"
	exit 0
fi
umask 027
if ! mkdir -p "$jobs" || ! chmod 711 "$jobs"; then # each user reaches the own job's files, and sees no others
	say "not recorded: $jobs cannot be made"
	exit 0
fi

# A job's first step may begin as soon as this ends: what runs on must not hold its standard streams.
if [ -d /run/systemd/system ] && command -v systemd-run >/dev/null 2>&1; then
	# shellcheck disable=SC2086 # flags are words
	systemd-run --quiet --collect --unit "ingero-job-$job" ${INGERO_FLEET_TOKEN:+--setenv=INGERO_FLEET_TOKEN} --property=MemoryMax=1G --property=CPUQuota=100% \
		ingero trace --quiet --fleet-wait --user "$user" --db "$jobs/$job.db" ${INGERO_FLAGS:-} </dev/null >/dev/null 2>&1 ||
		say "not recorded: systemd-run failed"
else
	# shellcheck disable=SC2086
	setsid ingero trace --quiet --fleet-wait --user "$user" --db "$jobs/$job.db" ${INGERO_FLAGS:-} \
		</dev/null >"$jobs/$job.log" 2>&1 &
	echo $! >"$jobs/$job.pid"
fi
exit 0
