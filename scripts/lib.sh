# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What every script here sources: where things are, how progress is shown, and
# how a long command is logged.

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$ROOT/build
TREE=$BUILD/linux
LOGS=$BUILD/log
# What each target counted; a run of several gives each a folder of its own.
RESULTS=${RESULTS:-$BUILD/results}
# shellcheck disable=SC2034 # for the scripts that source this file
JOBS=$(nproc)
mkdir -p "$LOGS"

# What one clone of this repository has compiled serves another: source files are
# named relative to the folder in which all builds are. So messages of the kernel name
# them as ../linux/..., since the option by which the compiler would take the tree's
# path off finds none; it need not count for ccache either.
export CCACHE_BASEDIR=$BUILD
export CCACHE_IGNOREOPTIONS='-fmacro-prefix-map=*'

# The kernel that the series is for.
# shellcheck disable=SC2034 # for the scripts that source this file
BASE=$(<"$ROOT/patches/base")

# The linter of Python that scripts/deps installs.
# shellcheck disable=SC2034 # for the scripts that source this file
RUFF_VERSION=0.17.6
# shellcheck disable=SC2034 # as above
RUFF=$BUILD/tools/ruff/bin/ruff

# Messages, sort orders and dates that scripts read must not follow the locale.
export LC_ALL=C

STEP=0
STEPS=1

say() { printf '%s\n' "$*"; }
note() { printf '    %s\n' "$*"; }
warn() { printf '%s: warning: %s\n' "${0##*/}" "$*" >&2; }
die() { printf '%s: error: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# steps N: the script has N of them.
steps() { STEPS=$1; }

# step TEXT: starts the next one.
step() {
	STEP=$((STEP + 1))
	printf '[%d/%d %4ds] %s\n' "$STEP" "$STEPS" "$SECONDS" "$*"
}

# Shows on a terminal that a silent command is still alive. It watches the
# script's process, so that it ends with it however that ends.
ticker() {
	local start=$SECONDS parent=$$

	while kill -0 "$parent" 2>/dev/null; do
		printf '\r    %ds, %d lines of output ' $((SECONDS - start)) \
			"$(wc -l <"$1" 2>/dev/null || echo 0)"
		sleep 1
	done
}

# logged NAME COMMAND...: the command's output goes to a log, the end of which is
# shown if it fails; its status is returned. A function must return its own
# failures, as "set -e" does not reach into it.
#
# The command stays in the foreground, because bash lets a background one
# survive Ctrl-C.
logged() {
	local name=$1 log=$LOGS/$1.log ret=0 watcher='' start=$SECONDS
	shift

	mkdir -p "$(dirname "$log")"
	note "log: ${log#"$ROOT/"}"
	printf '+ %s\n' "$*" >"$log"
	if [ -t 1 ]; then
		ticker "$log" &
		watcher=$!
	fi
	("$@") >>"$log" 2>&1 </dev/null || ret=$?
	if [ -n "$watcher" ]; then
		kill "$watcher" 2>/dev/null || true
		wait "$watcher" 2>/dev/null || true
		printf '\r\033[K'
	fi
	if [ "$ret" -ne 0 ]; then
		note "failed ($name, status $ret, after $((SECONDS - start)) s); the log ends with:"
		tail -n "${LOG_TAIL:-25}" "$log" | sed 's/^/    | /'
	fi
	return "$ret"
}

have() { command -v "$1" >/dev/null 2>&1; }

# version_ge A B: A is B or later.
version_ge() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# As root, or through sudo.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif have sudo; then
		sudo "$@"
	else
		die "'$*' needs root: run it as root, or install sudo"
	fi
}

# Fills the array MAKEVARS: what every kernel make here is given. The arguments
# are for scripts/toolchain.
load_toolchain() {
	local vars

	vars=$("$ROOT/scripts/toolchain" "$@") || exit 1
	eval "MAKEVARS=($vars)"
	# Without it the name of the release gets a '+' or not, depending on
	# the tree's git history, and changes what has to be built.
	MAKEVARS+=(LOCALVERSION=)
}

# toolchain_used: what MAKEVARS has, and the versions of the compilers that it names.
toolchain_used() {
	local var

	printf '%s\n' "${MAKEVARS[@]}"
	for var in "${MAKEVARS[@]}"; do
		case $var in
		LLVM=*)	"clang${var#*=}" --version ;;
		RUSTC=*|BINDGEN=*) "${var#*=}" --version ;;
		esac
	done
}

kernel_version() {
	awk '$2 == "=" && /^(VERSION|PATCHLEVEL|SUBLEVEL) / { v = v sep $3; sep = "." }
	     /^EXTRAVERSION =/ { print v $3; exit }' "$1/Makefile"
}

# is_git_tree DIR: only if it is a repository of its own, not a folder inside another.
is_git_tree() { [ -e "$1/.git" ] && git -C "$1" rev-parse -q --verify HEAD >/dev/null; }

# copy_source FROM TO: the source of a kernel, of a repository what is committed.
copy_source() {
	mkdir "$2"
	if is_git_tree "$1"; then
		git -C "$1" archive HEAD | tar -x -C "$2"
	else
		cp -a --reflink=auto "$1/." "$2"
	fi
}

# fetch_source PACKAGE VERSION DIR: the source of a kernel, from a package of Debian's.
fetch_source() {
	local unpacked=$BUILD/$1

	rm -rf "$unpacked"
	"$ROOT/scripts/debian" unpack "$1" "$2" "$unpacked" || return 1
	mkdir "$3" || return 1
	tar -x --use-compress-program='xz -d -T0' --strip-components=1 -C "$3" \
		-f "$unpacked/usr/src/$1.tar.xz" || return 1
	rm -rf "$unpacked"
}

# scratch_tree DIR: a worktree of the untouched kernel with an index, but without
# files beside it. git am checks out the few that it changes.
scratch_tree() {
	rm -rf "$1"
	git -C "$TREE" worktree prune
	git -C "$TREE" worktree add -q --no-checkout --detach "$1" pristine
	git -C "$1" read-tree pristine
}

# unpack_newest PACKAGE DIR [-s SUITE]: fails if Debian does not have it.
unpack_newest() {
	local package=$1 dir=$2 version

	shift 2
	version=$("$ROOT/scripts/debian" "$@" list "$package" | sed -n 1p)
	[ -n "$version" ] || return 1
	note "fetching $package $version"
	"$ROOT/scripts/debian" "$@" unpack "$package" "$version" "$dir"
}

# git_apply DIR [ARGUMENT...]: in a tree that is not one of git's; else git apply would pass over
# what is below the repository that it is in.
git_apply() { (cd "$1" && GIT_CEILING_DIRECTORIES=$BUILD git apply "${@:2}"); }

# The parts of "NAME <EMAIL>".
ident_name() { echo "${1% <*}"; }
ident_email() { local email=${1#*<}; echo "${email%>}"; }

# Subject of the commit for new files that no patch names, which a mail-ready
# series must not have.
# shellcheck disable=SC2034 # for the scripts that source this file
LEFT_OVER='mm_reclaim: files that no patch names yet'

# One at a time: targets may be made side by side in several terminals.
lock() {
	exec 9>"$BUILD/.$1.lock"
	flock 9
}

# edited TREE: what was changed there since its last commit.
#
# Another target may write the tree's index at the same time, which git would not
# wait for.
edited() { git --no-optional-locks -C "$1" status --porcelain --untracked-files=no; }

# refuse_edited TREE: what was edited there is somebody's work, perhaps, and never
# overwritten.
refuse_edited() {
	local changed name=${1#"$ROOT/"}

	changed=$(edited "$1" | sed -n 1,3p)
	[ -z "$changed" ] || die "$name was edited by hand:
$changed
bring the change into this repository, or drop it with: git -C $name reset --hard"
}

# touched FILTER PATTERN...: what the series adds (A) and modifies (M). Nothing
# would mean that a check looks at nothing.
touched() {
	local filter=$1
	shift

	git -C "$TREE" diff --name-only --diff-filter="$filter" pristine overlay -- "$@" |
		grep . || die "the series touches none of: $*"
}

# no_warnings LOG: shows what compilers and objtool complain about in the files of
# the series, as make succeeds in spite of that, and returns 1 if there is anything.
# C's and objtool's have the file in the line; Rust's in a line of its own.
no_warnings() {
	local pattern

	[ -s "$1" ] || return 1
	pattern=$(touched AM '*.c' '*.h' '*.rs' | sed 's/\.[^.]*$//' | paste -sd'|') || return 1
	! grep -E "(^|[ /])($pattern)\.[a-z]+[: ].*(warning|error|note):|--> .*($pattern)\.rs:" "$1"
}

# merge_fragments [FILE...]: of an option that several of them set, the last one's.
merge_fragments() {
	cat "$@" | tac | awk '
		match($0, /^(# )?CONFIG_[A-Za-z0-9_]+/) {
			name = substr($0, RSTART, RLENGTH)
			sub(/^# /, "", name)
			if (seen[name]++)
				next
		}
		{ print }' | tac
}

# refused FRAGMENT CONFIG: what a fragment asks for and Kconfig has silently dropped.
refused() {
	local line missing=''

	while IFS= read -r line; do
		case $line in
		CONFIG_*)
			grep -qxF "$line" "$2" || missing+=" $line" ;;
		'# CONFIG_'*' is not set')
			line=${line#\# }
			! grep -q "^${line%% *}=" "$2" || missing+=" ${line%% *}=n" ;;
		esac
	done <"$1"
	echo "$missing"
}

# copy_build FROM TO: of a build folder. make builds again what was built by another
# command; those of objtool name the folder, and every object depends on objtool.
copy_build() {
	rm -rf "$2.new"
	cp -a --reflink=auto "$1" "$2.new"
	{ grep -rlZF --include='.*.cmd' "$1/" "$2.new" || true; } | xargs -0r sed -i "s|$1/|$2/|g"
	mv -T "$2.new" "$2"
}

# record NAME PASSED FAILED: for the total at the end of a run of several targets.
record() {
	mkdir -p "$RESULTS"
	echo "$2 $3" >"$RESULTS/$1"
}

# verdict passed|failed NAME: of one check, for publish.
VERDICTS=()
verdict() { VERDICTS+=("$1	$2"); }

# publish NAME: records what the verdicts say, and writes it as JUnit, too.
publish() {
	printf '%s\n' "${VERDICTS[@]}" | (cd "$ROOT" && python3 -m harness.results "$1")
}
