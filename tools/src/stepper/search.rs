//! Finding events by kind or id, and places by number.

use tadpole_kernel::event::Event;

use crate::engine::{EventOutline, Outline};

/// An event that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) step: usize,
    pub(super) event: usize,
    /// Whether the search went on from the other end of the run.
    pub(super) wrapped: bool,
}

/// What is looked for.
enum Sought {
    /// Events that mention this id.
    Id(u64),
    /// Events whose kind contains this, in lower case.
    Kind(String),
}

/// The next event after `from` (or the one before it) that mentions the id, or is of the kind, that `text` names.
pub(super) fn find(steps: &[Outline], from: (usize, usize), text: &str, on: bool) -> Result<Found, String> {
    let sought = Sought::parse(text)?;
    let all = || {
        steps.iter().enumerate().flat_map(|(step, outline)| {
            outline.events.iter().enumerate().map(move |(event, outline)| ((step, event), outline))
        })
    };
    let mut matches = all().filter(|(_, event)| sought.is(event)).map(|(place, _)| place);
    let (next, other) = if on {
        let mut first = None;
        let next = matches.find(|&place| {
            first = first.or(Some(place));
            place > from
        });
        (next, first)
    } else {
        let (mut before, mut last) = (None, None);
        for place in matches {
            if place < from {
                before = Some(place);
            }
            last = Some(place);
        }
        (before, last)
    };
    let ((step, event), wrapped) = match (next, other) {
        (Some(place), _) => (place, false),
        (None, Some(place)) => (place, true),
        (None, None) => return Err(format!("nothing in this run matches {}", text.trim())),
    };
    Ok(Found { step, event, wrapped })
}

/// The place that `text` names: `12` a step, `e124` an event, `i2` an iteration.
pub(super) fn place(steps: &[Outline], text: &str) -> Result<(usize, usize), String> {
    let text = text.trim();
    let number = |digits: &str| {
        digits.parse::<u64>().map_err(|_not_a_number| {
            format!("{text} is no place: a step is 12, an event e124, an iteration i2")
        })
    };
    let absent = || format!("there is no {text} in this run (yet)");
    if let Some(digits) = text.strip_prefix('e') {
        let sequence = number(digits)?;
        return steps
            .iter()
            .enumerate()
            .find_map(|(step, outline)| {
                let event = outline.events.iter().position(|event| event.sequence == sequence)?;
                Some((step, event))
            })
            .ok_or_else(absent);
    }
    if let Some(digits) = text.strip_prefix('i') {
        let iteration = number(digits)?;
        let first = steps.iter().position(|outline| u64::from(outline.iteration) == iteration);
        return first.map(|step| (step, 0)).ok_or_else(absent);
    }
    let wanted = number(text)?;
    steps.iter().position(|outline| outline.step == wanted).map(|step| (step, 0)).ok_or_else(absent)
}

impl Sought {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(id) = text.parse() {
            return Ok(Self::Id(id));
        }
        let kind: String = text.to_lowercase().chars().filter(|c| !matches!(c, ' ' | '_' | '-')).collect();
        if kind.is_empty() || !Event::NAMES.iter().any(|name| name.to_lowercase().contains(&kind)) {
            return Err(format!("no kind of event is called {text}, and it is no id"));
        }
        Ok(Self::Kind(kind))
    }

    fn is(&self, event: &EventOutline) -> bool {
        match self {
            Self::Id(id) => event.ids.contains(id),
            Self::Kind(kind) => event.name.to_lowercase().contains(kind),
        }
    }
}
