//! What a run can be asked about: tasks, trajectories, updates; and what can be measured again.

use tadpole_kernel::event::{Event, Purpose};
use tadpole_kernel::run::RunReader;
use tadpole_scenarios::schema::{Keep, Scenario};
use tadpole_systems::analysis::{
    Lesson, PolicyStory, RunSummary, TaskStory, Tasks, TrajectoryStory, UpdateStory, evaluate, recalibrate,
    updates_on,
};
use tadpole_tests::bits::Bits;
use tadpole_tests::nano::{nano, run};
use tadpole_tests::{drive, events};

#[test]
fn the_tokens_of_an_update_add_up_to_its_event() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("run");
    let mut scenario: Scenario = nano().scenario.clone();
    scenario.log.keep = Keep::All;
    let execution = drive::on_threads(2);
    drive::complete(&scenario, &directory, &execution);
    let assembly = drive::assembled(&scenario, &execution);
    let reader = RunReader::open(&directory).unwrap();
    let mut seen = 0;
    for (_, event) in events(&directory) {
        let Event::UpdateApplied(update) = event else { continue };
        let which = (update.iteration.0, update.update);
        let story =
            UpdateStory::read(&reader, &scenario, &assembly, which).unwrap().expect("it was committed");
        assert!(story.recomputed, "all weights are kept");
        let tokens: Vec<_> =
            story.groups.iter().flat_map(|group| &group.members).flat_map(|member| &member.tokens).collect();
        let kept = tokens.iter().filter(|token| token.kept == Some(true)).count();
        assert_eq!((tokens.len() as u64, kept as u64), (update.tokens, update.kept), "{which:?}");
        let ratio_max = tokens
            .iter()
            .filter_map(|token| token.ratio)
            .fold(None, |most: Option<f32>, ratio| Some(most.map_or(ratio, |most| most.max(ratio))));
        let (again, trained) = (ratio_max.unwrap_or(1.0).to_bits(), update.ratio_max.to_bits());
        assert_eq!(again, trained, "{which:?}: the bits that training saw");
        for group in &story.groups {
            assert_eq!(group.discarded, group.members.iter().all(|member| member.advantage.is_none()));
        }
        seen += 1;
    }
    assert!(seen > 0);
}

#[test]
fn where_weights_were_dropped_an_update_says_so_and_still_knows_what_was_sampled() {
    let assembly = drive::assembled(&nano().scenario, &drive::on_threads(1));
    let reader = RunReader::open(run()).unwrap();
    let story = |which| UpdateStory::read(&reader, &nano().scenario, &assembly, which).unwrap();
    assert!(story((1, 0)).expect("the first").recomputed, "it starts from published weights");
    let second = story((1, 1)).expect("the second");
    let tokens = second.groups.iter().flat_map(|group| &group.members).flat_map(|member| &member.tokens);
    for token in tokens {
        assert!(token.q > 0.0 && token.q <= 1.0);
        assert_eq!(token.kept.is_some(), second.recomputed);
    }
    assert_eq!(story((9, 0)), None);
}

#[test]
fn a_transcript_spells_what_the_policy_saw_and_wrote() {
    let assembly = drive::assembled(&nano().scenario, &drive::on_threads(1));
    let reader = RunReader::open(run()).unwrap();
    let mut changed = 0;
    for (_, event) in &nano().events {
        let Event::TrajectoryFinished(played) = event else { continue };
        let story = TrajectoryStory::read(&reader, &assembly.tokenizer, played.trajectory)
            .unwrap()
            .expect("it is there");
        let parts = &story.segments[0];
        let ids: Vec<u32> = parts.iter().flat_map(|part| &part.tokens).map(|token| token.id).collect();
        assert_eq!(ids, played.segments[0].tokens.unpack());
        let sampled: Vec<f32> = parts
            .iter()
            .filter(|part| part.sampled)
            .flat_map(|part| part.tokens.iter().map(|token| token.log_prob.expect("it was sampled")))
            .collect();
        assert_eq!(sampled, played.segments[0].log_probs);
        assert!(!parts[0].sampled && parts[0].text.contains("<|im_start|>user"));
        changed += usize::from(story.patch.contains("\n+"));
    }
    assert!(changed > 0, "some policy edits a file");
}

#[test]
fn the_story_of_a_task_is_the_same_from_its_candidate_and_from_itself() {
    let reader = RunReader::open(run()).unwrap();
    for (_, event) in &nano().events {
        let Event::TaskAdmitted(admitted) = event else { continue };
        let story = TaskStory::read(&reader, admitted.task).unwrap().expect("it is there");
        assert_eq!(TaskStory::read(&reader, admitted.candidate).unwrap().as_ref(), Some(&story));
        let (passed, sampled) =
            story.looks.iter().fold((0, 0), |(k, n), look| (k + look.passed, n + look.sampled));
        assert_eq!((passed, sampled), (admitted.passed, admitted.sampled));
        let calibrated = story.trajectories.iter().filter(|it| it.purpose == Purpose::Calibration).count();
        assert_eq!(calibrated, sampled as usize);
        assert!(!story.fail_to_pass.is_empty() && story.gold.starts_with("--- a/"), "{}", story.gold);
    }
    assert_eq!(TaskStory::read(&reader, tadpole_kernel::id::StableId(u64::MAX)).unwrap(), None);
}

#[test]
fn measuring_again_draws_afresh_repeats_itself_and_leaves_the_run_alone() {
    let before = Bits::of(run());
    let reader = RunReader::open(run()).unwrap();
    let mut set = nano().scenario.evaluation.sets[0].clone();
    set.samples = 4;
    let measure = |threads, tasks| {
        let assembly = drive::assembled(&nano().scenario, &drive::on_threads(threads));
        let measured = evaluate(&reader, &assembly, Some(1), (&set, tasks)).unwrap().expect("a policy");
        let again = recalibrate(&reader, &assembly, 1, (4, true)).unwrap().expect("a batch");
        assert_eq!(evaluate(&reader, &assembly, Some(9), (&set, tasks)).unwrap(), None);
        (measured, again)
    };
    let (measured, again) = measure(1, &Tasks::OfRun);
    assert_eq!((measured.clone(), again.clone()), measure(2, &Tasks::OfRun));
    assert_eq!((measured[0].iteration, measured[0].tasks, measured[0].samples), (1, set.tasks, 4));
    let in_band = |event: &Event| matches!(event, Event::TaskAdmitted(it) if it.in_band);
    let first = nano()
        .events
        .iter()
        .map(|(_, event)| event)
        .take_while(|event| !matches!(event, Event::BatchClosed(_)));
    assert_eq!(again.tasks.len(), first.filter(|event| in_band(event)).count());
    assert!(measure(2, &Tasks::Drawn).0[0].tasks == set.tasks);
    assert!(before == Bits::of(run()), "the run was changed");
}

#[test]
fn what_a_trajectory_taught_has_the_bits_of_its_update_and_a_reason_for_each_token_dropped() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("run");
    let mut scenario: Scenario = nano().scenario.clone();
    scenario.log.keep = Keep::All;
    // The mask of a run this small fires with limits this small alone.
    (scenario.update.delta_low, scenario.update.delta_high) = (1e-5, 1e-5);
    let execution = drive::on_threads(2);
    drive::complete(&scenario, &directory, &execution);
    let assembly = drive::assembled(&scenario, &execution);
    let reader = RunReader::open(&directory).unwrap();
    let (mut dropped, mut lessons) = (0, 0);
    for (_, event) in events(&directory) {
        let Event::UpdateApplied(update) = event else { continue };
        let which = (update.iteration.0, update.update);
        let whole =
            UpdateStory::read(&reader, &scenario, &assembly, which).unwrap().expect("it was committed");
        for (group, member) in whole.groups.iter().flat_map(|it| it.members.iter().map(move |one| (it, one)))
        {
            let found = updates_on(&reader, member.trajectory).unwrap();
            assert_eq!(found.len(), 1, "fresh rollouts train once");
            let lesson = Lesson::read(&reader, &scenario, &assembly, &found[0], member.trajectory).unwrap();
            let lesson = lesson.expect("it is in that update");
            assert_eq!((lesson.iteration.0, lesson.update, lesson.task), (which.0, which.1, group.task));
            assert_eq!((lesson.discarded, lesson.advantage), (group.discarded, member.advantage));
            assert_eq!(lesson.tokens, member.tokens, "alone as in its batch");
            for token in &lesson.tokens {
                assert_eq!(token.dropped.is_some(), token.kept == Some(false));
                dropped += u64::from(token.dropped.is_some());
            }
            lessons += 1;
        }
    }
    assert!(lessons > 0 && dropped > 0, "{lessons} lessons, {dropped} tokens dropped");
    let calibration = nano().events.iter().find_map(|(_, event)| match event {
        Event::TrajectoryFinished(it) if it.purpose == Purpose::Calibration => Some(it.trajectory),
        _ => None,
    });
    assert_eq!(updates_on(&reader, calibration.expect("nano calibrates")).unwrap(), []);
}

#[test]
fn every_trajectory_was_played_by_some_policy() {
    let reader = RunReader::open(run()).unwrap();
    let (mut policies, mut played, mut measured) = (0, 0, 0);
    for (commit, event) in &nano().events {
        let id = match event {
            Event::PolicyPublished(it) => it.policy,
            Event::UpdateApplied(it) => it.policy,
            _ => continue,
        };
        let story = PolicyStory::read(&reader, id).unwrap().expect("it is there");
        assert_eq!((story.policy, story.step), (id, commit.step));
        assert_eq!(story.update.is_some(), matches!(event, Event::UpdateApplied(_)));
        assert_eq!(story.averaged.is_some(), matches!(event, Event::PolicyPublished(_)));
        policies += 1;
        played += story.played.iter().map(|it| it.trajectories).sum::<u64>();
        measured += story.evaluations.len();
    }
    let count = |is: fn(&Event) -> bool| nano().events.iter().filter(|(_, event)| is(event)).count();
    assert_eq!(played as usize, count(|event| matches!(event, Event::TrajectoryFinished(_))));
    assert_eq!(measured, count(|event| matches!(event, Event::EvaluationFinished(_))));
    assert!(policies > 4);
    assert_eq!(PolicyStory::read(&reader, tadpole_kernel::id::StableId(u64::MAX)).unwrap(), None);
}

#[test]
fn the_summary_follows_from_the_log() {
    let summary = RunSummary::read(&RunReader::open(run()).unwrap()).unwrap();
    let applied = nano().events.iter().filter(|(_, event)| matches!(event, Event::UpdateApplied(_))).count();
    let evaluated =
        nano().events.iter().filter(|(_, event)| matches!(event, Event::EvaluationFinished(_))).count();
    assert_eq!(summary.iterations.iter().map(|iteration| iteration.updates as usize).sum::<usize>(), applied);
    assert_eq!(summary.evaluations().count(), evaluated);
    assert!(summary.finished && summary.refused.is_none() && summary.watchdogs == 0);
}
