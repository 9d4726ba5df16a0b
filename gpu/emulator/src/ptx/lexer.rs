//! From text to tokens.

use super::error::{ParseError, Reason};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'t> {
    /// A name, a directive or an opcode: `%r1`, `.reg`, `add.s32`, `$L__BB0_1`.
    Word(&'t str),
    /// A number without its sign, as it is written.
    Number(&'t str),
    /// A quoted text, without the quotes.
    Text(&'t str),
    /// One of `SYMBOLS`.
    Symbol(char),
    /// There is no further token.
    End,
}

/// A token and the line that it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind<'t>,
    pub(super) line: usize,
}

const SYMBOLS: &str = ",;:[]{}()<>@!|+-";

/// The tokens of a text, line by line; comments run from `//` to the end of a line.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, ParseError> {
    let mut found = Vec::new();
    let mut line = 0;
    for written in text.lines() {
        line += 1;
        let mut rest = written.split("//").next().unwrap_or_default().trim_start();
        while let Some(first) = rest.chars().next() {
            let kind;
            (kind, rest) = token(first, rest).ok_or_else(|| {
                let reason = Reason::Unexpected { found: first.to_string(), wanted: "a token" };
                ParseError { line, reason }
            })?;
            found.push(Token { kind, line });
            rest = rest.trim_start();
        }
    }
    found.push(Token { kind: Kind::End, line });
    Ok(found)
}

/// The token at the beginning of a text, and what follows it.
fn token(first: char, text: &str) -> Option<(Kind<'_>, &str)> {
    let until = |end: fn(char) -> bool| text.split_at(text.find(end).unwrap_or(text.len()));
    if SYMBOLS.contains(first) {
        return Some((Kind::Symbol(first), &text[first.len_utf8()..]));
    }
    if first == '"' {
        let (quoted, rest) = text[1..].split_once('"')?;
        return Some((Kind::Text(quoted), rest));
    }
    if first.is_ascii_digit() {
        // The header's version has a point; no other number does.
        let (number, rest) = until(|c| !c.is_ascii_alphanumeric() && c != '.');
        return Some((Kind::Number(number), rest));
    }
    let (word, rest) = until(|c| !c.is_ascii_alphanumeric() && !"%$_.".contains(c));
    (!word.is_empty()).then_some((Kind::Word(word), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_is_cut_into_its_tokens_and_its_comment_left_out() {
        let found: Vec<Kind<'_>> =
            tokens("@!%p1 st.f32 [%rd1+-4], 0f3F800000; // one").unwrap().iter().map(|t| t.kind).collect();
        let (word, symbol, number) = (Kind::Word, Kind::Symbol, Kind::Number);
        let expected = [
            [symbol('@'), symbol('!'), word("%p1"), word("st.f32"), symbol('['), word("%rd1"), symbol('+')],
            [
                symbol('-'),
                number("4"),
                symbol(']'),
                symbol(','),
                number("0f3F800000"),
                symbol(';'),
                Kind::End,
            ],
        ];
        assert_eq!(found, expected.concat());
    }

    #[test]
    fn a_sign_that_no_ptx_has_is_an_error_with_its_line() {
        let error = tokens("ret;\n#").unwrap_err();
        assert_eq!(error.to_string(), "line 2: found `#` where a token is wanted");
    }
}
