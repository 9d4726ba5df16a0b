//! Workers, and who may use one now.

use std::io;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, bounded};
use tadpole_scenarios::repository::Tree;

use super::memo::Memo;
use super::memory::{answer, thread};
use super::wire::{self, Answer, read_frame, write_frame};
use super::{BashOutcome, Limits, Sandbox, SandboxError, TestReport, TestStatus, Verdict};
use crate::meter::Meter;

/// Added to a request's watchdog before the worker is killed: the interpreter's own should come first.
const WATCHDOG_GRACE: Duration = Duration::from_secs(5);

/// How a worker process is started.
#[derive(Clone, Debug)]
pub struct WorkerCommand {
    /// The program: normally the running one.
    pub program: PathBuf,
    /// Its arguments, which make it call [`super::worker::main`].
    pub arguments: Vec<String>,
}

impl WorkerCommand {
    /// The running binary with the argument `worker`.
    pub fn this_binary() -> io::Result<Self> {
        Ok(Self { program: std::env::current_exe()?, arguments: vec!["worker".to_owned()] })
    }
}

/// The `memory` sandbox: a fixed number of workers that any number of threads share.
///
/// A call takes a free worker, or waits for one. A worker that dies is replaced and its request asked once more, so that
/// accidents of the machine leave no trace in results; a request that kills its worker twice is [`Verdict::Aborted`].
#[derive(Debug)]
pub struct SandboxPool {
    free: Receiver<Slot>,
    back: Sender<Slot>,
    command: Option<WorkerCommand>,
    deaths: AtomicU64,
    meter: Meter,
    memo: Option<Memo>,
}

/// A place for a worker. It is started when it is first needed.
type Slot = Option<Seat>;

#[derive(Debug)]
enum Seat {
    Process(Worker),
    Thread(Local),
}

impl SandboxPool {
    /// `count` worker processes (at least one), started as they are needed.
    pub fn workers(command: WorkerCommand, count: usize) -> Self {
        Self::new(Some(command), count)
    }

    /// `count` evaluation threads of this process. A program that aborts ends the process, and memory is not counted.
    pub fn in_process(count: usize) -> Self {
        Self::new(None, count)
    }

    fn new(command: Option<WorkerCommand>, count: usize) -> Self {
        let count = count.max(1);
        let (back, free) = bounded(count);
        for _ in 0..count {
            // The channel has room for every slot.
            back.send(None).ok();
        }
        Self { free, back, command, deaths: AtomicU64::new(0), meter: Meter::default(), memo: None }
    }

    /// The same pool, counting the processor time of its workers in `meter`.
    #[must_use]
    pub fn metered(self, meter: &Meter) -> Self {
        Self { meter: meter.clone(), ..self }
    }

    /// The same pool, remembering up to `bytes` bytes of answers, so that a request is not worked on twice.
    #[must_use]
    pub fn remembering(self, bytes: u64) -> Self {
        Self { memo: Some(Memo::new(bytes)), ..self }
    }

    /// How many workers died or were killed so far. Depends on the machine: for display only.
    pub fn deaths(&self) -> u64 {
        self.deaths.load(Ordering::Relaxed)
    }

    /// The process ids of idle workers, for tests that kill them.
    #[doc(hidden)]
    pub fn idle_process_ids(&self) -> Vec<u32> {
        let slots: Vec<Slot> = self.free.try_iter().collect();
        let ids = slots
            .iter()
            .filter_map(|slot| match slot {
                Some(Seat::Process(worker)) => Some(worker.child.id()),
                _ => None,
            })
            .collect();
        for slot in slots {
            self.back.send(slot).ok();
        }
        ids
    }

    fn ask(&self, request: &[u8], limits: &Limits) -> Result<Result<Answer, Verdict>, SandboxError> {
        let Some(memo) = &self.memo else { return self.work(request, limits)?.decoded() };
        if let Some(body) = memo.recall(request) {
            return Answer::decode(&body).map(Ok);
        }
        let worked = self.work(request, limits)?;
        let answer = worked.decoded()?;
        if let (Worked::Answered(body), Ok(known)) = (worked, &answer)
            && !known.depends_on_machine()
        {
            memo.keep(request, body);
        }
        Ok(answer)
    }

    /// Has a worker answer.
    fn work(&self, request: &[u8], limits: &Limits) -> Result<Worked, SandboxError> {
        let mut slot = Lease { slot: self.free.recv().map_err(|_| SandboxError::Gone)?, back: &self.back };
        let wall = Duration::from_millis(limits.wall_ms) + WATCHDOG_GRACE;
        for _ in 0..2 {
            let seat = match &mut slot.slot {
                Some(seat) => seat,
                empty => empty.insert(self.start()?),
            };
            let reply = match seat {
                Seat::Process(worker) => worker.ask(request, wall),
                Seat::Thread(local) => local.ask(request, wall),
            };
            match reply {
                Reply::Body(body) => return Ok(Worked::Answered(body)),
                Reply::Late => {
                    self.deaths.fetch_add(1, Ordering::Relaxed);
                    slot.slot = None;
                    return Ok(Worked::Ended(Verdict::Watchdog));
                }
                Reply::Dead => {
                    self.deaths.fetch_add(1, Ordering::Relaxed);
                    slot.slot = None;
                }
            }
        }
        Ok(Worked::Ended(Verdict::Aborted))
    }

    fn start(&self) -> Result<Seat, SandboxError> {
        match &self.command {
            Some(command) => Worker::start(command, &self.meter).map(Seat::Process),
            None => Local::start().map(Seat::Thread),
        }
        .map_err(SandboxError::Spawn)
    }
}

impl Sandbox for SandboxPool {
    fn bash(&self, tree: &Tree, command: &str, limits: &Limits) -> Result<BashOutcome, SandboxError> {
        match self.ask(&wire::bash_request(tree, command, limits), limits)? {
            Ok(Answer::Bash(outcome)) => Ok(outcome),
            Ok(_) => Err(SandboxError::Protocol("it answers another question")),
            Err(verdict) => Ok(BashOutcome {
                exit_code: verdict.exit_code(),
                stderr: format!("{}\n", verdict.text()).into_bytes(),
                verdict,
                ..BashOutcome::default()
            }),
        }
    }

    fn test(&self, tree: &Tree, files: &[String], limits: &Limits) -> Result<TestReport, SandboxError> {
        match self.ask(&wire::test_request(tree, files, limits), limits)? {
            Ok(Answer::Test(report)) => Ok(report),
            Ok(_) => Err(SandboxError::Protocol("it answers another question")),
            Err(verdict) => Ok(TestReport {
                tests: files
                    .iter()
                    .map(|file| (file.clone(), TestStatus::Error { message: verdict.text().to_owned() }))
                    .collect(),
                verdict,
            }),
        }
    }

    fn evaluate(
        &self,
        tree: &Tree,
        module: &str,
        expressions: &[String],
        limits: &Limits,
    ) -> Result<Vec<Result<String, String>>, SandboxError> {
        match self.ask(&wire::evaluate_request(tree, module, expressions, limits), limits)? {
            Ok(Answer::Evaluate(values)) => Ok(values),
            Ok(_) => Err(SandboxError::Protocol("it answers another question")),
            Err(verdict) => Ok(expressions.iter().map(|_| Err(verdict.text().to_owned())).collect()),
        }
    }
}

/// What a worker made of a request.
enum Worked {
    /// The bytes of an answer.
    Answered(Vec<u8>),
    /// No answer: the worker was stopped, or died of it.
    Ended(Verdict),
}

impl Worked {
    fn decoded(&self) -> Result<Result<Answer, Verdict>, SandboxError> {
        match self {
            Self::Answered(body) => Answer::decode(body).map(Ok),
            Self::Ended(verdict) => Ok(Err(*verdict)),
        }
    }
}

/// A slot taken from the pool; it goes back whatever happens.
struct Lease<'p> {
    slot: Slot,
    back: &'p Sender<Slot>,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.back.send(self.slot.take()).ok();
    }
}

enum Reply {
    Body(Vec<u8>),
    /// Nothing came in time.
    Late,
    /// The worker ended.
    Dead,
}

impl Reply {
    fn wait(bodies: &Receiver<Vec<u8>>, wall: Duration) -> Self {
        match bodies.recv_timeout(wall) {
            Ok(body) => Self::Body(body),
            Err(RecvTimeoutError::Timeout) => Self::Late,
            Err(RecvTimeoutError::Disconnected) => Self::Dead,
        }
    }
}

/// A worker process. Dropping it kills it.
#[derive(Debug)]
struct Worker {
    child: Child,
    input: ChildStdin,
    bodies: Receiver<Vec<u8>>,
    meter: Meter,
}

impl Worker {
    fn start(command: &WorkerCommand, meter: &Meter) -> io::Result<Self> {
        let mut child = Command::new(&command.program)
            .args(&command.arguments)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(input), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("no pipe to the worker"));
        };
        let (sender, bodies) = bounded(1);
        // Ends with the pipe, or with the worker that owns the receiver.
        std::thread::Builder::new().name("sandbox-reader".to_owned()).spawn(move || {
            while let Ok(Some(body)) = read_frame(&mut output) {
                if sender.send(body).is_err() {
                    return;
                }
            }
        })?;
        meter.hired(child.id());
        Ok(Self { child, input, bodies, meter: meter.clone() })
    }

    fn ask(&mut self, request: &[u8], wall: Duration) -> Reply {
        if write_frame(&mut self.input, request).is_err() {
            return Reply::Dead;
        }
        match Reply::wait(&self.bodies, wall) {
            Reply::Body(mut body) => {
                self.meter.worked(wire::take_cost(&mut body));
                Reply::Body(body)
            }
            reply => reply,
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.meter.dismissed(self.child.id());
        // A worker that already ended cannot be killed, only waited for.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// An evaluation thread of this process.
#[derive(Debug)]
struct Local {
    requests: Sender<Vec<u8>>,
    bodies: Receiver<Vec<u8>>,
}

impl Local {
    fn start() -> io::Result<Self> {
        let (requests, inbox) = bounded::<Vec<u8>>(1);
        let (outbox, bodies) = bounded(1);
        thread("sandbox").spawn(move || {
            for body in inbox {
                let Ok(answer) = answer(&body) else { return };
                if outbox.send(answer).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { requests, bodies })
    }

    fn ask(&self, request: &[u8], wall: Duration) -> Reply {
        match self.requests.send(request.to_vec()) {
            Ok(()) => Reply::wait(&self.bodies, wall),
            Err(_) => Reply::Dead,
        }
    }
}
