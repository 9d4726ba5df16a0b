//! Advantages: each trajectory's reward against the others of its group.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Added to the standard deviation before it divides.
pub const STD_FLOOR: f64 = 1e-6;

/// Which standard deviation normalises a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Deviation {
    /// Of a sample: squares over `G - 1`.
    #[default]
    Sample,
    /// Of a population: squares over `G`.
    Population,
}

/// One trajectory's rewards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The group it belongs to; rows may stand in any order.
    pub group: u64,
    /// Its number within the group; sums run in this order.
    pub member: u32,
    /// 1, 0.5 or 0: the reward before the length term. Decides whether the group is informative.
    pub raw: f64,
    /// The reward that is normalised.
    pub shaped: f64,
    /// Left out: no part of the baseline, not trained on, its rewards not looked at.
    pub excluded: bool,
}

/// Mean and standard deviation of a group's rewards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Baseline {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub std: f64,
}

/// Why a group is not trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// Its raw rewards are all equal; a group of one is such a group.
    AllEqual,
    /// Every row is excluded.
    AllExcluded,
}

/// A group that is not trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discarded {
    /// The group.
    pub group: u64,
    /// Why.
    pub reason: Discard,
}

/// The advantages of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Advantages {
    /// One entry a row, in the order given: `None` where the row is excluded or its group discarded. Tokens of such rows
    /// are not trainable and do not count in `|T|`.
    pub by_row: Vec<Option<f64>>,
    /// The groups trained on.
    pub baselines: BTreeMap<u64, Baseline>,
    /// The groups discarded, in ascending order.
    pub discarded: Vec<Discarded>,
}

/// Why rewards are refused.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum RewardError {
    /// A reward is NaN or infinite.
    #[error("group {group}, member {member}: a reward is not finite")]
    NotFinite {
        /// The group.
        group: u64,
        /// The member.
        member: u32,
    },
    /// Two rows claim to be the same member.
    #[error("group {group} has member {member} twice")]
    DuplicateMember {
        /// The group.
        group: u64,
        /// The member.
        member: u32,
    },
}

/// The advantages of all rows, group by group.
pub fn group_advantages(rows: &[Row], deviation: Deviation) -> Result<Advantages, RewardError> {
    let mut groups: BTreeMap<u64, BTreeMap<u32, usize>> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        let Row { group, member, .. } = *row;
        if groups.entry(group).or_default().insert(member, index).is_some() {
            return Err(RewardError::DuplicateMember { group, member });
        }
        let finite = row.raw.is_finite() && row.shaped.is_finite();
        if !(row.excluded || finite) {
            return Err(RewardError::NotFinite { group, member });
        }
    }
    let mut advantages =
        Advantages { by_row: vec![None; rows.len()], baselines: BTreeMap::new(), discarded: Vec::new() };
    for (group, members) in groups {
        let included: Vec<usize> = members.into_values().filter(|&index| !rows[index].excluded).collect();
        if let Some(reason) = discard(rows, &included) {
            advantages.discarded.push(Discarded { group, reason });
            continue;
        }
        let shaped: Vec<f64> = included.iter().map(|&index| rows[index].shaped).collect();
        let (baseline, normalised) = normalise(&shaped, deviation);
        for (index, value) in included.into_iter().zip(normalised) {
            let Row { group, member, .. } = rows[index];
            if !value.is_finite() {
                return Err(RewardError::NotFinite { group, member });
            }
            advantages.by_row[index] = Some(value);
        }
        advantages.baselines.insert(group, baseline);
    }
    Ok(advantages)
}

/// Exact comparison: rounding in a mean or a variance decides nothing.
#[expect(clippy::float_cmp, reason = "raw rewards are equal or they are not")]
fn discard(rows: &[Row], included: &[usize]) -> Option<Discard> {
    let Some((&first, rest)) = included.split_first() else {
        return Some(Discard::AllExcluded);
    };
    rest.iter().all(|&index| rows[index].raw == rows[first].raw).then_some(Discard::AllEqual)
}

/// `(R - mean) / (std + 1e-6)` for each reward of one group; sums run in the order given.
///
/// The sample deviation of fewer than two rewards is taken as 0.
pub fn normalise(rewards: &[f64], deviation: Deviation) -> (Baseline, Vec<f64>) {
    let count = rewards.len() as f64;
    let mean = rewards.iter().fold(0.0, |sum, reward| sum + reward) / count;
    let squares = rewards.iter().fold(0.0, |sum, reward| sum + (reward - mean) * (reward - mean));
    let divisor = match deviation {
        Deviation::Sample => (count - 1.0).max(1.0),
        Deviation::Population => count,
    };
    let std = (squares / divisor).sqrt();
    let advantages = rewards.iter().map(|reward| (reward - mean) / (std + STD_FLOOR)).collect();
    (Baseline { mean, std }, advantages)
}
