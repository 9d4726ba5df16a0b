//! Trainable tokens, one a line.

use tadpole_systems::update::InspectedToken;

use crate::table::{Align, layout};

/// Said of an update whose starting weights are gone.
pub(super) const FORGOTTEN: &str =
    "           were dropped when the iteration ended, so p, ratio and the fate of a token are not known;
           a run with log.keep = \"all\" keeps them";

/// Position, probabilities, advantage and fate of each.
pub(super) fn table(tokens: &[&InspectedToken], advantage: Option<f32>) -> String {
    let columns = [
        ("position", Align::Right),
        ("token", Align::Left),
        ("q", Align::Right),
        ("p", Align::Right),
        ("ratio", Align::Right),
        ("A", Align::Right),
        ("fate", Align::Left),
    ];
    let known = |value: Option<f32>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.5}"));
    let rows: Vec<Vec<String>> = tokens
        .iter()
        .map(|token| {
            vec![
                token.position.to_string(),
                format!("{:?}", token.text),
                known(Some(token.q)),
                known(token.p),
                known(token.ratio),
                advantage.map_or_else(|| "-".to_owned(), |advantage| format!("{advantage:+.4}")),
                fate(token),
            ]
        })
        .collect();
    layout(&columns, &rows)
}

/// Kept, or dropped and why; a dash where that is not known.
pub(in crate::engine::local) fn fate(token: &InspectedToken) -> String {
    match (&token.dropped, token.kept) {
        (Some(reason), _) => format!("dropped: {reason}"),
        (None, Some(true)) => "kept".to_owned(),
        (None, Some(false)) => "dropped".to_owned(),
        (None, None) => "-".to_owned(),
    }
}
