//! Template files: TOML, checked as they are read.

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

use super::argument::Argument;
use super::expression::Expression;
use super::registry::Common;
use super::{Domain, Parameter, Role, Template, Use};

/// Why a template was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("template {template}: {reason}")]
pub(super) struct TemplateError {
    /// Name of its file.
    pub template: String,
    /// What is wrong with it.
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTemplate {
    split: RawRole,
    shape: String,
    verbs: Vec<String>,
    topic: String,
    names: BTreeMap<String, String>,
    params: Vec<RawParameter>,
    #[serde(default)]
    uses: Vec<Use>,
    args: Vec<Argument>,
    edges: Vec<String>,
    source: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawRole {
    Train,
    Unseen,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawParameter {
    name: String,
    low: Option<Expression>,
    high: Option<Expression>,
    times: Option<Expression>,
    /// A choice that templates share.
    of: Option<String>,
    /// A choice of this template's own.
    pick: Option<Vec<BTreeMap<String, String>>>,
}

impl Template {
    /// Reads a template file.
    pub(super) fn parse(name: &str, text: &str, common: &Common) -> Result<Self, TemplateError> {
        let refuse = |reason: String| TemplateError { template: name.to_owned(), reason };
        let raw: RawTemplate = toml::from_str(text).map_err(|error| refuse(error.to_string()))?;
        let parameters: Result<Vec<Parameter>, String> =
            raw.params.into_iter().map(|parameter| parameter.read(common)).collect();
        let template = Self {
            name: name.to_owned(),
            role: match raw.split {
                RawRole::Train => Role::Train,
                RawRole::Unseen => Role::Unseen,
            },
            shape: raw.shape,
            verbs: raw.verbs,
            topic: raw.topic,
            names: raw.names,
            parameters: parameters.map_err(refuse)?,
            uses: raw.uses,
            arguments: raw.args,
            edges: raw.edges,
            source: raw.source,
        };
        template.check().map_err(refuse)?;
        Ok(template)
    }

    fn check(&self) -> Result<(), String> {
        if self.verbs.is_empty() || self.edges.is_empty() || self.topic.is_empty() {
            return Err("verbs, edges and topic must not be empty".to_owned());
        }
        if !self.source.starts_with("def $name(") || !self.source.ends_with('\n') {
            return Err("the source must be one function called $name, with a newline at its end".to_owned());
        }
        if self.source.matches("\"\"\"").count() != 2 {
            return Err("the source must have one docstring".to_owned());
        }
        match self.parameters.iter().find(|parameter| !self.source.contains(&format!("${}", parameter.name)))
        {
            Some(unused) => Err(format!("the source does not use ${}", unused.name)),
            None => Ok(()),
        }
    }
}

impl RawParameter {
    fn read(self, common: &Common) -> Result<Parameter, String> {
        let name = self.name;
        let domain = match (self.low, self.high, self.of, self.pick) {
            (Some(low), Some(high), None, None) => {
                Domain::Range { low, high, times: self.times.unwrap_or(Expression::Literal(1)) }
            }
            (None, None, Some(of), None) => {
                let choice = common.choices.get(&of);
                Domain::Choice(choice.ok_or_else(|| format!("{name}: no choice is called {of}"))?.clone())
            }
            (None, None, None, Some(pick)) if !pick.is_empty() => Domain::Choice(pick),
            _ => return Err(format!("{name} must have either low and high, or of, or pick")),
        };
        Ok(Parameter { name, domain })
    }
}
