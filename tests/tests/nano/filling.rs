//! A batch that the budget leaves unfilled takes the nearest mixed groups, and says so.

use std::collections::{BTreeMap, BTreeSet};

use tadpole_kernel::event::{BatchClosedV1, CandidateGeneratedV1, Event, TaskAdmittedV1};
use tadpole_kernel::id::StableId;
use tadpole_scenarios::schema::{LastAdmission, Scenario};
use tadpole_tests::nano::nano;
use tadpole_tests::{drive, events};

/// One iteration of nano with more trajectories a look, so that a mixed group may lie outside of the band.
fn short_of_tasks() -> Scenario {
    let mut scenario = nano().scenario.clone();
    scenario.seed = 3;
    scenario.iterations = 1;
    scenario.curriculum.admission_last = LastAdmission::Same;
    scenario.curriculum.samples = 4;
    scenario.curriculum.batch = 4;
    scenario.curriculum.candidates = 8;
    scenario.evaluation.sets.truncate(1);
    scenario
}

/// What the curriculum of one iteration came to.
#[derive(Default)]
struct Batch {
    generated: BTreeMap<StableId, CandidateGeneratedV1>,
    /// Passes and trajectories over all looks.
    looks: BTreeMap<StableId, (u32, u32)>,
    admitted: Vec<TaskAdmittedV1>,
    closed: Option<BatchClosedV1>,
}

impl Batch {
    fn of(events: impl IntoIterator<Item = Event>) -> Self {
        let mut batch = Self::default();
        for event in events {
            match event {
                Event::CandidateGenerated(it) => drop(batch.generated.insert(it.candidate, it)),
                Event::CandidateCalibrated(it) => {
                    let looks = batch.looks.entry(it.candidate).or_default();
                    *looks = (looks.0 + it.passed, looks.1 + it.sampled);
                }
                Event::TaskAdmitted(it) => batch.admitted.push(it),
                Event::BatchClosed(it) => batch.closed = Some(it),
                _ => {}
            }
        }
        batch
    }

    fn draw(&self, candidate: StableId) -> u32 {
        self.generated[&candidate].draw
    }
}

#[test]
fn a_spent_budget_fills_the_batch_with_the_nearest_mixed_groups_of_other_draws() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("run");
    let scenario = short_of_tasks();
    drive::complete(&scenario, &directory, &drive::on_threads(2));
    let batch = Batch::of(events(&directory).into_iter().map(|(_, event)| event));
    assert_eq!(batch.generated.len(), 8, "the budget is spent");
    let closed = batch.closed.as_ref().expect("the batch was closed");
    assert!(closed.budget_spent);
    let tasks: BTreeSet<StableId> = batch.admitted.iter().map(|admitted| admitted.task).collect();
    assert_eq!(closed.tasks.iter().copied().collect::<BTreeSet<_>>(), tasks);

    let (in_band, filled): (Vec<_>, Vec<_>) = batch.admitted.iter().partition(|admitted| admitted.in_band);
    assert!(!in_band.is_empty() && filled.len() > 1, "{} in band, {} filled", in_band.len(), filled.len());
    assert!(in_band.iter().all(|admitted| 2 * admitted.passed == admitted.sampled), "p = 0.5");
    for admitted in &batch.admitted {
        assert_eq!((admitted.passed, admitted.sampled), batch.looks[&admitted.candidate]);
        assert!(0 < admitted.passed && admitted.passed < admitted.sampled, "a mixed group");
    }
    let off = |&(passed, sampled): &(u32, u32)| (2 * passed).abs_diff(sampled);
    let distances: Vec<u32> = filled.iter().map(|it| off(&(it.passed, it.sampled))).collect();
    assert!(distances.is_sorted() && distances[0] > 0, "{distances:?}: nearest first");
    let draws: BTreeSet<u32> = batch.admitted.iter().map(|it| batch.draw(it.candidate)).collect();
    assert_eq!(draws.len(), batch.admitted.len(), "one task a raw draw");

    let left = batch.looks.iter().filter(|(candidate, _)| !draws.contains(&batch.draw(**candidate)));
    let nearer = left.filter(|(_, looks)| 0 < looks.0 && looks.0 < looks.1 && off(looks) < distances[0]);
    assert_eq!(nearer.count(), 0, "no nearer group was left out");
}
