//! From text to a checked table: the way of every kind of scenario file.

use super::document::{self, Node, Override, Tree};
use super::error::{Fault, ScenarioError};
use super::table::{self, Table, Writer};

/// Reads `text` with `overrides` laid over it; `check` sees it once every key is in range. `manual` is the command that shows
/// every key.
pub(crate) fn load<T: Table>(
    text: &str,
    name: &str,
    overrides: &[Override],
    check: fn(&T, &Node, &mut Vec<Fault>),
    manual: &str,
) -> Result<T, ScenarioError> {
    let refuse = |faults| ScenarioError::new(faults, name, text, overrides);
    let mut document = document::parse(text).map_err(|fault| refuse(vec![fault]))?;
    let defaults = document::parse(&resolved(&T::defaults())).map_err(|fault| refuse(vec![fault]))?;
    let mut faults = Vec::new();
    for (index, change) in overrides.iter().enumerate() {
        faults.extend(document.apply(index, change, &defaults).err());
    }
    let table: Option<T> = table::read_table(&document, "", &mut faults);
    if let (Some(table), true) = (&table, faults.is_empty()) {
        check(table, &document, &mut faults);
    }
    match table {
        Some(table) if faults.is_empty() => Ok(table),
        _ => {
            for fault in &mut faults {
                point_home(fault, &defaults, manual);
            }
            Err(refuse(faults))
        }
    }
}

/// Every key of a table, always in the same order.
pub(crate) fn resolved<T: Table>(table: &T) -> String {
    let mut out = Writer::new(false);
    table.write_fields(&mut out);
    out.finish()
}

/// The same but for some keys and tables.
pub(crate) fn resolved_without<T: Table>(table: &T, left_out: &'static [&'static str]) -> String {
    let mut out = Writer::without(left_out);
    table.write_fields(&mut out);
    out.finish()
}

/// Every key with its meaning, default and range.
pub(crate) fn documented<T: Table>() -> String {
    let mut out = Writer::new(true);
    T::defaults().write_fields(&mut out);
    out.finish()
}

/// Tells an unknown key that exists in another table where it belongs.
fn point_home(fault: &mut Fault, defaults: &Node, manual: &str) {
    if fault.reason != table::UNKNOWN || !fault.help.is_empty() {
        return;
    }
    let last = fault.key.rsplit('.').next().unwrap_or(&fault.key);
    fault.help = match home(defaults, "", last) {
        Some(path) => format!("`{last}` belongs to [{path}]"),
        None => format!("`{manual}` shows every key"),
    };
}

/// The first table that has `key`.
fn home(node: &Node, path: &str, key: &str) -> Option<String> {
    let Tree::Table(fields) = &node.value else { return None };
    if fields.contains_key(key) && !path.is_empty() {
        return Some(path.to_owned());
    }
    fields.iter().find_map(|(name, field)| home(&field.node, &table::join(path, name), key))
}
