//! Edit: one exact stretch of a file is replaced by another, on bytes, so that whatever is not edited survives.

use super::Answer;
use super::arguments::Arguments;
use super::files::Files;
use super::read::counted;

/// Replaces `old_string` by `new_string`.
pub(super) fn edit(files: &mut Files, arguments: &Arguments<'_>) -> Answer {
    let path = arguments.file_path()?;
    let old = arguments.text("old_string")?;
    let new = arguments.text("new_string")?;
    let all = arguments.truth("replace_all");
    let before = files.read(path)?;
    let (after, count) = replaced(before, old, new, all)?;
    files.write(path, after)?;
    Ok(format!("Edited {} ({}).", files.shown(path)?, counted(count, "replacement")))
}

/// `file` with `old` replaced, and how many times. Line breaks of `old` and `new` are those of the file, unless `old`
/// spells carriage returns that stand in the file just so.
fn replaced(file: &[u8], old: &str, new: &str, all: bool) -> Result<(Vec<u8>, usize), String> {
    if old.is_empty() {
        return Err("old_string must not be empty".to_owned());
    }
    if old == new {
        return Err("old_string and new_string are identical: nothing would change".to_owned());
    }
    let literal = old.contains('\r') && find(file, old.as_bytes()).next().is_some();
    let text = if literal { Text::literal(file) } else { Text::normalised(file) };
    let needle = if literal { old.to_owned() } else { old.replace("\r\n", "\n") };
    let found: Vec<usize> = find(&text.bytes, needle.as_bytes()).collect();
    match found.len() {
        0 => return Err(not_found(&text.bytes, &needle)),
        1 => {}
        count if !all => {
            return Err(format!(
                "old_string matched {count} times; set replace_all=true or use a more specific old_string"
            ));
        }
        _ => {}
    }
    let mut after = Vec::with_capacity(file.len() + new.len());
    let (mut copied, mut free, mut count) = (0, 0, 0);
    for at in found.into_iter().filter(|&at| {
        let apart = at >= free;
        free = if apart { at + needle.len() } else { free };
        apart
    }) {
        let (start, end) = (text.origin(at), text.origin_of_end(at + needle.len()));
        after.extend_from_slice(&file[copied..start]);
        after.extend_from_slice(&if literal {
            new.as_bytes().to_vec()
        } else {
            with_breaks(new, file, start, end)
        });
        copied = end;
        count += 1;
    }
    after.extend_from_slice(&file[copied..]);
    if after == file {
        return Err(
            "old_string and new_string are identical up to line endings: nothing would change".to_owned()
        );
    }
    Ok((after, count))
}

/// Bytes of a file with CRLF read as LF, and where each came from.
struct Text {
    bytes: Vec<u8>,
    /// For each byte, and for the end, its offset in the file; empty where offsets are equal.
    origins: Vec<usize>,
}

impl Text {
    fn literal(file: &[u8]) -> Self {
        Self { bytes: file.to_vec(), origins: Vec::new() }
    }

    fn normalised(file: &[u8]) -> Self {
        if find(file, b"\r\n").next().is_none() {
            return Self::literal(file);
        }
        let kept = |at: &usize| !file[*at..].starts_with(b"\r\n");
        let mut origins: Vec<usize> = (0..file.len()).filter(kept).collect();
        let bytes = origins.iter().map(|&at| file[at]).collect();
        origins.push(file.len());
        Self { bytes, origins }
    }

    /// Offset in the file where the stretch that begins at `at` begins; a line break takes its carriage return along.
    fn origin(&self, at: usize) -> usize {
        let Some(&origin) = self.origins.get(at) else { return at };
        let previous = at.checked_sub(1).map_or(0, |before| self.origins[before] + 1);
        if self.bytes.get(at) == Some(&b'\n') { previous } else { origin }
    }

    /// Offset in the file where a stretch that ends before `at` ends.
    fn origin_of_end(&self, at: usize) -> usize {
        match at.checked_sub(1).and_then(|last| self.origins.get(last)) {
            Some(&last) => last + 1,
            None => at,
        }
    }
}

/// `new` with its line breaks spelled as the file does around `start..end`: as the first break inside, else the first one
/// behind, else the last one before.
fn with_breaks(new: &str, file: &[u8], start: usize, end: usize) -> Vec<u8> {
    let first = |bytes: &[u8]| bytes.iter().position(|&byte| byte == b'\n');
    let at = first(&file[start..end])
        .map(|at| start + at)
        .or_else(|| first(&file[end..]).map(|at| end + at))
        .or_else(|| file[..start].iter().rposition(|&byte| byte == b'\n'));
    let carriage = at.is_some_and(|at| file[..at].ends_with(b"\r"));
    let plain = new.replace("\r\n", "\n");
    if carriage { plain.replace('\n', "\r\n").into_bytes() } else { plain.into_bytes() }
}

/// Offsets at which `needle` stands, overlapping ones included: two that overlap are ambiguous as well.
fn find<'a>(haystack: &'a [u8], needle: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    haystack
        .windows(needle.len().max(1))
        .enumerate()
        .filter(move |(_, window)| *window == needle)
        .map(|(at, _)| at)
}

fn not_found(file: &[u8], old: &str) -> String {
    let straight = straightened(old);
    let text = straightened(&String::from_utf8_lossy(file));
    match text.find(&straight) {
        Some(at) => format!(
            "old_string was not found. With straight quotes in place of curly ones it would match on line {}",
            1 + text[..at].matches('\n').count()
        ),
        None => "old_string was not found".to_owned(),
    }
}

/// `text` with curly quotes made straight.
fn straightened(text: &str) -> String {
    text.replace(['\u{201C}', '\u{201D}'], "\"").replace(['\u{2018}', '\u{2019}'], "'")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(file: &str, old: &str, new: &str) -> Result<String, String> {
        replaced(file.as_bytes(), old, new, false).map(|(bytes, _)| String::from_utf8(bytes).unwrap())
    }

    fn check(file: &str, old: &str, new: &str, expected: &str) {
        assert_eq!(one(file, old, new).as_deref(), Ok(expected), "{file:?}: {old:?} -> {new:?}");
    }

    #[test]
    fn line_breaks_are_those_of_the_file() {
        check("a\r\nb\r\n", "a\nb", "a\nc\nb", "a\r\nc\r\nb\r\n");
        check("a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n");
        check("a\r\nb", "b", "b\nc", "a\r\nb\r\nc");
        check("a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n");
        check("a\r\nb\nc\n", "b\nc", "b\nd", "a\r\nb\nd\n");
        check("a\r\nb\nc\n", "a\nb", "x\ny", "x\r\ny\nc\n");
        check("a\r\nb\r\n", "\nb", "\nc", "a\r\nc\r\n");
        check("a\r\nb\r\n", "a\n", "x\n", "x\r\nb\r\n");
        check("a\r\nb", "\n", "", "ab");
    }

    #[test]
    fn carriage_returns_that_stand_just_so_are_taken_as_spelled() {
        check("a\r\nb\r\n", "a\r\n", "a\n", "a\nb\r\n");
        check("a\rb\n", "a\rb", "a b", "a b\n");
    }

    #[test]
    fn what_would_change_nothing_is_an_error() {
        assert!(one("a\nb\n", "a\r\nb", "a\nb").unwrap_err().contains("identical"));
        assert!(one("a\nb\n", "b", "b").unwrap_err().contains("identical"));
    }

    #[test]
    fn an_empty_a_missing_and_an_ambiguous_needle_say_so() {
        assert!(one("a", "", "b").unwrap_err().contains("must not be empty"));
        assert_eq!(one("a", "c", "b").unwrap_err(), "old_string was not found");
        assert!(one("x x x", "x", "b").unwrap_err().contains("matched 3 times"));
        assert!(one("aaa", "aa", "b").unwrap_err().contains("matched 2 times"), "overlaps are ambiguous");
        assert!(one("it\nisn't", "isn\u{2019}t", "is").unwrap_err().contains("line 2"));
    }

    #[test]
    fn replace_all_takes_matches_that_do_not_overlap() {
        assert_eq!(replaced(b"aaaa a", "aa", "b", true), Ok((b"bb a".to_vec(), 2)));
        assert_eq!(replaced(b"a\r\na\r\n", "a\n", "", true), Ok((Vec::new(), 2)));
    }

    proptest! {
        #[test]
        fn everything_outside_a_unique_match_survives(
            before in proptest::collection::vec(any::<u8>(), 0..40),
            after in proptest::collection::vec(any::<u8>(), 0..40),
            new in "[a-z]{0,8}",
        ) {
            let file = [before.as_slice(), b"<needle>", after.as_slice()].concat();
            let (bytes, count) = replaced(&file, "<needle>", &new, false).unwrap();
            prop_assert_eq!(count, 1);
            prop_assert_eq!(bytes, [before.as_slice(), new.as_bytes(), after.as_slice()].concat());
        }
    }
}
