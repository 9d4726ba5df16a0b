//! Made-up answers for tests of the commands.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use tadpole_kernel::diff::{
    Ancestor, Comparison, Divergence, EventDifference, Field, Side, StepSide, WorldField,
};
use tadpole_kernel::draws::DrawCount;
use tadpole_kernel::event::Direction;
use tadpole_kernel::id::{Digest, Iteration, Sequence, StableId, Step};
use tadpole_kernel::upkeep::{Collection, Stored};
use tadpole_scenarios::schema::Admission;
use tadpole_systems::analysis::shadow::{Ending, ShadowIteration};
use tadpole_systems::analysis::{
    EvaluationSummary, IterationSummary, Recalibrated, Recalibration, RunSummary, Shift,
};
use tadpole_systems::evaluation::statistics::Mean;

use super::{
    Changed, CheckReport, Complaint, DiffReport, Difference, Engine, EvalRequest, Finding, ForkReport,
    ForkRequest, GcReport, PretrainReport, PretrainRequest, RecalibrateRequest, Recording, ReplayReport,
    RunRequest, SalvageReport, ShadowReport, ShadowRule, Shown, State, Subject, VerifyReport, VerifyRequest,
};
use crate::arguments::Speed;
use crate::failure::Failure;
use crate::progress::{Notice, Observer};

/// A run of one iteration.
pub(crate) fn run() -> RunSummary {
    let base = IterationSummary {
        iteration: 0,
        solve_rate: Some(0.28),
        solve_low: Some(0.2409),
        solve_high: Some(0.3229),
        entropy: Some(0.2213),
        tokens_mean: Some(49.31),
        ..IterationSummary::default()
    };
    let rejected = [("too_hard", 141), ("too_easy", 32), ("does_not_load", 3), ("nothing_fails", 0)]
        .map(|(k, n)| (k.to_owned(), n));
    let first = IterationSummary {
        iteration: 1,
        candidates: 320,
        admitted: 128,
        refined: 41,
        rejected: BTreeMap::from(rejected),
        p_hat_mean: Some(0.4883),
        solve_rate: Some(0.409),
        solve_low: Some(0.3659),
        solve_high: Some(0.4537),
        entropy: Some(0.1984),
        tokens_mean: Some(52.07),
        kept_share: Some(0.9812),
        ..IterationSummary::default()
    };
    let mut iterations = [base, first];
    for evaluation in evaluations() {
        iterations[evaluation.iteration as usize].evaluations.push(evaluation);
    }
    RunSummary {
        run_id: "1f".repeat(32),
        chain: "2e".repeat(32),
        world: "3d".repeat(32),
        steps: 412,
        events: 9_120,
        cpu_s: Some(61.5),
        iterations: iterations.into(),
        peak_bytes: Some(300 << 20),
        watchdogs: 0,
        refused: None,
        finished: true,
    }
}

/// What was measured in it.
pub(crate) fn evaluations() -> Vec<EvaluationSummary> {
    let measured =
        |iteration, set: &str, temperature, samples, rate: f64, pass8: Option<f64>| EvaluationSummary {
            iteration,
            set: set.into(),
            temperature,
            tasks: 240,
            samples,
            solve_rate: rate,
            solve_low: rate - 0.04,
            solve_high: rate + 0.04,
            pass_at: [(1, rate)].into_iter().chain(pass8.map(|value| (8, value))).collect(),
            entropy: 0.2,
            tokens_mean: 50.0,
        };
    vec![
        measured(0, "parameters", 0.6, 2, 0.28, None),
        measured(0, "final", 0.6, 8, 0.27, Some(0.64)),
        measured(0, "final", 0.0, 1, 0.61, None),
        measured(1, "parameters", 0.6, 2, 0.409, None),
        measured(1, "final", 0.6, 8, 0.402, Some(0.71)),
        measured(1, "final", 0.0, 1, 0.63, None),
    ]
}

/// A run and a fork of it that parts from it.
pub(crate) fn comparison() -> Comparison {
    let digest = |byte: u8| Digest([byte; 32]);
    let side = |run, ancestors, steps| Side { run, ancestors, steps, decisions: 104, chain: run };
    let step = |step, values| StepSide {
        step: Step(step),
        iteration: Iteration(3),
        events: 2,
        draws: DrawCount { streams: 1, values },
    };
    let field = |path: &str, left, right| Field { path: path.into(), left: Some(left), right: Some(right) };
    let event = |index, left, right, fields| EventDifference { index, left, right, fields, more: 0 };
    let (admitted, rejected) = ("TaskAdmitted", "CandidateRejected");
    Comparison {
        left: side(digest(0x1f), Vec::new(), 105),
        right: side(digest(0x6a), vec![Ancestor { run: digest(0x1f), step: Step(57) }], 106),
        same_steps: 58,
        same_decisions: 70,
        divergence: Some(Divergence {
            left: Some(step(71, 12)),
            right: Some(step(72, 14)),
            events: vec![
                event(0, Some((Sequence(300), admitted)), Some((Sequence(301), rejected)), Vec::new()),
                event(
                    1,
                    Some((Sequence(301), admitted)),
                    Some((Sequence(302), admitted)),
                    vec![field("passed", json!(1), json!(2))],
                ),
            ],
            more_events: 1,
            world: vec![WorldField {
                component: "Progress",
                id: StableId(0),
                field: field("batch[0]", json!(91), json!("x".repeat(200))),
            }],
            more_world: 3,
        }),
    }
}

/// What became of its tasks when they were measured again.
pub(crate) fn recalibration() -> Recalibration {
    let mean = |count, mean: f64| Mean { count, mean, low: mean - 0.05, high: mean + 0.05 };
    let task = |id, passed, fresh_passed| Recalibrated {
        task: StableId(id),
        candidate: StableId(id - 1),
        passed,
        sampled: 8,
        fresh_passed,
    };
    let shift = |direction, fresh, moved| Shift { direction, fresh, shift: mean(40, moved) };
    Recalibration {
        iteration: Iteration(1),
        samples: 32,
        tasks: vec![task(12, 4, 15), task(20, 5, 18)],
        then: Some(mean(2, 0.5625)),
        now: Some(mean(2, 0.515_625)),
        shifts: vec![
            shift(Direction::Easier, false, 0.31),
            shift(Direction::Easier, true, 0.22),
            shift(Direction::Harder, false, -0.28),
        ],
    }
}

/// A recorded rule, and another that asks for what was not recorded.
pub(crate) fn shadow() -> ShadowReport {
    let tally = |iteration| ShadowIteration {
        iteration,
        certain: true,
        ending: Ending::BatchFull,
        candidates: 123,
        refined: 27,
        not_made: 0,
        unknown: 0,
        admitted: 62,
        filled: 2,
        missing: 0,
        shared: 64,
        rejected: BTreeMap::from([("too_hard", 22), ("too_easy", 6), ("not_needed", 4)]),
        looks: 190,
        looks_wasted: 62,
        trajectories: 760,
        trajectories_wasted: 248,
        p_hat_mean: Some(0.482),
        candidate_rates: [33, 8, 8, 9, 9, 9, 21, 7, 15],
        task_rates: [0, 8, 7, 7, 9, 7, 20, 6, 0],
    };
    let other = ShadowIteration {
        certain: false,
        ending: Ending::RecordEnds,
        not_made: 12,
        unknown: 9,
        missing: 3,
        p_hat_mean: None,
        rejected: BTreeMap::new(),
        ..tally(1)
    };
    let rule = |rule: &str, iterations: Vec<_>| ShadowRule { rule: rule.into(), iterations };
    let rules = vec![rule("as recorded: 3/8..5/8", vec![tally(1), tally(2)]), rule("p = 1/2", vec![other])];
    ShadowReport { run_id: "1f".repeat(32), rules }
}

/// An engine that remembers what it was asked and answers with samples.
#[derive(Default)]
pub(crate) struct Sample {
    pub(crate) asked: RefCell<Vec<String>>,
    pub(crate) differences: Vec<Difference>,
    pub(crate) refused: Option<String>,
    pub(crate) complaints: Vec<Complaint>,
}

impl Sample {
    fn ask(&self, question: impl std::fmt::Debug) {
        self.asked.borrow_mut().push(format!("{question:?}"));
    }
}

impl Engine for Sample {
    fn run(&self, request: &RunRequest, observer: &dyn Observer) -> Result<RunSummary, Failure> {
        self.ask((
            &request.directory,
            request.scenario.seed,
            request.scenario.exec.threads,
            request.base.is_some(),
        ));
        observer.notice(&Notice::Finished);
        Ok(RunSummary { refused: self.refused.clone(), ..run() })
    }

    fn resume(&self, directory: &Path, speed: &Speed, _: &dyn Observer) -> Result<RunSummary, Failure> {
        self.ask((directory, speed.threads, speed.device.as_deref()));
        Ok(run())
    }

    fn replay(&self, directory: &Path, to: Option<u64>, _: &dyn Observer) -> Result<ReplayReport, Failure> {
        self.ask((directory, to));
        Ok(ReplayReport {
            run_id: "1f".repeat(32),
            step: to.unwrap_or(411),
            last_step: 411,
            events: 80,
            chain: "2e".repeat(32),
            world: "3d".repeat(32),
            entities: BTreeMap::from([("Candidate".into(), 12), ("Policy".into(), 3)]),
        })
    }

    fn keyframes(&self, _: &Path, _: &dyn Observer) -> Result<u64, Failure> {
        Ok(11)
    }

    fn fork(&self, request: &ForkRequest) -> Result<ForkReport, Failure> {
        let set: Vec<_> = request.set.iter().map(|it| format!("{}={}", it.key, it.value)).collect();
        self.ask((&request.run, request.at, &set));
        Ok(ForkReport {
            run_id: "6a".repeat(32),
            parent: "1f".repeat(32),
            step: request.at,
            chain: "2e".repeat(32),
            changes: vec![Changed {
                key: "curriculum.admission".into(),
                was: Some("\"p = 0.5\"".into()),
                becomes: Some("\"0 < p < 1\"".into()),
            }],
            linked: 31,
            copied: 2,
        })
    }

    fn diff(&self, _: &Path, _: &Path) -> Result<DiffReport, Failure> {
        Ok(DiffReport { comparison: comparison(), left: run(), right: run() })
    }

    fn verify(&self, request: &VerifyRequest, _: &dyn Observer) -> Result<VerifyReport, Failure> {
        self.ask((request.sample, request.skip_updates));
        Ok(VerifyReport {
            run_id: "1f".repeat(32),
            steps: 412,
            executed: 400,
            events: 9_120,
            complete: true,
            out_of_reach: Vec::new(),
            differences: self.differences.clone(),
        })
    }

    fn summary(&self, _: &Path) -> Result<RunSummary, Failure> {
        Ok(run())
    }

    fn show(&self, _: &Path, subject: &Subject) -> Result<Shown, Failure> {
        self.ask(subject);
        Ok(Shown { text: "shown".into(), json: json!({ "shown": true }) })
    }

    fn open(&self, run: &Path) -> Result<Box<dyn Recording>, Failure> {
        Err(Failure::failed("a sample is not stepped through").at(run.display()))
    }

    fn shadow(&self, _: &Path, rules: &[Admission]) -> Result<ShadowReport, Failure> {
        self.ask(rules.iter().map(ToString::to_string).collect::<Vec<_>>());
        Ok(shadow())
    }

    fn eval(&self, request: &EvalRequest, _: &dyn Observer) -> Result<Vec<EvaluationSummary>, Failure> {
        self.ask((request.iteration, &request.set));
        Ok(evaluations())
    }

    fn recalibrate(&self, request: &RecalibrateRequest, _: &dyn Observer) -> Result<Recalibration, Failure> {
        self.ask((request.iteration, request.samples, request.refined));
        Ok(recalibration())
    }

    fn check(&self, _: &Path) -> CheckReport {
        CheckReport {
            whole: self.complaints.is_empty(),
            steps: 412,
            events: 9_120,
            chain: Some("2e".repeat(32)),
            finished: false,
            live: false,
            blobs: Stored { whole: 7, dropped: 12, unnamed: 1 },
            answers: Stored { whole: 2, ..Stored::default() },
            problems: self.complaints.clone(),
        }
    }

    fn salvage(&self, _: &Path, out: &Path) -> Result<SalvageReport, Failure> {
        Ok(SalvageReport {
            directory: out.to_path_buf(),
            steps: 200,
            chain: "2e".repeat(32),
            lost_steps: 212,
            lost: vec![
                "log/00000001.seg is corrupt at byte 1280 (step 200): the body does not match its CRC".into(),
            ],
            blobs: 5,
            answers: 0,
        })
    }

    fn gc(&self, _: &Path, collection: Collection) -> Result<GcReport, Failure> {
        self.ask(collection);
        Ok(GcReport {
            removed: collection == Collection::Done,
            unnamed: Vec::new(),
            superseded: vec!["2e".repeat(32)],
            leftovers: vec!["blobs/ab/cd.tmp".into()],
            bytes: 4_096,
            kept: 7,
        })
    }

    fn pretrain(&self, request: &PretrainRequest, _: &dyn Observer) -> Result<PretrainReport, Failure> {
        self.ask((&request.directory, request.steps, request.scenario.batch_tokens));
        Ok(PretrainReport {
            steps: 2_319,
            tokens: 19_000_000,
            loss: 0.4217,
            weights: "4c".repeat(32),
            tokenizer: "5b".repeat(32),
            files: vec!["model.safetensors".into(), "tokenizer.json".into()],
        })
    }

    fn doctor(&self) -> Vec<Finding> {
        vec![Finding {
            subject: "sandbox worker".into(),
            state: State::Good,
            detail: "answers".into(),
            help: String::new(),
        }]
    }

    fn worker(&self) -> Result<(), Failure> {
        Ok(())
    }
}
