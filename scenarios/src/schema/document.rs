//! A TOML document as an owned tree in which every key and value knows where it was written.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::Fault;

/// Where a key or value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// These bytes of the file.
    File(Range<usize>),
    /// The override of this index.
    Override(usize),
    /// Nowhere: it is a default.
    Nowhere,
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) value: Tree,
}

/// A TOML value.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Text(String),
    Integer(i128),
    /// As written, without underscores.
    Float(String),
    Boolean(bool),
    Datetime,
    List(Vec<Node>),
    Table(Fields),
}

/// The entries of a table.
pub(crate) type Fields = BTreeMap<String, Field>;

/// An entry of a table.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// Where the key stands.
    pub(crate) key: Place,
    pub(crate) node: Node,
}

/// A value given outside the file, for one dotted key; list entries are named by their index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The dotted key, e.g. `curriculum.batch` or `evaluation.sets.0.tasks`.
    pub key: String,
    /// The value as TOML; what is not TOML is taken as a string.
    pub value: String,
}

impl Override {
    /// Sets `key` to `value`.
    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.into() }
    }
}

impl std::str::FromStr for Override {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => Ok(Self::new(key.trim(), value.trim())),
            _ => Err(format!("`{text}` is not of the form key=value, e.g. curriculum.batch=64")),
        }
    }
}

impl Tree {
    /// What it is, for people.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number with a fraction",
            Self::Boolean(_) => "true or false",
            Self::Datetime => "a date",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// Reads a document.
pub(crate) fn parse(text: &str) -> Result<Node, Fault> {
    match DeTable::parse(text) {
        Ok(table) => Ok(Node { place: Place::File(0..0), value: Tree::Table(fields(table.get_ref())) }),
        Err(error) => Err(Fault {
            place: error.span().map_or(Place::Nowhere, Place::File),
            key: String::new(),
            reason: error.message().trim().replace('\n', ", "),
            help: "the file must be TOML 1.0 (https://toml.io)".into(),
        }),
    }
}

fn fields(table: &DeTable<'_>) -> Fields {
    let field = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let key: &Spanned<std::borrow::Cow<'_, str>> = key;
        (key.get_ref().to_string(), Field { key: Place::File(key.span()), node: node(value) })
    };
    table.iter().map(field).collect()
}

fn node(value: &Spanned<DeValue<'_>>) -> Node {
    Node { place: Place::File(value.span()), value: tree(value.get_ref()) }
}

fn tree(value: &DeValue<'_>) -> Tree {
    match value {
        DeValue::String(text) => Tree::Text(text.to_string()),
        // Beyond 128 bits it is out of every range anyway.
        DeValue::Integer(number) => {
            Tree::Integer(i128::from_str_radix(number.as_str(), number.radix()).unwrap_or(i128::MAX))
        }
        DeValue::Float(number) => Tree::Float(number.as_str().to_owned()),
        DeValue::Boolean(value) => Tree::Boolean(*value),
        DeValue::Datetime(_) => Tree::Datetime,
        DeValue::Array(items) => Tree::List(items.iter().map(node).collect()),
        DeValue::Table(table) => Tree::Table(fields(table)),
    }
}

/// Reads the value of an override: TOML, or else a string.
fn parse_override(text: &str) -> Tree {
    match DeValue::parse(text) {
        Ok(value) => tree(value.get_ref()),
        Err(_) => Tree::Text(text.to_owned()),
    }
}

/// Gives every part of `node` the same place.
fn put(node: &mut Node, place: &Place) {
    node.place = place.clone();
    match &mut node.value {
        Tree::List(items) => items.iter_mut().for_each(|item| put(item, place)),
        Tree::Table(fields) => {
            for field in fields.values_mut() {
                field.key = place.clone();
                put(&mut field.node, place);
            }
        }
        _ => {}
    }
}

impl Node {
    /// The node at a dotted path.
    pub(crate) fn get(&self, path: &str) -> Option<&Node> {
        path.split('.').try_fold(self, |node, segment| match &node.value {
            Tree::Table(fields) => fields.get(segment).map(|field| &field.node),
            Tree::List(items) => items.get(segment.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Lays an override over the document. A list that the document leaves to its default is copied from `defaults` first, so
    /// that one entry of it can be changed.
    pub(crate) fn apply(&mut self, index: usize, change: &Override, defaults: &Node) -> Result<(), Fault> {
        let place = Place::Override(index);
        let mut value = Node { place: place.clone(), value: parse_override(&change.value) };
        put(&mut value, &place);
        let mut here = self;
        let segments: Vec<&str> = change.key.split('.').collect();
        for (depth, segment) in segments.iter().enumerate() {
            let path = segments[..=depth].join(".");
            let fault = |reason: String, help: &str| Fault {
                place: place.clone(),
                key: change.key.clone(),
                reason,
                help: help.to_owned(),
            };
            here = match &mut here.value {
                Tree::Table(fields) => {
                    let absent = || {
                        defaults.get(&path).map_or(Tree::Table(Fields::new()), |node| match node.value {
                            Tree::List(_) => node.value.clone(),
                            _ => Tree::Table(Fields::new()),
                        })
                    };
                    let field = fields.entry((*segment).to_owned()).or_insert_with(|| Field {
                        key: place.clone(),
                        node: Node { place: place.clone(), value: absent() },
                    });
                    field.key = if depth + 1 == segments.len() { place.clone() } else { field.key.clone() };
                    &mut field.node
                }
                Tree::List(items) => {
                    let length = items.len();
                    match segment.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                        Some(item) => item,
                        None => {
                            return Err(fault(
                                format!("the list has {length} entries, and `{segment}` is none of them"),
                                "name an entry by its index, from 0",
                            ));
                        }
                    }
                }
                _ => {
                    return Err(fault(
                        format!("`{}` is a value, not a table", segments[..depth].join(".")),
                        "--print-defaults shows the keys",
                    ));
                }
            };
        }
        *here = value;
        Ok(())
    }
}
