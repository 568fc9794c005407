#!/usr/bin/env bash
# Has teams check its own packages: each package is a task whose gate is
# "go vet and go test of that package", and four workers share the tasks.
#
# usage: testdata/selfcheck.sh [--slow] [PATTERN...]
#
# Without a pattern it takes every package but the very slow ones
# (internal/e2e, internal/crashtest); --slow takes those too, a pattern such as
# ./fsboard or ./internal/... takes what go list makes of it. TEAMS names the
# program to use; without it one is built. Everything is written below a
# temporary directory. Exit 0: every task was completed through its gate.
set -euo pipefail
cd "$(dirname "$0")/.."

slow='/internal/(e2e|crashtest)$'
patterns=()
for arg in "$@"; do
	case $arg in
	--slow) slow='^$' ;;
	-h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 0 ;;
	-*) echo "selfcheck: unknown flag $arg" >&2; exit 64 ;;
	*) patterns+=("$arg"); slow='^$' ;;
	esac
done
[ ${#patterns[@]} -gt 0 ] || patterns=(./...)

scratch=$(mktemp -d)
worker=
cleanup() {
	if [ -n "$worker" ]; then # a second signal ends the running tasks
		kill "$worker" 2>/dev/null && kill "$worker" 2>/dev/null
		wait "$worker" 2>/dev/null
	fi
	rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The state is ours alone, whoever calls.
unset TEAMS_SESSION TEAMS_NAME TEAMS_SPAWN TEAMS_PROJECT PI_CODING_AGENT_DIR
export TEAMS_ROOT=$scratch/root
teams=${TEAMS:-$scratch/teams}
[ -n "${TEAMS:-}" ] || go build -o "$teams" ./cmd/teams

module=$(go list -m)
go list "${patterns[@]}" >"$scratch/all"
grep -vE "$slow" "$scratch/all" >"$scratch/packages" || true
[ -s "$scratch/packages" ] || { echo "selfcheck: no package to check" >&2; exit 64; }
count=$(wc -l <"$scratch/packages")

began=$SECONDS
while read -r package; do
	dir=.${package#"$module"}
	"$teams" task add "check $dir" -q -d "$package" --max-attempts 1 \
		--verify "go vet $dir && go test $dir" --verify-timeout 20m >/dev/null
done <"$scratch/packages"
echo "$count packages are on the board, four workers take them"

# The work itself is to compile the package and its tests; the gate judges it.
"$teams" work -j 4 --gate-retries 0 -- sh -c 'package=$(cat) && go build -o /dev/null "$package" && echo "$package compiles"' &
worker=$!
"$teams" wait --timeout 30m >/dev/null || true
wait "$worker" || echo "selfcheck: the workers ended with exit status $?" >&2
worker=

echo
"$teams" task list
echo
"$teams" task list --state completed -q >"$scratch/completed"
done=$(wc -l <"$scratch/completed")
"$teams" task list --state ready,claimed,submitted,verifying,waiting,blocked,failed,cancelled -q | while read -r id; do
	"$teams" task show "$id"
done
# A task without a passed gate would be no check at all.
passed=$("$teams" export | grep -c '"verdict":"passed"' || true)
echo "$done of $count packages completed, $passed gates passed, $((SECONDS - began)) s"
[ "$done" -eq "$count" ] && [ "$passed" -eq "$count" ]
