//! From a blueprint to a project.
//!
//! Every part has its own stream of the seed, so that the functions that carry bugs, and those they call, are the same
//! whatever is put around them.

use std::collections::BTreeSet;

use super::super::blueprint::Blueprint;
use super::super::spec::{FUNCTIONS_MAX, MODULES_MAX, WorldSpec};
use super::super::split::Split;
use super::super::template::{Bindings, Registry, Template, Value};
use super::layout::lay_out;
use super::{Function, Project, WorldError};
use crate::draws::{Draws as _, DrawsExt as _, SeedDraws};

/// Tries at drawing a function that is not there yet.
const TRIES: u32 = 200;

impl Blueprint {
    /// Makes the project. Only the counts of test cases and the share of wrong variables are read from the spec.
    ///
    /// ```
    /// use tadpole_scenarios::draws::SeedDraws;
    /// use tadpole_scenarios::world::{Blueprint, Split, WorldSpec};
    /// let spec = WorldSpec::default();
    /// let blueprint = Blueprint::draw(&spec, Split::Train, &mut SeedDraws::new(1, "example"));
    /// let project = blueprint.project(&spec)?;
    /// let faulted = project.faults()?.next().map(|faulted| faulted.tree);
    /// assert_ne!(faulted, Some(project.tree));
    /// # Ok::<(), tadpole_scenarios::world::WorldError>(())
    /// ```
    pub fn project(&self, spec: &WorldSpec) -> Result<Project, WorldError> {
        let counts = (spec.visible_cases as usize, spec.hidden_cases as usize);
        let mut builder = Builder::new(self.seed, self.split, counts);
        let mut targets = Vec::new();
        for bug in 0..self.bugs {
            targets.push(builder.add_target(bug)?);
        }
        let mut filler = 0;
        while builder.drafts.len() < self.functions.min(FUNCTIONS_MAX) as usize {
            builder.add_filler(filler)?;
            filler += 1;
        }
        let project =
            builder.finish(&targets, self.modules.clamp(1, MODULES_MAX), spec.wrong_variable_share)?;
        Ok(Project { kept: self.kept.clone(), ..project })
    }
}

/// A function that has no place yet.
struct Draft {
    template: &'static Template,
    function: Function,
    /// Drafts that it calls.
    uses: Vec<usize>,
}

/// Parameters of a function that has no name yet.
struct Sketch {
    template: &'static Template,
    bindings: Bindings,
    form: String,
    draws: SeedDraws,
}

struct Builder {
    seed: u64,
    split: Split,
    counts: (usize, usize),
    registry: &'static Registry,
    drafts: Vec<Draft>,
    names: BTreeSet<String>,
    /// Normal forms of the functions drawn.
    forms: BTreeSet<String>,
}

impl Builder {
    fn new(seed: u64, split: Split, counts: (usize, usize)) -> Self {
        Self {
            seed,
            split,
            counts,
            registry: Registry::get(),
            drafts: Vec::new(),
            names: BTreeSet::new(),
            forms: BTreeSet::new(),
        }
    }

    /// Adds a function that is to carry a bug, and before it the functions that it calls.
    fn add_target(&mut self, bug: u32) -> Result<usize, WorldError> {
        let sketch = self.sketch(&format!("target {bug}"), |_, _| true)?;
        let mut uses = Vec::new();
        for (index, used) in sketch.template.uses.iter().enumerate() {
            let stream = format!("target {bug} uses {index}");
            let provider = self.sketch(&stream, |_, template| provides(template, &used.shape))?;
            uses.push(self.add(provider, Vec::new())?);
        }
        self.add(sketch, uses)
    }

    /// Adds a function that calls, where it calls any, functions that are there already.
    fn add_filler(&mut self, index: u32) -> Result<(), WorldError> {
        let provided = |builder: &Self, template: &Template| {
            template
                .uses
                .iter()
                .all(|used| builder.drafts.iter().any(|draft| provides(draft.template, &used.shape)))
        };
        let mut sketch = self.sketch(&format!("filler {index}"), provided)?;
        let mut uses = Vec::new();
        for used in &sketch.template.uses {
            let drafts = 0..self.drafts.len();
            let fitting: Vec<usize> =
                drafts.filter(|index| provides(self.drafts[*index].template, &used.shape)).collect();
            uses.extend(sketch.draws.pick(&fitting).copied());
        }
        self.add(sketch, uses).map(|_| ())
    }

    /// Draws template and parameters of a function that is no other under another name.
    fn sketch(&self, stream: &str, fits: impl Fn(&Self, &Template) -> bool) -> Result<Sketch, WorldError> {
        let fitting: Vec<&'static Template> =
            self.registry.of_role(self.split.role()).filter(|template| fits(self, template)).collect();
        for attempt in 0..TRIES {
            let mut draws = SeedDraws::new(self.seed, &format!("{stream} attempt {attempt}"));
            let Some(template) = draws.pick(&fitting).copied() else { break };
            let (bindings, form) = template
                .draw_parameters(self.split.share(), &mut draws)
                .map_err(|reason| broken(template, reason))?;
            if !self.forms.contains(&form) {
                return Ok(Sketch { template, bindings, form, draws });
            }
        }
        Err(WorldError::Exhausted("function"))
    }

    /// Gives a sketch its names and calls.
    fn add(&mut self, sketch: Sketch, uses: Vec<usize>) -> Result<usize, WorldError> {
        let Sketch { template, mut bindings, form, mut draws } = sketch;
        let refuse = |reason| broken(template, reason);
        let common = &self.registry.common;
        let name = self.fresh_name(template, &mut draws)?;
        template.draw_locals(common, &mut bindings, &mut draws).map_err(refuse)?;
        for (used, provider) in template.uses.iter().zip(&uses) {
            let name = self.drafts[*provider].function.name.clone();
            bindings.insert(used.name.clone(), Value::Text(name));
        }
        bindings.insert("name".to_owned(), Value::Text(name.clone()));
        let calls = template.draw_calls(common, &bindings, self.counts, &mut draws).map_err(refuse)?;
        let source = template.render(&bindings).map_err(refuse)?;
        self.forms.insert(form);
        self.names.insert(name.clone());
        let function = Function {
            name,
            module: String::new(),
            line: 0,
            template: template.name.clone(),
            topic: template.topic.clone(),
            signature: between(&source, "def ", ":\n"),
            doc: between(&source, "\"\"\"", "\"\"\""),
            uses: uses.iter().map(|index| self.drafts[*index].function.name.clone()).collect(),
            source,
            visible: calls.visible,
            hidden: calls.hidden,
        };
        self.drafts.push(Draft { template, function, uses });
        Ok(self.drafts.len() - 1)
    }

    fn fresh_name(&self, template: &Template, draws: &mut SeedDraws) -> Result<String, WorldError> {
        (0..TRIES)
            .map(|_| template.draw_name(&self.registry.common, draws))
            .find(|name| !self.names.contains(name))
            .ok_or(WorldError::Exhausted("name"))
    }

    /// Puts the functions into modules.
    fn finish(
        self,
        targets: &[usize],
        modules: u32,
        wrong_variable_share: f64,
    ) -> Result<Project, WorldError> {
        let order = self.order();
        let homes = self.homes(&order, modules as usize);
        let mut names = self.registry.common.modules.clone();
        SeedDraws::new(self.seed, "modules").shuffle(&mut names);
        let mut placed: Vec<usize> = order;
        placed.sort_by_key(|draft| homes[*draft]);
        let targets =
            targets.iter().filter_map(|target| placed.iter().position(|draft| draft == target)).collect();
        let mut functions: Vec<Function> = Vec::new();
        for draft in &placed {
            let module = names.get(homes[*draft]).cloned().ok_or(WorldError::Exhausted("module"))?;
            functions.push(Function { module, ..self.drafts[*draft].function.clone() });
        }
        let sources: Vec<&str> = functions.iter().map(|function| function.source.as_str()).collect();
        let layout = lay_out(&functions, &sources)?;
        for (function, line) in functions.iter_mut().zip(layout.lines) {
            function.line = line;
        }
        let mut modules: Vec<String> = functions.iter().map(|function| function.module.clone()).collect();
        modules.dedup();
        Ok(Project {
            tree: layout.tree,
            modules,
            functions,
            targets,
            kept: Vec::new(),
            seed: self.seed,
            wrong_variable_share,
        })
    }

    /// A drawn order of the drafts in which each comes after those it calls. The key of a draft hangs on its name
    /// alone, so that further drafts do not move it among the others.
    fn order(&self) -> Vec<usize> {
        let key =
            |draft: &Draft| SeedDraws::new(self.seed, &format!("place {}", draft.function.name)).next_u64();
        let mut keyed: Vec<(u64, usize)> =
            self.drafts.iter().enumerate().map(|(index, draft)| (key(draft), index)).collect();
        keyed.sort_unstable();
        let mut order = Vec::with_capacity(keyed.len());
        for (_, index) in keyed {
            // What a draft calls calls nothing itself.
            for wanted in self.drafts[index].uses.iter().copied().chain([index]) {
                if !order.contains(&wanted) {
                    order.push(wanted);
                }
            }
        }
        order
    }

    /// The module of each draft: in turn by the order, but never before one that it calls.
    fn homes(&self, order: &[usize], modules: usize) -> Vec<usize> {
        let mut homes = vec![0; self.drafts.len()];
        for (place, draft) in order.iter().enumerate() {
            let called = self.drafts[*draft].uses.iter().map(|used| homes[*used]);
            homes[*draft] = called.chain([place % modules]).max().unwrap_or(0);
        }
        homes
    }
}

/// Whether another function may call this one under that shape. Those that call others may not be called.
fn provides(template: &Template, shape: &str) -> bool {
    template.uses.is_empty() && template.shape == shape
}

fn broken(template: &Template, reason: String) -> WorldError {
    WorldError::Template { template: template.name.clone(), reason }
}

/// What stands between the first `start` and the next `end`.
fn between(text: &str, start: &str, end: &str) -> String {
    let after = text.split_once(start).map_or("", |(_, after)| after);
    after.split_once(end).map_or("", |(inner, _)| inner).to_owned()
}
