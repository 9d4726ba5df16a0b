//! Measuring several programs that compute the same, so that a busy machine is unfair to none.

use cpu_time::ThreadTime;

/// Turns that each contender takes. They alternate, and the median turn counts.
const TURNS: usize = 15;
/// A turn repeats its work until it lasts about this long.
const TURN_SECONDS: f64 = 3e-3;

/// One program.
pub struct Contender<'a> {
    /// Its name.
    pub name: &'static str,
    /// Does the work once.
    pub work: Box<dyn FnMut() + 'a>,
}

/// A contender.
pub fn contender<'a>(name: &'static str, work: impl FnMut() + 'a) -> Contender<'a> {
    Contender { name, work: Box::new(work) }
}

/// Processor seconds that each contender takes to do its work once: the median of its turns.
pub fn contest(contenders: &mut [Contender<'_>]) -> Vec<f64> {
    let repeats: Vec<usize> = contenders.iter_mut().map(|one| repeats(&mut one.work)).collect();
    let mut seconds = vec![Vec::new(); contenders.len()];
    for _ in 0..TURNS {
        for ((one, &repeats), seconds) in contenders.iter_mut().zip(&repeats).zip(&mut seconds) {
            seconds.push(turn(&mut one.work, repeats) / repeats as f64);
        }
    }
    seconds.into_iter().map(median).collect()
}

fn turn(work: &mut dyn FnMut(), repeats: usize) -> f64 {
    let start = ThreadTime::now();
    for _ in 0..repeats {
        work();
    }
    start.elapsed().as_secs_f64()
}

/// How often a turn repeats the work; also warms it up.
fn repeats(work: &mut dyn FnMut()) -> usize {
    let mut repeats = 1;
    loop {
        let seconds = turn(work, repeats);
        if seconds >= TURN_SECONDS / 2.0 {
            return (repeats as f64 * TURN_SECONDS / seconds).ceil() as usize;
        }
        repeats *= 2;
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
