use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::codec::{Codec, Hermes, ToolCall};
use crate::harness::leaf::TOOLS;

const SOURCE: &str = "def clamp(value, low, high):\n    # value, kept between low and high\n    if value < low:\n        \
                      return low\n    if value > high:\n        return high\n    return value\n";

fn corpus() -> Vec<(String, u64)> {
    let names = ["clamp", "total", "scale", "count", "first", "mean", "word", "merge"];
    let mut corpus: Vec<(String, u64)> = names
        .iter()
        .map(|name| (SOURCE.replace("clamp", name).replace("low", &format!("{name}_low")), 3))
        .collect();
    corpus.push((SOURCE.replace('\n', "\\n"), 5));
    corpus
}

fn trained(vocabulary: u32) -> Vec<u8> {
    let corpus = corpus();
    train(corpus.iter().map(|(text, count)| (text.as_str(), *count)), vocabulary, &Hermes::scaffold(TOOLS))
        .unwrap()
}

static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(|| Tokenizer::load(&trained(340)).unwrap());

#[test]
fn training_twice_gives_the_same_file() {
    assert_eq!(trained(340), trained(340));
}

#[test]
fn a_vocabulary_is_bytes_merges_and_scaffold() {
    assert_eq!(TOKENIZER.vocab_size(), 340);
    assert_eq!(TOKENIZER.special("<|im_end|>"), Some(337));
    assert_eq!(TOKENIZER.special("<|im_start|>"), None);
    assert_eq!(TOKENIZER.decode(&[u32::from(b'a'), 337, 9999]), "a<|im_end|>");
}

#[test]
fn what_cannot_be_trained_says_why() {
    let scaffold = Hermes::scaffold(TOOLS);
    assert_eq!(train([], 270, &scaffold), Err(TrainError::TooSmall { vocabulary: 270, scaffold: 15 }));
    assert_eq!(train([("abab", 1)], 280, &scaffold), Err(TrainError::TooLittleText { found: 1, wanted: 9 }));
}

#[test]
fn what_is_not_a_byte_level_tokenizer_is_refused() {
    assert!(matches!(Tokenizer::load(b"{"), Err(TokenizerError::Json(_))));
    assert!(matches!(Tokenizer::load(b"[]"), Err(TokenizerError::Load(_))));
    assert!(matches!(Tokenizer::load(b"{}"), Err(TokenizerError::Load(_))));
    let without_a_byte =
        String::from_utf8(trained(340)).unwrap().replacen("      \"!\": 33", "      \"snow☃\": 33", 1);
    assert!(matches!(Tokenizer::load(without_a_byte.as_bytes()), Err(TokenizerError::NotByteLevel(_))));
}

#[test]
fn the_crate_alone_reads_the_file_and_agrees() {
    let plain = tokenizers::Tokenizer::from_bytes(trained(340)).unwrap();
    let ids = plain.encode_fast(SOURCE, false).unwrap();
    assert_eq!(TOKENIZER.encode(SOURCE).unwrap(), ids.get_ids());
    assert_eq!(plain.token_to_id("<|im_end|>"), TOKENIZER.special("<|im_end|>"));
    assert_eq!(plain.get_vocab_size(true), 340);
}

#[test]
fn a_line_of_code_is_spelled_alike_in_a_file_and_in_a_call() {
    let line = TOKENIZER.encode("\n    return value").unwrap();
    let escaped = TOKENIZER.encode("\\n    return value").unwrap();
    assert_eq!(line[1..], escaped[1..]);
    assert_eq!(line.len(), 3);
}

#[test]
fn scaffold_is_one_token_each() {
    let codec = Hermes::new(TOOLS);
    let call = ToolCall::new("Edit", &[("file_path", "a"), ("old_string", "b"), ("new_string", "c")]);
    assert_eq!(TOKENIZER.encode_pieces(&codec.turn("", &[call])).unwrap().len(), 7);
    // System, end, user, one byte, end, assistant.
    assert_eq!(TOKENIZER.encode_pieces(&codec.opening("", "x")).unwrap().len(), 6);
    // User, response open, one byte, response close, end, assistant.
    assert_eq!(TOKENIZER.encode_pieces(&codec.continuation(&["x".into()])).unwrap().len(), 6);
}

fn anything() -> impl Strategy<Value = String> {
    let scaffold = proptest::sample::select(Hermes::scaffold(TOOLS));
    let piece =
        prop_oneof![scaffold, "(?s).{0,12}", Just("\n    return ".to_owned()), Just("\\n".to_owned())];
    proptest::collection::vec(piece, 0..6).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_text_comes_back_and_spells_no_special(text in anything()) {
        let ids = TOKENIZER.encode(&text).unwrap();
        prop_assert_eq!(TOKENIZER.decode(&ids), text);
        prop_assert!(ids.iter().all(|&id| id < 325), "a special token in text");
    }

    #[test]
    fn any_bytes_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        prop_assert_eq!(TOKENIZER.decode_bytes(&TOKENIZER.encode_bytes(&bytes).unwrap()), bytes);
    }

    #[test]
    fn pieces_come_back_and_only_template_is_special(user in anything(), result in anything()) {
        let codec = Hermes::new(TOOLS);
        for pieces in [codec.opening("", &user), codec.continuation(&[result])] {
            let ids = TOKENIZER.encode_pieces(&pieces).unwrap();
            prop_assert_eq!(TOKENIZER.decode(&ids), crate::codec::spelled(&pieces));
            prop_assert!(ids.iter().filter(|&&id| id >= 325).count() <= 5);
        }
    }

    #[test]
    fn the_cache_and_the_splitter_change_nothing(text in anything()) {
        let direct = TOKENIZER.inner.encode_fast(text.as_str(), false).unwrap();
        prop_assert_eq!(TOKENIZER.encode(&text).unwrap(), direct.get_ids());
    }
}
