//! What differs between a recorded and a recomputed decision, down to the field.

use std::fmt;

use serde_json::Value;

use crate::draws::DrawCount;
use crate::event::{DecodeError, Event};
use crate::id::{Digest, Sequence, Step};

/// Fields reported for one event; what lies beyond is counted.
const FIELDS_SHOWN: usize = 8;

/// A difference between the log and what is recomputed.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "difference", rename_all = "snake_case")]
pub enum Difference {
    /// An event is not the one that is decided again.
    Event {
        /// The step.
        step: Step,
        /// The system that decides it.
        system: &'static str,
        /// Which event of the step, from 0.
        index: usize,
        /// Its sequence.
        sequence: Sequence,
        /// Its name, as recorded.
        name: &'static str,
        /// The fields that differ, at most eight.
        fields: Vec<FieldDifference>,
        /// How many more differ.
        more: usize,
    },
    /// The step has more or fewer events than are decided again.
    Count {
        /// The step.
        step: Step,
        /// The system that decides it.
        system: &'static str,
        /// Events recorded.
        recorded: usize,
        /// Events decided again.
        recomputed: usize,
        /// Name of the first event that has no counterpart.
        first: &'static str,
    },
    /// Other randomness was used.
    Draws {
        /// The step.
        step: Step,
        /// The system that decides it.
        system: &'static str,
        /// As recorded.
        recorded: DrawCount,
        /// As used again.
        recomputed: DrawCount,
    },
    /// The recorded events lead to another world than the commit says.
    World {
        /// The step.
        step: Step,
        /// As recorded.
        recorded: Digest,
        /// As the events have it.
        recomputed: Digest,
    },
    /// The commit seals its segment where no iteration ends, or does not where one does.
    Seal {
        /// The step.
        step: Step,
        /// As recorded.
        recorded: bool,
        /// As the events have it.
        recomputed: bool,
    },
    /// The log has a step although the run was over.
    Over {
        /// The step.
        step: Step,
    },
    /// The decision could not be made again.
    Undecided {
        /// The step.
        step: Step,
        /// Why.
        reason: String,
    },
    /// A blob that an event names is missing or damaged.
    Blob {
        /// The step that named it first.
        step: Step,
        /// The blob.
        digest: Digest,
        /// What is wrong.
        reason: String,
    },
}

/// A field that differs.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct FieldDifference {
    /// Where, e.g. `groups[2].task`.
    pub path: String,
    /// As recorded; `None` where it is absent.
    pub recorded: Option<Value>,
    /// As recomputed; `None` where it is absent.
    pub recomputed: Option<Value>,
}

/// Which event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) step: Step,
    pub(super) system: &'static str,
    pub(super) index: usize,
    /// Sequence of the step's first event.
    pub(super) first: Sequence,
}

impl Difference {
    /// The difference between an event as recorded (`was`, in `body`) and as decided again (`again`, in `bytes`).
    pub(super) fn event(
        place: Place,
        was: &Result<Event, DecodeError>,
        again: &Event,
        body: &[u8],
        bytes: &[u8],
    ) -> Self {
        let Place { step, system, index, first } = place;
        let name = was.as_ref().map_or(again.name(), Event::name);
        let mut fields = match was {
            Ok(was) => field_differences(&json(was), &json(again)),
            Err(error) => vec![FieldDifference {
                path: "(unreadable)".to_owned(),
                recorded: Some(Value::String(error.to_string())),
                recomputed: None,
            }],
        };
        if fields.is_empty() || was.is_err() {
            fields.push(byte_difference(body, bytes));
        }
        let more = fields.len().saturating_sub(FIELDS_SHOWN);
        fields.truncate(FIELDS_SHOWN);
        let sequence = Sequence(first.0.saturating_add(index as u64));
        Self::Event { step, system, index, sequence, name, fields, more }
    }

    pub(super) fn count(
        step: Step,
        system: &'static str,
        recorded: &[Result<Event, DecodeError>],
        recomputed: &[Event],
    ) -> Self {
        let common = recorded.len().min(recomputed.len());
        let alone = match recorded.get(common) {
            Some(Ok(event)) => event.name(),
            Some(Err(_)) => "an unreadable event",
            None => recomputed.get(common).map_or("", Event::name),
        };
        Self::Count { step, system, recorded: recorded.len(), recomputed: recomputed.len(), first: alone }
    }

    /// The step it lies in.
    pub fn step(&self) -> Step {
        match self {
            Self::Event { step, .. }
            | Self::Count { step, .. }
            | Self::Draws { step, .. }
            | Self::World { step, .. }
            | Self::Seal { step, .. }
            | Self::Over { step }
            | Self::Undecided { step, .. }
            | Self::Blob { step, .. } => *step,
        }
    }
}

/// The first byte in which two bodies differ: all there is to say where no field differs (padding), or none can be read.
fn byte_difference(recorded: &[u8], recomputed: &[u8]) -> FieldDifference {
    let same = recorded.iter().zip(recomputed).take_while(|(left, right)| left == right).count();
    let byte = |bytes: &[u8]| bytes.get(same).map(|&byte| Value::from(byte));
    FieldDifference {
        path: format!("(byte {same} of the body)"),
        recorded: byte(recorded),
        recomputed: byte(recomputed),
    }
}

/// Every payload has JSON; a failure to make it would itself be worth showing.
fn json(event: &Event) -> Value {
    serde_json::to_value(event).unwrap_or_else(|error| Value::String(error.to_string()))
}

/// All fields in which two values differ, in order of their paths.
pub fn field_differences(recorded: &Value, recomputed: &Value) -> Vec<FieldDifference> {
    let mut found = Vec::new();
    collect(String::new(), Some(recorded), Some(recomputed), &mut found);
    found
}

fn collect(
    path: String,
    recorded: Option<&Value>,
    recomputed: Option<&Value>,
    found: &mut Vec<FieldDifference>,
) {
    match (recorded, recomputed) {
        (Some(left), Some(right)) if left == right => {}
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let mut keys: Vec<_> = left.keys().chain(right.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                collect(path, left.get(key), right.get(key), found);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            for index in 0..left.len().max(right.len()) {
                collect(format!("{path}[{index}]"), left.get(index), right.get(index), found);
            }
        }
        (recorded, recomputed) => {
            let (recorded, recomputed) = (recorded.cloned(), recomputed.cloned());
            found.push(FieldDifference { path, recorded, recomputed });
        }
    }
}

impl fmt::Display for FieldDifference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show =
            |value: &Option<Value>| value.as_ref().map_or_else(|| "absent".to_owned(), Value::to_string);
        write!(out, "{}: recorded {}, recomputed {}", self.path, show(&self.recorded), show(&self.recomputed))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "step {}: ", self.step())?;
        match self {
            Self::Event { step: _, system, index, sequence, name, fields, more } => {
                write!(
                    out,
                    "{system} decides another {name} (event {index} of the step, sequence {sequence})"
                )?;
                for field in fields {
                    write!(out, "\n    {field}")?;
                }
                if *more > 0 {
                    write!(out, "\n    and {more} more fields")?;
                }
                Ok(())
            }
            Self::Count { step: _, system, recorded, recomputed, first } => write!(
                out,
                "{system} decides {recomputed} events, {recorded} are recorded; {first} is the first without counterpart"
            ),
            Self::Draws { step: _, system, recorded, recomputed } => write!(
                out,
                "{system} draws {} values from {} streams, recorded are {} from {}",
                recomputed.values, recomputed.streams, recorded.values, recorded.streams
            ),
            Self::World { step: _, recorded, recomputed } => {
                write!(out, "the commit recorded world {recorded}, its events lead to {recomputed}")
            }
            Self::Seal { step: _, recorded, recomputed } => {
                write!(out, "sealing its segment: recorded {recorded}, recomputed {recomputed}")
            }
            Self::Over { step: _ } => write!(out, "the run was over, yet the step is recorded"),
            Self::Undecided { step: _, reason } => {
                write!(out, "the decision could not be made again: {reason}")
            }
            Self::Blob { step: _, digest: _, reason } => out.write_str(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(recorded: &Value, recomputed: &Value, expected: &[&str]) {
        let found: Vec<String> =
            field_differences(recorded, recomputed).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn differences_name_the_deepest_field() {
        check(&json!({"a": 1}), &json!({"a": 1}), &[]);
        check(
            &json!({"groups": [{"task": 1}, {"task": 2, "discarded": true}]}),
            &json!({"groups": [{"task": 1}, {"task": 3, "discarded": true}]}),
            &["groups[1].task: recorded 2, recomputed 3"],
        );
        check(
            &json!({"a": [1], "b": "x"}),
            &json!({"a": [1, 2], "c": null}),
            &[
                "a[1]: recorded absent, recomputed 2",
                "b: recorded \"x\", recomputed absent",
                "c: recorded absent, recomputed null",
            ],
        );
    }
}
