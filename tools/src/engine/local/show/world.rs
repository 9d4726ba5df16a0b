//! The world after a step: what it holds, the newest first.

use serde_json::json;
use tadpole_kernel::id::Step;
use tadpole_kernel::world::World;

use crate::engine::local::world::sheet;
use crate::engine::{Kind, Shown};
use crate::table::{Align, layout};
use crate::text::indented;

/// Rows of each kind that the text shows; JSON has everything.
const ROWS: usize = 20;

pub(super) fn shown(step: Step, world: &World) -> Shown {
    let sheets = Kind::ALL.map(|kind| (kind, sheet(world, kind, 0..ROWS)));
    let mut parts = vec![format!("the world after step {step}: {}\n", sheets[0].1.stands)];
    for (kind, sheet) in sheets {
        let all = sheet.count(kind);
        let columns: Vec<(&str, Align)> =
            sheet.columns.iter().map(|heading| (*heading, Align::Left)).collect();
        let rows: Vec<Vec<String>> = sheet.rows.into_iter().map(|row| row.cells).collect();
        let more =
            if rows.len() < all { format!(", the last {} of them", rows.len()) } else { String::new() };
        parts.push(format!("{} {}{more}\n{}", all, kind.name(), indented(&layout(&columns, &rows))));
    }
    Shown { text: parts.join("\n"), json: json!({ "step": step, "components": world.to_json() }) }
}
