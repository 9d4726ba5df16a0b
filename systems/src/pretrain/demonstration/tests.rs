//! Demonstrations as they are played, over the real harness and sandbox.

use tadpole_scenarios::draws::SeedDraws;
use tadpole_scenarios::schema::PretrainScenario;

use super::*;
use crate::assembly;
use crate::codec::Hermes;
use crate::harness::leaf::{Leaf, TOOLS};
use crate::sandbox::SandboxPool;
use crate::tokenizer::{Tokenizer, train};

fn demonstrator() -> Demonstrator {
    let scenario = PretrainScenario::default();
    let limits = assembly::limits(&tadpole_scenarios::schema::Sandbox::default());
    let codec: Arc<dyn Codec> = Arc::new(Hermes::new(TOOLS));
    let config = assembly::leaf_config(&scenario.harness, limits.clone());
    let judge = Judge { sandbox: Arc::new(SandboxPool::in_process(1)), limits };
    Demonstrator::new(Arc::new(Leaf::new(config, Arc::clone(&codec))), codec, judge, scenario.world)
}

/// Episodes with `noise` that came to an end, of `count` draws.
fn episodes(noise: Noise, count: u64) -> Vec<Script> {
    let demonstrator = demonstrator();
    let script = |number| demonstrator.episode(&noise, &mut SeedDraws::new(number, "episode")).unwrap();
    (0..count).filter_map(script).collect()
}

/// Share of `scripts` in which a text contains `part`.
fn share(scripts: &[Script], part: &str) -> f64 {
    let found = scripts.iter().filter(|script| script.texts().iter().any(|text| text.contains(part))).count();
    found as f64 / scripts.len().max(1) as f64
}

#[test]
fn the_same_draws_give_the_same_demonstrations() {
    let noise = Noise { wrong_edit: 0.5, hasty: 0.5, typo: 0.5, bad_path: 0.5, no_change: 0.5 };
    assert_eq!(episodes(noise, 12), episodes(noise, 12));
    let demonstrator = demonstrator();
    let drill = || demonstrator.drill(&noise, &mut SeedDraws::new(3, "drill")).unwrap();
    assert_eq!(drill(), drill());
}

#[test]
fn a_clean_expert_makes_no_error_and_nearly_always_gets_through() {
    let scripts = episodes(Noise::default(), 40);
    assert!(scripts.len() >= 36, "{}", scripts.len());
    assert!(scripts.iter().flat_map(Script::texts).all(|text| !text.starts_with("Error: ")));
    assert!(scripts.iter().all(|script| script.texts().last().is_some_and(|text| text == "Done.")));
}

#[test]
fn every_mistake_shows_and_is_recovered_from() {
    let clean = Noise::default();
    let shows = [
        (Noise { typo: 1.0, ..clean }, "old_string was not found"),
        (Noise { bad_path: 1.0, ..clean }, "o such file"),
        (Noise { no_change: 1.0, ..clean }, "identical"),
        (Noise { wrong_edit: 1.0, ..clean }, "FAILED"),
    ];
    for (noise, part) in shows {
        let scripts = episodes(noise, 16);
        assert!(scripts.len() >= 8, "{part}: {}", scripts.len());
        assert!(share(&scripts, part) > 0.9, "{part}: {}", share(&scripts, part));
    }
}

#[test]
fn a_hasty_expert_answers_right_after_its_wrong_edit() {
    let scripts = episodes(Noise { wrong_edit: 1.0, hasty: 1.0, ..Noise::default() }, 16);
    assert!(scripts.len() >= 8, "{}", scripts.len());
    let hasty = scripts.iter().filter(|script| {
        let texts = script.texts();
        matches!(texts.as_slice(), [.., edited, answer] if edited.starts_with("Edited ") && answer == "Done.")
    });
    assert!(hasty.count() * 10 >= scripts.len() * 9);
}

#[test]
fn what_is_learnt_is_what_the_expert_wrote() {
    let demonstrator = demonstrator();
    let mut scripts = episodes(Noise { wrong_edit: 0.5, ..Noise::default() }, 24);
    scripts.extend((0..12).filter_map(|number| {
        demonstrator.drill(&Noise::default(), &mut SeedDraws::new(number, "drill")).unwrap()
    }));
    let texts: Vec<String> = scripts.iter().flat_map(Script::texts).collect();
    let file = train(texts.iter().map(|text| (text.as_str(), 1)), 480, &Hermes::scaffold(TOOLS)).unwrap();
    let tokenizer = Tokenizer::load(&file).unwrap();
    let mut kept = 0;
    for script in &scripts {
        let Some(Demonstration { tokens, spans }) = script.tokenised(&tokenizer, 768, 64).unwrap() else {
            continue;
        };
        kept += 1;
        assert_eq!(tokenizer.decode(&tokens), script.text());
        assert_eq!(spans.len(), script.turns());
        for span in &spans {
            let turn = tokenizer.decode(&tokens[span.start as usize..span.end as usize]);
            assert!(span.len() <= 64);
            assert!(turn.ends_with("<|im_end|>") && !turn.contains("<|im_start|>"), "{turn}");
            assert!(turn.starts_with("<tool_call>") || turn == "Done.<|im_end|>", "{turn}");
        }
    }
    assert!(kept * 2 > scripts.len(), "{kept} of {}", scripts.len());
}
