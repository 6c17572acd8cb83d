"""The script that fetches the code, run by `sh` in an image that has `git`.

It is told everything by KUBEDL_GIT_* variables and takes nothing of them for code or for an option. Its last word is
the commit that it fetched, or, when it gives up, what git said. A credential is read from the mounted Secret by git's
own helper, for the repository's own host only: it is never an argument or a variable, and no submodule elsewhere gets
it.
"""

# What is fetched by each git process, submodules included; above all neither `ext` (a command) nor `file`.
PROTOCOLS = "http:https:git:ssh"

SCRIPT = r"""
umask 0
home=$KUBEDL_GIT_ROOT/.kubedl-git
code=$KUBEDL_GIT_ROOT/$KUBEDL_GIT_DESTINATION
secret=$KUBEDL_GIT_SECRET
export HOME=$home TMPDIR=$home

credentials() {
    test -n "$secret" || test -n "$KUBEDL_GIT_SSH_KEY" || return 0
    key=$KUBEDL_GIT_SSH_KEY hosts=
    if test -n "$secret"; then
        if test ! -e "$secret/password" && test ! -e "$secret/ssh-privatekey"; then
            echo "Secret $KUBEDL_GIT_SECRET_NAME is not there, or has neither password nor ssh-privatekey" >&2
            return 1
        fi
        git config --global "credential.$KUBEDL_GIT_SCOPE.helper" '!f() {
            test "$1" = get && test -e "$KUBEDL_GIT_SECRET/password" || exit 0
            name=git
            test ! -e "$KUBEDL_GIT_SECRET/username" || name=$(cat "$KUBEDL_GIT_SECRET/username")
            printf "username=%s\npassword=%s\n" "$name" "$(cat "$KUBEDL_GIT_SECRET/password")"
        }; f' || return
        test ! -e "$secret/ssh-privatekey" || key=$secret/ssh-privatekey
        test ! -e "$secret/known_hosts" || hosts="-o UserKnownHostsFile=$secret/known_hosts"
    fi
    test -n "$key" || return 0
    (umask 077 && { cat "$key" && echo; } >"$home/key") || return
    options="-o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=15 -o StrictHostKeyChecking=yes"
    export GIT_SSH_COMMAND="ssh -i $home/key -o IdentitiesOnly=yes $options $hosts"
}

fetch() {
    if test "$KUBEDL_GIT_DEPTH" = 0; then
        git fetch --quiet --no-recurse-submodules origin "$1"
    else
        git fetch --quiet --no-recurse-submodules --no-tags --depth="$KUBEDL_GIT_DEPTH" origin "$1"
    fi
}

# Prints what is to be checked out. Of several names the first that the server has counts.
find_commit() {
    : >"$home/words"
    for name in $KUBEDL_GIT_REFS; do
        if fetch "$name" 2>"$home/words.new"; then
            git rev-parse --verify --quiet 'FETCH_HEAD^{commit}'
            return
        fi
        test -s "$home/words" || cat "$home/words.new" >"$home/words"
    done
    if test -z "$KUBEDL_GIT_REVISION"; then
        cat "$home/words" >&2
        return 1
    fi
    # Not every server gives out a commit by its number, and none knows a shortened one: fetch all, and look there.
    git fetch --quiet --no-recurse-submodules --tags origin '+refs/heads/*:refs/remotes/origin/*' || return
    for name in "$KUBEDL_GIT_REVISION" "origin/$KUBEDL_GIT_REVISION"; do
        git rev-parse --verify --quiet "$name^{commit}" && return
    done
    echo "the repository has no $KUBEDL_GIT_REVISION" >&2
    return 1
}

submodules() {
    test -e .gitmodules || return 0
    test "$KUBEDL_GIT_DEPTH" = 0 || set -- --depth="$KUBEDL_GIT_DEPTH"
    git submodule --quiet update --init --recursive "$@" || git submodule --quiet update --init --recursive
}

# One thread, and big files not held in memory: so git fits into what its container is given.
frugally() {
    git config --global core.bigFileThreshold 16m && git config --global core.deltaBaseCacheLimit 32m &&
        git config --global pack.threads 1
}

fetch_code() {
    cd "$KUBEDL_GIT_ROOT" && rm -rf "$home" "$code" && mkdir -p "$home" "$code" && frugally && credentials &&
        cd "$code" && git init --quiet && git remote add origin "$KUBEDL_GIT_REPOSITORY" &&
        commit=$(find_commit) && git checkout --quiet --detach "$commit" && submodules
}

failures=0
until fetch_code; do
    failures=$((failures + 1))
    if test "$failures" -ge "$KUBEDL_GIT_FAILURES"; then
        rm -rf "$home"
        exit 1
    fi
    sleep "$((failures > 5 ? 30 : 1 << (failures - 1)))"
done
rm -rf "$home"
printf %s "$commit" >"$KUBEDL_GIT_RESULT"
"""
