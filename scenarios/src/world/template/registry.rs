//! All templates, compiled in.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

#[cfg(test)]
use super::Share;
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

#[cfg(test)]
mod tests {
    use super::super::{Domain, Value};
    use super::*;
    use crate::draws::SeedDraws;

    #[test]
    fn every_file_is_listed_and_loads() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/templates");
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .filter_map(|file| file.strip_suffix(".toml").map(str::to_owned))
            .filter(|name| name != "common")
            .collect();
        names.sort();
        assert_eq!(names, FILES.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(Registry::load().unwrap().templates.len(), names.len());
    }

    #[test]
    fn every_template_has_many_programs_of_each_share_and_says_its_numbers_in_words() {
        let registry = Registry::load().unwrap();
        for template in &registry.templates {
            let mut draws = SeedDraws::new(1, &template.name);
            for (share, least) in [(Share::Open, 24), (Share::Reserved, 4)] {
                let mut forms = std::collections::BTreeSet::new();
                for _ in 0..150 {
                    let (mut bindings, form) = template.draw_parameters(share, &mut draws).unwrap();
                    forms.insert(form);
                    template.draw_locals(&registry.common, &mut bindings, &mut draws).unwrap();
                    for name in template.uses.iter().map(|used| used.name.as_str()).chain(["name"]) {
                        bindings.insert(name.to_owned(), Value::Text(format!("{name}_")));
                    }
                    check_documentation(template, &template.render(&bindings).unwrap(), &bindings);
                }
                assert!(forms.len() >= least, "{} {share:?}: {}", template.name, forms.len());
            }
        }
    }

    fn check_documentation(template: &Template, source: &str, bindings: &super::super::Bindings) {
        let doc = source.split("\"\"\"").nth(1).unwrap();
        for parameter in template.parameters.iter().filter(|p| matches!(p.domain, Domain::Range { .. })) {
            let value = bindings[&parameter.name].to_string();
            assert!(
                doc.contains(&value),
                "{}: {} = {value} is not in {doc:?}",
                template.name,
                parameter.name
            );
        }
    }

    #[test]
    fn words_are_distinct_and_names_are_no_keywords() {
        let common = Registry::load().unwrap().common;
        for words in [&common.nouns, &common.modules, &common.words].into_iter().chain(common.names.values())
        {
            let distinct: std::collections::BTreeSet<&String> = words.iter().collect();
            assert_eq!(distinct.len(), words.len(), "{words:?}");
        }
        for name in common.names.values().flatten().chain(&common.modules) {
            let form = crate::world::normalised(&format!("{name}\n"));
            assert_eq!(form, "0 v0\n", "{name} is a keyword or built-in");
        }
    }
}
