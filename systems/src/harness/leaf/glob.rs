//! Glob: files by pattern, sorted.

use super::Answer;
use super::arguments::Arguments;
use super::files::{Files, MOUNT};

/// Lists the files below `path` that match `pattern`, at most `limit` of them.
pub(super) fn glob(files: &Files, arguments: &Arguments<'_>, limit: usize) -> Answer {
    let pattern = arguments.filled("pattern")?;
    let pattern = pattern.strip_prefix(MOUNT).filter(|rest| rest.starts_with('/')).unwrap_or(pattern);
    let directory = files.resolve(arguments.text("path").unwrap_or("."))?;
    let parts: Vec<&str> = pattern.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
    let found: Vec<String> = files
        .below(&directory)
        .filter(|path| matches(&parts, &path.split('/').collect::<Vec<_>>()))
        .map(|path| format!("{prefix}{path}"))
        .collect();
    let mut text = found[..found.len().min(limit)].join("\n");
    match found.len().checked_sub(limit) {
        _ if found.is_empty() => text.push_str("No files matched."),
        Some(more @ 1..) => text = format!("{text}\n... {more} more files"),
        _ => {}
    }
    Ok(text)
}

/// Whether `path` matches `pattern`, part by part. `**` stands for any number of directories; it and wild cards pass over
/// hidden names.
fn matches(pattern: &[&str], path: &[&str]) -> bool {
    // Row by row: whether the pattern's first parts match the path's first parts.
    let mut row: Vec<bool> = (0..=path.len()).map(|length| length == 0).collect();
    for part in pattern {
        let mut next = vec![false; row.len()];
        if *part == "**" {
            let mut reachable = false;
            for (at, slot) in next.iter_mut().enumerate() {
                reachable = row[at] || (reachable && !path[at - 1].starts_with('.'));
                *slot = reachable;
            }
        } else {
            for at in 1..row.len() {
                next[at] = row[at - 1] && matches_name(part, path[at - 1]);
            }
        }
        row = next;
    }
    row[path.len()]
}

/// Whether a name matches a part with `*`, `?` and `[...]`.
fn matches_name(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where to go on after a mismatch: behind the last star, one character further.
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p + 1, n));
                p += 1;
            }
            Some(_) => match matches_one(&pattern[p..], name[n]) {
                Some(taken) => (p, n) = (p + taken, n + 1),
                None => match &mut retry {
                    Some((after_star, from)) => {
                        *from += 1;
                        (p, n) = (*after_star, *from);
                    }
                    None => return false,
                },
            },
            None => match &mut retry {
                Some((after_star, from)) => {
                    *from += 1;
                    (p, n) = (*after_star, *from);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&rest| rest == '*')
}

/// How many characters of the pattern stand for `character`, if they match it.
fn matches_one(pattern: &[char], character: char) -> Option<usize> {
    match pattern {
        ['?', ..] => Some(1),
        ['[', rest @ ..] => {
            let negated = rest.first() == Some(&'!');
            let set = &rest[usize::from(negated)..];
            // A bracket that comes first is a member; without a closing one the bracket stands for itself.
            let Some(end) = set.iter().skip(1).position(|&member| member == ']') else {
                return (character == '[').then_some(1);
            };
            (holds(&set[..=end], character) != negated).then_some(end + 3 + usize::from(negated))
        }
        [literal, ..] if *literal == character => Some(1),
        _ => None,
    }
}

fn holds(set: &[char], character: char) -> bool {
    match set {
        [low, '-', high, rest @ ..] => (*low..=*high).contains(&character) || holds(rest, character),
        [member, rest @ ..] => *member == character || holds(rest, character),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, path: &str, expected: bool) {
        let parts: Vec<&str> = pattern.split('/').collect();
        assert_eq!(matches(&parts, &path.split('/').collect::<Vec<_>>()), expected, "{pattern} {path}");
    }

    #[test]
    fn patterns_match_as_a_shell_user_expects() {
        check("*.py", "a.py", true);
        check("*.py", "lib/a.py", false);
        check("**/*.py", "a.py", true);
        check("**/*.py", "lib/x/a.py", true);
        check("lib/**", "lib/x/a.py", true);
        check("**", "a.py", true);
        check("lib/**/a.py", "lib/a.py", true);
        check("a*b*c", "aXbYbc", true);
        check("a*b*c", "aXbYb", false);
        check("[a-c]?.py", "b1.py", true);
        check("[!a-c]?.py", "b1.py", false);
        check("[]x].py", "].py", true);
        check("[.py", "[.py", true);
        check("*", ".hidden", false);
        check(".*", ".hidden", true);
        check("**/x", ".git/x", false);
    }

    #[test]
    fn a_hostile_pattern_takes_no_time() {
        let pattern = "*a".repeat(2_000);
        assert!(!matches_name(&pattern, &"a".repeat(1_500)));
        check(&["**"; 300].join("/"), &["a"; 300].join("/"), true);
    }
}
