# The deb of an earlier version is installed and used, and upgraded to this one. Its ingero.yaml is another one, and is
# changed here, too.

# Install.
timed "installing the deb of an earlier version" /tmp/installed dpkg -i /packages/old/ingero_0.deb
check "it installs" dpkg -s ingero
check "it says what is next" says "next: sudo ingero check" /tmp/installed
check "it starts nothing by itself" not systemctl is-active -q ingero
check "its user is there" getent passwd ingero
check "tokens are not for everybody" equal "$(stat -c '%U:%G %a' /etc/ingero/trace.env)" "root:ingero 640"
check "its manual is there" test -s /usr/share/man/man1/ingero-trace.1.gz
check "completions are there" test -s /usr/share/bash-completion/completions/ingero
ingero check >/tmp/checked
check "this machine can be traced" says "Tracing works here." /tmp/checked
check "then it says what is next" says "next: systemctl enable --now ingero" /tmp/checked
old=$(ingero version | head -n 1)

# Use.
systemctl enable --now ingero 2>/tmp/enabled
check "the service starts" systemctl is-active -q ingero
check "it says what it does" soon sh -c 'systemctl show -p StatusText --value ingero | grep -q calls'
check "it runs as a user of its own" equal "$(ps -o user= -p "$(stat_of MainPID)")" ingero
# CAP_DAC_READ_SEARCH is bit 2, CAP_SYS_PTRACE 19, CAP_PERFMON 38, CAP_BPF 39.
check "it has the capabilities that it needs, no more" equal "$(status_of CapPrm)" 000000c000080004
# One thread raises the first two, only while it reads a traced process's files.
opens_no_files() { equal "$(status_of CapEff)" 000000c000000000; }
check "those that open others' files are not raised" soon opens_no_files
check "it can get no others" equal "$(status_of CapBnd)" 000000c000080004
check "it can get no privileges" equal "$(status_of NoNewPrivs)" 1
check "its system calls are filtered" equal "$(status_of Seccomp)" 2
limit_of() { cat "/sys/fs/cgroup$(stat_of ControlGroup)/$1"; }
check "it gets no more memory than promised" equal "$(limit_of memory.max)" $((1 << 30))
check "it gets no more CPU time than promised" equal "$(limit_of cpu.max)" "100000 100000"
as_it_sees() { nsenter --target "$(stat_of MainPID)" --mount -- "$@"; }
read_only() { # file that root cannot make where the service runs
	! as_it_sees touch "$1" 2>/tmp/why && says "Read-only file system" /tmp/why
}
check "it cannot change programs" read_only /usr/bin/changed
check "nor configuration" read_only /etc/ingero/changed
check "it can write where it records" as_it_sees touch /var/lib/ingero/writes
rm /var/lib/ingero/writes
trains
check "the stand-in ran" trained
check "its calls are recorded" soon calls 0
check "explain answers without a file's name" ingero explain
ingero check >/tmp/checked
check "and is what is next" says "next: ingero explain" /tmp/checked
check "recordings are for the group" equal "$(stat -c '%U:%G %a' /var/lib/ingero/ingero.db)" "ingero:ingero 640"

# It hangs: systemd starts it again.
mkdir -p /run/systemd/system/ingero.service.d
printf '[Service]\nWatchdogSec=5\n' >/run/systemd/system/ingero.service.d/test.conf
systemctl daemon-reload
systemctl restart ingero
check "it restarts" soon systemctl is-active -q ingero
pid=$(stat_of MainPID)
kill -STOP "$pid"
check "one that hangs is started again" soon sh -c '
	now=$(systemctl show -p MainPID --value ingero); [ "$now" != 0 ] && [ "$now" != '"$pid"' ] && systemctl is-active -q ingero'
rm -r /run/systemd/system/ingero.service.d
systemctl daemon-reload

# For other nodes.
systemctl start ingero-node-api
check "the node's API starts" soon systemctl is-active -q ingero-node-api
check "it answers" soon ingero query --nodes 127.0.0.1:8080 --ca-cert /var/lib/ingero-node-api/.ingero/node-cert.pem \
	"select count(*) from cuda_events"

# The service answers by itself, too: its certificate, and the key, are in its home folder.
cp -p /etc/ingero/trace.env /tmp/trace.env
echo INGERO_TRACE_FLAGS=--dashboard=127.0.0.1:8090 >>/etc/ingero/trace.env
systemctl restart ingero
check "the service answers" soon ingero query --nodes 127.0.0.1:8090 --ca-cert /var/lib/ingero/.ingero/node-cert.pem \
	"select count(*) from cuda_events"
check "its key is its own" equal "$(stat -c '%U:%G %a' /var/lib/ingero/.ingero/node-key.pem)" "ingero:ingero 600"
cp -p /tmp/trace.env /etc/ingero/trace.env
systemctl restart ingero

# Upgrade.
echo '# kept' >>/etc/ingero/trace.env
echo 'node: kept' >>/etc/ingero/ingero.yaml
before=$(count)
cd /packages/new
check "without a terminal, dpkg cannot ask which configuration to keep" not dpkg -i ingero_*_amd64.deb
check "the service goes on meanwhile" systemctl is-active -q ingero
timed "upgrading the deb" /tmp/upgraded dpkg --force-confdef --force-confold -i ingero_*_amd64.deb
check "it upgrades" equal "$(dpkg-query -W -f '${Version}' ingero)" "$NEW_VERSION"
check "there is another program" not equal "$old" "$(ingero version | head -n 1)"
check "the service goes on" soon systemctl is-active -q ingero
check "with the new program" sh -c 'cmp /proc/'"$(stat_of MainPID)"'/exe /usr/bin/ingero'
check "configuration is kept" says "# kept" /etc/ingero/trace.env
check "also where the package has another one" says "node: kept" /etc/ingero/ingero.yaml
check "which is beside it" says "# Configuration of ingero" /etc/ingero/ingero.yaml.dpkg-dist
check "and is the new one" not grep -q earlier /etc/ingero/ingero.yaml.dpkg-dist
check "nobody is asked to start it again" not says "next:" /tmp/upgraded
trains
check "recording goes on in the same file" soon calls "$before"
