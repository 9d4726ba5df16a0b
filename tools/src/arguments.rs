//! The arguments, as people type them.

use clap::{Args, Parser, Subcommand};
use tadpole_scenarios::schema::Override;

use crate::command::{
    check, diff, doctor, eval, fork, gc, pretrain, replay, resume, run, salvage, shadow, show, step, verify,
};

/// Self-play that can be replayed, verified and compared bit for bit.
///
/// Exit codes: 0 done, 1 the run or check failed, 2 usage.
#[derive(Debug, Parser)]
#[command(
    name = "tadpole",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a run of a scenario.
    Run(run::Options),
    /// Go on with a run that was interrupted; its log becomes what it would have been.
    Resume(resume::Options),
    /// Rebuild the world from a run's log, to any step.
    Replay(replay::Options),
    /// Decide everything in a run again and compare it with the log.
    Verify(verify::Options),
    /// Compare two runs: where they part, and in what.
    Diff(diff::Options),
    /// Go on from a step of a run as another run, under a changed scenario; the parent is only read.
    Fork(fork::Options),
    /// Check that nothing in a run's directory is damaged or missing; executes nothing.
    Check(check::Options),
    /// Save what is sound of a damaged run, as a new run.
    Salvage(salvage::Options),
    /// Remove the blobs that a run does not need.
    Gc(gc::Options),
    /// Show a run, or one thing in it.
    Show(show::Options),
    /// Decide a run's recorded calibrations again under other admission rules, with no rollout.
    Shadow(shadow::Options),
    /// Step through a run on the terminal; `show` prints the same without one.
    Step(step::Options),
    /// Measure a policy of a run on a held-out set; writes nothing.
    Eval(eval::Options),
    /// Make the base policy and its tokenizer.
    Pretrain(pretrain::Options),
    /// Check that this machine can run Tadpole, and how fast.
    Doctor(doctor::Options),
    /// Serve sandbox requests on standard input and output.
    #[command(hide = true)]
    Worker,
}

/// A step, sequence, identity or seed.
pub(crate) fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("it is not a whole number from 0 to {}", u64::MAX))
}

/// Changes to a scenario file.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Changes {
    /// Set a key of the scenario, e.g. curriculum.batch=64; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<Override>,
    /// The run seed.
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) speed: Speed,
}

/// What makes a command faster or slower, and never changes a result.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Speed {
    /// Threads; 0 for one a core. Results do not depend on it.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) threads: Option<u32>,
    /// Where the arithmetic runs; auto takes a CUDA device where one can be used. Results do not depend on it.
    #[arg(long, value_name = "DEVICE", value_parser = ["auto", "cpu", "cuda"])]
    pub(crate) device: Option<String>,
}

impl Speed {
    /// The arguments as overrides of scenario keys.
    pub(crate) fn overrides(&self) -> Vec<Override> {
        let threads = self.threads.map(|threads| Override::new("exec.threads", threads.to_string()));
        let device = self.device.as_ref().map(|device| Override::new("exec.device", device.clone()));
        threads.into_iter().chain(device).collect()
    }
}

impl Changes {
    /// The changes as overrides of scenario keys, the later ones winning.
    pub(crate) fn overrides(&self) -> Vec<Override> {
        let mut overrides = self.set.clone();
        overrides.extend(self.seed.map(|seed| Override::new("seed", seed.to_string())));
        overrides.extend(self.speed.overrides());
        overrides
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(line: &str) -> Result<Command, String> {
        let words = std::iter::once("tadpole").chain(line.split_whitespace());
        Arguments::try_parse_from(words).map(|arguments| arguments.command).map_err(|error| error.to_string())
    }

    #[test]
    fn the_declaration_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_of_the_manual_is_understood() {
        for line in [
            "run frognano",
            "run scenarios/frognano.toml --threads 2 --out /tmp/run --json --seed 7 --set curriculum.batch=64",
            "run --print-defaults",
            "resume runs/frognano-1 --threads 4",
            "run nano --device cuda",
            "verify runs/frognano-1 --device auto",
            "replay runs/frognano-1 --to 12 --json",
            "verify runs/frognano-1 --sample 0.1 --skip-updates",
            "diff runs/frognano-1 runs/frognano-2 --json",
            "fork runs/frognano-1 --at 57 --set curriculum.admission=p>0 --out runs/other --run --threads 2",
            "replay runs/frognano-1 --keyframes",
            "check runs/frognano-1 --json",
            "salvage runs/frognano-1 --out runs/saved --json",
            "gc runs/frognano-1 --dry-run --json",
            "show runs/frognano-1",
            "show runs/frognano-1 --json",
            "show runs/frognano-1 step 3",
            "show runs/frognano-1 event 12",
            "show runs/frognano-1 task 12 --json",
            "show runs/frognano-1 world",
            "show runs/frognano-1 world 12 --json",
            "show runs/frognano-1 policy 25",
            "show runs/frognano-1 trajectory 99 --tokens",
            "step runs/frognano-1",
            "show runs/frognano-1 update 1 3 --tokens",
            "show runs/frognano-1 curriculum",
            "show runs/frognano-1 evaluations",
            "shadow runs/frognano-1 --admission 3/8..5/8 --admission p=0.5 --json",
            "eval runs/frognano-1 --iteration 0 --tasks 100 --samples 8 --greedy",
            "eval runs/frognano-1 --set final --samples 32 --temperature 1",
            "eval runs/frognano-1 --admitted --iteration 2 --refined",
            "pretrain scenarios/pretrain.toml --out out",
            "pretrain --print-defaults",
            "doctor --json",
            "worker",
        ] {
            parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        for (line, part) in [
            ("run", "SCENARIO"),
            ("runn frognano", "run"),
            ("run a --set batch", "key=value"),
            ("run a --threads many", "many"),
            ("verify r --sample 2", "2"),
            ("verify r --sample 0", "0"),
            ("replay r --to -1", "-1"),
            ("fork r --out s", "--at"),
            ("fork r --at 1", "--out"),
            ("diff r", "RIGHT"),
            ("show r update 1", "UPDATE"),
            ("shadow r", "--admission"),
            ("shadow r --admission half", "half"),
            ("eval r --set a --tasks 3", "--tasks"),
            ("salvage r", "--out"),
            ("eval r --refined", "--admitted"),
            ("eval r --temperature nan", "nan"),
            ("run a --device tpu", "tpu"),
            ("verify r --sample -1", "not a share above 0"),
            ("eval r --samples -1", "1..=1024"),
            ("show r step -1", "'-1' for '<STEP>': it is not a whole number from 0"),
            ("run a --seed -1", "'-1' for '--seed <N>'"),
            ("fork r --at -1 --out s", "'-1' for '--at <STEP>'"),
        ] {
            let error = parse(line).expect_err(line);
            assert!(error.contains(part), "{line}: {error}");
        }
    }

    #[test]
    fn the_flags_for_seed_threads_and_device_win_over_set() {
        let line = "run a --set seed=3 --seed 4 --threads 2 --device cuda";
        let Command::Run(options) = parse(line).unwrap() else { panic!("not a run") };
        let keys: Vec<String> = options
            .changes
            .overrides()
            .iter()
            .map(|change| format!("{}={}", change.key, change.value))
            .collect();
        assert_eq!(keys, ["seed=3", "seed=4", "exec.threads=2", "exec.device=cuda"]);
    }
}
