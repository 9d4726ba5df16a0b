//! `tadpole pretrain`: make the base policy and its tokenizer.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use tadpole_scenarios::assets;
use tadpole_scenarios::schema::PretrainScenario;

use crate::arguments::Changes;
use crate::engine::{Engine, PretrainReport, PretrainRequest};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::scenario;

/// Arguments of `tadpole pretrain`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// A pre-training scenario file; without it, the one that made the shipped policy.
    #[arg(default_value = "pretrain")]
    scenario: String,
    /// Where policy, tokenizer and digests go; without it, `runs/<name>-<seed>`. It must not exist.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Stop after so many optimiser steps: enough to compare the recorded digests.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), allow_negative_numbers = true)]
    steps: Option<u64>,
    #[command(flatten)]
    changes: Changes,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
    /// Print every key of a pre-training scenario with its meaning, default and range, and do nothing.
    #[arg(long)]
    print_defaults: bool,
}

/// Runs the command.
pub(crate) fn run(options: &Options, engine: &dyn Engine, out: &mut dyn Write) -> Result<(), Failure> {
    if options.print_defaults {
        write!(out, "{}", PretrainScenario::print_defaults())?;
        return Ok(());
    }
    let source = scenario::find(&options.scenario, &[assets::PRETRAIN])?;
    let checked = PretrainScenario::parse_with(&source.text, &source.name, &options.changes.overrides())?;
    let own = Path::new(&checked.exec.out).join(format!("{}-{}", checked.name, checked.seed));
    let directory =
        scenario::absent(options.out.clone().unwrap_or(own), "choose another (--out DIR), or remove it")?;
    let progress = Progress::new(checked.exec.progress);
    let request = PretrainRequest { scenario: checked, directory: directory.clone(), steps: options.steps };
    let report = engine.pretrain(&request, &progress)?;
    drop(progress);
    if options.json {
        return super::json(out, &report);
    }
    let PretrainReport { steps, tokens, loss, weights, tokenizer, files } = &report;
    writeln!(out, "weights    {weights}\ntokenizer  {tokenizer}")?;
    writeln!(out, "{steps} steps, {tokens} tokens, final loss {loss:.4}, in {}", directory.display())?;
    for file in files {
        writeln!(out, "  {file}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::tadpole;
    use crate::engine::samples::Sample;
    use crate::failure::Kind;

    #[test]
    fn the_shipped_scenario_is_the_default() {
        let parent = tempfile::tempdir().unwrap();
        let engine = Sample::default();
        let line = "pretrain --out {}/p --steps 5 --set batch_tokens=1024 --set exec.progress=none";
        let printed = tadpole(line, parent.path(), &engine).unwrap();
        assert!(printed.contains("weights    4c4c") && printed.contains("  tokenizer.json"), "{printed}");
        assert_eq!(*engine.asked.borrow(), [format!("({:?}, Some(5), 1024)", parent.path().join("p"))]);
    }

    #[test]
    fn nothing_is_overwritten() {
        let parent = tempfile::tempdir().unwrap();
        let failure = tadpole("pretrain --out {}", parent.path(), &Sample::default()).expect_err("exists");
        assert_eq!(failure.kind(), Kind::Usage);
    }
}
