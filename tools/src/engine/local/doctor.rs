//! What `doctor` cannot see for itself.

use tadpole_gpu::cuda::{self, Found};
use tadpole_gpu::vector::{Isa, environment_is_exact};
use tadpole_gpu::weights::Weights;
use tadpole_kernel::id::Digest;
use tadpole_scenarios::assets;
use tadpole_scenarios::repository::Tree;
use tadpole_systems::sandbox::{Limits, Sandbox, SandboxPool};
use tadpole_systems::tokenizer::Tokenizer;

use super::execution::worker_command;
use super::failures::reasons;
use crate::engine::{Finding, State};

/// Looks at instruction sets, arithmetic, the sandbox worker, the shipped policy and devices.
pub(super) fn doctor() -> Vec<Finding> {
    vec![instruction_set(), environment(), worker(), policy(), tokenizer(), device()]
}

fn instruction_set() -> Finding {
    let found: Vec<&str> = Isa::available().into_iter().map(Isa::name).collect();
    let found = format!("{} with {}", std::env::consts::ARCH, found.join(", "));
    let (state, detail, help) = match Isa::choose() {
        Ok(Isa::SCALAR) => {
            (State::Note, format!("scalar of {found}"), "other sets give the same bits, many times faster")
        }
        Ok(chosen) => (State::Good, format!("{} of {found}", chosen.name()), ""),
        Err(error) => {
            (State::Bad, format!("{error}: {found}"), "set TADPOLE_ISA to a set that there is, or unset it")
        }
    };
    Finding::new("instructions", state, detail, help)
}

fn environment() -> Finding {
    let help = "something set the processor to flush or to round otherwise; results would not be exact";
    if environment_is_exact() {
        Finding::new("rounding", State::Good, "to nearest, subnormals kept", "")
    } else {
        Finding::new("rounding", State::Bad, "not as IEEE 754 has it", help)
    }
}

/// Starts a worker and has it run a program.
fn worker() -> Finding {
    let bad = |detail: String| {
        Finding::new(
            "sandbox worker",
            State::Bad,
            detail,
            "runs start this program again as `tadpole worker`; allow that",
        )
    };
    let command = match worker_command() {
        Ok(command) => command,
        Err(failure) => return bad(failure.to_string()),
    };
    let pool = SandboxPool::workers(command, 1);
    match pool.bash(&Tree::new(), "python -c 'print(6 * 7)'", &Limits::default()) {
        Ok(outcome) if outcome.stdout == b"42\n" => {
            Finding::new("sandbox worker", State::Good, "starts and runs bash and Python", "")
        }
        Ok(outcome) => bad(format!(
            "answers {:?}, {:?}",
            String::from_utf8_lossy(&outcome.stdout),
            String::from_utf8_lossy(&outcome.stderr)
        )),
        Err(error) => bad(reasons(&error)),
    }
}

const REBUILD: &str = "this build is broken: build it again";

fn policy() -> Finding {
    match Weights::from_safetensors(assets::WEIGHTS, None) {
        Ok(weights) => {
            let parameters = weights.values().len();
            let digest = Digest(weights.digest());
            Finding::new("base policy", State::Good, format!("{parameters} parameters, {digest}"), "")
        }
        Err(error) => Finding::new("base policy", State::Bad, reasons(&error), REBUILD),
    }
}

fn tokenizer() -> Finding {
    match Tokenizer::load(assets::TOKENIZER) {
        Ok(tokenizer) => {
            let detail = format!("{} tokens, {}", tokenizer.vocab_size(), tokenizer.digest());
            Finding::new("tokenizer", State::Good, detail, "")
        }
        Err(error) => Finding::new("tokenizer", State::Bad, reasons(&error), REBUILD),
    }
}

/// The device that `--device cuda` would use, or why there is none.
fn device() -> Finding {
    match cuda::probe() {
        Ok(Found { name, capability, driver, memory_bytes, devices }) => {
            let memory = memory_bytes as f64 / 1_073_741_824.0;
            let more = if devices > 1 { format!(", the first of {devices} devices") } else { String::new() };
            let detail =
                format!("{name}, capability {capability}, {memory:.1} GiB, driver for CUDA {driver}{more}");
            Finding::new("CUDA", State::Good, detail, "")
        }
        Err(unusable) => Finding::new("CUDA", State::Note, unusable.to_string(), unusable.advice()),
    }
}
