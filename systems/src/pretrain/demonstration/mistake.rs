//! Mistakes that an expert makes on purpose.

use tadpole_scenarios::draws::Draws;
use tadpole_scenarios::world::PythonSource;

use super::edit::{Edit, edits, function_around};
use super::{DemonstrationError, Noise};

/// The mistakes of an episode; each is made once, at the first occasion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "four mistakes, each made or not")]
pub(super) struct Mistakes {
    pub(super) wrong_edit: bool,
    pub(super) typo: bool,
    pub(super) bad_path: bool,
    pub(super) no_change: bool,
}

impl Mistakes {
    /// Draws which ones are made.
    pub(super) fn draw(noise: &Noise, draws: &mut dyn Draws) -> Self {
        let &Noise { wrong_edit, hasty: _, typo, bad_path, no_change } = noise;
        let mut made = |chance| draws.chance(chance);
        Self {
            wrong_edit: made(wrong_edit),
            typo: made(typo),
            bad_path: made(bad_path),
            no_change: made(no_change),
        }
    }
}

/// A wrong idea about the function around `line`: a mutation of it, of the faulty line itself half of the time.
pub(super) fn wrong_edit(
    source: &str,
    edit: &Edit,
    draws: &mut dyn Draws,
) -> Result<Option<Edit>, DemonstrationError> {
    let faulty = edit.line_last();
    let Some(name) = function_around(source, faulty) else { return Ok(None) };
    // Between two edits a source need not parse; then there is no idea to have.
    let Ok(mutants) = PythonSource::parse(source).and_then(|parsed| parsed.mutants(name)) else {
        return Ok(None);
    };
    let here = draws.chance(0.5);
    let ideas: Vec<Edit> = mutants
        .iter()
        .filter(|mutant| (mutant.line as usize == faulty + 1) == here)
        .filter_map(|mutant| {
            let idea = edits(source, &mutant.source);
            let [idea] = idea.as_slice() else { return None };
            // The right fix is no mistake, and one that leaves nothing cannot be taken back by an edit.
            let usable = idea.new != edit.new && !idea.new.is_empty() && !idea.old.contains('\n');
            let usable = usable && mutant.source.matches(&idea.new).count() == 1;
            usable.then(|| idea.clone())
        })
        .collect();
    let place = draws.index(ideas.len());
    Ok(ideas.into_iter().nth(place))
}

/// `text` with one letter wrong: swapped with its neighbour, or left out.
pub(super) fn mistyped(text: &str, draws: &mut dyn Draws) -> String {
    let letters: Vec<usize> =
        text.char_indices().filter(|(_, c)| c.is_ascii_alphanumeric()).map(|(at, _)| at).collect();
    let Some(&at) = letters.get(draws.index(letters.len())) else { return format!("{text} ") };
    let mut bytes = text.as_bytes().to_vec();
    let next = bytes.get(at + 1).copied().filter(u8::is_ascii_alphanumeric);
    match next {
        Some(next) if next != bytes[at] && draws.chance(0.5) => bytes.swap(at, at + 1),
        _ => {
            bytes.remove(at);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A path like `path` that does not exist.
pub(super) fn bad_path(path: &str, draws: &mut dyn Draws) -> String {
    match draws.index(3) {
        0 => format!("src/{path}"),
        1 => format!("{}s.py", path.trim_end_matches(".py")),
        _ => mistyped(path, draws),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tadpole_scenarios::draws::SeedDraws;

    #[test]
    fn a_typo_differs_and_a_bad_path_is_another_path() {
        let mut draws = SeedDraws::new(1, "mistakes");
        for _ in 0..200 {
            assert_ne!(mistyped("return total", &mut draws), "return total");
            assert_ne!(bad_path("shop.py", &mut draws), "shop.py");
        }
    }

    #[test]
    fn a_wrong_idea_is_an_edit_of_the_function_that_is_not_the_fix() {
        let source = "def low(n):\n    if n < 3:\n        return n + 1\n    return n\n";
        let fix = Edit { old: "if n < 3:".into(), new: "if n <= 3:".into(), line: 1 };
        let mut draws = SeedDraws::new(2, "mistakes");
        let mut found = 0;
        for _ in 0..50 {
            if let Some(idea) = wrong_edit(source, &fix, &mut draws).unwrap() {
                assert_eq!(source.matches(&idea.old).count(), 1);
                assert_ne!(idea.new, fix.new);
                found += 1;
            }
        }
        assert!(found > 25, "{found}");
    }
}
