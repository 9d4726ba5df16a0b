//! How values of each type are read from TOML and written to it.

use super::document::{Node, Tree};
use super::error::Fault;
use super::table::{About, Table, Writer};

/// A value that a key can have.
pub(crate) trait Value: Sized {
    /// Reads it; on failure says so in `faults`.
    fn read(node: &Node, path: &str, faults: &mut Vec<Fault>) -> Option<Self>;
    /// Writes it under `key`.
    fn write(&self, key: &str, about: &About<'_>, out: &mut Writer);
    /// The value as TOML on one line; none for tables.
    fn inline(&self) -> Option<String>;
}

/// A value that stands on one line.
pub(crate) trait Scalar: Sized {
    /// What it is, for people.
    const KIND: &'static str;
    /// The value, or what is wrong with it.
    fn parse(tree: &Tree) -> Result<Self, String>;
    /// The value as TOML.
    fn render(&self) -> String;
    /// The values there are, where they can be listed.
    fn choices() -> Option<String> {
        None
    }
}

/// The usual complaint.
pub(crate) fn expected<T>(kind: &str, tree: &Tree) -> Result<T, String> {
    Err(format!("expected {kind}, found {}", tree.kind()))
}

/// Reads a scalar.
pub(crate) fn read_scalar<T: Scalar>(node: &Node, path: &str, faults: &mut Vec<Fault>) -> Option<T> {
    match T::parse(&node.value) {
        Ok(value) => Some(value),
        Err(reason) => {
            let help = T::choices().map(|choices| format!("write {choices}")).unwrap_or_default();
            faults.push(Fault { place: node.place.clone(), key: path.to_owned(), reason, help });
            None
        }
    }
}

/// Writes a scalar.
pub(crate) fn write_scalar<T: Scalar>(value: &T, key: &str, about: &About<'_>, out: &mut Writer) {
    let choices = T::choices();
    let range = if about.range.is_empty() { choices.as_deref().unwrap_or("") } else { about.range };
    out.leaf(key, &value.render(), &About { doc: about.doc, range });
}

/// Makes scalars values. A blanket implementation would collide with that for lists of tables.
macro_rules! scalars {
    ($($type:ty),*) => {$(
        impl $crate::schema::value::Value for $type {
            fn read(
                node: &$crate::schema::document::Node,
                path: &str,
                faults: &mut Vec<$crate::schema::error::Fault>,
            ) -> Option<Self> {
                $crate::schema::value::read_scalar(node, path, faults)
            }

            fn write(
                &self,
                key: &str,
                about: &$crate::schema::table::About<'_>,
                out: &mut $crate::schema::table::Writer,
            ) {
                $crate::schema::value::write_scalar(self, key, about, out);
            }

            fn inline(&self) -> Option<String> {
                Some($crate::schema::value::Scalar::render(self))
            }
        }
    )*};
}
scalars!(u32, u64, f32, f64, bool, String, Vec<u32>, Vec<String>);

macro_rules! whole {
    ($($type:ty),*) => {$(
        impl Scalar for $type {
            const KIND: &'static str = "a whole number";

            fn parse(tree: &Tree) -> Result<Self, String> {
                match tree {
                    Tree::Integer(number) => Self::try_from(*number)
                        .map_err(|_| format!("{number} is out of range")),
                    other => expected(Self::KIND, other),
                }
            }

            fn render(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
whole!(u32, u64);

macro_rules! number {
    ($($type:ty),*) => {$(
        impl Scalar for $type {
            const KIND: &'static str = "a number";

            fn parse(tree: &Tree) -> Result<Self, String> {
                let text = match tree {
                    Tree::Integer(number) => number.to_string(),
                    Tree::Float(text) => text.clone(),
                    other => return expected(Self::KIND, other),
                };
                match text.parse::<Self>() {
                    Ok(value) if value.is_finite() => Ok(value),
                    _ => Err(format!("{text} is not a finite number")),
                }
            }

            /// The shortest text that reads back as the same value.
            fn render(&self) -> String {
                format!("{self:?}")
            }
        }
    )*};
}
number!(f32, f64);

impl Scalar for bool {
    const KIND: &'static str = "true or false";

    fn parse(tree: &Tree) -> Result<Self, String> {
        match tree {
            Tree::Boolean(value) => Ok(*value),
            other => expected(Self::KIND, other),
        }
    }

    fn render(&self) -> String {
        self.to_string()
    }

    fn choices() -> Option<String> {
        Some("`true` or `false`".into())
    }
}

impl Scalar for String {
    const KIND: &'static str = "a string";

    fn parse(tree: &Tree) -> Result<Self, String> {
        match tree {
            Tree::Text(text) => Ok(text.clone()),
            other => expected(Self::KIND, other),
        }
    }

    fn render(&self) -> String {
        toml::Value::String(self.clone()).to_string()
    }
}

macro_rules! list {
    ($($type:ty),*) => {$(
        impl Scalar for Vec<$type> {
            const KIND: &'static str = "a list";

            fn parse(tree: &Tree) -> Result<Self, String> {
                match tree {
                    Tree::List(items) => items
                        .iter()
                        .enumerate()
                        .map(|(index, item)| {
                            <$type>::parse(&item.value).map_err(|reason| format!("entry {index}: {reason}"))
                        })
                        .collect(),
                    other => expected(Self::KIND, other),
                }
            }

            fn render(&self) -> String {
                let items: Vec<String> = self.iter().map(Scalar::render).collect();
                format!("[{}]", items.join(", "))
            }
        }
    )*};
}
list!(u32, f64, String);

impl<T: Table> Value for Vec<T> {
    fn read(node: &Node, path: &str, faults: &mut Vec<Fault>) -> Option<Self> {
        let Tree::List(items) = &node.value else {
            let (reason, last) = (format!("expected a list of tables, found {}", node.value.kind()), path);
            let help = format!("write each entry under its own [[{last}]] header");
            faults.push(Fault { place: node.place.clone(), key: path.to_owned(), reason, help });
            return None;
        };
        let read = |(index, item)| super::table::read_table(item, &format!("{path}.{index}"), faults);
        items.iter().enumerate().map(read).collect()
    }

    fn write(&self, key: &str, about: &About<'_>, out: &mut Writer) {
        out.list(key, self, about);
    }

    fn inline(&self) -> Option<String> {
        None
    }
}

/// An enumeration whose values are written as strings.
macro_rules! choice {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $variant,)* }

        $crate::schema::value::choice_of!($name { $($variant = $text,)* });
    };
}

/// The same for an enumeration that exists already.
macro_rules! choice_of {
    ($name:ident { $($variant:ident = $text:literal,)* }) => {
        $crate::schema::value::scalars!($name);

        impl $name {
            /// The value as a scenario spells it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl $crate::schema::value::Scalar for $name {
            const KIND: &'static str = "a string";

            fn parse(tree: &$crate::schema::document::Tree) -> Result<Self, String> {
                match tree {
                    $($crate::schema::document::Tree::Text(text) if text == $text => Ok(Self::$variant),)*
                    $crate::schema::document::Tree::Text(text) => Err(format!("there is no `{text}` here")),
                    other => $crate::schema::value::expected(Self::KIND, other),
                }
            }

            fn render(&self) -> String {
                format!("\"{}\"", self.as_str())
            }

            fn choices() -> Option<String> {
                let names: &[&str] = &[$(concat!("\"", $text, "\"")),*];
                Some(names.join(" or "))
            }
        }
    };
}

pub(crate) use {choice, choice_of, scalars};
