//! `tadpole diff`: where two runs part, and in what.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use tadpole_kernel::diff::{Comparison, Divergence, EventDifference, Field, Side, StepSide, WorldField};

use crate::engine::{DiffReport, Engine};
use crate::failure::Failure;
use crate::{scenario, table, text};

/// Characters shown of one side of a difference.
const SIDE: usize = 160;

/// Arguments of `tadpole diff`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The one run's directory.
    left: PathBuf,
    /// The other's.
    right: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(options: &Options, engine: &dyn Engine, out: &mut dyn Write) -> Result<(), Failure> {
    scenario::existing_run(&options.left)?;
    scenario::existing_run(&options.right)?;
    let report = engine.diff(&options.left, &options.right)?;
    let DiffReport { comparison, left, right } = &report;
    if options.json {
        let iterations = json!({ "left": left.iterations, "right": right.iterations });
        return super::json(out, &json!({ "comparison": comparison, "iterations": iterations }));
    }
    write!(out, "{}", told(comparison, &options.left, &options.right))?;
    writeln!(out, "\n{}", table::beside(&left.iterations, &right.iterations))?;
    Ok(())
}

fn told(comparison: &Comparison, left: &Path, right: &Path) -> String {
    let mut lines = vec![side("left ", left, &comparison.left), side("right", right, &comparison.right)];
    lines.push(bytes(comparison));
    match &comparison.divergence {
        None => lines.push("the same happened in both".to_owned()),
        Some(divergence) => {
            lines.push(format!(
                "the same happened in the first {}",
                text::counted(comparison.same_decisions, "decision")
            ));
            lines.push(String::new());
            lines.extend(parting(divergence));
        }
    }
    lines.join("\n") + "\n"
}

fn side(name: &str, directory: &Path, side: &Side) -> String {
    let Side { run, ancestors, steps, decisions: _, chain: _ } = side;
    let from = ancestors.iter().rev().fold(String::new(), |from, ancestor| {
        from + &format!("\n      forked at step {} from {}", ancestor.step, ancestor.run)
    });
    format!("{name} {}: run {run}, {}{from}", directory.display(), text::counted(*steps, "step"))
}

/// How long the logs are the same.
fn bytes(comparison: &Comparison) -> String {
    let Comparison { left, right, same_steps, .. } = comparison;
    if comparison.is_same() {
        return "the logs are the same bytes".to_owned();
    }
    match same_steps {
        0 => "the logs have no step in common: the runs have different ids".to_owned(),
        steps if *steps == left.steps || *steps == right.steps => {
            format!("the logs are the same bytes up to and with step {}, where one ends", steps - 1)
        }
        steps => format!("the logs are the same bytes up to and with step {}", steps - 1),
    }
}

fn parting(divergence: &Divergence) -> Vec<String> {
    let Divergence { left, right, events, more_events, world, more_world } = divergence;
    let (left, right) = match (left, right) {
        (Some(left), Some(right)) => (left, right),
        (Some(one), None) => return vec![format!("right ends; left goes on with {}", step(one))],
        (None, Some(one)) => return vec![format!("left ends; right goes on with {}", step(one))],
        (None, None) => return Vec::new(),
    };
    let mut lines = vec![format!("they part at {} of left, {} of right", step(left), step(right))];
    if left.draws != right.draws {
        lines.push(format!("values drawn: {} | {}", left.draws.values, right.draws.values));
    }
    lines.extend(events.iter().flat_map(event));
    lines.extend(more(*more_events, "more event"));
    if !world.is_empty() {
        lines.push(String::new());
        lines.push("the world after it".to_owned());
        for WorldField { component, id, field } in world {
            lines.extend(both_sides(&format!("{component} of {id}"), field));
        }
        lines.extend(more(*more_world, "more field"));
    }
    lines
}

fn step(side: &StepSide) -> String {
    format!("step {} (iteration {}, {})", side.step, side.iteration, text::counted(side.events, "event"))
}

fn event(difference: &EventDifference) -> Vec<String> {
    let EventDifference { index, left, right, fields, more: beyond } = difference;
    let named = |side: &Option<(_, &'static str)>| match side {
        Some((sequence, name)) => format!("{name} (sequence {sequence})"),
        None => "none".to_owned(),
    };
    let mut lines = vec![format!("event {index}: {} | {}", named(left), named(right))];
    lines.extend(fields.iter().flat_map(|field| both_sides("", field)));
    lines.extend(more(*beyond, "more field"));
    lines
}

fn both_sides(of: &str, field: &Field) -> Vec<String> {
    let Field { path, left, right } = field;
    let name = [of, path].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    vec![
        format!("  {name}"),
        format!("    - {}", shown(left.as_ref())),
        format!("    + {}", shown(right.as_ref())),
    ]
}

fn more(count: u64, thing: &str) -> Option<String> {
    (count > 0).then(|| format!("  and {}", text::counted(count, thing)))
}

/// One side of a difference, in a line.
fn shown(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "absent".to_owned(), Value::to_string);
    match text.char_indices().nth(SIDE) {
        None => text,
        Some((end, _)) => format!("{}... ({} characters)", &text[..end], text.chars().count()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{run_directory, tadpole};
    use super::*;
    use crate::engine::samples::{self, Sample};

    fn printed(change: impl FnOnce(&mut Comparison)) -> String {
        let mut comparison = samples::comparison();
        change(&mut comparison);
        told(&comparison, Path::new("a"), Path::new("b"))
    }

    #[test]
    fn two_runs_part_at_a_step_an_event_and_a_field() {
        let parent = tempfile::tempdir().unwrap();
        let run = run_directory(parent.path());
        let printed = tadpole("diff {} {}", &run, &Sample::default()).unwrap();
        insta::assert_snapshot!(printed.replace(run.to_str().unwrap(), "RUN"));
    }

    #[test]
    fn runs_that_do_not_part_say_so() {
        let same = printed(|it| (it.divergence, it.right) = (None, it.left.clone()));
        assert!(same.contains("the logs are the same bytes\nthe same happened in both\n"), "{same}");
        let fork = printed(|it| it.divergence = None);
        assert!(fork.contains("up to and with step 57\nthe same happened in both\n"), "{fork}");
        let shorter = printed(|it| it.same_steps = it.left.steps);
        assert!(shorter.contains("where one ends"), "{shorter}");
        let strangers = printed(|it| it.same_steps = 0);
        assert!(strangers.contains("no step in common"), "{strangers}");
    }

    #[test]
    fn a_run_that_ends_before_the_other_is_named() {
        let printed = printed(|it| {
            if let Some(divergence) = &mut it.divergence {
                divergence.right = None;
            }
        });
        assert!(
            printed.contains("right ends; left goes on with step 71 (iteration 3, 2 events)"),
            "{printed}"
        );
    }

    #[test]
    fn json_has_the_comparison_and_both_tables() {
        let parent = tempfile::tempdir().unwrap();
        let run = run_directory(parent.path());
        let printed = tadpole("diff {} {} --json", &run, &Sample::default()).unwrap();
        let value: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(value["comparison"]["same_steps"], 58);
        assert_eq!(value["comparison"]["divergence"]["events"][0]["left"][1], "TaskAdmitted");
        assert_eq!(value["comparison"]["divergence"]["world"][0]["component"], "Progress");
        assert_eq!(value["iterations"]["right"].as_array().map(Vec::len), Some(2));
    }
}
