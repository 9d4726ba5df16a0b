//! The worker process: reads requests from standard input, one at a time, and answers on standard output.
//!
//! Requests are evaluated on one thread with a large stack, so that what the allocator counts is the evaluation's. The main
//! thread only waits for the pipe: when that closes, because the parent ended in whatever way, the process exits at once,
//! even in the middle of an evaluation.
//!
//! Behind each answer stands the processor time that it took, for the timing sidecar; it is no part of the answer.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use super::memory::{answer, start_counting, thread};
use super::wire::{put_cost, read_frame, write_frame};
use crate::meter::process_cpu;

/// Serves requests until standard input closes. The binary should have installed [`super::memory::Counting`].
pub fn main() -> ExitCode {
    start_counting();
    let (sender, receiver) = crossbeam::channel::bounded::<Vec<u8>>(1);
    let evaluation = thread("evaluation").spawn(move || evaluate_all(&receiver));
    if evaluation.is_err() {
        return ExitCode::FAILURE;
    }
    let mut input = io::stdin().lock();
    while let Ok(Some(body)) = read_frame(&mut input) {
        if sender.send(body).is_err() {
            return ExitCode::FAILURE;
        }
    }
    // Not a return: destructors would wait for an evaluation that nobody wants any more.
    std::process::exit(0)
}

fn evaluate_all(requests: &crossbeam::channel::Receiver<Vec<u8>>) {
    let mut spent = Duration::ZERO;
    for body in requests {
        let Ok(mut answer) = answer(&body) else { std::process::exit(1) };
        let now = process_cpu();
        put_cost(&mut answer, now.saturating_sub(spent));
        spent = now;
        if write_frame(&mut io::stdout(), &answer).is_err() {
            std::process::exit(1);
        }
    }
}
