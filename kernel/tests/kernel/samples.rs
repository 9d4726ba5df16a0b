//! One event of every kind, with every field away from its default.

use tadpole_kernel::event::*;
use tadpole_kernel::id::{Digest, Iteration, Member, StableId, Step, Version, Visit};

fn digest(byte: u8) -> Digest {
    Digest([byte; 32])
}

fn texts(items: &[&str]) -> Vec<String> {
    items.iter().map(|&item| item.to_owned()).collect()
}

pub(crate) fn content() -> TaskContent {
    TaskContent {
        digest: digest(5),
        origin: Origin {
            generator: "mutation".to_owned(),
            seed: 77,
            stratum: "s3".to_owned(),
            level: 2,
            operators: texts(&["comparison_flip"]),
            templates: texts(&["median", "mode"]),
            faults: vec![4, 0],
            functions: 6,
            modules: 3,
        },
        statement: "The median is wrong.".to_owned(),
        snapshot: Bulk::Inline(vec![1, 2, 3]),
        gold: Bulk::Blob(digest(6)),
        tests: Bulk::Inline(Vec::new()),
    }
}

pub(crate) fn trajectory() -> TrajectoryFinishedV1 {
    TrajectoryFinishedV1 {
        trajectory: StableId(40),
        subject: StableId(30),
        purpose: Purpose::Rollout,
        iteration: Iteration(2),
        version: Version(3),
        visit: Visit(4),
        member: Member(5),
        segments: vec![
            Segment {
                tokens: Tokens::Narrow(vec![1, 2, 640]),
                sampled: vec![Span { start: 1, end: 3 }],
                log_probs: vec![-0.5, -0.0],
            },
            Segment { tokens: Tokens::Wide(vec![70_000]), sampled: Vec::new(), log_probs: Vec::new() },
        ],
        exit: Exit::MaxTurnTokens,
        facts: Facts { grade: Grade::Exhausted, ran_tests: true, tampered: false, leaked: true },
        raw_reward: 0.5,
        reward: 0.375,
        entropy: 0.25,
        tool_calls: 6,
        patch: Bulk::Blob(digest(8)),
    }
}

pub(crate) fn update() -> UpdateAppliedV1 {
    UpdateAppliedV1 {
        policy: StableId(50),
        iteration: Iteration(2),
        update: 3,
        trained_on: Version(2),
        weights: digest(9),
        state: digest(10),
        groups: vec![Group {
            task: StableId(30),
            trajectories: vec![StableId(40), StableId(41)],
            discarded: true,
        }],
        tokens: 1000,
        kept: 990,
        loss: -0.125,
        gradient_norm: 0.75,
        learning_rate: 1.5e-4,
        ratio_max: 1.5,
        kl: 0.002,
        entropy: 0.3,
    }
}

#[rustfmt::skip]
pub(crate) fn all() -> Vec<Event> {
    let (candidate, iteration) = (StableId(20), Iteration(2));
    vec![
        Event::RunStarted(RunStartedV1 { run: digest(1), scenario: digest(2), arithmetic: 1, seed: 7, iterations: 5 }),
        Event::PolicyPublished(PolicyPublishedV1 { policy: StableId(10), iteration, weights: digest(3), averaged: 11 }),
        Event::TaskHeldOut(TaskHeldOutV1 {
            task: StableId(11),
            set: "unseen_templates".to_owned(),
            content: content(),
            fail_to_pass: texts(&["tests/test_a.py::test_1"]),
            pass_to_pass: texts(&["tests/test_a.py::test_2", "tests/test_a.py::test_3"]),
        }),
        Event::IterationStarted(IterationStartedV1 { iteration, policy: StableId(10) }),
        Event::CandidateGenerated(CandidateGeneratedV1 {
            candidate,
            iteration,
            draw: 3,
            attempt: 1,
            refined: Some(Refinement { parent: StableId(19), direction: Direction::Harder, depth: 2 }),
            content: content(),
        }),
        Event::CandidateValidated(CandidateValidatedV1 { candidate, fail_to_pass: texts(&["a"]), pass_to_pass: texts(&["b"]) }),
        Event::CandidateRejected(CandidateRejectedV1 { candidate, reason: Rejection::TooHard }),
        Event::CandidateCalibrated(CandidateCalibratedV1 { candidate, look: Visit(1), passed: 3, sampled: 8 }),
        Event::TaskAdmitted(TaskAdmittedV1 { task: StableId(30), candidate, passed: 3, sampled: 8, in_band: true }),
        Event::BatchClosed(BatchClosedV1 { iteration, tasks: vec![StableId(30), StableId(31)], budget_spent: true }),
        Event::TrajectoryFinished(trajectory()),
        Event::UpdateApplied(update()),
        Event::UpdateRefused(UpdateRefusedV1 { iteration, update: 4, reason: "NaN in layer 2".to_owned() }),
        Event::EvaluationFinished(EvaluationFinishedV1 {
            iteration,
            set: "unseen_parameters".to_owned(),
            temperature: 0.6,
            tasks: 240,
            samples: 3,
            solved: 400,
            pass_at: vec![PassAt { k: 1, value: 0.555 }, PassAt { k: 8, value: 0.8 }],
            low: 0.52,
            high: 0.59,
            entropy: 0.2,
            tokens_mean: 61.5,
        }),
        Event::EffectRecorded(EffectRecordedV1 { kind: "watchdog".to_owned(), request: digest(11), answer: digest(12) }),
        Event::IterationFinished(IterationFinishedV1 { iteration }),
        Event::RunFinished(RunFinishedV1 { policy: StableId(60) }),
        Event::RunForked(RunForkedV1 {
            run: digest(13),
            scenario: digest(14),
            arithmetic: 1,
            iterations: 6,
            parent: digest(15),
            step: Step(99),
            chain: digest(16),
        }),
    ]
}
