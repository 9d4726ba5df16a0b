//! One event.

use serde_json::{Value, json};
use tadpole_kernel::event::Event;
use tadpole_kernel::log::Commit;

use super::outline::outline;
use crate::engine::Shown;

pub(super) fn shown(sequence: u64, commit: &Commit, event: &Event) -> Shown {
    let fields = fields(event);
    let name = event.name();
    let place = sequence.saturating_sub(commit.first.0);
    let text = format!(
        "event {sequence}: {name}\nstep {}, event {place} of {} (from 0)\n\n{}",
        commit.step,
        commit.count,
        outline(&fields)
    );
    let json = json!({ "sequence": sequence, "step": commit.step, "name": name, "fields": fields, "commit": commit });
    Shown { text, json }
}

/// The fields of an event as an outline.
pub(in crate::engine::local) fn outlined(event: &Event) -> String {
    outline(&fields(event))
}

fn fields(event: &Event) -> Value {
    // Every payload has JSON; a failure to make it would itself be worth showing.
    let mut fields = serde_json::to_value(event).unwrap_or_else(|error| Value::String(error.to_string()));
    if let Value::Object(fields) = &mut fields {
        fields.remove("event");
    }
    fields
}
