//! The Monty interpreter behind the traits, with counted fuel.
//!
//! Its virtual machine calls `poll_flush` of the print writer every 256 instructions. The writer counts there, and at zero
//! it unwinds with a private payload: no handler of the program can catch that, no panic message is printed, and the
//! session is dropped afterwards. Loops inside native functions (`sum(range(10**12))`) do not poll; only the wall-clock
//! limit ends them.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::atomic::Ordering;

use ::monty::MontyRepl;
use monty_types::{
    BASELINE_MEMORY, CompileOptions, ExcType, LIVE_MEMORY, MontyException, MontyObject, PrintWriter,
    PrintWriterCallback, ResourceLimits, ResourceTracker,
};

use super::linker::Program;
use super::names::demangled;
use super::session::LinkedSession;
use super::{Budget, Fault, Frame, Interpreter, Raised, Session, Sources, Stop};

/// The interpreter of the embedded world.
#[derive(Clone, Copy, Debug, Default)]
pub struct Monty;

impl Interpreter for Monty {
    fn session<'a>(
        &self,
        sources: &'a dyn Sources,
        search: &[String],
        budget: Budget,
    ) -> Box<dyn Session + 'a> {
        Box::new(LinkedSession::new(sources, search, budget))
    }
}

/// The payload that stops a program without fuel.
struct OutOfFuel;

/// Counts a program's instructions, and keeps what it prints.
struct Meter<'o> {
    fuel: u64,
    output: &'o mut Vec<u8>,
    output_bytes_max: usize,
}

impl Meter<'_> {
    fn keep(&mut self, text: &str) {
        let room = self.output_bytes_max.saturating_sub(self.output.len());
        let mut end = text.len().min(room);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.output.extend_from_slice(&text.as_bytes()[..end]);
    }
}

impl PrintWriterCallback for Meter<'_> {
    fn stdout_write(&mut self, output: Cow<'_, str>) -> Result<(), MontyException> {
        self.keep(&demangled(&output));
        Ok(())
    }

    fn stdout_push(&mut self, end: char) -> Result<(), MontyException> {
        self.keep(end.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn poll_flush(&mut self) -> Result<(), MontyException> {
        match self.fuel.checked_sub(1) {
            Some(fuel) => self.fuel = fuel,
            None => resume_unwind(Box::new(OutOfFuel)),
        }
        Ok(())
    }
}

/// What was fed under one of the names `<python-input-N>`.
#[derive(Clone)]
struct Input {
    path: String,
    program: Rc<Program>,
}

/// A virtual machine and the names of what it was fed.
pub(super) struct Vm {
    repl: Option<MontyRepl>,
    budget: Budget,
    inputs: Vec<Option<Input>>,
    output: Vec<u8>,
}

impl Vm {
    /// An empty machine. Memory is counted from here.
    pub(super) fn new(budget: Budget) -> Self {
        BASELINE_MEMORY.store(LIVE_MEMORY.load(Ordering::Relaxed), Ordering::Relaxed);
        let limits = ResourceLimits::default()
            .max_duration(budget.wall)
            .max_memory(budget.memory_bytes)
            .max_recursion_depth(budget.recursion);
        let repl = MontyRepl::new("<module>", ResourceTracker::new(limits), CompileOptions::default());
        Self { repl: Some(repl), budget, inputs: Vec::new(), output: Vec::new() }
    }

    /// Feeds code that stands for `program`, the file at `path`.
    pub(super) fn feed(&mut self, code: &str, path: &str, program: &Rc<Program>) -> Result<(), Fault> {
        let input = Input { path: path.to_owned(), program: Rc::clone(program) };
        self.run(Some(input), code.is_empty(), |repl, print| repl.feed_run(code, Vec::new(), print)).map(drop)
    }

    /// Feeds code of no file.
    pub(super) fn feed_anonymous(&mut self, code: &str) -> Result<MontyObject, Fault> {
        self.run(None, code.is_empty(), |repl, print| repl.feed_run(code, Vec::new(), print))
    }

    /// Takes what was printed.
    pub(super) fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    fn run(
        &mut self,
        input: Option<Input>,
        is_empty: bool,
        run: impl FnOnce(&mut MontyRepl, PrintWriter<'_>) -> Result<MontyObject, MontyException>,
    ) -> Result<MontyObject, Fault> {
        let Some(mut repl) = self.repl.take() else { return Err(Fault::Stopped(Stop::Aborted)) };
        if !is_empty {
            // An empty text takes no input number.
            self.inputs.push(input);
        }
        repl.tracker_mut().set_max_duration(self.budget.wall);
        let mut meter = Meter {
            fuel: self.budget.fuel,
            output: &mut self.output,
            output_bytes_max: self.budget.output_bytes,
        };
        let result = catch_unwind(AssertUnwindSafe(|| run(&mut repl, PrintWriter::Callback(&mut meter))));
        let fault = match result {
            Ok(Ok(value)) => {
                self.repl = Some(repl);
                return Ok(value);
            }
            Ok(Err(exception)) => self.fault_of(&exception, repl.tracker()),
            Err(payload) => {
                Fault::Stopped(if payload.is::<OutOfFuel>() { Stop::OutOfFuel } else { Stop::Aborted })
            }
        };
        match fault {
            Fault::Raised(_) => self.repl = Some(repl),
            // A machine that was stopped inside is in no state to be used, nor perhaps to be dropped.
            Fault::Stopped(_) => drop(catch_unwind(AssertUnwindSafe(|| drop(repl)))),
        }
        Err(fault)
    }

    fn fault_of(&self, exception: &MontyException, tracker: &ResourceTracker) -> Fault {
        let message = exception.message().unwrap_or("");
        match exception.exc_type() {
            ExcType::TimeoutError if tracker.elapsed() > self.budget.wall => {
                return Fault::Stopped(Stop::Watchdog);
            }
            ExcType::MemoryError if message.starts_with("memory limit exceeded: ") => {
                return Fault::Stopped(Stop::OutOfMemory);
            }
            _ => {}
        }
        let frames = exception.traceback().iter().filter_map(|frame| self.frame_of(frame)).collect();
        Fault::Raised(Box::new(Raised {
            kind: exception.exc_type().to_string(),
            message: demangled(message),
            frames,
        }))
    }

    /// The frame in terms of the sources; none for code that is no file's.
    fn frame_of(&self, frame: &monty_types::StackFrame) -> Option<Frame> {
        let number =
            frame.filename.strip_prefix("<python-input-")?.strip_suffix('>')?.parse::<usize>().ok()?;
        let input = self.inputs.get(number)?.as_ref()?;
        Some(Frame {
            path: input.path.clone(),
            line: frame.start.line,
            function: frame.frame_name.as_deref().map_or_else(|| "<module>".to_owned(), demangled),
            text: input.program.line(frame.start.line).to_owned(),
        })
    }
}
