//! How the embedded policy's tokenizer splits text into words before merging.
//!
//! A line break and the indent behind it are one word, raw or escaped as in JSON, so that a line of code is spelled by
//! the same tokens in a file and in the arguments of a call. Digits stand alone, and the space before a number goes with the
//! marks in front of it. Names split at their underscores, so that the parts of a name are spelled alike in every name.

/// The split as a regular expression, for `tokenizer.json`.
pub(super) const PATTERN: &str =
    r"(?:\\n|\n) *|\\.?| {2,}|[0-9]|[ _]?[A-Za-z]+| ?[^ \n\\A-Za-z0-9_]+(?: (?=[0-9]))?| |_";

/// Words of `text`, in order; together they are `text`.
pub(super) fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (word, after) = rest.split_at_checked(first_word(rest.as_bytes()))?;
        rest = after;
        (!word.is_empty()).then_some(word)
    })
}

/// Length of the first word of `text`, which is UTF-8.
fn first_word(text: &[u8]) -> usize {
    match text {
        [] => 0,
        [b'\n', rest @ ..] => 1 + run(rest, |byte| byte == b' '),
        [b'\\', b'n', rest @ ..] => 2 + run(rest, |byte| byte == b' '),
        [b'\\'] | [b'\\', b'\n', ..] => 1,
        [b'\\', rest @ ..] => 1 + character_length(rest),
        [b' ', b' ', rest @ ..] => 2 + run(rest, |byte| byte == b' '),
        [byte, ..] if byte.is_ascii_digit() => 1,
        [b'_', rest @ ..] => 1 + run(rest, is_letter),
        [b' ', rest @ ..] => 1 + letters_or_marks(rest),
        rest => letters_or_marks(rest),
    }
}

fn letters_or_marks(text: &[u8]) -> usize {
    match (run(text, is_letter), run(text, is_mark)) {
        (0, 0) => 0,
        (0, marks) => match text[marks..] {
            [b' ', digit, ..] if digit.is_ascii_digit() => marks + 1,
            _ => marks,
        },
        (letters, _) => letters,
    }
}

fn run(text: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    text.iter().take_while(|&&byte| belongs(byte)).count()
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic()
}

fn is_mark(byte: u8) -> bool {
    !matches!(byte, b' ' | b'\n' | b'\\' | b'_') && !byte.is_ascii_digit() && !is_letter(byte)
}

/// Bytes of the character that `text` begins with.
fn character_length(text: &[u8]) -> usize {
    1 + run(&text[1..], |byte| byte & 0xC0 == 0x80)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
    use tokenizers::{
        OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer, SplitDelimiterBehavior,
    };

    use super::*;

    fn by_pattern(text: &str) -> Vec<String> {
        let splitter =
            Split::new(SplitPattern::Regex(PATTERN.to_owned()), SplitDelimiterBehavior::Isolated, false)
                .unwrap();
        let mut pretokenized = PreTokenizedString::from(text);
        splitter.pre_tokenize(&mut pretokenized).unwrap();
        let splits = pretokenized.get_splits(OffsetReferential::Original, OffsetType::Byte);
        splits.into_iter().map(|(word, _, _)| word.to_owned()).collect()
    }

    #[test]
    fn indents_digits_and_escapes_are_words() {
        let words: Vec<&str> = split("def f_ab(a):\n    return a + 12\\n    x = \\\"é\\\"  # ok_").collect();
        let expected = [
            "def", " f", "_ab", "(", "a", "):", "\n    ", "return", " a", " + ", "1", "2", "\\n    ", "x",
            " =", " ", "\\\"", "é", "\\\"", "  ", "#", " ok", "_",
        ];
        assert_eq!(words, expected);
    }

    proptest! {
        #[test]
        fn the_splitter_is_the_pattern(text in "(?s)([ a-c_1-3\\\\n\"'():+-]|\\n|.){0,40}") {
            let words: Vec<String> = split(&text).map(str::to_owned).collect();
            prop_assert_eq!(words.concat(), text.clone());
            prop_assert_eq!(words, by_pattern(&text));
        }
    }
}
