//! Checks across keys: what each key allows by itself may still make no sense together.

use super::document::{Node, Place};
use super::error::Fault;
use super::logarithm::{LN_ERROR, ln};
use super::{GeneratorKind, LastAdmission, Policy, PolicySource, Scenario, Shape, When};
use crate::world::{Split, WorldSpec};

/// Finds every inconsistency of a scenario whose keys are all in range.
pub(crate) fn check(scenario: &Scenario, document: &Node, faults: &mut Vec<Fault>) {
    let mut report = Report { document, faults };
    policy(scenario, &mut report);
    world(&scenario.world, &mut report);
    curriculum(scenario, &mut report);
    update(scenario, &mut report);
    reward(scenario, &mut report);
    evaluation(scenario, &mut report);
}

/// Collects inconsistencies.
pub(crate) struct Report<'a> {
    pub(crate) document: &'a Node,
    pub(crate) faults: &'a mut Vec<Fault>,
}

impl Report<'_> {
    /// Complains about the first of `keys`, at the first that the document states.
    fn refuse(&mut self, keys: &[&str], reason: String, help: &str) {
        let place = keys
            .iter()
            .find_map(|key| self.document.get(key))
            .map_or(Place::Nowhere, |node| node.place.clone());
        let key = keys.first().copied().unwrap_or_default().to_owned();
        self.faults.push(Fault { place, key, reason, help: help.to_owned() });
    }

    /// Complains unless it `holds`.
    pub(crate) fn require(
        &mut self,
        holds: bool,
        keys: &[&str],
        reason: impl FnOnce() -> String,
        help: &str,
    ) {
        if !holds {
            self.refuse(keys, reason(), help);
        }
    }
}

fn policy(scenario: &Scenario, report: &mut Report<'_>) {
    let Policy { source, path, shape } = &scenario.policy;
    report.require(
        (*source == PolicySource::File) != path.is_empty(),
        &["policy.path", "policy.source"],
        || format!("source = \"{}\" and path = \"{path}\" do not go together", source.as_str()),
        "give a path with source = \"file\", and only then",
    );
    self::shape(shape, "policy.shape", report);
    report.require(
        *source != PolicySource::Random || scenario.harness.context <= shape.context,
        &["harness.context", "policy.shape.context"],
        || {
            format!(
                "{} tokens do not fit the policy's context of {}",
                scenario.harness.context, shape.context
            )
        },
        "lower harness.context or raise policy.shape.context",
    );
}

/// A policy's shape, at `path`.
pub(crate) fn shape(shape: &Shape, path: &str, report: &mut Report<'_>) {
    let key = |name: &str| format!("{path}.{name}");
    report.require(
        shape.heads.is_multiple_of(shape.kv_heads),
        &[&key("kv_heads"), &key("heads")],
        || format!("{} key-value heads do not divide {} query heads", shape.kv_heads, shape.heads),
        "each key-value head serves the same number of query heads",
    );
}

/// `[world]`, which checks itself.
pub(crate) fn world(world: &WorldSpec, report: &mut Report<'_>) {
    if let Err(error) = world.check() {
        let field = error.field.replace("[]", "").replace('[', ".").replace(']', "");
        report.refuse(&[&format!("world.{field}"), "world.strata"], error.reason, "");
    }
}

fn curriculum(scenario: &Scenario, report: &mut Report<'_>) {
    let curriculum = &scenario.curriculum;
    report.require(
        curriculum.pilot < curriculum.samples,
        &["curriculum.pilot", "curriculum.samples"],
        || format!("a pilot of {} leaves nothing of {} samples", curriculum.pilot, curriculum.samples),
        "the pilot is the first part of the samples: make it smaller, or 0 for none",
    );
    report.require(
        curriculum.batch <= curriculum.candidates,
        &["curriculum.candidates", "curriculum.batch"],
        || format!("{} candidates cannot fill a batch of {}", curriculum.candidates, curriculum.batch),
        "allow at least as many candidates as the batch has tasks",
    );
    let rules = [
        ("curriculum.admission", Some(curriculum.admission)),
        (
            "curriculum.admission_last",
            match curriculum.admission_last {
                LastAdmission::Rule(rule) => Some(rule),
                LastAdmission::Same => None,
            },
        ),
    ];
    for (key, rule) in rules {
        let Some(rule) = rule else { continue };
        report.require(
            rule.admitted(curriculum.samples).any(|passed| 0 < passed && passed < curriculum.samples),
            &[key, "curriculum.samples"],
            || format!("\"{rule}\" admits no k of {} between 0 and all", curriculum.samples),
            "only groups with both successes and failures teach: widen the band or sample more",
        );
    }
    let process = scenario.generator.kind == GeneratorKind::Process;
    report.require(
        process != scenario.generator.command.is_empty(),
        &["generator.command", "generator.kind"],
        || format!("kind = \"{}\" does not go with this command", scenario.generator.kind.as_str()),
        "give a command with kind = \"process\", and only then",
    );
}

fn update(scenario: &Scenario, report: &mut Report<'_>) {
    let (update, curriculum, rollout) = (&scenario.update, &scenario.curriculum, &scenario.rollout);
    report.require(
        update.groups <= curriculum.batch,
        &["update.groups", "curriculum.batch"],
        || format!("{} groups do not fit a batch of {} tasks", update.groups, curriculum.batch),
        "an update visits a task at most once: take fewer groups or a larger batch",
    );
    report.require(
        update.averaging_from < update.updates,
        &["update.averaging_from", "update.updates"],
        || format!("averaging from update {} of {} averages nothing", update.averaging_from, update.updates),
        "updates count from 0; the number of updates less 1 publishes the last weights",
    );
    report.require(
        rollout.lag < update.updates,
        &["rollout.lag", "update.updates"],
        || format!("a lag of {} never ends within {} updates", rollout.lag, update.updates),
        "lower the lag below the number of updates",
    );
    report.require(
        update.warmup <= update.updates,
        &["update.warmup", "update.updates"],
        || format!("a warm-up of {} updates never ends within {}", update.warmup, update.updates),
        "warm up for at most as many updates as an iteration has",
    );
    if curriculum.train_on_calibration {
        reuse(scenario, report);
    } else {
        report.require(
            update.epochs == 1,
            &["update.epochs", "curriculum.train_on_calibration"],
            || {
                format!(
                    "{} passes over the same trajectories, but each visit samples fresh ones",
                    update.epochs
                )
            },
            "set curriculum.train_on_calibration, or more updates instead of epochs",
        );
    }
}

/// What training on calibration trajectories asks for.
fn reuse(scenario: &Scenario, report: &mut Report<'_>) {
    let (update, curriculum, rollout) = (&scenario.update, &scenario.curriculum, &scenario.rollout);
    report.require(
        rollout.group == curriculum.samples,
        &["rollout.group", "curriculum.samples", "curriculum.train_on_calibration"],
        || {
            format!(
                "groups of {} cannot be the {} calibration trajectories",
                rollout.group, curriculum.samples
            )
        },
        "with curriculum.train_on_calibration a group is a task's calibration: make both equal",
    );
    report.require(
        !update.refill,
        &["update.refill", "curriculum.train_on_calibration"],
        || "groups cannot be refilled from trajectories that exist already".into(),
        "set refill = false with curriculum.train_on_calibration",
    );
    let visits = u64::from(update.epochs) * u64::from(curriculum.batch);
    let needed = visits.div_ceil(u64::from(update.groups));
    report.require(
        u64::from(update.updates) == needed,
        &["update.updates", "update.epochs", "update.groups"],
        || {
            format!(
                "{} epochs over {} tasks in updates of {} groups are {needed} updates, not {}",
                update.epochs, curriculum.batch, update.groups, update.updates
            )
        },
        "with curriculum.train_on_calibration, updates = epochs x batch / groups",
    );
}

/// Headroom for the rounding of rewards to f32.
const ROUNDING: f64 = 1e-6;

fn reward(scenario: &Scenario, report: &mut Report<'_>) {
    let (reward, length, harness) = (&scenario.reward, &scenario.reward.length, &scenario.harness);
    let longest = harness.context.min(harness.max_turns.saturating_mul(harness.turn_tokens));
    if length.from_iteration == 0 || longest <= length.free_tokens {
        return;
    }
    let logarithm = ln(longest, length.free_tokens);
    let worst = 1.0 - f64::from(length.alpha) * (logarithm + LN_ERROR);
    let floor = f64::from(reward.truncated);
    report.require(
        worst > floor + ROUNDING,
        &["reward.length.alpha", "reward.length.free_tokens", "reward.truncated", "reward.length"],
        || {
            format!(
                "a success of {longest} tokens would be worth 1 - {:?} x ln({longest}/{}) = {worst:.6}, \
                 no more than a truncated one ({floor:?}) or a failure (0.0)",
                length.alpha, length.free_tokens,
            )
        },
        &format!(
            "keep alpha below {:.4}, or free more tokens ({longest} is the smaller of harness.context and max_turns x turn_tokens)",
            (1.0 - floor) / logarithm
        ),
    );
}

fn evaluation(scenario: &Scenario, report: &mut Report<'_>) {
    let sets = &scenario.evaluation.sets;
    for (index, set) in sets.iter().enumerate() {
        let key = |name: &str| format!("evaluation.sets.{index}.{name}");
        report.require(
            sets[..index].iter().all(|earlier| earlier.name != set.name),
            &[&key("name")],
            || format!("`{}` is the name of an earlier set", set.name),
            "names are unique",
        );
        report.require(
            set.split != Split::Train,
            &[&key("split")],
            || "held-out tasks are never training tasks".into(),
            "write \"unseen_parameters\" or \"unseen_templates\"",
        );
        report.require(
            set.pass_at.iter().all(|k| *k <= set.samples),
            &[&key("pass_at"), &key("samples")],
            || {
                format!(
                    "pass@{} needs more than {} samples",
                    set.pass_at.iter().max().unwrap_or(&0),
                    set.samples
                )
            },
            "ask for no k above the samples",
        );
        report.require(
            !(set.greedy && set.temperature == 0.0),
            &[&key("greedy"), &key("temperature")],
            || "temperature 0 is greedy already".into(),
            "set greedy = false or a temperature above 0",
        );
    }
    report.require(
        sets.first().is_none_or(|set| set.when == When::Every),
        &["evaluation.sets.0.when"],
        || "the first set is the one in the table of iterations, so every iteration needs it".into(),
        "write when = \"every\", or put another set first",
    );
}
