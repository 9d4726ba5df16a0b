//! The shipped base policy is what `tadpole pretrain` makes: its first steps give the recorded digests.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

use std::sync::Arc;

use serde_json::Value;
use tadpole_gpu::backend::{Backend, CpuBackend};
use tadpole_gpu::weights::Weights;
use tadpole_kernel::id::Digest;
use tadpole_scenarios::assets;
use tadpole_scenarios::schema::PretrainScenario;
use tadpole_systems::pretrain::{self, Pretraining};
use tadpole_systems::sandbox::SandboxPool;
use tadpole_tests::scratch::workspace;

/// Steps that are taken again.
const STEPS: usize = 3;

/// The records that pre-training left, in order of their steps.
fn recorded() -> Vec<Value> {
    let path = workspace().join("scenarios/policy/digests.jsonl");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_tokenizer_and_the_first_steps_are_the_recorded_ones() {
    let scenario = Arc::new(PretrainScenario::parse(assets::PRETRAIN.text, "pretrain").unwrap());
    let sandbox = Arc::new(SandboxPool::in_process(2));
    let backend: Arc<dyn Backend> = Arc::new(CpuBackend::new(2).unwrap());
    let corpus = pretrain::corpus(&scenario, sandbox, 2);
    let mut pretraining = Pretraining::start(&scenario, &backend, corpus).unwrap();
    let recorded = recorded();
    for expected in recorded.iter().take(STEPS) {
        let record = pretraining.step().unwrap().expect("a step");
        assert_eq!(serde_json::to_value(&record).unwrap(), *expected);
        assert!(record.weights.is_some(), "the first steps are recorded with their digests");
    }
    assert!(
        pretraining.finish().unwrap().tokenizer == assets::TOKENIZER,
        "the shipped tokenizer is another one"
    );
}

#[test]
fn the_shipped_weights_are_those_of_the_last_step() {
    let recorded = recorded();
    let last = recorded.last().expect("a record");
    assert_eq!(last["step"].as_u64().map(|step| step + 1), last["steps"].as_u64());
    let shipped = Weights::from_safetensors(assets::WEIGHTS, None).unwrap();
    assert_eq!(last["weights"], Digest(shipped.digest()).to_string());
}
