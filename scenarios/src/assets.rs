//! What ships inside the binary: the scenario files, the base policy and its tokenizer.

/// A scenario file inside the binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScenarioFile {
    /// The name it is run by, e.g. `frognano`.
    pub name: &'static str,
    /// What it is for, in a few words.
    pub summary: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// The scenarios of runs, the main job first.
pub const SCENARIOS: &[ScenarioFile] = &[
    ScenarioFile {
        name: "frognano",
        summary: "the main job: five calibrated iterations",
        text: include_str!("../frognano.toml"),
    },
    ScenarioFile {
        name: "reuse",
        summary: "the same, trained on its calibration trajectories: cheaper",
        text: include_str!("../reuse.toml"),
    },
    ScenarioFile { name: "smoke", summary: "a minute: does it learn?", text: include_str!("../smoke.toml") },
    ScenarioFile {
        name: "nano",
        summary: "seconds: everything happens, nothing is learnt",
        text: include_str!("../nano.toml"),
    },
];

/// The scenario of pre-training.
pub const PRETRAIN: ScenarioFile = ScenarioFile {
    name: "pretrain",
    summary: "how the shipped base policy is made",
    text: include_str!("../pretrain.toml"),
};

/// Weights of the base policy, safetensors.
pub const WEIGHTS: &[u8] = include_bytes!("../policy/model.safetensors");

/// Its tokenizer.
pub const TOKENIZER: &[u8] = include_bytes!("../policy/tokenizer.json");

/// The shipped scenario of a run by its name.
pub fn scenario(name: &str) -> Option<&'static ScenarioFile> {
    SCENARIOS.iter().find(|file| file.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{PretrainScenario, Scenario};

    #[test]
    fn every_shipped_scenario_parses_and_bears_its_file_name() {
        for file in SCENARIOS {
            let scenario = Scenario::parse(file.text, file.name).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(scenario.name, file.name);
        }
        let pretrain =
            PretrainScenario::parse(PRETRAIN.text, "pretrain.toml").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(pretrain.name, "pretrain");
    }

    #[test]
    fn the_scenario_of_a_generator_outside_parses() {
        let text = include_str!("../outside/scenario.toml");
        let scenario = Scenario::parse(text, "outside.toml").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(scenario.name, "outside");
    }

    #[test]
    fn reuse_is_measured_as_frognano_is() {
        let parse = |name| Scenario::parse(scenario(name).unwrap().text, name).unwrap();
        let (frognano, reuse) = (parse("frognano"), parse("reuse"));
        assert_eq!(frognano.evaluation, reuse.evaluation);
        assert_eq!(frognano.world, reuse.world);
    }
}
