//! Frozen layouts: the bytes of every payload, and of a log's fixed parts.

use std::fmt::Write;

use proptest::prelude::*;
use tadpole_kernel::event::{DecodeError, Event};
use tadpole_kernel::log::{COMMIT_BODY, FORMAT, FRAME_HEADER, SEGMENT_HEADER};
use tadpole_kernel::storage::Buffer;

use crate::samples;

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for line in bytes.chunks(32) {
        for byte in line {
            write!(text, "{byte:02x}").unwrap();
        }
        text.push('\n');
    }
    text
}

/// A failure here means that old logs can no longer be read: make a `V2` and an upcaster instead.
#[test]
fn payload_layouts_are_frozen() {
    let mut text = String::new();
    for event in samples::all() {
        let body = event.encode().unwrap();
        writeln!(text, "{} {:#06x} {} bytes", event.name(), event.schema(), body.len()).unwrap();
        text.push_str(&hex(&body));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn every_kind_of_event_has_a_sample() {
    let samples = samples::all();
    let mut schemas: Vec<_> = samples.iter().map(Event::schema).collect();
    schemas.dedup();
    assert_eq!(schemas.len(), Event::NAMES.len());
    assert!(schemas.is_sorted());
}

#[test]
fn events_survive_their_bytes() {
    for event in samples::all() {
        let body = event.encode().unwrap();
        assert_eq!(Event::decode(event.schema(), &body).unwrap(), event);
    }
}

#[test]
fn encoding_is_a_function_of_the_value() {
    for (event, again) in samples::all().iter().zip(samples::all()) {
        // A second allocation elsewhere, so that no padding byte comes from old memory.
        let noise = vec![0xAA_u8; 4096];
        let (first, second) = (event.encode().unwrap(), again.encode().unwrap());
        assert_eq!(first.as_slice(), second.as_slice());
        drop(noise);
    }
}

#[test]
fn an_unknown_schema_is_named() {
    let error = Event::decode(0x0102, &[]).unwrap_err();
    assert!(matches!(error, DecodeError::UnknownSchema(0x0102)));
    assert_eq!(error.to_string(), "schema 0x0102 is unknown to this version");
}

#[test]
fn fixed_sizes_are_frozen() {
    assert_eq!((FORMAT, SEGMENT_HEADER, FRAME_HEADER, COMMIT_BODY), (1, 128, 32, 104));
}

#[test]
fn json_shows_bulk_by_length_and_digest() {
    let json: Vec<_> = samples::all().iter().map(|event| serde_json::to_value(event).unwrap()).collect();
    insta::assert_snapshot!(serde_json::to_string_pretty(&json).unwrap());
}

proptest! {
    #[test]
    fn decoding_is_safe_against_any_bytes(
        which in 0..Event::NAMES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let event = &samples::all()[which];
        let mut body = event.encode().unwrap();
        for (at, byte) in changes {
            let length = body.len();
            if length > 0 {
                body[at.index(length)] = byte;
            }
        }
        let mut aligned = Buffer::new();
        let kept = if body.is_empty() { 0 } else { cut.index(body.len()) + 1 };
        aligned.extend_from_slice(&body[..kept]);
        // Whatever comes out must be a value that can be shown and stored, or an error.
        if let Ok(decoded) = Event::decode(event.schema(), &aligned) {
            let _ = serde_json::to_string(&decoded).unwrap();
        }
    }
}
