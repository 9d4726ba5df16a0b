//! Policy lag: update u trains on trajectories that version max(0, u - L) played, and its ratios say so.

use std::collections::BTreeMap;

use tadpole_kernel::event::{Event, Purpose, TrajectoryFinishedV1, UpdateAppliedV1};
use tadpole_kernel::id::{Digest, StableId, Version, Visit};
use tadpole_scenarios::schema::Scenario;
use tadpole_tests::nano::nano;
use tadpole_tests::{drive, events};

/// What a run says about its updates.
#[derive(Default)]
struct Trained {
    played: BTreeMap<StableId, TrajectoryFinishedV1>,
    /// Weights of the versions of the iteration under way.
    versions: Vec<Digest>,
    /// Every update, with the weights it starts from and those that played its trajectories.
    updates: Vec<(UpdateAppliedV1, Digest, Digest)>,
}

impl Trained {
    fn of(events: impl IntoIterator<Item = Event>) -> Self {
        let mut trained = Self::default();
        for event in events {
            trained.add(event);
        }
        trained
    }

    fn add(&mut self, event: Event) {
        match event {
            Event::PolicyPublished(policy) => self.versions = vec![policy.weights],
            Event::TrajectoryFinished(played) => {
                self.played.insert(played.trajectory, played);
            }
            Event::UpdateApplied(update) => {
                let version = |Version(version)| self.versions[version as usize];
                let (from, by) = (version(Version(update.update)), version(update.trained_on));
                self.versions.push(update.weights);
                self.updates.push((update, from, by));
            }
            _ => {}
        }
    }

    /// Updates that trained on something, by whether the weights they start from are those that played.
    fn on_and_off_policy(&self) -> [Vec<&UpdateAppliedV1>; 2] {
        let trained = || self.updates.iter().filter(|(update, _, _)| update.tokens > 0);
        let of = |on_policy| {
            trained().filter(move |(_, from, by)| (from == by) == on_policy).map(|(update, _, _)| update)
        };
        [of(true).collect(), of(false).collect()]
    }
}

/// Every update trained on what the version that the lag asks for played for it, and its ratios are exactly 1 where that is the
/// version it starts from and not all 1 elsewhere.
fn check(trained: &Trained, lag: u32) {
    for (update, _, _) in &trained.updates {
        let version = Version(update.update.saturating_sub(lag));
        assert_eq!(update.trained_on, version, "lag {lag}, update {}", update.update);
        for trajectory in update.groups.iter().flat_map(|group| &group.trajectories) {
            let played = &trained.played[trajectory];
            assert_eq!((played.version, played.visit), (version, Visit(update.update)), "{trajectory}");
            assert_eq!((played.purpose, played.iteration), (Purpose::Rollout, update.iteration));
        }
    }
    let [on_policy, off_policy] = trained.on_and_off_policy();
    for update in on_policy {
        let what = format!("lag {lag}, update {} of {}", update.update, update.iteration);
        assert_eq!(update.ratio_max.to_bits(), 1.0_f32.to_bits(), "{what}");
        assert_eq!((update.kl.to_bits(), update.kept), (0.0_f64.to_bits(), update.tokens), "{what}");
    }
    for update in off_policy {
        let what = format!("lag {lag}, update {} of {}", update.update, update.iteration);
        assert!(update.kl > 0.0 && update.ratio_max > 1.0, "{what}: {} {}", update.kl, update.ratio_max);
    }
}

#[test]
fn nano_trains_on_its_own_trajectories_and_on_those_of_an_older_version() {
    let trained = Trained::of(nano().events.iter().map(|(_, event)| event.clone()));
    let lag = nano().scenario.rollout.lag;
    assert_eq!(lag, 1, "the default");
    check(&trained, lag);
    let [on_policy, off_policy] = trained.on_and_off_policy();
    assert!(!on_policy.is_empty() && !off_policy.is_empty(), "{} and {}", on_policy.len(), off_policy.len());
}

/// One iteration of nano with larger groups, more updates and another lag.
fn lagging(lag: u32) -> Scenario {
    let mut scenario = nano().scenario.clone();
    scenario.iterations = 1;
    scenario.update.updates = 4;
    scenario.update.averaging_from = 3;
    scenario.rollout.group = 4;
    scenario.rollout.lag = lag;
    scenario
}

#[test]
fn an_update_trains_on_the_version_that_its_lag_asks_for() {
    let parent = tempfile::tempdir().unwrap();
    for lag in 0..=3 {
        let directory = parent.path().join(lag.to_string());
        drive::complete(&lagging(lag), &directory, &drive::on_threads(2));
        let trained = Trained::of(events(&directory).into_iter().map(|(_, event)| event));
        assert_eq!(trained.updates.len(), 4);
        check(&trained, lag);
        let [on_policy, off_policy] = trained.on_and_off_policy();
        assert!(!on_policy.is_empty(), "lag {lag}: the first update is on policy");
        assert_eq!(off_policy.is_empty(), lag == 0, "lag {lag}");
    }
}
