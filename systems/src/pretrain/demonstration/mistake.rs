//! Mistakes that an expert makes on purpose.

use tadpole_scenarios::draws::Draws;
use tadpole_scenarios::world::PythonSource;

use super::DemonstrationError;
use super::edit::Edit;

/// A wrong idea about the function around `line`: a mutation of it, of the faulty line itself half of the time.
pub(super) fn wrong_edit(
    source: &str,
    edit: &Edit,
    draws: &mut dyn Draws,
) -> Result<Option<Edit>, DemonstrationError> {
    let lines: Vec<&str> = source.lines().collect();
    let faulty = edit.line + edit.old.matches('\n').count();
    let name =
        lines.iter().take(faulty + 1).rev().find_map(|line| line.strip_prefix("def ")?.split('(').next());
    let Some(name) = name else { return Ok(None) };
    let mutants = PythonSource::parse(source)?.mutants(name)?;
    let here = draws.chance(0.5);
    let ideas: Vec<Edit> = mutants
        .iter()
        .filter(|mutant| (mutant.line as usize == faulty + 1) == here)
        .filter_map(|mutant| {
            let idea = super::edit::edits(source, &mutant.source);
            let [idea] = idea.as_slice() else { return None };
            // The right fix is no mistake, and one that leaves nothing cannot be taken back by an edit.
            let usable = idea.new != edit.new && !idea.new.is_empty() && !idea.old.contains('\n');
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
