//! Drills: every function of a module is faulty, and mended in turn, so that most of a history is edits.

use tadpole_scenarios::draws::Draws;
use tadpole_scenarios::world::{Blueprint, Mutant, Split, mutants, preference};

use super::edit::Edit;
use super::edit::edits;
use super::expert::Playing;
use super::mistake::mistyped;
use super::{DemonstrationError, Demonstrator, Noise, Script};

/// Fewest and most functions of a drill.
const FUNCTIONS: (i64, i64) = (2, 4);
/// No module of a drill is read in part.
const WHOLE: usize = usize::MAX;

/// Plays a drill.
pub(super) fn play(
    demonstrator: &Demonstrator,
    noise: &Noise,
    draws: &mut dyn Draws,
) -> Result<Option<Script>, DemonstrationError> {
    let functions = draws.between(FUNCTIONS.0, FUNCTIONS.1) as u32;
    let (seed, split) = (draws.next_u64(), Split::Train);
    let blueprint =
        Blueprint { seed, split, stratum: String::new(), level: 0, functions, modules: 1, bugs: 1 };
    let project = blueprint.project(&demonstrator.spec)?;
    let mut changed: Vec<(usize, Mutant)> = Vec::new();
    for (index, function) in project.functions.iter().enumerate() {
        let all = mutants(&function.source, &function.name)?;
        let chosen = preference(&all, demonstrator.spec.wrong_variable_share, draws).into_iter().next();
        changed.extend(chosen.map(|chosen| (index, all[chosen].clone())));
    }
    let tree =
        project.with_sources(changed.iter().map(|(index, mutant)| (*index, mutant.source.as_str())))?;
    let Some(module) = project.modules.first() else { return Ok(None) };
    let path = format!("{module}.py");
    let openings =
        ["Every function of FILE has a bug.", "Mend all functions in FILE.", "FILE is full of bugs."];
    let statement = openings[draws.index(openings.len())].replace("FILE", &path);
    let mut playing = Playing::open(demonstrator, &statement, &tree);
    playing.read(&path, 0, WHOLE)?;
    for edit in edits(&playing.source(&path), project.tree.text(&path).unwrap_or_default()) {
        if draws.chance(noise.typo) {
            playing.edit(&path, &Edit { old: mistyped(&edit.old, draws), ..edit.clone() })?;
        }
        playing.edit(&path, &edit)?;
    }
    playing.answer("Done.")
}
