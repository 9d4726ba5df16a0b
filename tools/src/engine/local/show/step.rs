//! One step: what was decided in it.

use serde_json::json;
use tadpole_kernel::event::{DecodeError, Event};
use tadpole_kernel::log::{Commit, Group};

use super::mention::about;
use crate::engine::Shown;
use crate::table::{Align, layout};

pub(super) fn shown(group: &Group) -> Result<Shown, DecodeError> {
    let commit = group.commit();
    let Commit { step, count, seals, chain, world, draws, first } = commit;
    let events = group.events().collect::<Result<Vec<Event>, DecodeError>>()?;
    let sequences = first.0..;
    let rows: Vec<Vec<String>> = sequences
        .clone()
        .zip(&events)
        .map(|(sequence, event)| vec![sequence.to_string(), event.name().to_owned(), about(event)])
        .collect();
    let table = layout(&[("event", Align::Right), ("name", Align::Left), ("what", Align::Left)], &rows);
    let sealed = if *seals { ", the last of its segment" } else { "" };
    let (streams, values) = (draws.streams, draws.values);
    let text = format!(
        "step {step}, {count} events{sealed}\nchain  {chain}\nworld  {world}\ndraws  {values} values from {streams} streams\n\n{table}"
    );
    let events: Vec<_> = sequences
        .zip(&events)
        .map(|(sequence, event)| json!({ "sequence": sequence, "name": event.name(), "what": about(event) }))
        .collect();
    Ok(Shown { text, json: json!({ "commit": commit, "events": events }) })
}
