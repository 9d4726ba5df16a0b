//! What a command may be told while it waits.

/// Is told what goes on. Any thread may tell it; it never waits and never fails.
pub(crate) trait Observer: Sync {
    /// Something happened.
    fn notice(&self, notice: &Notice);
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Notice {
    /// A run began or goes on.
    Started {
        /// Scenario and seed.
        title: String,
        /// The run's id, in full.
        run_id: String,
        /// Its directory, as given.
        directory: String,
        /// Training iterations.
        iterations: u32,
    },
    /// An iteration began.
    IterationStarted {
        /// Which, from 1.
        iteration: u32,
    },
    /// A phase began, or goes on.
    PhaseStarted {
        /// The iteration; 0 is the base.
        iteration: u32,
        /// Which.
        phase: Phase,
        /// Units of work that are done already.
        done: u64,
        /// Units of work in it: trajectories when evaluating, tasks of the batch in the curriculum, updates when training.
        total: u64,
    },
    /// A run goes on that was interrupted.
    Resumed {
        /// The step that comes next.
        step: u64,
    },
    /// A torn tail was cut off the log.
    Recovered {
        /// What was cut off.
        note: String,
    },
    /// There is nothing to go on with: the run is over.
    AlreadyOver,
    /// This happened before the interruption.
    Past(Box<Notice>),
    /// Trajectories are being played; told more often than steps are committed.
    Sampled {
        /// Trajectories that are over, since the last time.
        trajectories: u64,
        /// Tokens sampled, since the last time.
        tokens: u64,
        /// Trajectories of the decision under way that are over.
        done: u64,
        /// Trajectories of the decision under way; 0 where it plays none.
        due: u64,
    },
    /// Candidates were generated.
    Generated {
        /// How many.
        candidates: u32,
        /// Of them, refined from another.
        refined: u32,
    },
    /// A candidate was looked at.
    Calibrated {
        /// Trajectories of all looks that passed.
        passed: u32,
        /// Trajectories of all looks.
        sampled: u32,
        /// Both before this look, where it is not the first.
        before: Option<(u32, u32)>,
    },
    /// A candidate became a task.
    Admitted,
    /// A candidate left.
    Rejected {
        /// Why, in a word or two.
        reason: String,
    },
    /// The batch is complete.
    BatchClosed {
        /// Whether the budget was spent before it was full.
        budget_spent: bool,
    },
    /// An update was applied.
    Updated {
        /// Which, from 0.
        update: u32,
        /// Of how many.
        updates: u32,
        /// Share of trainable tokens that were kept.
        kept_share: f64,
        /// Mean entropy, nats a token.
        entropy: f64,
        /// Estimated divergence from the policy that sampled, nats a token.
        kl: f64,
        /// Gradient norm before clipping.
        gradient_norm: f64,
    },
    /// A policy was measured.
    Evaluated {
        /// The set.
        set: String,
        /// Temperature; 0 is greedy.
        temperature: f32,
        /// Solve rate.
        solve_rate: f64,
        /// Lower end of its 95% interval.
        low: f64,
        /// Upper end.
        high: f64,
        /// Whether it is the set in the table of iterations.
        main: bool,
    },
    /// Work without iterations went on: verifying, replaying, pre-training.
    Advanced {
        /// What.
        work: &'static str,
        /// Done so far.
        done: u64,
        /// Of how much.
        total: u64,
        /// More, in words; may be empty.
        detail: String,
    },
    /// Something began that cannot be counted.
    Working {
        /// What.
        what: &'static str,
    },
    /// All is over.
    Finished,
}

/// A part of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// The base policy and the held-out sets are made.
    Opening,
    /// Candidates become a batch.
    Curriculum,
    /// Rollouts and updates.
    Training,
    /// The published policy is measured.
    Evaluating,
}

impl Phase {
    /// In a word.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Curriculum => "curriculum",
            Self::Training => "training",
            Self::Evaluating => "evaluating",
        }
    }
}
