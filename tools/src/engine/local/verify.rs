//! Decides everything again.

use std::path::Path;

use tadpole_kernel::verify::{self, Era, FieldDifference, Report, Sample, VerifyOptions};
use tadpole_systems::phase::name;

use super::existing::Existing;
use super::watch::Watch;
use super::{execution, failures};
use crate::engine::{Difference, VerifyReport, VerifyRequest};
use crate::failure::Failure;
use crate::progress::{Notice, Observer};

/// Decides everything in a run again and compares.
pub(super) fn verify(request: &VerifyRequest, observer: &dyn Observer) -> Result<VerifyReport, Failure> {
    let VerifyRequest { run: directory, sample, skip_updates, speed } = request;
    let run = Existing::open(directory, speed)?;
    let assembly = run.assembled()?;
    let totals = run.reader.totals().map_err(|error| failures::run(directory, &error))?;
    let options = VerifyOptions {
        sample: (*sample < 1.0).then_some(Sample { share: *sample, seed: run.scenario.seed }),
        trusted: if *skip_updates { vec![name::UPDATE, name::PUBLISH] } else { Vec::new() },
    };
    let past = run
        .past()?
        .iter()
        .map(|scenario| execution::assembled(scenario, Path::new(".")))
        .collect::<Result<Vec<_>, _>>()?;
    let eras: Vec<Era<'_>> = past
        .iter()
        .chain([&assembly])
        .map(|assembly| Era { header: &assembly.header, systems: &assembly.systems })
        .collect();
    let report = Watch::over(&assembly.meter, observer, |watch| {
        verify::verify_lineage(directory, eras[0], &eras[1..], &options, |commit| {
            watch.tell();
            let (done, total) = (commit.step.0 + 1, totals.steps);
            observer.notice(&Notice::Advanced { work: "verified", done, total, detail: String::new() });
        })
    });
    let report = report.map_err(|error| failures::verify(directory, &error))?;
    let Report { steps, events, executed, out_of_reach, differences, complete, last: _, tail: _ } = report;
    Ok(VerifyReport {
        run_id: run.reader.run().to_hex(),
        steps,
        executed,
        events,
        complete,
        out_of_reach: out_of_reach.into_iter().map(|step| step.0).collect(),
        differences: differences.into_iter().map(flat).collect(),
    })
}

/// A difference with its first field in front.
fn flat(found: verify::Difference) -> Difference {
    let text = found.to_string();
    let step = found.step().0;
    let of_step = |field: &str, recorded, recomputed| {
        (None, None, vec![FieldDifference { path: field.to_owned(), recorded, recomputed }], 0)
    };
    let (index, event, mut fields, more) = match found {
        verify::Difference::Event { index, name, fields, more, .. } => {
            (Some(index as u64), Some(name.to_owned()), fields, more)
        }
        verify::Difference::Count { recorded, recomputed, .. } => {
            of_step("number of events", Some(recorded.into()), Some(recomputed.into()))
        }
        verify::Difference::Draws { recorded, recomputed, .. } => {
            of_step("values drawn", Some(recorded.values.into()), Some(recomputed.values.into()))
        }
        verify::Difference::World { recorded, recomputed, .. } => {
            of_step("world digest", Some(recorded.to_hex().into()), Some(recomputed.to_hex().into()))
        }
        verify::Difference::Seal { recorded, recomputed, .. } => {
            of_step("seal of the segment", Some(recorded.into()), Some(recomputed.into()))
        }
        verify::Difference::Over { .. } => of_step("end of the run", None, None),
        verify::Difference::Undecided { .. } => of_step("decision", None, None),
        verify::Difference::Blob { digest, .. } => {
            of_step(Difference::BLOB, Some(digest.to_hex().into()), None)
        }
    };
    let none = || FieldDifference { path: String::new(), recorded: None, recomputed: None };
    let first = if fields.is_empty() { none() } else { fields.remove(0) };
    let FieldDifference { path: field, recorded, recomputed } = first;
    Difference { step, index, event, field, recorded, recomputed, also: fields, more: more as u64, text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tadpole_kernel::id::{Digest, Sequence, Step};

    use super::*;

    #[test]
    fn the_first_field_of_an_event_stands_in_front() {
        let field = |path: &str| FieldDifference {
            path: path.into(),
            recorded: Some(json!(1)),
            recomputed: Some(json!(2)),
        };
        let found = flat(verify::Difference::Event {
            step: Step(4),
            system: "judge",
            index: 2,
            sequence: Sequence(9),
            name: "TaskAdmitted",
            fields: vec![field("passed"), field("sampled")],
            more: 3,
        });
        assert_eq!((found.step, found.index, found.event.as_deref()), (4, Some(2), Some("TaskAdmitted")));
        assert_eq!((found.field.as_str(), found.also.len(), found.more), ("passed", 1, 3));
    }

    #[test]
    fn what_is_not_about_one_event_names_what_it_is_about() {
        let (recorded, recomputed) = (Digest::of(b"a"), Digest::of(b"b"));
        let found = flat(verify::Difference::World { step: Step(4), recorded, recomputed });
        assert_eq!((found.index, found.event, found.field.as_str()), (None, None, "world digest"));
        assert_eq!(found.recorded, Some(json!(recorded.to_hex())));
        assert!(found.text.starts_with("step 4: "), "{}", found.text);
    }
}
