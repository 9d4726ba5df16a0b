//! Drills: every function of a module is faulty, and mended in turn, so that most of a history is edits.

use tadpole_scenarios::draws::Draws;
use tadpole_scenarios::world::{Blueprint, Mutant, Split, mutants, preference};

use super::edit::{Edit, edits};
use super::episode::Playing;
use super::mistake::{Mistakes, mistyped};
use super::{DemonstrationError, Demonstrator, Noise, Script};

/// Fewest and most functions of a drill.
const FUNCTIONS: (i64, i64) = (2, 4);
/// How often the module is shown with line numbers.
const NUMBERED: f64 = 0.2;
/// How a drill is asked for.
const STATEMENTS: [&str; 3] =
    ["Every function of FILE has a bug.", "Please mend all of FILE.", "FILE is full of bugs."];

/// Plays a drill. `None` where the episode ends before it is done.
pub(super) fn play(
    demonstrator: &Demonstrator,
    noise: &Noise,
    draws: &mut dyn Draws,
) -> Result<Option<Script>, DemonstrationError> {
    let functions = draws.between(FUNCTIONS.0, FUNCTIONS.1) as u32;
    let (seed, split) = (draws.next_u64(), Split::Train);
    let blueprint = Blueprint {
        seed,
        split,
        stratum: String::new(),
        level: 0,
        functions,
        modules: 1,
        bugs: 1,
        kept: Vec::new(),
    };
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
    let statement = STATEMENTS[draws.index(STATEMENTS.len())].replace("FILE", &path);
    let mut mistakes = Mistakes::draw(noise, draws);
    let mut playing = Playing::open(demonstrator, &statement, &tree);
    if draws.chance(NUMBERED) {
        playing.read(&path)?;
    } else {
        playing.bash(&format!("cat {path}"))?;
    }
    let gold = project.tree.text(&path).unwrap_or_default();
    let planned = edits(playing.source(&path), gold);
    let mistaken = draws.index(planned.len());
    for place in 0..planned.len() {
        // An edit may make another one's text ambiguous, so each is planned when its turn comes.
        let Some(edit) = edits(playing.source(&path), gold).into_iter().next() else { break };
        if place == mistaken && std::mem::take(&mut mistakes.typo) {
            playing.edit(&path, &Edit { old: mistyped(&edit.old, draws), ..edit.clone() })?;
        }
        if !playing.edit(&path, &edit)? {
            return Ok(None);
        }
    }
    playing.answer("Done.", &project.tree)
}
