//! A program outside that answers requests: it is started for each, asked, and waited for.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_mins(5);
/// How long a process may go on once it has answered.
const GRACE: Duration = Duration::from_secs(5);
/// Between two looks at whether it has ended.
const LOOK: Duration = Duration::from_millis(1);
/// Looks within its grace.
const GRACE_LOOKS: u128 = GRACE.as_millis() / LOOK.as_millis();
/// The longest answer that is read.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// A program with its arguments.
#[derive(Clone, Debug)]
pub(super) struct Program {
    program: PathBuf,
    arguments: Vec<String>,
}

/// Why a process gave no task.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// It could not be started or talked to.
    #[error("{program}: {error}")]
    Io {
        /// The program.
        program: String,
        /// What failed.
        #[source]
        error: io::Error,
    },
    /// It ended badly.
    #[error("{program} ended with {status}")]
    Status {
        /// The program.
        program: String,
        /// How.
        status: ExitStatus,
    },
    /// It did not answer in time.
    #[error("{program} gave no answer within {} s", PATIENCE.as_secs())]
    Late {
        /// The program.
        program: String,
    },
    /// It answered, and did not end.
    #[error("{program} answered, and did not end within {} s", GRACE.as_secs())]
    Lingers {
        /// The program.
        program: String,
    },
    /// Its answer is longer than is read.
    #[error("{program} gave an answer longer than {} MiB", ANSWER_BYTES_MAX >> 20)]
    Long {
        /// The program.
        program: String,
    },
    /// Its answer is none.
    #[error("{program} gave an answer that is no task: {reason}")]
    Answer {
        /// The program.
        program: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Program {
    /// The program that `command` names first, with its arguments. A relative program is looked up in `base` first, then
    /// in the search path. `None` for an empty command.
    pub(super) fn new(command: &[String], base: &Path) -> Option<Self> {
        let (program, arguments) = command.split_first()?;
        let beside = base.join(program);
        let program = if beside.is_file() { beside } else { PathBuf::from(program) };
        Some(Self { program, arguments: arguments.to_vec() })
    }

    /// Starts the program and asks it.
    pub(super) fn ask(&self, request: &[u8]) -> Result<Vec<u8>, ProcessError> {
        let io = |error| ProcessError::Io { program: self.name(), error };
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(io)?;
        let answer = self.talk(&mut child, request);
        let ended = if answer.is_ok() { ended(&mut child, GRACE_LOOKS).map_err(io)? } else { None };
        match ended {
            Some(status) if status.success() => answer,
            Some(status) => Err(ProcessError::Status { program: self.name(), status }),
            None => {
                // One that has ended already cannot be killed, only waited for.
                child.kill().ok();
                child.wait().map_err(io)?;
                Err(answer.err().unwrap_or_else(|| ProcessError::Lingers { program: self.name() }))
            }
        }
    }

    fn talk(&self, child: &mut Child, request: &[u8]) -> Result<Vec<u8>, ProcessError> {
        let io = |error| ProcessError::Io { program: self.name(), error };
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io(io::Error::other("no pipe to the process")));
        };
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            let mut answer = Vec::new();
            // A byte more than may be tells that it is too long.
            let read = output.take(ANSWER_BYTES_MAX + 1).read_to_end(&mut answer);
            // Nobody listens any more where patience ran out.
            sender.send(read.map(|_| answer)).ok();
        });
        // A process that answers without reading its request to the end is welcome to.
        input.write_all(request).or_else(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(io(error)),
        })?;
        drop(input);
        match answers.recv_timeout(PATIENCE) {
            Ok(Ok(answer)) if answer.len() as u64 > ANSWER_BYTES_MAX => {
                Err(ProcessError::Long { program: self.name() })
            }
            Ok(answer) => answer.map_err(io),
            Err(RecvTimeoutError::Timeout) => Err(ProcessError::Late { program: self.name() }),
            Err(RecvTimeoutError::Disconnected) => Err(io(io::Error::other("the reader ended"))),
        }
    }

    pub(super) fn name(&self) -> String {
        self.program.display().to_string()
    }
}

/// How a process ended; `None` where it goes on after so many looks.
fn ended(child: &mut Child, looks: u128) -> io::Result<Option<ExitStatus>> {
    for _ in 0..looks {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(LOOK);
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(script: &str) -> Result<Vec<u8>, ProcessError> {
        let command = ["sh", "-c", script].map(str::to_owned);
        Program::new(&command, Path::new("/nowhere")).unwrap().ask(b"a request")
    }

    #[test]
    fn an_answer_is_what_the_process_prints() {
        assert_eq!(asked("cat; echo ' and more'").unwrap(), b"a request and more\n");
        assert_eq!(asked("echo unread").unwrap(), b"unread\n", "a request need not be read");
    }

    #[test]
    fn an_answer_of_a_process_that_fails_is_none() {
        assert!(matches!(asked("echo null; exit 3"), Err(ProcessError::Status { .. })));
        let missing = Program::new(&["./no/such/program".to_owned()], Path::new("/nowhere")).unwrap();
        assert!(matches!(missing.ask(b""), Err(ProcessError::Io { .. })));
    }

    #[test]
    fn an_answer_beyond_what_is_read_is_said_to_be_too_long() {
        let error = asked("head -c 16777217 /dev/zero").expect_err("a byte too long");
        assert_eq!(error.to_string(), "sh gave an answer longer than 16 MiB");
        assert_eq!(asked("head -c 16777216 /dev/zero").unwrap().len(), 16 << 20);
    }

    #[test]
    fn a_process_that_goes_on_is_not_waited_for_without_end() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        assert_eq!(ended(&mut child, 3).unwrap(), None);
        child.kill().unwrap();
        assert!(!ended(&mut child, GRACE_LOOKS).unwrap().expect("it was killed").success());
    }
}
