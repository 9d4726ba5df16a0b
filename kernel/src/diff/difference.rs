//! The first decision in which two runs differ, down to the field.

use serde_json::Value;

use super::index::Decision;
use crate::draws::DrawCount;
use crate::event::Event;
use crate::id::{Iteration, Sequence, StableId, Step};
use crate::replay::{Replay, ReplayError};
use crate::run::{RunReader, events};
use crate::verify::{FieldDifference, field_differences};
use crate::world::World;

/// Events, and fields of an event and of the world, that are reported; what lies beyond is counted.
const SHOWN: usize = 16;

/// The first decision in which something else happened.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Divergence {
    /// The step in the one run; `None` where it ends before.
    pub left: Option<StepSide>,
    /// The step in the other.
    pub right: Option<StepSide>,
    /// The events that differ, at most sixteen.
    pub events: Vec<EventDifference>,
    /// How many more differ.
    pub more_events: u64,
    /// What differs between the worlds after the step, at most sixteen fields; nothing where one of the runs has no such step.
    pub world: Vec<WorldField>,
    /// How many more differ.
    pub more_world: u64,
}

/// A step of one of the runs.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct StepSide {
    /// The step.
    pub step: Step,
    /// The iteration that it belongs to.
    pub iteration: Iteration,
    /// How many events it has.
    pub events: u64,
    /// Randomness that it used.
    pub draws: DrawCount,
}

/// A pair of events that differ; where one side is `None`, it has no such event.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct EventDifference {
    /// Which event of the step, from 0.
    pub index: u64,
    /// Sequence and name in the one run.
    pub left: Option<(Sequence, &'static str)>,
    /// In the other.
    pub right: Option<(Sequence, &'static str)>,
    /// The fields that differ, at most sixteen; none where the events are of different kinds.
    pub fields: Vec<Field>,
    /// How many more differ.
    pub more: u64,
}

/// A field that differs.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Field {
    /// Where, e.g. `groups[2].task`.
    pub path: String,
    /// In the one run; `None` where it is absent.
    pub left: Option<Value>,
    /// In the other.
    pub right: Option<Value>,
}

/// A field of a component that differs. Where one side lacks the whole component, the path is empty.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct WorldField {
    /// Component type.
    pub component: &'static str,
    /// Whose.
    pub id: StableId,
    /// What differs.
    #[serde(flatten)]
    pub field: Field,
}

impl From<FieldDifference> for Field {
    fn from(it: FieldDifference) -> Self {
        let FieldDifference { path, recorded, recomputed } = it;
        Self { path, left: recorded, right: recomputed }
    }
}

/// One of the runs, standing after the step.
struct Standing {
    side: StepSide,
    events: Vec<(Sequence, Event)>,
    replay: Replay,
}

impl Standing {
    fn after(reader: &RunReader, decision: &Decision) -> Result<Self, ReplayError> {
        let replay = Replay::seek_over(reader.storage(), decision.commit.step)?;
        let events = replay.group().into_iter().flat_map(events).collect::<Result<Vec<_>, _>>()?;
        let side = StepSide {
            step: decision.commit.step,
            iteration: replay.world().view().progress().iteration,
            events: events.len() as u64,
            draws: decision.commit.draws,
        };
        Ok(Self { side, events, replay })
    }
}

impl Divergence {
    /// Looks at the two decisions; `None` where there is neither.
    pub(super) fn find(
        left: &RunReader,
        right: &RunReader,
        one: Option<&Decision>,
        other: Option<&Decision>,
    ) -> Result<Option<Self>, ReplayError> {
        if one.is_none() && other.is_none() {
            return Ok(None);
        }
        let one = one.map(|decision| Standing::after(left, decision)).transpose()?;
        let other = other.map(|decision| Standing::after(right, decision)).transpose()?;
        let (events, more_events) = event_differences(one.as_ref(), other.as_ref());
        let (world, more_world) = match (&one, &other) {
            (Some(one), Some(other)) => world_differences(one.replay.world(), other.replay.world()),
            _ => (Vec::new(), 0),
        };
        let (left, right) = (one.map(|it| it.side), other.map(|it| it.side));
        Ok(Some(Self { left, right, events, more_events, world, more_world }))
    }
}

fn event_differences(one: Option<&Standing>, other: Option<&Standing>) -> (Vec<EventDifference>, u64) {
    let one: &[(Sequence, Event)] = one.map_or(&[], |it| it.events.as_slice());
    let other: &[(Sequence, Event)] = other.map_or(&[], |it| it.events.as_slice());
    let pairs = (0..one.len().max(other.len())).map(|index| (index, one.get(index), other.get(index)));
    let differing = pairs.filter(|(_, left, right)| left.map(|it| &it.1) != right.map(|it| &it.1));
    let all: Vec<_> = differing.collect();
    let shown = all.iter().take(SHOWN).map(|&(index, left, right)| {
        let (fields, more) = match (left, right) {
            (Some((_, left)), Some((_, right))) if left.name() == right.name() => {
                shortened(field_differences(&json(left), &json(right)).into_iter().map(Field::from))
            }
            _ => (Vec::new(), 0),
        };
        let named = |it: Option<&(Sequence, Event)>| it.map(|(sequence, event)| (*sequence, event.name()));
        EventDifference { index: index as u64, left: named(left), right: named(right), fields, more }
    });
    (shown.collect(), all.len().saturating_sub(SHOWN) as u64)
}

fn world_differences(one: &World, other: &World) -> (Vec<WorldField>, u64) {
    shortened(one.differences(other).flat_map(|difference| {
        let fields = match (&difference.left, &difference.right) {
            (Some(left), Some(right)) => {
                field_differences(left, right).into_iter().map(Field::from).collect()
            }
            _ => vec![Field { path: String::new(), left: difference.left, right: difference.right }],
        };
        let (component, id) = (difference.component, difference.id);
        fields.into_iter().map(move |field| WorldField { component, id, field })
    }))
}

/// The first few, and how many more there are.
fn shortened<T>(mut all: impl Iterator<Item = T>) -> (Vec<T>, u64) {
    let shown = all.by_ref().take(SHOWN).collect();
    (shown, all.count() as u64)
}

/// Every payload has JSON; a failure to make it would itself be worth showing.
fn json(event: &Event) -> Value {
    serde_json::to_value(event).unwrap_or_else(|error| Value::String(error.to_string()))
}
