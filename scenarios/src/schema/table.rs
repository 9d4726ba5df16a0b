//! Tables of keys. The `keys!` macro states each key once (type, default, range, meaning) and derives the rest: the struct, its
//! defaults, reading with every check, and writing with or without documentation.

use super::check::Check;
use super::document::{Fields, Node, Place, Tree};
use super::error::{Fault, closest};
use super::value::Value;

/// A table whose keys are declared.
pub(crate) trait Table: Sized {
    /// What it is about, line by line.
    const ABOUT: &'static [&'static str];
    /// Its keys, in order.
    const KEYS: &'static [&'static str];
    /// Every key at its default.
    fn defaults() -> Self;
    /// Reads the keys; absent ones have their defaults.
    fn read_fields(fields: &Fields, place: &Place, path: &str, faults: &mut Vec<Fault>) -> Self;
    /// Writes the keys.
    fn write_fields(&self, out: &mut Writer);
}

/// What is said about a key in documentation.
pub(crate) struct About<'a> {
    /// Lines of prose.
    pub(crate) doc: &'a [&'a str],
    /// What is allowed.
    pub(crate) range: &'a str,
}

/// The reason of a key that does not exist.
pub(crate) const UNKNOWN: &str = "unknown key";

/// Reads a table and refuses keys that it does not have.
pub(crate) fn read_table<T: Table>(node: &Node, path: &str, faults: &mut Vec<Fault>) -> Option<T> {
    let Tree::Table(fields) = &node.value else {
        let reason = format!("expected a table, found {}", node.value.kind());
        faults.push(Fault { place: node.place.clone(), key: path.to_owned(), reason, help: String::new() });
        return None;
    };
    for (key, field) in fields {
        if !T::KEYS.contains(&key.as_str()) {
            let help = match closest(key, T::KEYS.iter().copied()) {
                Some(name) => format!("did you mean `{name}`?"),
                None => String::new(),
            };
            let reason = UNKNOWN.to_owned();
            faults.push(Fault { place: field.key.clone(), key: join(path, key), reason, help });
        }
    }
    Some(T::read_fields(fields, &node.place, path, faults))
}

/// Reads one key of a table.
pub(crate) fn read_key<V: Value, C: Check<V>>(
    (fields, place): (&Fields, &Place),
    path: &str,
    (key, default): (&str, V),
    check: &C,
    faults: &mut Vec<Fault>,
) -> V {
    let path = join(path, key);
    let Some(field) = fields.get(key) else {
        if !check.allows(&default) {
            let help = format!("it has no default; write {}", check.describe());
            faults.push(Fault { place: place.clone(), key: path, reason: "missing key".into(), help });
        }
        return default;
    };
    let found = faults.len();
    let Some(value) = V::read(&field.node, &path, faults) else {
        // A value of the wrong kind is told what would have been right.
        for fault in faults.iter_mut().skip(found).filter(|fault| fault.help.is_empty() && fault.key == path)
        {
            let range = check.describe();
            fault.help = if range.is_empty() { range } else { format!("allowed: {range}") };
        }
        return default;
    };
    if check.allows(&value) {
        return value;
    }
    let shown = value.inline().unwrap_or_else(|| "the list".into());
    let reason = format!("{shown} is out of range");
    let help = format!("allowed: {}", check.describe());
    faults.push(Fault { place: field.node.place.clone(), key: path, reason, help });
    default
}

/// A dotted path.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Writes TOML: plain keys of a table before its tables, in the order of declaration.
pub(crate) struct Writer {
    path: String,
    documented: bool,
    /// Keys of this table that are not written.
    left_out: &'static [&'static str],
    leaves: String,
    tables: String,
}

impl Writer {
    pub(crate) fn new(documented: bool) -> Self {
        Self { path: String::new(), documented, left_out: &[], leaves: String::new(), tables: String::new() }
    }

    /// For all keys but these.
    pub(crate) fn without(left_out: &'static [&'static str]) -> Self {
        Self { left_out, ..Self::new(false) }
    }

    pub(crate) fn finish(self) -> String {
        self.leaves + &self.tables
    }

    /// Writes `key = value`.
    pub(crate) fn leaf(&mut self, key: &str, value: &str, about: &About<'_>) {
        if self.left_out.contains(&key) {
            return;
        }
        if self.documented {
            if !self.leaves.is_empty() {
                self.leaves.push('\n');
            }
            comment(&mut self.leaves, about.doc);
            if !about.range.is_empty() {
                comment(&mut self.leaves, &[&format!(" Allowed: {}.", about.range)]);
            }
        }
        self.leaves.extend([key, " = ", value, "\n"]);
    }

    /// Writes a table under its header.
    pub(crate) fn table<T: Table>(&mut self, key: &str, table: &T) {
        if self.left_out.contains(&key) {
            return;
        }
        let text = self.section(key, ("[", "]"), table, self.documented);
        self.tables.push_str(&text);
    }

    /// Writes a list of tables, of which every list has at least one. Documentation goes with the first.
    pub(crate) fn list<T: Table>(&mut self, key: &str, list: &[T], about: &About<'_>) {
        if self.documented {
            self.tables.push('\n');
            comment(&mut self.tables, about.doc);
            if !about.range.is_empty() {
                comment(&mut self.tables, &[&format!(" Allowed: {}.", about.range)]);
            }
        }
        for (index, item) in list.iter().enumerate() {
            let text = self.section(key, ("[[", "]]"), item, self.documented && index == 0);
            self.tables.push_str(&text);
        }
    }

    fn section<T: Table>(
        &self,
        key: &str,
        (open, close): (&str, &str),
        table: &T,
        documented: bool,
    ) -> String {
        let path = join(&self.path, key);
        let mut inner = Self { path, ..Self::new(documented) };
        table.write_fields(&mut inner);
        let mut text = String::from("\n");
        if documented {
            comment(&mut text, T::ABOUT);
        }
        text.extend([open, &inner.path, close, "\n"]);
        text + &inner.finish()
    }
}

fn comment(text: &mut String, lines: &[&str]) {
    for line in lines {
        text.push_str(format!("#{line}").trim_end());
        text.push('\n');
    }
}

macro_rules! keys {
    ($(#[doc = $about:literal])* pub struct $name:ident {
        $($(#[doc = $doc:literal])* $key:ident: $type:ty = $default:expr, $check:expr;)*
    }) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $(
                $(#[doc = $doc])*
                ///
                #[doc = concat!("Default `", stringify!($default), "`; allowed `", stringify!($check), "`.")]
                pub $key: $type,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                $crate::schema::table::Table::defaults()
            }
        }

        $crate::schema::table::keys_of! {
            $(#[doc = $about])*
            $name { $($(#[doc = $doc])* $key: $type = $default, $check;)* }
        }
    };
}

/// The same for a struct that exists already.
macro_rules! keys_of {
    ($(#[doc = $about:literal])* $name:ident {
        $($(#[doc = $doc:literal])* $key:ident: $type:ty = $default:expr, $check:expr;)*
    }) => {
        impl $crate::schema::table::Table for $name {
            const ABOUT: &'static [&'static str] = &[$($about),*];
            const KEYS: &'static [&'static str] = &[$(stringify!($key)),*];

            fn defaults() -> Self {
                Self { $($key: $default,)* }
            }

            fn read_fields(
                fields: &$crate::schema::document::Fields,
                place: &$crate::schema::document::Place,
                path: &str,
                faults: &mut Vec<$crate::schema::error::Fault>,
            ) -> Self {
                use $crate::schema::table::read_key;
                Self {
                    $($key: read_key((fields, place), path, (stringify!($key), $default), &$check, faults),)*
                }
            }

            fn write_fields(&self, out: &mut $crate::schema::table::Writer) {
                use $crate::schema::{check::Check, table::About, value::Value};
                $({
                    let range = Check::<$type>::describe(&$check);
                    Value::write(&self.$key, stringify!($key), &About { doc: &[$($doc),*], range: &range }, out);
                })*
            }
        }

        impl $crate::schema::value::Value for $name {
            fn read(
                node: &$crate::schema::document::Node,
                path: &str,
                faults: &mut Vec<$crate::schema::error::Fault>,
            ) -> Option<Self> {
                $crate::schema::table::read_table(node, path, faults)
            }

            fn write(
                &self,
                key: &str,
                _: &$crate::schema::table::About<'_>,
                out: &mut $crate::schema::table::Writer,
            ) {
                out.table(key, self);
            }

            fn inline(&self) -> Option<String> {
                None
            }
        }
    };
}

pub(crate) use {keys, keys_of};
