//! Puts a run together from its scenario: the table of systems, with what they decide with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tadpole_gpu::shape::ModelShape;
use tadpole_gpu::weights::{Initial, Weights, WeightsError};
use tadpole_gpu::{ARITHMETIC_VERSION, ArithmeticError};
use tadpole_kernel::decide::{Keep, Systems};
use tadpole_kernel::draws::{Stream, StreamKey};
use tadpole_kernel::id::Digest;
use tadpole_kernel::run::RunHeader;
use tadpole_scenarios::assets;
use tadpole_scenarios::schema::{self, GeneratorKind, PolicySource, Scenario, Shape};

use crate::backend::backend;
use crate::capability::{Judge, Recipe, Shelf};
use crate::codec::{Codec, Hermes};
use crate::curriculum::{calibrate, close, generate, judge, validate};
use crate::evaluation::evaluate;
use crate::generator::{Generator, Mutation, Process, Synthesis};
use crate::harness::leaf::{Leaf, LeafConfig, Style, TOOLS};
use crate::meter::Meter;
use crate::open::{Base, open};
use crate::phase::{self, name};
use crate::rollout::{Ahead, Players};
use crate::sandbox::{Limits, SandboxPool, WorkerCommand};
use crate::tokenizer::{Tokenizer, TokenizerError};
use crate::turn::{finish_iteration, turn};
use crate::update::{Learner, publish, roll_out, update};

/// Why a scenario cannot be run here.
#[derive(Debug, thiserror::Error)]
pub enum AssemblyError {
    /// A file of the base policy cannot be read.
    #[error("policy.path: cannot read {path}: {error}")]
    PolicyFile {
        /// The file.
        path: PathBuf,
        /// What failed.
        #[source]
        error: std::io::Error,
    },
    /// The weights of the base policy are refused.
    #[error("the base policy is refused: {0}")]
    Weights(#[from] WeightsError),
    /// Its tokenizer is refused.
    #[error("the tokenizer is refused: {0}")]
    Tokenizer(#[from] TokenizerError),
    /// Policy and tokenizer do not fit.
    #[error("the tokenizer has {tokens} tokens, the policy a vocabulary of {vocab}")]
    Vocabulary {
        /// Of the tokenizer.
        tokens: u32,
        /// Of the policy.
        vocab: u32,
    },
    /// The tokenizer lacks the codec's end of turn.
    #[error("the tokenizer has no token {0:?}, which ends a turn")]
    EndOfTurn(&'static str),
    /// The policy's context is shorter than the harness's.
    #[error("harness.context = {wanted} exceeds the policy's context of {context}")]
    Context {
        /// The scenario's.
        wanted: u32,
        /// The policy's.
        context: u32,
    },
    /// A process is to make tasks, and none is named.
    #[error("generator.kind = \"process\" needs generator.command: a program and its arguments")]
    NoCommand,
    /// The arithmetic cannot run here.
    #[error(transparent)]
    Arithmetic(#[from] ArithmeticError),
}

/// How a run is executed here. Nothing of it changes a bit of the run.
#[derive(Clone, Debug)]
pub struct Execution {
    /// Threads, at least 1.
    pub threads: usize,
    /// Starts sandbox workers; `None` evaluates in this process, where a program that aborts ends everything.
    pub workers: Option<WorkerCommand>,
    /// Sandbox workers, at least 1.
    pub worker_count: usize,
    /// Directory that `policy.path` is relative to.
    pub base: PathBuf,
}

/// A scenario ready to run.
pub struct Assembly {
    /// The systems with their capabilities.
    pub systems: Systems,
    /// What identifies the run.
    pub header: RunHeader,
    /// Digest of the weights that it starts from.
    pub base: Digest,
    /// Where the arithmetic runs, for people.
    pub backend: String,
    /// The tokenizer, for showing trajectories.
    pub tokenizer: Arc<Tokenizer>,
    /// What the systems play with and judge by, for measuring outside of the log.
    pub players: Players,
    /// Policies by the digest of their weights.
    pub shelf: Shelf,
    /// Who runs tests.
    pub judge: Judge,
    /// Live counts, for display.
    pub meter: Meter,
}

/// Puts a run together.
///
/// # Errors
/// Where the base policy is missing or does not fit, or the arithmetic cannot run here.
pub fn assemble(scenario: &Scenario, execution: &Execution) -> Result<Assembly, AssemblyError> {
    let scenario = Arc::new(scenario.clone());
    let backend = backend(&scenario.exec, execution.threads)?;
    let weights = base_weights(&scenario, &execution.base)?;
    let tokenizer = Arc::new(tokenizer(&scenario, &execution.base)?);
    let codec = Hermes::new(TOOLS);
    let end_of_turn = check(&scenario, &weights, &tokenizer, &codec)?;
    let base = Digest::of(&weights.canonical_bytes());
    let recipe = Recipe::new(Arc::clone(&scenario), execution.threads);
    let meter = Meter::default();
    let judge_means = judge_of(&scenario, execution, &meter);
    let leaf =
        Arc::new(Leaf::new(leaf_config(&scenario.harness, limits(&scenario.sandbox)), Arc::new(codec)));
    let shelf = Shelf::new(Arc::clone(&backend));
    let tokens = (Arc::clone(&tokenizer), end_of_turn);
    let players =
        Players::new(recipe.clone(), judge_means.clone(), leaf, tokens, shelf.clone()).metered(&meter);
    let generator = generator(&scenario, &execution.base)?;

    let picked = Arc::clone(&scenario);
    let mut systems = Systems::new(move |world| phase::next(world, &picked));
    systems
        .keep(match scenario.log.keep {
            schema::Keep::Iterations => Keep::Iterations,
            schema::Keep::All => Keep::All,
        })
        .provide(recipe)
        .provide(judge_means.clone())
        .provide(players.clone())
        .provide(Learner::new(Arc::clone(&backend)))
        .provide(Ahead::default())
        .provide(Synthesis::new(generator))
        .provide(Base(Arc::new(weights)));
    register(&mut systems);
    let (header, backend) = (header(&scenario), backend.describe());
    Ok(Assembly { systems, header, base, backend, tokenizer, players, shelf, judge: judge_means, meter })
}

fn generator(scenario: &Scenario, base: &Path) -> Result<Arc<dyn Generator>, AssemblyError> {
    match scenario.generator.kind {
        GeneratorKind::Mutation => {
            Ok(Arc::new(Mutation::new(scenario.world.clone(), scenario.generator.attempts)))
        }
        GeneratorKind::Process => {
            let process = Process::new(&scenario.generator.command, base).ok_or(AssemblyError::NoCommand)?;
            Ok(Arc::new(process))
        }
    }
}

fn register(systems: &mut Systems) {
    systems
        .add(name::OPEN, open)
        .add(name::EVALUATE, evaluate)
        .add(name::FINISH_ITERATION, finish_iteration)
        .add(name::TURN, turn)
        .add(name::GENERATE, generate)
        .add(name::VALIDATE, validate)
        .add(name::CALIBRATE, calibrate)
        .add(name::JUDGE, judge)
        .add(name::CLOSE, close)
        .add(name::ROLL_OUT, roll_out)
        .add(name::UPDATE, update)
        .add(name::PUBLISH, publish);
}

/// What identifies a run of `scenario`.
#[must_use]
pub fn header(scenario: &Scenario) -> RunHeader {
    RunHeader {
        scenario: Digest::of(&scenario.semantic_bytes()),
        arithmetic: ARITHMETIC_VERSION,
        seed: scenario.seed,
        iterations: scenario.iterations,
    }
}

/// Room for answers of the sandbox that were given before: those of some thousand trajectories.
const REMEMBERED_BYTES: u64 = 64 << 20;

fn judge_of(scenario: &Scenario, execution: &Execution, meter: &Meter) -> Judge {
    let sandbox = match &execution.workers {
        Some(command) => SandboxPool::workers(command.clone(), execution.worker_count),
        None => SandboxPool::in_process(execution.worker_count),
    };
    let sandbox = sandbox.metered(meter).remembering(REMEMBERED_BYTES);
    Judge { sandbox: Arc::new(sandbox), limits: limits(&scenario.sandbox) }
}

/// What one request to a scenario's sandbox may use.
#[must_use]
pub fn limits(sandbox: &schema::Sandbox) -> Limits {
    Limits {
        fuel: sandbox.fuel,
        commands: sandbox.commands,
        memory_bytes: sandbox.memory_bytes,
        output_bytes: sandbox.output_bytes,
        files: sandbox.files,
        disk_bytes: sandbox.disk_bytes,
        wall_ms: sandbox.watchdog_ms,
    }
}

/// The harness of a scenario.
#[must_use]
pub fn leaf_config(harness: &schema::Harness, limits: Limits) -> LeafConfig {
    LeafConfig {
        style: match harness.style {
            schema::Style::Terse => Style::Terse,
            schema::Style::Full => Style::Full,
        },
        max_turns: harness.max_turns,
        max_calls: harness.max_calls,
        read_chars: harness.read_characters as usize,
        bash_chars: harness.bash_characters as usize,
        glob_files: harness.glob_paths as usize,
        limits,
    }
}

/// A file of the base policy, where the scenario names a directory of them.
fn policy_file(scenario: &Scenario, base: &Path, name: &str) -> Result<Vec<u8>, AssemblyError> {
    let path = base.join(&scenario.policy.path).join(name);
    std::fs::read(&path).map_err(|error| AssemblyError::PolicyFile { path, error })
}

/// The tokenizer of a scenario; `policy.path` is relative to `base`.
///
/// # Errors
/// Where it is missing or refused.
pub fn tokenizer(scenario: &Scenario, base: &Path) -> Result<Tokenizer, AssemblyError> {
    Ok(match scenario.policy.source {
        PolicySource::Embedded | PolicySource::Random => Tokenizer::load(assets::TOKENIZER)?,
        PolicySource::File => Tokenizer::load(&policy_file(scenario, base, "tokenizer.json")?)?,
    })
}

/// Weights of the base policy.
fn base_weights(scenario: &Scenario, base: &Path) -> Result<Weights, AssemblyError> {
    Ok(match scenario.policy.source {
        PolicySource::Embedded => Weights::from_safetensors(assets::WEIGHTS, None)?,
        PolicySource::Random => random(&scenario.policy.shape, scenario.seed)?,
        PolicySource::File => {
            Weights::from_safetensors(&policy_file(scenario, base, "model.safetensors")?, None)?
        }
    })
}

/// Fresh weights of `shape`.
fn random(shape: &Shape, seed: u64) -> Result<Weights, WeightsError> {
    let mut stream = Stream::new(seed, &StreamKey::new("random policy"));
    Weights::init(&model_shape(shape), Initial { qk_gain: shape.qk_gain, ..Initial::default() }, &mut || {
        stream.next_u64()
    })
}

/// A scenario's shape as the arithmetic knows it.
#[must_use]
pub fn model_shape(shape: &Shape) -> ModelShape {
    ModelShape {
        vocab: shape.vocab,
        width: shape.width,
        layers: shape.layers,
        heads: shape.heads,
        kv_heads: shape.kv_heads,
        head_dim: shape.head_dim,
        hidden: shape.hidden,
        context: shape.context,
        ngram: shape.ngram,
        rope_base: shape.rope_base,
        norm_eps: shape.norm_eps,
    }
}

/// Whether the parts fit; the token that ends a turn.
fn check(
    scenario: &Scenario,
    weights: &Weights,
    tokenizer: &Tokenizer,
    codec: &dyn Codec,
) -> Result<u32, AssemblyError> {
    let &ModelShape { vocab, context, .. } = weights.shape();
    let tokens = tokenizer.vocab_size();
    if tokens > vocab {
        return Err(AssemblyError::Vocabulary { tokens, vocab });
    }
    let wanted = scenario.harness.context;
    if wanted > context {
        return Err(AssemblyError::Context { wanted, context });
    }
    let name = codec.end_of_turn();
    tokenizer.special(name).ok_or(AssemblyError::EndOfTurn(name))
}
