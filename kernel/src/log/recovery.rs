//! Torn or corrupt: what a fault in a log means, mending a torn tail, and making sure of what is read.
//!
//! Group n+1 is written only after the sync of group n returned. So a bad place with a valid frame of a later group behind
//! it was durable once: *corrupt*. In the last segment, with nothing later behind it, an interrupted write explains it:
//! *torn*. Everywhere else, and wherever a checksum holds over nonsense, it is corrupt.
//!
//! | # | active segment | a write can have left it | later group behind | verdict |
//! | --- | --- | --- | --- | --- |
//! | 1 | no | no | no | corrupt |
//! | 2 | no | no | yes | corrupt |
//! | 3 | no | yes | no | corrupt |
//! | 4 | no | yes | yes | corrupt |
//! | 5 | yes | no | no | corrupt |
//! | 6 | yes | no | yes | corrupt |
//! | 7 | yes | yes | no | torn |
//! | 8 | yes | yes | yes | corrupt |

use super::cursor::{Cursor, Tail};
use super::error::{Fault, LogError};
use super::frame::{self, ALIGNMENT};
use super::segment;
use crate::id::{Digest, Step};
use crate::storage::Storage;

/// Notes of mended tails; beside the chain, so that a resumed run has the log of an uninterrupted one.
pub(crate) const RECOVERY_LOG: &str = "recovery.log";

/// What is known of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Evidence {
    /// It lies in the last segment.
    pub(super) active: bool,
    /// An interrupted write can have left it.
    pub(super) tearable: bool,
    /// A valid frame of a later group of this run lies behind it.
    pub(super) later_group: bool,
}

/// What a fault means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Never durable: may be cut off.
    Torn,
    /// Durable once: refuse.
    Corrupt,
}

/// The decision table.
pub(super) fn verdict(evidence: Evidence) -> Verdict {
    match evidence {
        Evidence { active: true, tearable: true, later_group: false } => Verdict::Torn,
        Evidence { .. } => Verdict::Corrupt,
    }
}

/// Whether a valid frame of a group after `step` lies at or behind byte `offset`. A segment with a bad header must hold no
/// frame at all, of whatever run (a fork's own first segment is of another than those before): its first group was written
/// after the header was durable.
pub(super) fn later_group_behind(
    bytes: &[u8],
    offset: usize,
    run: Digest,
    step: Step,
    fault: &Fault,
) -> bool {
    let lineage = frame::lineage(run);
    let in_header = matches!(fault, Fault::Segment(_));
    let later = |found: u32| if in_header { u64::from(found) >= step.0 } else { u64::from(found) > step.0 };
    let start = offset.next_multiple_of(ALIGNMENT);
    (start..bytes.len())
        .step_by(ALIGNMENT)
        .filter_map(|at| frame::read(&bytes[at..]).ok())
        .any(|frame| (in_header || frame.header.lineage == lineage) && later(frame.header.step))
}

/// The last step that a valid frame of this run says it belongs to, wherever in the segment it lies.
pub(crate) fn last_step_in(bytes: &[u8], run: Digest) -> Option<Step> {
    let lineage = frame::lineage(run);
    let frames = (0..bytes.len()).step_by(ALIGNMENT).filter_map(|at| frame::read(&bytes[at..]).ok());
    let steps = frames.filter(|frame| frame.header.lineage == lineage).map(|frame| frame.header.step);
    steps.max().map(|step| Step(u64::from(step)))
}

/// Cuts off a torn tail, after noting it durably. Returns the note.
pub(crate) fn recover(storage: &dyn Storage, tail: &Tail, next: Step) -> Result<Option<String>, LogError> {
    let Some(torn) = &tail.torn else { return Ok(None) };
    let name = segment::name(torn.segment);
    let note = format!(
        "{name}: cut off {} bytes at byte {}, behind {} committed steps: {}\n",
        torn.bytes, torn.offset, next, torn.fault
    );
    let mut file = storage.append(RECOVERY_LOG)?;
    file.write_all(note.as_bytes())?;
    file.sync()?;
    storage.sync_dir("")?;
    if torn.offset == 0 {
        storage.remove(&name)?;
        storage.sync_dir(segment::DIR)?;
    } else {
        storage.truncate(&name, torn.offset)?;
    }
    Ok(Some(note))
}

/// Writes the last write of a log again, as it is. A sync that failed may have dropped it while it is still read from the
/// cache, and no later sync would say so. Whatever lies before it was durable before it was written.
pub(crate) fn settle(storage: &dyn Storage, cursor: &Cursor) -> Result<(), LogError> {
    let Some((segment, range)) = cursor.last_write() else { return Ok(()) };
    let name = segment::name(segment);
    let bytes = storage.read(&name)?;
    let written = bytes.get(range.start as usize..range.end as usize).unwrap_or_default();
    Ok(storage.overwrite(&name, range.start, written)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_case_seven_is_torn() {
        let both = [false, true];
        for (active, tearable, later_group) in both
            .into_iter()
            .flat_map(|a| both.into_iter().flat_map(move |b| both.into_iter().map(move |c| (a, b, c))))
        {
            let expected = if (active, tearable, later_group) == (true, true, false) {
                Verdict::Torn
            } else {
                Verdict::Corrupt
            };
            assert_eq!(verdict(Evidence { active, tearable, later_group }), expected);
        }
    }
}
