//! Requests and answers as bytes, and frames of them on a pipe.
//!
//! ```text
//! frame := u32 length, u32 CRC-32 of body, body
//! ```
//! The body of an answer is followed by what it cost ([`put_cost`]).
//! Integers are little-endian. Both ends are the same binary, so the body has no version.

use std::io::{self, Read, Write};
use std::time::Duration;

use tadpole_scenarios::repository::Tree;

use super::{BashOutcome, Limits, SandboxError, TestReport, TestStatus, Verdict};

/// The longest body accepted.
const BODY_BYTES_MAX: u32 = 1 << 30;

/// What a worker is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// [`super::Sandbox::bash`].
    Bash(Tree, String, Limits),
    /// [`super::Sandbox::test`].
    Test(Tree, Vec<String>, Limits),
    /// [`super::Sandbox::evaluate`].
    Evaluate(Tree, String, Vec<String>, Limits),
}

/// What it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// To [`Request::Bash`].
    Bash(BashOutcome),
    /// To [`Request::Test`].
    Test(TestReport),
    /// To [`Request::Evaluate`].
    Evaluate(Vec<Result<String, String>>),
}

/// Writes one frame.
pub(super) fn write_frame(pipe: &mut impl Write, body: &[u8]) -> io::Result<()> {
    let length = u32::try_from(body.len()).ok().filter(|length| *length <= BODY_BYTES_MAX);
    let length = length.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "frame too long"))?;
    let mut frame = Vec::with_capacity(body.len() + 8);
    frame.extend(length.to_le_bytes());
    frame.extend(crc32fast::hash(body).to_le_bytes());
    frame.extend(body);
    pipe.write_all(&frame)?;
    pipe.flush()
}

/// Reads one frame; `None` at the end of the pipe.
pub(super) fn read_frame(pipe: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut head = [0; 8];
    match pipe.read_exact(&mut head) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let [a, b, c, d, e, f, g, h] = head;
    let (length, crc) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
    if length > BODY_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "frame too long"));
    }
    let mut body = vec![0; length as usize];
    pipe.read_exact(&mut body)?;
    if crc32fast::hash(&body) != crc {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "frame with a wrong checksum"));
    }
    Ok(Some(body))
}

/// Puts behind an answer what it cost: processor time, `u64` microseconds.
pub(super) fn put_cost(answer: &mut Vec<u8>, spent: Duration) {
    answer.extend(u64::try_from(spent.as_micros()).unwrap_or(u64::MAX).to_le_bytes());
}

/// Takes it off again; nothing where a body is too short to hold it.
pub(super) fn take_cost(body: &mut Vec<u8>) -> Duration {
    let Some((rest, cost)) = body.split_last_chunk() else { return Duration::ZERO };
    let spent = Duration::from_micros(u64::from_le_bytes(*cost));
    body.truncate(rest.len());
    spent
}

/// The bytes of [`Request::Bash`].
pub(super) fn bash_request(tree: &Tree, command: &str, limits: &Limits) -> Vec<u8> {
    let mut writer = Writer::request(0, tree, limits);
    writer.text(command);
    writer.bytes
}

/// The bytes of [`Request::Test`].
pub(super) fn test_request(tree: &Tree, files: &[String], limits: &Limits) -> Vec<u8> {
    let mut writer = Writer::request(1, tree, limits);
    writer.texts(files);
    writer.bytes
}

/// The bytes of [`Request::Evaluate`].
pub(super) fn evaluate_request(
    tree: &Tree,
    module: &str,
    expressions: &[String],
    limits: &Limits,
) -> Vec<u8> {
    let mut writer = Writer::request(2, tree, limits);
    writer.text(module);
    writer.texts(expressions);
    writer.bytes
}

impl Request {
    /// Reads a request.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, SandboxError> {
        let mut reader = Reader { bytes };
        let kind = reader.byte()?;
        let limits = reader.limits()?;
        let tree = reader.tree()?;
        let request = match kind {
            0 => Self::Bash(tree, reader.text()?, limits),
            1 => Self::Test(tree, reader.texts()?, limits),
            2 => {
                let module = reader.text()?;
                Self::Evaluate(tree, module, reader.texts()?, limits)
            }
            _ => return Err(SandboxError::Protocol("unknown request")),
        };
        reader.end()?;
        Ok(request)
    }
}

impl Answer {
    /// Whether the same request could end otherwise on another machine.
    pub(super) fn depends_on_machine(&self) -> bool {
        let machine = |verdict| matches!(verdict, Verdict::Watchdog | Verdict::Aborted);
        match self {
            Self::Bash(outcome) => machine(outcome.verdict),
            Self::Test(report) => machine(report.verdict),
            Self::Evaluate(values) => {
                let stopped =
                    |text: &String| [Verdict::Watchdog, Verdict::Aborted].iter().any(|it| it.text() == text);
                values.iter().any(|value| value.as_ref().is_err_and(stopped))
            }
        }
    }

    /// The bytes of the answer.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        match self {
            Self::Bash(outcome) => {
                writer.bytes.push(0);
                writer.outcome(outcome);
            }
            Self::Test(report) => {
                writer.bytes.push(1);
                writer.report(report);
            }
            Self::Evaluate(values) => {
                writer.bytes.push(2);
                writer.count(values.len());
                for value in values {
                    let (Ok(text) | Err(text)) = value;
                    writer.bytes.push(u8::from(value.is_ok()));
                    writer.text(text);
                }
            }
        }
        writer.bytes
    }

    /// Reads an answer.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, SandboxError> {
        let mut reader = Reader { bytes };
        let answer = match reader.byte()? {
            0 => Self::Bash(reader.outcome()?),
            1 => Self::Test(reader.report()?),
            2 => {
                let mut values = Vec::new();
                for _ in 0..reader.number()? {
                    let is_value = reader.byte()? == 1;
                    let text = reader.text()?;
                    values.push(if is_value { Ok(text) } else { Err(text) });
                }
                Self::Evaluate(values)
            }
            _ => return Err(SandboxError::Protocol("unknown answer")),
        };
        reader.end()?;
        Ok(answer)
    }
}

#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn request(kind: u8, tree: &Tree, limits: &Limits) -> Self {
        let mut writer = Self { bytes: vec![kind] };
        let Limits { fuel, commands, memory_bytes, output_bytes, files, disk_bytes, wall_ms } = limits;
        for value in [fuel, commands, memory_bytes, output_bytes, files, disk_bytes, wall_ms] {
            writer.number(*value);
        }
        writer.blob(&tree.canonical_bytes());
        writer
    }

    fn number(&mut self, value: u64) {
        self.bytes.extend(value.to_le_bytes());
    }

    fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    fn blob(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.bytes.extend(bytes);
    }

    fn text(&mut self, text: &str) {
        self.blob(text.as_bytes());
    }

    fn texts(&mut self, texts: &[String]) {
        self.count(texts.len());
        for text in texts {
            self.text(text);
        }
    }

    fn verdict(&mut self, verdict: Verdict) {
        self.bytes.push(verdict as u8);
    }

    fn outcome(&mut self, outcome: &BashOutcome) {
        let BashOutcome { exit_code, stdout, stderr, changed, ran_tests, verdict } = outcome;
        self.bytes.extend(exit_code.to_le_bytes());
        self.blob(stdout);
        self.blob(stderr);
        self.blob(&changed.canonical_bytes());
        self.bytes.push(u8::from(ran_tests.is_some()));
        if let Some(report) = ran_tests {
            self.report(report);
        }
        self.verdict(*verdict);
    }

    fn report(&mut self, report: &TestReport) {
        let TestReport { tests, verdict } = report;
        self.count(tests.len());
        for (id, status) in tests {
            self.text(id);
            let (kind, message) = match status {
                TestStatus::Passed => (0, ""),
                TestStatus::Failed { message } => (1, message.as_str()),
                TestStatus::Skipped => (2, ""),
                TestStatus::Error { message } => (3, message.as_str()),
            };
            self.bytes.push(kind);
            self.text(message);
        }
        self.verdict(*verdict);
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: u64) -> Result<&'a [u8], SandboxError> {
        let split = usize::try_from(count).ok().and_then(|count| self.bytes.split_at_checked(count));
        let (taken, rest) = split.ok_or(SandboxError::Protocol("it ends early"))?;
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], SandboxError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64)?);
        Ok(array)
    }

    fn byte(&mut self) -> Result<u8, SandboxError> {
        Ok(self.array::<1>()?[0])
    }

    fn number(&mut self) -> Result<u64, SandboxError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn blob(&mut self) -> Result<&'a [u8], SandboxError> {
        let count = self.number()?;
        self.take(count)
    }

    fn text(&mut self) -> Result<String, SandboxError> {
        let text = std::str::from_utf8(self.blob()?);
        text.map(str::to_owned).map_err(|_| SandboxError::Protocol("a text is not UTF-8"))
    }

    fn texts(&mut self) -> Result<Vec<String>, SandboxError> {
        let count = self.number()?;
        (0..count).map(|_| self.text()).collect()
    }

    fn tree(&mut self) -> Result<Tree, SandboxError> {
        Tree::from_canonical(self.blob()?).map_err(|_| SandboxError::Protocol("a tree is malformed"))
    }

    fn limits(&mut self) -> Result<Limits, SandboxError> {
        Ok(Limits {
            fuel: self.number()?,
            commands: self.number()?,
            memory_bytes: self.number()?,
            output_bytes: self.number()?,
            files: self.number()?,
            disk_bytes: self.number()?,
            wall_ms: self.number()?,
        })
    }

    fn verdict(&mut self) -> Result<Verdict, SandboxError> {
        let number = self.byte()?;
        Verdict::ALL.get(usize::from(number)).copied().ok_or(SandboxError::Protocol("unknown verdict"))
    }

    fn outcome(&mut self) -> Result<BashOutcome, SandboxError> {
        Ok(BashOutcome {
            exit_code: i32::from_le_bytes(self.array()?),
            stdout: self.blob()?.to_vec(),
            stderr: self.blob()?.to_vec(),
            changed: self.tree()?,
            ran_tests: if self.byte()? == 1 { Some(self.report()?) } else { None },
            verdict: self.verdict()?,
        })
    }

    fn report(&mut self) -> Result<TestReport, SandboxError> {
        let mut tests = Vec::new();
        for _ in 0..self.number()? {
            let id = self.text()?;
            let kind = self.byte()?;
            let message = self.text()?;
            let status = match kind {
                0 => TestStatus::Passed,
                1 => TestStatus::Failed { message },
                2 => TestStatus::Skipped,
                3 => TestStatus::Error { message },
                _ => return Err(SandboxError::Protocol("unknown test status")),
            };
            tests.push((id, status));
        }
        Ok(TestReport { tests, verdict: self.verdict()? })
    }

    fn end(&self) -> Result<(), SandboxError> {
        if self.bytes.is_empty() { Ok(()) } else { Err(SandboxError::Protocol("it does not end")) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn tree() -> Tree {
        let mut tree = Tree::new();
        tree.insert_file("a.py", "x = 1\n").unwrap();
        tree
    }

    #[test]
    fn requests_and_answers_survive_the_pipe() {
        let limits = Limits::default();
        let bytes = bash_request(&tree(), "ls", &limits);
        assert_eq!(Request::decode(&bytes).unwrap(), Request::Bash(tree(), "ls".into(), limits.clone()));
        let bytes = test_request(&tree(), &["t.py".into()], &limits);
        assert_eq!(
            Request::decode(&bytes).unwrap(),
            Request::Test(tree(), vec!["t.py".into()], limits.clone())
        );
        let report = TestReport {
            tests: vec![
                ("t::a".into(), TestStatus::Passed),
                ("t::b".into(), TestStatus::Failed { message: "no".into() }),
                ("t::c".into(), TestStatus::Skipped),
                ("t".into(), TestStatus::Error { message: "e".into() }),
            ],
            verdict: Verdict::Watchdog,
        };
        let outcome = BashOutcome {
            exit_code: -1,
            stdout: vec![0xff],
            stderr: b"e".to_vec(),
            changed: tree(),
            ran_tests: Some(report.clone()),
            verdict: Verdict::Aborted,
        };
        for answer in [
            Answer::Bash(outcome),
            Answer::Test(report),
            Answer::Evaluate(vec![Ok("1".into()), Err("e".into())]),
        ] {
            let mut pipe = Vec::new();
            write_frame(&mut pipe, &answer.encode()).unwrap();
            let body = read_frame(&mut pipe.as_slice()).unwrap().unwrap();
            assert_eq!(Answer::decode(&body).unwrap(), answer);
            for cut in 0..body.len() {
                assert!(Answer::decode(&body[..cut]).is_err());
            }
        }
    }

    #[test]
    fn a_flipped_bit_is_noticed() {
        let mut pipe = Vec::new();
        write_frame(&mut pipe, b"body").unwrap();
        pipe[9] ^= 1;
        assert!(read_frame(&mut pipe.as_slice()).is_err());
        assert!(read_frame(&mut [].as_slice()).unwrap().is_none());
    }
}
