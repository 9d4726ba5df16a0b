//! Decides everything again.

use tadpole_kernel::verify::{self, Report, Sample, VerifyOptions};
use tadpole_systems::assembly;
use tadpole_systems::phase::name;

use super::existing::Existing;
use super::failures;
use super::watch::Watch;
use crate::engine::{VerifyReport, VerifyRequest};
use crate::failure::Failure;
use crate::progress::{Notice, Observer};

/// Decides everything in a run again and compares.
pub(super) fn verify(request: &VerifyRequest, observer: &dyn Observer) -> Result<VerifyReport, Failure> {
    let VerifyRequest { run: directory, sample, skip_updates, threads } = request;
    let run = Existing::open(directory, *threads)?;
    let assembly = run.assembled()?;
    let totals = run.reader.totals().map_err(|error| failures::run(directory, &error))?;
    let options = VerifyOptions {
        sample: (*sample < 1.0).then_some(Sample { share: *sample, seed: run.scenario.seed }),
        trusted: if *skip_updates { vec![name::UPDATE, name::PUBLISH] } else { Vec::new() },
    };
    let header = assembly::header(&run.scenario);
    let report = Watch::over(&assembly.meter, observer, |watch| {
        verify::verify(directory, &header, &assembly.systems, &options, |commit| {
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
        differences,
    })
}
