//! DPPO: which sampled tokens are trained on, with which gradient, and what the length of a success costs.
//!
//! With `p = exp(lp)` under the policy that is trained, `q = exp(lp_rollout)` under the one that sampled, the ratio
//! `rho = exp(lp - lp_rollout)`, the advantage `A` of the trajectory and `|T|` trainable tokens in the optimiser step:
//!
//! - a token is dropped when `A > 0` and `p - q > delta_high`, or `A <= 0` and `p - q < -delta_low`;
//! - `L = -(1/|T|) sum of A rho` over the kept tokens, and `dL/dlp = -(1/|T|) A rho`; no cap on the ratio;
//! - `A = (R - mean) / (std + 1e-6)` within the group; a group whose raw rewards are all equal is discarded.
//!
//! `|T|` counts dropped tokens too, so gradients do not depend on how a step is cut into micro-batches. The rules
//! are generic over [`Real`]: `f32` trains, `f64` is held against reference values.

mod advantage;
mod gradient;
mod length;
mod real;
mod token;

pub use advantage::{
    Advantages, Baseline, Deviation, Discard, Discarded, RewardError, Row, STD_FLOOR, group_advantages,
    normalise,
};
pub use gradient::{DppoError, Tally, TokenGradients, Tokens, token_gradients};
pub use length::LengthPenalty;
pub use real::Real;
pub use token::{Divergence, DppoParams, Judged, LOG_PROB_SLACK, TokenFault, judge};
