//! What calibration said, beside what fresh trajectories say.

use tadpole_kernel::event::Direction;
use tadpole_systems::analysis::Recalibration;
use tadpole_systems::evaluation::statistics::Mean;

use super::{Align, layout};
use crate::text;

const COLUMNS: &[(&str, Align)] = &[
    ("what", Align::Left),
    ("trajectories", Align::Left),
    ("count", Align::Right),
    ("mean", Align::Right),
    ("95% interval", Align::Right),
];

/// The table of a recalibration.
pub(crate) fn recalibration(measured: &Recalibration) -> String {
    let Recalibration { iteration, samples, tasks, then, now, shifts } = measured;
    let fresh = format!("{samples} fresh");
    let recorded = "as recorded".to_owned();
    let mut rows = Vec::new();
    let mut row = |what: &str, how: &str, mean: &Mean, show: fn(f64) -> String| {
        let interval = format!("{} to {}", show(mean.low), show(mean.high));
        rows.push(vec![what.to_owned(), how.to_owned(), mean.count.to_string(), show(mean.mean), interval]);
    };
    for (how, mean) in [(&recorded, then), (&fresh, now)] {
        if let Some(mean) = mean {
            row("p-hat of tasks admitted in band", how, mean, |rate| format!("{rate:.3}"));
        }
    }
    for shift in shifts {
        let what = match shift.direction {
            Direction::Easier => "shift of p-hat by making easier",
            Direction::Harder => "shift of p-hat by making harder",
        };
        let how = if shift.fresh { &fresh } else { &recorded };
        row(what, how, &shift.shift, |rate| format!("{rate:+.3}"));
    }
    let admitted = text::counted(tasks.len() as u64, "task");
    format!("iteration {iteration}, {admitted} admitted in band\n\n{}", layout(COLUMNS, &rows))
}
