#!/bin/sh
# Slurm's epilog on a compute node (Epilog= in slurm.conf), as root: ends what prolog.sh began, and writes what made the
# job's GPUs wait beside its recording, as text. It deletes recordings that are older than INGERO_KEEP_DAYS (7).
set -u
export PATH="${PATH:-/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}" # Slurm sets none
jobs=${INGERO_JOBS:-/var/lib/ingero-jobs}
job=${SLURM_JOB_ID:-}

case $job in
'' | *[!0-9]*) exit 0 ;;
esac
[ -d "$jobs" ] || exit 0

# Ending it writes the last records.
if [ -f "$jobs/$job.pid" ]; then
	read -r pid <"$jobs/$job.pid"
	# The number may be another process's by now.
	if tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q "ingero trace .*/$job\.db"; then
		kill "$pid"
		i=0
		while [ -d "/proc/$pid" ] && [ $i -lt 30 ]; do
			sleep 1
			i=$((i + 1))
		done
	fi
	rm -f "$jobs/$job.pid"
elif [ -d /run/systemd/system ]; then
	systemctl stop "ingero-job-$job.service" >/dev/null 2>&1
fi

umask 027
if [ -f "$jobs/$job.db" ]; then
	# Slurm takes a node away if this takes longer than PrologEpilogTimeout.
	timeout 60 ingero explain "$jobs/$job.db" --since all >"$jobs/$job.txt" 2>&1 ||
		{ logger -t ingero "job $job: its recording could not be explained: $(tail -n 1 "$jobs/$job.txt")" 2>/dev/null; }
	if [ -n "${SLURM_JOB_USER:-}" ]; then
		chown "$SLURM_JOB_USER" "$jobs/$job.db" "$jobs/$job.txt" 2>/dev/null
	fi
fi
# Only what prolog and epilog made: the folder may have other files.
find "$jobs" -maxdepth 1 -type f -mtime "+${INGERO_KEEP_DAYS:-7}" \
	\( -name '[0-9]*.db' -o -name '[0-9]*.db-wal' -o -name '[0-9]*.db-shm' -o -name '[0-9]*.txt' -o -name '[0-9]*.log' \) \
	-exec rm -f {} +
exit 0
