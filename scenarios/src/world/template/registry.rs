//! All templates, compiled in.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use super::file::TemplateError;
use super::{Role, Template};

/// Words and choices that templates share.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Common {
    /// Second halves of function names.
    pub(crate) nouns: Vec<String>,
    /// Names of modules.
    pub(crate) modules: Vec<String>,
    /// Words in arguments.
    pub(crate) words: Vec<String>,
    /// Pools of local names.
    pub(crate) names: BTreeMap<String, Vec<String>>,
    /// Choices with code and words.
    pub(crate) choices: BTreeMap<String, Vec<BTreeMap<String, String>>>,
}

/// Templates in the order of their names.
#[derive(Debug)]
pub(crate) struct Registry {
    pub(crate) common: Common,
    pub(crate) templates: Vec<Template>,
}

macro_rules! files {
    ($($name:literal,)*) => {
        &[$(($name, include_str!(concat!("../../../templates/", $name, ".toml")))),*]
    };
}

const COMMON: &str = include_str!("../../../templates/common.toml");

/// Every file of `templates/` but the common one, by name.
#[rustfmt::skip]
const FILES: &[(&str, &str)] = files![
    "account",
    "apply_times",
    "band",
    "best_by",
    "bill",
    "blend",
    "capped_sum",
    "checksum",
    "chunks",
    "cipher",
    "column",
    "count_past",
    "count_until",
    "difference",
    "digit_rule",
    "digit_score",
    "discount",
    "divisor",
    "every_nth",
    "extremes",
    "first_copies",
    "first_index",
    "fold",
    "gaps",
    "grade",
    "halvings",
    "hide",
    "histogram",
    "in_base",
    "join_long",
    "join_made",
    "join_spans",
    "keep_if",
    "leap_rule",
    "letter_score",
    "low_stock",
    "mean_between",
    "mirror",
    "multiples",
    "nesting",
    "pad_text",
    "pairs",
    "parse_sum",
    "part_sort",
    "power_mod",
    "rotate",
    "running",
    "runs",
    "split_units",
    "spread",
    "squeeze",
    "streak",
    "sum_words",
    "switch",
    "tax",
    "total_of",
    "trim",
    "unit_fee",
    "window",
    "zigzag",
];

impl Registry {
    /// The compiled-in templates, read once.
    #[expect(clippy::expect_used, reason = "the files are compiled in, and a test reads them all")]
    pub(crate) fn get() -> &'static Self {
        static REGISTRY: OnceLock<Registry> = OnceLock::new();
        REGISTRY.get_or_init(|| Self::load().expect("the templates that were compiled in are well-formed"))
    }

    fn load() -> Result<Self, TemplateError> {
        let common: Common = toml::from_str(COMMON)
            .map_err(|error| TemplateError { template: "common".to_owned(), reason: error.to_string() })?;
        let templates: Result<Vec<Template>, TemplateError> =
            FILES.iter().map(|(name, text)| Template::parse(name, text, &common)).collect();
        Ok(Self { templates: templates?, common })
    }

    /// Templates of a role.
    pub(crate) fn of_role(&self, role: Role) -> impl Iterator<Item = &Template> {
        self.templates.iter().filter(move |template| template.role == role)
    }
}
