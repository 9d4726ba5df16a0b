//! Makes a base policy.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use tadpole_gpu::weights::Precision;
use tadpole_kernel::id::Digest;
use tadpole_systems::backend::backend;
use tadpole_systems::pretrain::{self, Pretrained, Pretraining, StepRecord};
use tadpole_systems::sandbox::SandboxPool;

use super::execution::{execution, worker_command};
use super::failures::reasons;
use crate::engine::{PretrainReport, PretrainRequest};
use crate::failure::Failure;
use crate::progress::{Notice, Observer};

const WEIGHTS: &str = "model.safetensors";
const TOKENIZER: &str = "tokenizer.json";
const DIGESTS: &str = "digests.jsonl";

/// Steps whose losses are averaged for display.
const RECENT: usize = 50;

/// Makes a base policy.
pub(super) fn pretrain(
    request: &PretrainRequest,
    observer: &dyn Observer,
) -> Result<PretrainReport, Failure> {
    let PretrainRequest { scenario, directory, steps } = request;
    let execution = execution(&scenario.exec, Path::new("."))?;
    let backend = backend(&scenario.exec, execution.threads)
        .map_err(|error| Failure::failed(reasons(&error)).help("`tadpole doctor` checks this machine"))?;
    fs::create_dir_all(directory.parent().unwrap_or(Path::new(".")))
        .and_then(|()| fs::create_dir(directory))
        .map_err(|error| Failure::file("make the directory", directory, &error))?;
    let mut digests = create(&directory.join(DIGESTS))?;
    let sandbox = Arc::new(SandboxPool::workers(worker_command()?, execution.worker_count));
    let failed = |error: &dyn std::error::Error| Failure::failed(reasons(error)).at(directory.display());
    observer.notice(&Notice::Working { what: "making the tokenizer's text and the tokenizer" });
    let scenario = Arc::new(scenario.clone());
    let corpus = pretrain::corpus(&scenario, sandbox, execution.threads);
    let mut pretraining = Pretraining::start(&scenario, &backend, corpus).map_err(|error| failed(&error))?;
    let total = steps.map_or(pretraining.steps(), |steps| steps.min(pretraining.steps()));
    let mut account = Account::default();
    while account.steps < total {
        let Some(record) = pretraining.step().map_err(|error| failed(&error))? else { break };
        account.take(&record);
        if record.weights.is_some() {
            note(&mut digests, &record)
                .map_err(|error| Failure::file("write", &directory.join(DIGESTS), &error))?;
        }
        observer.notice(&Notice::Sampled { trajectories: 0, tokens: record.tokens, done: 0, due: 0 });
        let detail = format!("{}, loss {:.4}", record.stage, account.loss());
        observer.notice(&Notice::Advanced { work: "step", done: account.steps, total, detail });
    }
    let Pretrained { weights, tokenizer } = pretraining.finish().map_err(|error| failed(&error))?;
    let bytes = weights.to_safetensors(Precision::F32).map_err(|error| failed(&error))?;
    write(&directory.join(WEIGHTS), &bytes)?;
    write(&directory.join(TOKENIZER), &tokenizer)?;
    observer.notice(&Notice::Finished);
    Ok(PretrainReport {
        steps: account.steps,
        tokens: account.tokens,
        loss: account.loss(),
        weights: Digest(weights.digest()).to_hex(),
        tokenizer: Digest::of(&tokenizer).to_hex(),
        files: [WEIGHTS, TOKENIZER, DIGESTS].map(str::to_owned).to_vec(),
    })
}

/// What the steps came to.
#[derive(Default)]
struct Account {
    steps: u64,
    tokens: u64,
    recent: Vec<f64>,
}

impl Account {
    fn take(&mut self, record: &StepRecord) {
        self.steps += 1;
        self.tokens += record.tokens;
        if self.recent.len() == RECENT {
            self.recent.remove(0);
        }
        self.recent.push(record.loss);
    }

    /// Mean loss of the last steps.
    fn loss(&self) -> f64 {
        self.recent.iter().sum::<f64>() / (self.recent.len().max(1) as f64)
    }
}

fn create(path: &Path) -> Result<File, Failure> {
    let made = OpenOptions::new().write(true).create_new(true).open(path);
    made.map_err(|error| Failure::file("write", path, &error))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let written = create(path)?.write_all(bytes);
    written.map_err(|error| Failure::file("write", path, &error))
}

fn note(digests: &mut File, record: &StepRecord) -> io::Result<()> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    digests.write_all(&line)
}
