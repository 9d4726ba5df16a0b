//! An answer from outside is stored before it is used, and asked for once.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bevy_ecs::prelude::{Res, Resource};
use tadpole_kernel::decide::{Context, DecideResult, Decision, Systems};
use tadpole_kernel::driver::Kernel;
use tadpole_kernel::effect::EffectStore;
use tadpole_kernel::event::Event;
use tadpole_kernel::run::{RunHeader, RunReader};
use tadpole_kernel::storage::faulty::{Fault, Survival};
use tadpole_kernel::verify::{VerifyOptions, verify};
use tadpole_kernel::world::{Phase, WorldView};

use crate::rig::Rig;
use crate::toy::{self, SCENARIO, header};

/// An endpoint that counts how often it is asked, and answers differently each time.
#[derive(Resource, Clone, Default)]
struct Endpoint(Arc<AtomicU32>);

impl Endpoint {
    fn ask(&self) -> Result<Vec<u8>, std::io::Error> {
        let asked = self.0.fetch_add(1, Ordering::SeqCst);
        Ok(format!("answer {asked}").into_bytes())
    }

    fn asked(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

fn consult(view: WorldView, endpoint: Res<Endpoint>, effects: Res<EffectStore>) -> DecideResult {
    let mut decision = Decision::new();
    let request = format!("question about {}", view.progress().run);
    let answer = effects.serve("oracle", request.as_bytes(), || endpoint.ask()).context("consulting")?;
    decision.push(answer.event);
    let policy = view.progress().next_id;
    decision.push(Event::RunFinished(tadpole_kernel::event::RunFinishedV1 { policy }));
    Ok(decision)
}

fn systems(endpoint: &Endpoint) -> Systems {
    let mut systems = Systems::new(|view| (view.progress().phase == Phase::Opening).then_some("consult"));
    systems.add("consult", consult).provide(endpoint.clone());
    systems
}

#[test]
fn resume_replay_and_verify_are_served_from_the_store() {
    let (_temp, dir) = toy::place();
    let endpoint = Endpoint::default();
    Kernel::create(&dir, SCENARIO, header(), systems(&endpoint)).unwrap().run(|_| {}).unwrap();
    assert_eq!(endpoint.asked(), 1);
    let report = verify(&dir, &header(), &systems(&endpoint), &VerifyOptions::default(), |_| {}).unwrap();
    assert!(report.holds(), "{:?}", report.differences);
    tadpole_kernel::replay::Replay::open(&dir).unwrap().finish().unwrap();
    assert_eq!(endpoint.asked(), 1);
}

/// Before storing, the answer was never used: it is asked again. Once it is stored it is never asked again, wherever
/// between there and the commit the machine stops.
#[test]
fn a_crash_anywhere_around_storing_an_answer_never_asks_twice_for_a_stored_one() {
    let (mut asked_again, mut served) = (0, 0);
    for fault in [Fault::Stop, Fault::StopHalfway] {
        for survival in [Survival::Nothing, Survival::Everything, Survival::Something(1)] {
            for operation in 0.. {
                let rig = Rig::created();
                let endpoint = Endpoint::default();
                rig.machine.plan(operation, fault);
                let outcome = rig.open(systems(&endpoint)).and_then(|mut kernel| kernel.run(|_| {}));
                rig.power_cycle(survival);
                let stored = rig.content().keys().any(|name| is_answer(name));
                let before = endpoint.asked();
                rig.open(systems(&endpoint)).unwrap().run(|_| {}).unwrap();
                let again = endpoint.asked() - before;
                assert_eq!(again, u32::from(!stored), "operation {operation}, {fault:?}, {survival:?}");
                asked_again += u32::from(again == 1 && before == 1);
                served += u32::from(stored && outcome.is_err());
                let (_temp, dir) = rig.spill();
                let verified =
                    verify(&dir, &header(), &systems(&endpoint), &VerifyOptions::default(), |_| {});
                assert!(verified.as_ref().is_ok_and(|report| report.holds() && report.complete));
                if outcome.is_ok() {
                    break;
                }
            }
        }
    }
    assert!(asked_again > 0 && served > 0, "{asked_again} asked again, {served} served");
}

fn is_answer(name: &str) -> bool {
    name.starts_with("effects/") && !name.contains(".tmp")
}

fn answers(dir: &Path) -> Vec<String> {
    let names = toy::content(dir).into_keys();
    names.filter(|name| is_answer(name)).collect()
}

#[test]
fn a_lost_or_damaged_answer_is_an_error_and_not_a_new_question() {
    let (_temp, dir) = toy::place();
    let endpoint = Endpoint::default();
    Kernel::create(&dir, SCENARIO, header(), systems(&endpoint)).unwrap().run(|_| {}).unwrap();
    let path = dir.join(&answers(&dir)[0]);
    let honest = fs::read(&path).unwrap();
    let difference = || {
        let report = verify(&dir, &header(), &systems(&endpoint), &VerifyOptions::default(), |_| {}).unwrap();
        report.differences[0].to_string()
    };
    for at in [0, 31, 32, honest.len() - 1] {
        let mut damaged = honest.clone();
        damaged[at] ^= 1;
        fs::write(&path, damaged).unwrap();
        assert!(difference().contains("is corrupt"), "{}", difference());
    }
    fs::remove_file(&path).unwrap();
    assert!(difference().contains("no answer to oracle request"), "{}", difference());
    assert_eq!(endpoint.asked(), 1);
}

#[test]
fn one_request_from_many_threads_is_asked_once() {
    #[derive(Resource, Clone)]
    struct Threads;
    fn crowd(
        view: WorldView,
        endpoint: Res<Endpoint>,
        effects: Res<EffectStore>,
        _: Res<Threads>,
    ) -> DecideResult {
        let answers: Vec<_> = std::thread::scope(|scope| {
            let ask = || effects.serve("oracle", b"the same", || endpoint.ask()).map(|answer| answer.event);
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect()
        });
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]));
        let mut decision = Decision::new();
        decision.push(answers[0].clone());
        let policy = view.progress().next_id;
        decision.push(Event::RunFinished(tadpole_kernel::event::RunFinishedV1 { policy }));
        Ok(decision)
    }
    let (_temp, dir) = toy::place();
    let endpoint = Endpoint::default();
    let mut systems = Systems::new(|view| (view.progress().phase == Phase::Opening).then_some("crowd"));
    systems.add("crowd", crowd).provide(endpoint.clone()).provide(Threads);
    Kernel::create(&dir, SCENARIO, RunHeader { ..header() }, systems).unwrap().run(|_| {}).unwrap();
    assert_eq!(endpoint.asked(), 1);
    assert_eq!(RunReader::open(&dir).unwrap().totals().unwrap().steps, 2);
}
