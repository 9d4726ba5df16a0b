//! Projects with bugs in them.

use std::collections::BTreeMap;

use super::super::mutation::{Mutant, Operator, mutants, preference};
use super::layout::{Layout, lay_out};
use super::{Project, WorldError};
use crate::draws::SeedDraws;
use crate::repository::Tree;

/// A bug that was put into a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Index of the function in its project.
    pub function: usize,
    /// What kind of mistake.
    pub operator: Operator,
    /// Its index among the function's mutants, best first.
    pub choice: u32,
    /// Template of the function.
    pub template: String,
    /// Path of the file.
    pub path: String,
    /// Line of the mistake in the faulty file, from 1.
    pub line: u32,
    /// The mutation of the function's source.
    pub mutant: Mutant,
}

/// A project with one fault for each bug that was asked for, each in another function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultedProject {
    /// The whole project with every bug.
    pub tree: Tree,
    /// The files that bugs changed, as they are in the correct project: the gold patch.
    pub gold: Tree,
    /// The bugs.
    pub faults: Vec<Fault>,
}

impl FaultedProject {
    /// The project with one of its bugs alone. A task of two bugs is one only where either alone fails tests.
    pub fn alone(&self, project: &Project, bug: usize) -> Result<Tree, WorldError> {
        let faults = self.faults.get(bug);
        project.with_sources(faults.map(|fault| (fault.function, fault.mutant.source.as_str())))
    }

    /// Paths of the files that bugs changed.
    pub fn changed(&self) -> impl Iterator<Item = &str> {
        self.gold.paths()
    }
}

impl Project {
    /// The project with other sources for some functions, by index.
    pub fn with_sources<'a>(
        &self,
        changed: impl IntoIterator<Item = (usize, &'a str)>,
    ) -> Result<Tree, WorldError> {
        self.lay_out_with(&changed.into_iter().collect()).map(|layout| layout.tree)
    }

    /// Ways to put the bugs in, in order of preference: to be tried one after the other until one makes a valid task.
    /// Bugs that the blueprint keeps are the same in all of them. The order hangs on the seed and the faulty functions alone. Judge validity by the tests of the faulty functions
    /// themselves, so that the same one is chosen in any surroundings.
    pub fn faults(&self) -> Result<Faults<'_>, WorldError> {
        let mut choices = Vec::new();
        for (bug, target) in self.targets.iter().enumerate() {
            let function = &self.functions[*target];
            let mutants = mutants(&function.source, &function.name)
                .map_err(|error| WorldError::Mutation { function: function.name.clone(), error })?;
            let mut draws = SeedDraws::new(self.seed, &format!("fault {}", function.name));
            let order = preference(&mutants, self.wrong_variable_share, &mut draws);
            let ordered = order.into_iter().map(|index| mutants[index].clone()).collect();
            choices.push(Choices { function: *target, mutants: ordered, kept: self.kept.get(bug).copied() });
        }
        Ok(Faults { project: self, choices, next: 0 })
    }

    fn lay_out_with(&self, changed: &BTreeMap<usize, &str>) -> Result<Layout, WorldError> {
        let sources: Vec<&str> = self
            .functions
            .iter()
            .enumerate()
            .map(|(index, function)| changed.get(&index).copied().unwrap_or(&function.source))
            .collect();
        Ok(lay_out(&self.functions, &sources)?)
    }

    fn with_faults(&self, chosen: &[Chosen<'_>]) -> Result<FaultedProject, WorldError> {
        let changed = chosen.iter().map(|it| (it.function, it.mutant.source.as_str())).collect();
        let Layout { tree, lines } = self.lay_out_with(&changed)?;
        let gold = tree.diff(&self.tree);
        let faults = chosen
            .iter()
            .map(|&Chosen { function, choice, mutant }| Fault {
                function,
                operator: mutant.operator,
                choice,
                template: self.functions[function].template.clone(),
                path: self.functions[function].path(),
                line: lines[function] + mutant.line - 1,
                mutant: mutant.clone(),
            })
            .collect();
        Ok(FaultedProject { tree, gold, faults })
    }
}

/// Ways to put the bugs in. The n-th takes the n-th choice for each of the faulty functions, going round where a
/// function has fewer; one that has its fault already keeps it.
pub struct Faults<'a> {
    project: &'a Project,
    choices: Vec<Choices>,
    next: usize,
}

/// What may go wrong in one function.
struct Choices {
    function: usize,
    /// In order of preference.
    mutants: Vec<Mutant>,
    /// The one that it has already.
    kept: Option<u32>,
}

struct Chosen<'a> {
    function: usize,
    choice: u32,
    mutant: &'a Mutant,
}

impl Choices {
    /// Attempts after which nothing new comes.
    fn attempts(&self) -> usize {
        if self.kept.is_some() { 1 } else { self.mutants.len() }
    }

    fn at(&self, attempt: usize) -> Option<Chosen<'_>> {
        let choice = self.kept.map_or(attempt, |kept| kept as usize).checked_rem(self.mutants.len())?;
        Some(Chosen { function: self.function, choice: choice as u32, mutant: &self.mutants[choice] })
    }
}

impl Iterator for Faults<'_> {
    type Item = FaultedProject;

    fn next(&mut self) -> Option<FaultedProject> {
        let attempt = self.next;
        if attempt >= self.choices.iter().map(Choices::attempts).max().unwrap_or(0) {
            return None;
        }
        self.next += 1;
        let chosen: Vec<Chosen<'_>> = self.choices.iter().map(|it| it.at(attempt)).collect::<Option<_>>()?;
        // Paths are those of the correct project, which were accepted.
        self.project.with_faults(&chosen).ok()
    }
}
