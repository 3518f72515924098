# Slurm's prolog and epilog, where systemd runs: a job of another user is recorded, explained, and handed to that user.
# Slurm's own programs are not here: the scripts are called as it calls them.

slurm() { # script, job; Slurm sets no search path
	env -i SLURM_JOB_ID="$2" SLURM_JOB_USER=nobody SLURM_JOB_UID="$(id -u nobody)" "/etc/slurm/ingero-$1.sh"
}
state_of() { systemctl show -p "$2" --value "ingero-job-$1"; }
everything >/tmp/before-slurm
systemctl stop ingero # records all, too

mkdir /etc/slurm
cd /slurm
cp prolog.sh /etc/slurm/ingero-prolog.sh && cp epilog.sh /etc/slurm/ingero-epilog.sh
cd /packages/new
check "the prolog succeeds" slurm prolog 4711
check "a unit of the job records" equal "$(state_of 4711 ActiveState)" active
check "it gets no more memory than promised" equal "$(state_of 4711 MemoryMax)" $((1 << 30))
check "its recording begins" soon test -s /var/lib/ingero-jobs/4711.db
works() { # the job, until its calls are recorded
	SLURM_JOB_ID=4711 trains
	calls 0 /var/lib/ingero-jobs/4711.db
}
check "the job's calls are recorded" soon works
LD_LIBRARY_PATH=/stand-in/lib /stand-in/victim loop --name stranger --seconds 2 >/tmp/others
check "the epilog succeeds" slurm epilog 4711
check "the unit is gone" equal "$(state_of 4711 LoadState)" not-found
check "nothing of the job runs" not pgrep -f /var/lib/ingero-jobs/4711
cat /var/lib/ingero-jobs/4711.txt >/tmp/explained
check "the job is explained" says trainer /tmp/explained
check "the recording can be read" ingero explain /var/lib/ingero-jobs/4711.db
ingero query /var/lib/ingero-jobs/4711.db "select distinct slurm_job, rank, name from processes where traced" >/tmp/processes
check "whose it is" says 4711 /tmp/processes
check "which program it is" says trainer /tmp/processes
check "no other user's are recorded" not says stranger /tmp/processes
check "its user may read them" runuser -u nobody -- cat /var/lib/ingero-jobs/4711.txt /var/lib/ingero-jobs/4711.db
check "nobody sees which others there are" not runuser -u nobody -- ls /var/lib/ingero-jobs

# The tracer of a job may be gone before the job ends, or not be there at all.
check "the prolog succeeds again" slurm prolog 4712
systemctl kill --signal=KILL ingero-job-4712
check "the epilog succeeds without the tracer" slurm epilog 4712
check "its unit is gone, too" equal "$(state_of 4712 LoadState)" not-found
check "the epilog succeeds without a prolog" slurm epilog 4713

rm -r /etc/slurm /var/lib/ingero-jobs
check "nothing of Slurm is left" left /tmp/before-slurm '/var/lib/ingero/.*'
systemctl start ingero
