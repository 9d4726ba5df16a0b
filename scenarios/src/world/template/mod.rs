//! Templates: small Python functions with parameters, one data file each, from which projects are made.

mod argument;
mod expression;
mod file;
mod registry;

use std::collections::BTreeMap;

use argument::Argument;
pub(crate) use expression::{Bindings, Value};
use expression::{Expression, fill};
use registry::Common;
pub(crate) use registry::Registry;

use super::normal::normalised;
use crate::draws::{Draws, DrawsExt as _};

/// Of all parameter combinations of a training template, one in this many is held out.
const HELD_OUT_ONE_IN: u8 = 6;
/// Tries at drawing parameters that belong to a split, and at drawing an argument that is not there yet.
const TRIES: usize = 400;

/// Where a template may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// In training, and with reserved parameters in the held-out set of unseen parameters.
    Train,
    /// Never in training.
    Unseen,
}

/// A function's template.
#[derive(Debug)]
pub(crate) struct Template {
    /// Name of its file.
    pub(crate) name: String,
    pub(crate) role: Role,
    /// Types of arguments and result, by which another template finds a function to call.
    pub(crate) shape: String,
    /// First halves of its functions' names.
    verbs: Vec<String>,
    /// What it is about, as one would say without naming it.
    pub(crate) topic: String,
    /// Pool of each local name.
    names: BTreeMap<String, String>,
    parameters: Vec<Parameter>,
    /// Functions that it calls.
    pub(crate) uses: Vec<Use>,
    arguments: Vec<Argument>,
    /// Argument lists that hit boundaries.
    edges: Vec<String>,
    source: String,
}

/// A function that a template calls.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Use {
    /// Its name in the template's source.
    pub(crate) name: String,
    /// Its shape.
    pub(crate) shape: String,
}

#[derive(Debug)]
struct Parameter {
    name: String,
    domain: Domain,
}

#[derive(Debug)]
enum Domain {
    /// Integers from low to high, each multiplied.
    Range { low: Expression, high: Expression, times: Expression },
    /// One of several groups of words and code.
    Choice(Vec<BTreeMap<String, String>>),
}

/// Which parameter combinations are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// Those that training may see.
    Open,
    /// Those that it may not.
    Reserved,
}

/// Calls of a function, as Python sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    pub(crate) visible: Vec<String>,
    pub(crate) hidden: Vec<String>,
}

impl Template {
    /// Draws parameters of the wanted share, and gives the function's normal form with them. The error says what keeps
    /// the template from having any.
    pub(crate) fn draw_parameters(
        &self,
        share: Share,
        draws: &mut dyn Draws,
    ) -> Result<(Bindings, String), String> {
        for _ in 0..TRIES {
            let bindings = self.draw_any_parameters(draws)?;
            let form = self.form(&bindings)?;
            if self.role == Role::Unseen || is_reserved(&form) == (share == Share::Reserved) {
                return Ok((bindings, form));
            }
        }
        Err(format!("no parameters were found for {share:?}"))
    }

    fn draw_any_parameters(&self, draws: &mut dyn Draws) -> Result<Bindings, String> {
        let mut bindings = Bindings::new();
        for Parameter { name, domain } in &self.parameters {
            match domain {
                Domain::Range { low, high, times } => {
                    let drawn = draws.between(low.evaluate(&bindings)?, high.evaluate(&bindings)?);
                    let value = drawn.saturating_mul(times.evaluate(&bindings)?);
                    bindings.insert(name.clone(), Value::Int(value));
                }
                Domain::Choice(choices) => {
                    let chosen = choices.get(draws.index(choices.len())).ok_or("a choice of nothing")?;
                    for (field, text) in chosen {
                        bindings.insert(format!("{name}.{field}"), Value::Text(text.clone()));
                    }
                }
            }
        }
        Ok(bindings)
    }

    /// The normal form of the function with these parameters, whatever its names.
    fn form(&self, parameters: &Bindings) -> Result<String, String> {
        let mut bindings = parameters.clone();
        let called = self.uses.iter().map(|called| &called.name);
        for name in self.names.keys().chain(called).map(String::as_str).chain(["name"]) {
            bindings.insert(name.to_owned(), Value::Text(format!("{name}_")));
        }
        Ok(normalised(&self.render(&bindings)?))
    }

    /// Draws a name for the function.
    pub(crate) fn draw_name(&self, common: &Common, draws: &mut dyn Draws) -> String {
        let mut word = |words: &[String]| words.get(draws.index(words.len())).cloned().unwrap_or_default();
        format!("{}_{}", word(&self.verbs), word(&common.nouns))
    }

    /// Draws local names, each from its slot's pool, no two alike.
    pub(crate) fn draw_locals(
        &self,
        common: &Common,
        bindings: &mut Bindings,
        draws: &mut dyn Draws,
    ) -> Result<(), String> {
        let mut taken: Vec<&str> = Vec::new();
        for (slot, pool) in &self.names {
            let pool = common.names.get(pool).ok_or_else(|| format!("no pool is called {pool}"))?;
            let start = draws.index(pool.len());
            let free =
                pool.iter().cycle().skip(start).take(pool.len()).find(|name| !taken.contains(&name.as_str()));
            let name = free.ok_or_else(|| format!("no name is left for {slot}"))?;
            taken.push(name);
            bindings.insert(slot.clone(), Value::Text(name.clone()));
        }
        Ok(())
    }

    /// The function's source, with a newline at its end.
    pub(crate) fn render(&self, bindings: &Bindings) -> Result<String, String> {
        fill(&self.source, bindings)
    }

    /// Draws distinct calls, `visible` ones and `hidden` ones; fewer where there are not so many. More than half of the
    /// visible calls and up to two thirds of the hidden ones hit boundaries.
    pub(crate) fn draw_calls(
        &self,
        common: &Common,
        bindings: &Bindings,
        (visible, hidden): (usize, usize),
        draws: &mut dyn Draws,
    ) -> Result<Calls, String> {
        let mut edges = Vec::new();
        for edge in &self.edges {
            let arguments = fill(edge, bindings)?;
            if !edges.contains(&arguments) {
                edges.push(arguments);
            }
        }
        draws.shuffle(&mut edges);
        let mut drawn = Drawn { template: self, common, bindings, edges, taken: Vec::new() };
        let mut visible = drawn.take(visible, visible / 2 + 1, draws)?;
        let mut hidden = drawn.take(hidden, hidden * 2 / 3, draws)?;
        draws.shuffle(&mut visible);
        draws.shuffle(&mut hidden);
        let name = bindings.get("name").map(ToString::to_string).unwrap_or_default();
        let call = |arguments: String| format!("{name}({arguments})");
        Ok(Calls {
            visible: visible.into_iter().map(call).collect(),
            hidden: hidden.into_iter().map(call).collect(),
        })
    }
}

/// Whether training may never see a function of this normal form: decided by its digest alone, so that no seed can bring
/// it in, and parameters that give the same program are on the same side.
fn is_reserved(form: &str) -> bool {
    blake3::hash(form.as_bytes()).as_bytes()[0].is_multiple_of(HELD_OUT_ONE_IN)
}

/// Argument lists that were drawn, and edges that were not.
struct Drawn<'a> {
    template: &'a Template,
    common: &'a Common,
    bindings: &'a Bindings,
    edges: Vec<String>,
    taken: Vec<String>,
}

impl Drawn<'_> {
    /// Up to `count` further argument lists, up to `edges` of them edges, more where random ones run out.
    fn take(&mut self, count: usize, edges: usize, draws: &mut dyn Draws) -> Result<Vec<String>, String> {
        let mut result: Vec<String> = Vec::new();
        while result.len() < count {
            let edge = if result.len() < edges { self.next_edge() } else { None };
            let drawn = if edge.is_some() { edge } else { self.random(draws)? };
            let Some(arguments) = drawn.or_else(|| self.next_edge()) else { break };
            self.taken.push(arguments.clone());
            result.push(arguments);
        }
        Ok(result)
    }

    fn next_edge(&mut self) -> Option<String> {
        while let Some(edge) = self.edges.pop() {
            if !self.taken.contains(&edge) {
                return Some(edge);
            }
        }
        None
    }

    fn random(&self, draws: &mut dyn Draws) -> Result<Option<String>, String> {
        for _ in 0..TRIES {
            let arguments: Result<Vec<String>, String> = self
                .template
                .arguments
                .iter()
                .map(|argument| argument.draw(self.bindings, &self.common.words, draws))
                .collect();
            let arguments = arguments?.join(", ");
            if !self.taken.contains(&arguments) {
                return Ok(Some(arguments));
            }
        }
        Ok(None)
    }
}
