//! What is to be played, and what came of it.

use std::sync::Arc;

use tadpole_kernel::decide::Decision;
use tadpole_kernel::draws::{DrawCount, Stream, StreamKey};
use tadpole_kernel::event::{Event, Exit, Facts, Purpose, Segment, TrajectoryFinishedV1};
use tadpole_kernel::id::{Digest, Iteration, Member, StableId, Version, Visit};

use crate::ids::Ids;
use crate::subject::Subject;

/// One episode to play. Everything that its tokens depend on, but for the weights and the rules of the run.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// The task or candidate.
    pub subject: Arc<Subject>,
    /// What for.
    pub purpose: Purpose,
    /// In which iteration.
    pub iteration: Iteration,
    /// By which policy version of it.
    pub version: Version,
    /// Which look, update or measurement.
    pub visit: Visit,
    /// Place in the group.
    pub member: Member,
    /// Sampling temperature; 0 is greedy.
    pub temperature: f32,
}

impl Assignment {
    /// Everything that tells it from others, but for the contents of the task that the digest stands for.
    #[must_use]
    pub fn place(&self) -> (StableId, Digest, Purpose, Iteration, Version, Visit, Member, u32) {
        let Self { subject, purpose, iteration, version, visit, member, temperature } = self;
        let temperature = temperature.to_bits();
        (subject.id, subject.digest, *purpose, *iteration, *version, *visit, *member, temperature)
    }

    /// The stream from which turn `turn` draws its tokens.
    #[must_use]
    pub fn stream(&self, seed: u64, turn: u32) -> Stream {
        let purpose = match self.purpose {
            Purpose::Calibration => "calibration tokens",
            Purpose::Rollout => "rollout tokens",
            Purpose::Evaluation => "evaluation tokens",
        };
        let (iteration, visit, member) = (self.iteration, self.visit, self.member);
        Stream::new(
            seed,
            &StreamKey { purpose, iteration, content: self.subject.digest, visit, member, turn },
        )
    }
}

/// An episode that was played.
#[derive(Clone, Debug)]
pub struct Played {
    /// What was to be played.
    pub assignment: Assignment,
    /// Token histories.
    pub segments: Vec<Segment>,
    /// How it ended.
    pub exit: Exit,
    /// What grading found.
    pub facts: Facts,
    /// 1, 0.5 or 0.
    pub raw_reward: f32,
    /// After the length term.
    pub reward: f32,
    /// Mean entropy, nats a sampled token.
    pub entropy: f32,
    /// Tool calls made.
    pub tool_calls: u32,
    /// Canonical tree of what it changed.
    pub patch: Vec<u8>,
    /// Randomness drawn.
    pub draws: DrawCount,
}

impl Played {
    /// Tokens that the policy produced.
    #[must_use]
    pub fn sampled_tokens(&self) -> u32 {
        self.segments.iter().map(|segment| segment.log_probs.len() as u32).sum()
    }

    /// Puts the trajectory into a decision.
    pub fn record(self, ids: &mut Ids, decision: &mut Decision) {
        let Assignment { subject, purpose, iteration, version, visit, member, temperature: _ } =
            self.assignment;
        decision.draws.add(self.draws);
        let patch = decision.bulk(self.patch);
        decision.push(Event::TrajectoryFinished(TrajectoryFinishedV1 {
            trajectory: ids.next(),
            subject: subject.id,
            purpose,
            iteration,
            version,
            visit,
            member,
            segments: self.segments,
            exit: self.exit,
            facts: self.facts,
            raw_reward: self.raw_reward,
            reward: self.reward,
            entropy: self.entropy,
            tool_calls: self.tool_calls,
            patch,
        }));
    }
}

#[cfg(test)]
pub(super) mod examples {
    use super::*;
    use tadpole_scenarios::repository::Tree;

    /// A member's rollout of a task without contents.
    pub(in crate::rollout) fn assignment(task: u32, member: u32) -> Assignment {
        let subject = Subject {
            id: StableId(task.into()),
            digest: Digest::default(),
            statement: String::new(),
            snapshot: Tree::new(),
            gold: Tree::new(),
            hidden: Tree::new(),
            fail_to_pass: Vec::new(),
            pass_to_pass: Vec::new(),
        };
        Assignment {
            subject: Arc::new(subject),
            purpose: Purpose::Rollout,
            iteration: Iteration(1),
            version: Version(0),
            visit: Visit(0),
            member: Member(member),
            temperature: 1.0,
        }
    }
}
