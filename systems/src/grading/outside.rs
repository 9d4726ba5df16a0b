//! Verdicts that come from outside, and how failures of the outside are counted.

use super::Grade;

/// Asks until there is an answer, at most `attempts` times: the answer and the attempts it took, or the last fault.
pub(super) fn attempt<T>(
    attempts: u32,
    mut ask: impl FnMut() -> Result<T, String>,
) -> Result<(T, u32), String> {
    let mut fault = "never asked".to_owned();
    for attempt in 1..=attempts {
        match ask() {
            Ok(answer) => return Ok((answer, attempt)),
            Err(reason) => fault = reason,
        }
    }
    Err(fault)
}

/// What an outside verifier came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Resolved for a reward of 1 or more, unresolved below it, infra where no attempt gave a reward.
    pub grade: Grade,
    /// Attempts made.
    pub attempts: u32,
    /// Why there is no reward.
    pub fault: Option<String>,
}

/// Runs a verifier that reports by a number of its own, at most `attempts` times. The number comes from the verifier's
/// channel, never from a file that the agent could have written. No number, a negative one and one that is not finite are
/// the verifier's own failure: it is run again, and a failure that stays is infra, not a reward of 0.
pub fn judge(attempts: u32, mut verifier: impl FnMut() -> Result<Option<f64>, String>) -> Judged {
    let reward = attempt(attempts, || match verifier()? {
        None => Err("the verifier wrote no reward".to_owned()),
        Some(reward) if !reward.is_finite() || reward < 0.0 => {
            Err(format!("the verifier reports its own failure: reward {reward}"))
        }
        Some(reward) => Ok(reward),
    });
    match reward {
        Ok((reward, attempts)) => {
            let grade = if reward < 1.0 { Grade::Unresolved } else { Grade::Resolved };
            Judged { grade, attempts, fault: None }
        }
        Err(fault) => Judged { grade: Grade::Infra, attempts, fault: Some(fault) },
    }
}

/// A count of grades. Failures of the outside are labelled and stay in the denominator: leaving them out would make a
/// policy look better for breaking the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All trajectories.
    pub trajectories: u32,
    /// Resolved ones.
    pub resolved: u32,
    /// Those that could not be graded.
    pub infra: u32,
}

impl Tally {
    /// Counts one more.
    pub fn add(&mut self, grade: Grade) {
        self.trajectories += 1;
        self.resolved += u32::from(grade == Grade::Resolved);
        self.infra += u32::from(grade == Grade::Infra);
    }

    /// Share of all trajectories that are resolved; 0 of none.
    pub fn solve_rate(self) -> f64 {
        f64::from(self.resolved) / f64::from(self.trajectories.max(1))
    }
}
