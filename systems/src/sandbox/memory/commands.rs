//! The commands of the shell: a list of what is known to be deterministic, nothing else.

/// Commands of the shell's library that are kept, sorted. Left out: what asks for entropy or time (`mktemp`, `shuf`,
/// `uuidgen`, `openssl`, `watch`), the network, what looks at the machine, and what only this shell knows.
const KEPT: &[&str] = &[
    ".", ":", "[", "alias", "arch", "awk", "b2sum", "base32", "base64", "basename", "bc", "bg", "break", "bunzip2",
    "bzcat", "bzip2", "caller", "cat", "cd", "chgrp", "chmod", "chown", "cksum", "clear", "cmp", "column", "comm",
    "continue", "cp", "cut", "date", "dd", "df", "diff", "dirname", "dirs", "disown", "du", "echo", "egrep", "enable",
    "env", "envsubst", "eval", "exit", "expand", "export", "expr", "factor", "false", "fg", "fgrep", "file", "find",
    "fmt", "fold", "gawk", "getconf", "grep", "groups", "gunzip", "gzip", "hash", "head", "help", "hexdump", "hostname",
    "iconv", "id", "install", "jobs", "join", "kill", "less", "link", "ln", "local", "locale", "logname", "ls", "make",
    "mapfile", "mawk", "md5sum", "mkdir", "mv", "nawk", "nice", "nl", "nohup", "nproc", "numfmt", "od", "paste", "patch",
    "popd", "pr", "printenv", "printf", "pushd", "pwd", "read", "readarray", "readlink", "readonly", "realpath",
    "return", "rev", "rg", "rm", "rmdir", "sed", "seq", "set", "sha1sum", "sha224sum", "sha256sum", "sha384sum",
    "sha512sum", "shasum", "shift", "shopt", "sleep", "sort", "source", "split", "stat", "strings", "sum", "sync", "tac",
    "tail", "tar", "tee", "test", "timeout", "times", "touch", "tr", "trap", "tree", "true", "truncate", "tsort", "tty",
    "type", "ulimit", "umask", "unalias", "uname", "unexpand", "uniq", "unlink", "unset", "unzip", "wait", "wc", "which",
    "whoami", "xargs", "xxd", "yes", "zip",
];

/// Commands of our own.
const OWN: &[&str] = &["pip", "pip3", "py.test", "pytest", "python", "python3"];

/// Whether the shell's own implementation of a command is kept.
pub(super) fn is_kept(name: &str) -> bool {
    KEPT.binary_search(&name).is_ok()
}

/// Whether a command exists as a program in `/usr/bin`.
pub(super) fn is_program(name: &str) -> bool {
    is_kept(name) || OWN.contains(&name) || matches!(name, "bash" | "sh")
}

/// The names in `/usr/bin`, ascending.
pub(super) fn programs() -> Vec<&'static str> {
    let mut names: Vec<&str> = KEPT.iter().chain(OWN).copied().chain(["bash", "sh"]).collect();
    names.retain(|name| name.chars().all(char::is_alphanumeric) || *name == "py.test");
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_so_that_it_can_be_searched() {
        assert!(KEPT.is_sorted());
        assert!(is_kept("grep") && !is_kept("shuf") && !is_kept("mktemp") && !is_kept("curl"));
    }
}
