# Shared by the scripts; sourced, never run. Leaves the caller in the project's root folder.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

say() { printf '%s\n' "$*"; }

# Somebody who once ran a script as root, or does not own the clone, cannot write there.
if ! { mkdir -p build 2>/dev/null && [[ -w build ]]; }; then
  say "$PWD/build cannot be written to by $(id -un); make it yours, or clone the project into a folder of your own."
  exit 1
fi

# logged LOG COMMAND...: runs the command in silence; if it fails, shows the end of what it said.
logged() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  "$@" >"$log" 2>&1 </dev/null && return 0
  say "FAILED: $*   (the end of $log follows)"
  tail -n 80 "$log"
  return 1
}

# need GROUP...: makes sure that the packages of these groups are installed, or says what to run and ends the script.
need() {
  local group names wanted=() missing=() by_hand
  while read -r group names; do
    if [[ " $* " == *" $group "* ]]; then wanted+=($names); fi
  done < <(grep -v '^#' scripts/packages)

  if ! command -v dpkg-query >/dev/null; then
    say "This is not Debian: taking for granted what the packages ${wanted[*]} provide."
    return
  fi
  local installed package
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null || true)
  for package in "${wanted[@]}"; do
    grep -qxF "installed $package" <<<"$installed" || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then return; fi

  by_hand="  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120)
  if ((EUID != 0)); then
    if ! sudo -n true 2>/dev/null; then
      say "Debian packages are missing, and installing them needs root. As root, run:"
      say "$by_hand"
      say "and then this script again."
      exit 1
    fi
    apt=(sudo -n "${apt[@]}")
  fi
  say "Installing ${missing[*]}"
  # A failed update is no reason to stop: the lists that are here may do. What apt-get says of one failure can fill
  # pages, a line for each package; the last three errors tell what happened.
  "${apt[@]}" update >build/apt.log 2>&1 </dev/null || true
  if ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >>build/apt.log 2>&1 </dev/null; then
    say "apt-get could not install them. Its last errors (all of them are in build/apt.log):"
    grep '^E: ' build/apt.log | tail -n 3 | sed 's/^/  /'
    say "Is Debian's archive within reach of this machine? Run this script again when it is, or as root:"
    say "$by_hand"
    exit 1
  fi
}

# build PRESET [TARGET...]: configures and builds build/PRESET; everything without a target.
build() {
  local preset=$1 start=$SECONDS
  shift
  say "Building build/$preset${*:+ ($*)}; follow it in build/$preset/build.log"
  logged "build/$preset/configure.log" cmake --preset "$preset" || return 1
  logged "build/$preset/build.log" cmake --build --preset "$preset" -j "$(nproc)" ${@:+--target "$@"} || return 1
  say "  done in $((SECONDS - start)) s"
}
