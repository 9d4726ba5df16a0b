//! The page on the log format says what the log is: what was written from the page alone reads it, and writes it again.

use tadpole_tests::bits::Bits;
use tadpole_tests::commits;
use tadpole_tests::format::{Segment, is_event, link};
use tadpole_tests::nano::run;

#[test]
fn a_log_taken_apart_and_put_together_as_the_page_says_is_the_same() {
    let log = Bits::of(run()).log;
    let mut segments: Vec<Segment> = log.values().map(|bytes| Segment::parse(bytes)).collect();
    let frames: Vec<bool> = segments.iter().flat_map(|segment| &segment.frames).map(is_event).collect();
    let recorded = commits(run());
    assert_eq!(frames.iter().filter(|event| !**event).count(), recorded.len());
    assert_eq!(
        frames.iter().filter(|event| **event).count() as u64,
        recorded.iter().map(|commit| u64::from(commit.count)).sum::<u64>()
    );
    link(&mut segments);
    let again: Vec<Vec<u8>> = segments.iter().map(Segment::to_bytes).collect();
    assert!(again.iter().eq(log.values()), "the chain differs");
}
