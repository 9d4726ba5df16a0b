//! What is going on while it goes on: live on a terminal, plain lines elsewhere, always on standard error.

mod live;
mod notice;
mod plain;
mod state;

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tadpole_scenarios::schema::ProgressKind;

pub(crate) use notice::{Notice, Observer, Phase};
use state::State;

use crate::failure::tell;

/// Shows progress.
pub(crate) struct Progress {
    started: Instant,
    inner: Mutex<Inner>,
}

struct Inner {
    state: State,
    view: View,
}

enum View {
    Live(live::Live),
    Plain(plain::Plain),
    None,
}

impl Progress {
    /// Progress as `kind` wants it: `auto` is live where standard error is a terminal that can move its cursor.
    pub(crate) fn new(kind: ProgressKind) -> Self {
        let able =
            std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let view = match kind {
            ProgressKind::Auto if able => View::Live(live::Live::new()),
            ProgressKind::Auto | ProgressKind::Plain => View::Plain(plain::Plain::new()),
            ProgressKind::None => View::None,
        };
        Self { started: now(), inner: Mutex::new(Inner { state: State::default(), view }) }
    }
}

impl Observer for Progress {
    fn notice(&self, notice: &Notice) {
        let elapsed = now().saturating_duration_since(self.started);
        // A panic in another thread does not make the figures worse.
        let mut inner = self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Inner { state, view } = &mut *inner;
        state.apply(notice, elapsed);
        if matches!(notice, Notice::Past(_)) {
            return;
        }
        match view {
            View::Live(live) => live.show(notice, plain::line(notice, state, elapsed), state, elapsed),
            View::Plain(plain) => {
                for line in plain.lines(notice, state, elapsed) {
                    tell(&line);
                }
            }
            View::None => {}
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "progress is about this machine's time, which nothing else may depend on"
)]
fn now() -> Instant {
    Instant::now()
}

/// Time left at a steady pace, once there is something to judge by.
fn time_left(elapsed: Duration, share: f64) -> Option<Duration> {
    let known = share >= 0.01 && elapsed >= Duration::from_secs(2);
    (known && share <= 1.0).then(|| elapsed.mul_f64((1.0 - share) / share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_waits_until_there_is_something_to_judge_by() {
        assert_eq!(time_left(Duration::from_secs(50), 0.25), Some(Duration::from_secs(150)));
        assert_eq!(time_left(Duration::from_secs(50), 0.001), None);
        assert_eq!(time_left(Duration::from_secs(1), 0.5), None);
        assert_eq!(time_left(Duration::from_secs(9), 1.0), Some(Duration::ZERO));
    }

    #[test]
    fn notices_may_come_from_any_thread() {
        let progress = Progress::new(ProgressKind::None);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    progress.notice(&Notice::Sampled { trajectories: 1, tokens: 10, done: 0, due: 0 });
                });
            }
        });
        let inner = progress.inner.lock().unwrap();
        assert_eq!(inner.state.tokens, 40);
    }
}
