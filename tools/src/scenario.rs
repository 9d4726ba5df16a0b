//! Finding a scenario by path or name, and the directory of its run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tadpole_scenarios::assets;
use tadpole_scenarios::schema::Scenario;

use crate::failure::Failure;

/// A scenario's text and what to call it in messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// The file's path, or the name of a shipped scenario.
    pub(crate) name: String,
    /// The text.
    pub(crate) text: String,
    /// The directory that paths in it are relative to; none for shipped ones.
    pub(crate) directory: Option<PathBuf>,
}

/// Finds a scenario: a file, or else a shipped one by its bare name.
pub(crate) fn find(given: &str, shipped: &[assets::ScenarioFile]) -> Result<Source, Failure> {
    let path = Path::new(given);
    match fs::read_to_string(path) {
        Ok(text) => {
            let directory = path.parent().map(Path::to_path_buf);
            Ok(Source { name: given.to_owned(), text, directory })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound || path.is_dir() => {
            let bare = !given.contains(['/', '\\', '.']);
            match shipped.iter().find(|file| bare && file.name == given) {
                Some(file) => {
                    Ok(Source { name: given.to_owned(), text: file.text.to_owned(), directory: None })
                }
                None => Err(missing(given, shipped)),
            }
        }
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(Failure::usage("the scenario is not UTF-8 text").at(given).help("give a TOML file"))
        }
        Err(error) => Err(Failure::file("read the scenario", path, &error)),
    }
}

fn missing(given: &str, shipped: &[assets::ScenarioFile]) -> Failure {
    let names: Vec<String> = shipped.iter().map(|file| format!("{} ({})", file.name, file.summary)).collect();
    Failure::usage(format!("there is no scenario `{given}`"))
        .help(format!("give a file, or one of those that ship with tadpole: {}", names.join(", ")))
}

/// The directory of a new run: `out`, or `<exec.out>/<name>-<seed>`. Refused where anything exists.
pub(crate) fn new_directory(scenario: &Scenario, out: Option<&Path>) -> Result<PathBuf, Failure> {
    let directory = match out {
        Some(out) => out.to_path_buf(),
        None => Path::new(&scenario.exec.out).join(format!("{}-{}", scenario.name, scenario.seed)),
    };
    let other = "choose another (--out DIR), or remove it";
    if existing_run(&directory).is_ok() {
        let help = format!("go on with the run in it (tadpole resume {}), {other}", directory.display());
        return absent(directory, &help);
    }
    absent(directory, other)
}

/// Refuses a directory that exists.
pub(crate) fn absent(directory: PathBuf, help: &str) -> Result<PathBuf, Failure> {
    if fs::symlink_metadata(&directory).is_ok() {
        let what = "the directory exists, and nothing is ever overwritten";
        return Err(Failure::usage(what).at(directory.display()).help(help));
    }
    match directory.ancestors().skip(1).find(|above| above.exists()) {
        Some(above) if !above.is_dir() => {
            let what = format!("{} is not a directory, so nothing can be made in it", above.display());
            Err(Failure::usage(what).at(directory.display()).help("choose another directory"))
        }
        _ => Ok(directory),
    }
}

/// Checks that `directory` looks like a run before anything opens it.
pub(crate) fn existing_run(directory: &Path) -> Result<(), Failure> {
    if directory.join("scenario.toml").is_file() && directory.join("log").is_dir() {
        return Ok(());
    }
    let what = if directory.exists() { "this is not the directory of a run" } else { "there is no such run" };
    Err(Failure::usage(what)
        .at(directory.display())
        .help("give a directory that `tadpole run` made; it holds scenario.toml and log/"))
}

/// Checks that there is a directory: a run may be damaged past looking like one.
pub(crate) fn existing_directory(directory: &Path) -> Result<(), Failure> {
    if directory.is_dir() {
        return Ok(());
    }
    Err(Failure::usage("there is no such run").at(directory.display()).help("give the directory of a run"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Kind;

    #[test]
    fn a_file_wins_and_a_bare_name_finds_a_shipped_scenario() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mine.toml");
        fs::write(&path, "seed = 5\n").unwrap();
        let source = find(path.to_str().unwrap(), assets::SCENARIOS).unwrap();
        assert_eq!(source.text, "seed = 5\n");
        assert_eq!(source.directory.as_deref(), Some(directory.path()));
        let source = find("frognano", assets::SCENARIOS).unwrap();
        assert!(source.text.contains("name = \"frognano\""));
        assert_eq!(source.directory, None);
    }

    #[test]
    fn an_unknown_scenario_is_a_usage_error_that_lists_the_shipped_ones() {
        for given in ["frognanoo", "./frognano", "missing/frognano.toml"] {
            let failure = find(given, assets::SCENARIOS).expect_err(given);
            assert_eq!(failure.kind(), Kind::Usage);
            assert!(failure.to_string().contains("smoke (a minute"), "{failure}");
        }
    }

    #[test]
    fn a_run_directory_that_exists_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let scenario = Scenario::default();
        let failure = new_directory(&scenario, Some(directory.path())).expect_err("exists");
        assert_eq!(failure.kind(), Kind::Usage);
        assert!(!failure.to_string().contains("tadpole resume"), "{failure}");
        fs::write(directory.path().join("scenario.toml"), "").unwrap();
        fs::create_dir(directory.path().join("log")).unwrap();
        let failure = new_directory(&scenario, Some(directory.path())).expect_err("exists");
        assert!(failure.to_string().contains("tadpole resume"), "{failure}");
        let below = directory.path().join("scenario.toml").join("deep").join("run");
        let failure = new_directory(&scenario, Some(&below)).expect_err("below a file");
        assert_eq!(failure.kind(), Kind::Usage);
        assert!(failure.to_string().contains("scenario.toml is not a directory"), "{failure}");
        let fresh = directory.path().join("fresh");
        assert_eq!(new_directory(&scenario, Some(&fresh)).unwrap(), fresh);
    }

    #[test]
    fn a_run_is_named_after_scenario_and_seed() {
        let scenario =
            Scenario::parse("name = \"frog\"\nseed = 9\n[exec]\nout = \"surely-not-there\"\n", "a").unwrap();
        assert_eq!(new_directory(&scenario, None).unwrap(), Path::new("surely-not-there/frog-9"));
    }

    #[test]
    fn what_is_no_run_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        assert!(
            existing_run(directory.path())
                .expect_err("empty")
                .to_string()
                .contains("not the directory of a run")
        );
        assert!(
            existing_run(&directory.path().join("x"))
                .expect_err("absent")
                .to_string()
                .contains("no such run")
        );
        fs::write(directory.path().join("scenario.toml"), "").unwrap();
        fs::create_dir(directory.path().join("log")).unwrap();
        existing_run(directory.path()).unwrap();
    }
}
