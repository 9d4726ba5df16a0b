//! Tasks of the embedded world: a project of the templates with one or two syntax-tree mutations in it.

use std::collections::BTreeMap;

use tadpole_kernel::decide::{Context, DecideError};
use tadpole_kernel::draws::{DrawCount, Stream, StreamKey};
use tadpole_kernel::event::{Direction, Origin};
use tadpole_kernel::id::Visit;
use tadpole_scenarios::draws::Draws;
use tadpole_scenarios::repository::Tree;
use tadpole_scenarios::world::{
    self, Blueprint, BugFacts, Example, FaultedProject, Outcome, Project, Split, StatementFacts, TestCase,
    WorldSpec, shortest, test_file, test_path,
};

use super::{Answered, Draw, Generator, Made, Means};
use crate::capability::Judge;

/// The generator's name in events.
const NAME: &str = "mutation";

/// How the sandbox's word begins about an expression that a limit stopped. A fault that never ends teaches little and costs
/// its fuel in every test.
const STOPPED: &str = "stopped:";

/// Draws projects of a world and injects faults.
#[derive(Clone, Debug)]
pub struct Mutation {
    spec: WorldSpec,
    attempts: u32,
}

/// A stream of the kernel, as the world draws from it.
struct Drawn<'a>(&'a mut Stream);

impl Draws for Drawn<'_> {
    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}

impl Generator for Mutation {
    fn generate(&self, draw: Draw, means: &Means<'_>) -> Result<Answered<Made>, DecideError> {
        let Draw { seed, iteration, index } = draw;
        let mut stream =
            Stream::new(seed, &StreamKey { iteration, visit: Visit(index), ..StreamKey::new("raw draw") });
        let blueprint = Blueprint::draw(&self.spec, Split::Train, &mut Drawn(&mut stream));
        let mut draws = DrawCount::default();
        draws.count(&stream);
        Ok(Answered::alone(Made { draws, ..self.task(&blueprint, means.judge)? }))
    }

    fn refine(
        &self,
        origin: &Origin,
        direction: Direction,
        means: &Means<'_>,
    ) -> Result<Answered<Option<Made>>, DecideError> {
        let blueprint = Blueprint {
            seed: origin.seed,
            split: Split::Train,
            stratum: origin.stratum.clone(),
            level: origin.level,
            functions: origin.functions,
            modules: origin.modules,
            bugs: origin.operators.len() as u32,
            kept: origin.faults.clone(),
        };
        let direction = match direction {
            Direction::Easier => world::Direction::Easier,
            Direction::Harder => world::Direction::Harder,
        };
        let refined = blueprint.refine(direction).map(|refined| self.task(&refined, means.judge));
        refined.transpose().map(Answered::alone)
    }
}

impl Mutation {
    /// Tasks of `spec`; at most `attempts` faults are tried a project.
    #[must_use]
    pub fn new(spec: WorldSpec, attempts: u32) -> Self {
        Self { spec, attempts }
    }

    /// The task of a blueprint: the first of its faults that shows in a visible and in a hidden test, each bug alone.
    /// Where none of the attempts does, the last one, for validation to reject.
    pub fn task(&self, blueprint: &Blueprint, judge: &Judge) -> Result<Made, DecideError> {
        let project = blueprint.project(&self.spec).context("laying out a project")?;
        let cases = Cases::of(&project, judge)?;
        let mut last = None;
        for (attempt, faulted) in
            project.faults().context("injecting faults")?.take(self.attempts as usize).enumerate()
        {
            let shown = shows(&project, &faulted, &cases, judge)?;
            let found = shown.is_some();
            last = Some((attempt as u32, faulted, shown));
            if found {
                break;
            }
        }
        let (attempt, faulted, shown) = last
            .ok_or_else(|| DecideError::new(format!("project {} has no line to mutate", blueprint.seed)))?;
        let facts = StatementFacts { bugs: shown.unwrap_or_default() };
        let visible = cases.files(&project, |function| function.visible.len());
        Ok(Made {
            origin: origin(blueprint, &faulted),
            attempt,
            statement: blueprint.statement(&facts),
            snapshot: faulted.tree.overlaid(&visible),
            gold: faulted.gold,
            hidden: cases.files(&project, |_| usize::MAX),
            draws: DrawCount::default(),
        })
    }
}

fn origin(blueprint: &Blueprint, faulted: &FaultedProject) -> Origin {
    Origin {
        generator: NAME.to_owned(),
        seed: blueprint.seed,
        stratum: blueprint.stratum.clone(),
        level: blueprint.level,
        operators: faulted.faults.iter().map(|fault| fault.operator.name().to_owned()).collect(),
        templates: faulted.faults.iter().map(|fault| fault.template.clone()).collect(),
        faults: faulted.faults.iter().map(|fault| fault.choice).collect(),
        functions: blueprint.functions,
        modules: blueprint.modules,
    }
}

/// What the correct project gives for each call of each function; visible calls first.
struct Cases {
    /// By function index: calls with their values, in order. A call that raises is no case.
    by_function: Vec<Vec<TestCase>>,
}

impl Cases {
    fn of(project: &Project, judge: &Judge) -> Result<Self, DecideError> {
        let calls: Vec<Vec<String>> = project.functions.iter().map(calls).collect();
        let mut by_function = vec![Vec::new(); project.functions.len()];
        for module in &project.modules {
            let members =
                || (0..project.functions.len()).filter(|&index| project.functions[index].module == *module);
            let asked: Vec<String> = members().flat_map(|index| calls[index].clone()).collect();
            let values = judge
                .sandbox
                .evaluate(&project.tree, module, &asked, &judge.limits)
                .context("running a project")?;
            let mut values = values.into_iter();
            for index in members() {
                for (number, call) in (1..).zip(&calls[index]) {
                    if let Some(Ok(expected)) = values.next() {
                        let function = project.functions[index].name.clone();
                        by_function[index].push(TestCase { function, number, call: call.clone(), expected });
                    }
                }
            }
        }
        Ok(Self { by_function })
    }

    /// Test files with the cases of each function up to the number that `until` gives.
    fn files(&self, project: &Project, until: impl Fn(&world::Function) -> usize) -> Tree {
        let mut by_module: BTreeMap<&str, Vec<TestCase>> = BTreeMap::new();
        for (function, cases) in project.functions.iter().zip(&self.by_function) {
            let last = until(function);
            let shown = cases.iter().filter(|case| case.number as usize <= last).cloned();
            by_module.entry(&function.module).or_default().extend(shown);
        }
        let mut tree = Tree::new();
        for (module, cases) in by_module.into_iter().filter(|(_, cases)| !cases.is_empty()) {
            // Module names are identifiers, so their test files have valid paths.
            tree.insert_file(&test_path(module), test_file(module, &cases)).ok();
        }
        tree
    }
}

fn calls(function: &world::Function) -> Vec<String> {
    function.visible.iter().chain(&function.hidden).cloned().collect()
}

/// How each bug shows; `None` where one of them, alone, shows in no visible or in no hidden case, or
/// does not end.
fn shows(
    project: &Project,
    faulted: &FaultedProject,
    cases: &Cases,
    judge: &Judge,
) -> Result<Option<Vec<BugFacts>>, DecideError> {
    let mut facts = Vec::new();
    for (bug, fault) in faulted.faults.iter().enumerate() {
        let tree = if faulted.faults.len() == 1 {
            faulted.tree.clone()
        } else {
            faulted.alone(project, bug).context("laying out a project")?
        };
        let function = &project.functions[fault.function];
        let known = &cases.by_function[fault.function];
        let asked: Vec<String> = known.iter().map(|case| case.call.clone()).collect();
        let values = judge
            .sandbox
            .evaluate(&tree, &function.module, &asked, &judge.limits)
            .context("running a faulty project")?;
        if values.iter().any(|value| value.as_ref().is_err_and(|error| error.starts_with(STOPPED))) {
            return Ok(None);
        }
        let wrong = known.iter().zip(values).filter(|(case, value)| value.as_ref() != Ok(&case.expected));
        let (visible, hidden): (Vec<_>, Vec<_>) =
            wrong.partition(|(case, _)| case.number as usize <= function.visible.len());
        let examples: Vec<Example> = visible.into_iter().map(|(case, value)| example(case, value)).collect();
        match shortest(&examples) {
            Some(example) if !hidden.is_empty() => facts.push(BugFacts::new(project, fault, example.clone())),
            _ => return Ok(None),
        }
    }
    Ok(Some(facts))
}

fn example(case: &TestCase, value: Result<String, String>) -> Example {
    let outcome = value.map_or_else(Outcome::Error, Outcome::Value);
    Example { call: case.call.clone(), expected: case.expected.clone(), outcome }
}
