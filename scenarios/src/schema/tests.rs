//! Promises of the schema.

use proptest::prelude::*;

use super::*;

const FILE: &str = "test.toml";

fn refused(text: &str) -> String {
    Scenario::parse(text, FILE).expect_err(text).to_string()
}

/// The only complaint about `text`: line, key, and reason with help.
fn complaint(text: &str) -> (Option<usize>, String, String) {
    let error = Scenario::parse(text, FILE).expect_err(text);
    assert_eq!(error.complaints.len(), 1, "{error}");
    let complaint = error.complaints[0].clone();
    let line = match complaint.location {
        Location::Line { line, .. } => Some(line),
        _ => None,
    };
    (line, complaint.key, format!("{}; {}", complaint.reason, complaint.help))
}

fn check(text: &str, line: impl Into<Option<usize>>, key: &str, reason: &str) {
    let found = complaint(text);
    assert_eq!((found.0, found.1.as_str()), (line.into(), key), "{}", found.2);
    assert!(found.2.contains(reason), "{}", found.2);
}

#[test]
fn an_empty_file_is_the_default_scenario() {
    assert_eq!(Scenario::parse("", FILE).unwrap(), Scenario::default());
    assert_eq!(PretrainScenario::parse("", FILE).unwrap(), PretrainScenario::default());
}

#[test]
fn printed_defaults_parse_back_to_the_defaults() {
    assert_eq!(Scenario::parse(&Scenario::print_defaults(), FILE).unwrap(), Scenario::default());
    assert_eq!(
        PretrainScenario::parse(&PretrainScenario::print_defaults(), FILE).unwrap(),
        PretrainScenario::default()
    );
}

#[test]
fn printed_defaults_document_every_key_once() {
    for (printed, resolved) in [
        (Scenario::print_defaults(), Scenario::default().to_toml()),
        (PretrainScenario::print_defaults(), PretrainScenario::default().to_toml()),
    ] {
        let mut documented = std::collections::BTreeSet::new();
        let (mut table, mut before) = (String::new(), "");
        for line in printed.lines() {
            if line.starts_with('[') {
                table = line.trim_matches(['[', ']']).to_owned();
            } else if let Some((key, _)) = line.split_once(" = ").filter(|_| !line.starts_with('#')) {
                let first = documented.insert(format!("{table}.{key}"));
                assert_eq!(before.starts_with('#'), first, "{table}.{key}");
            }
            before = line;
        }
        let mut table = String::new();
        for line in resolved.lines() {
            if line.starts_with('[') {
                table = line.trim_matches(['[', ']']).to_owned();
            } else if let Some((key, _)) = line.split_once(" = ") {
                assert!(documented.contains(&format!("{table}.{key}")), "{table}.{key}");
            }
        }
    }
}

#[test]
fn the_printed_defaults_change_only_on_purpose() {
    insta::assert_snapshot!(Scenario::print_defaults());
}

#[test]
fn the_resolved_scenario_states_every_key_and_parses_back() {
    let scenario = Scenario::parse("seed = 3\n[update]\nlearning_rate = 2.5e-4\n", FILE).unwrap();
    let resolved = scenario.to_toml();
    let again = Scenario::parse(&resolved, FILE).unwrap();
    assert_eq!(again, scenario);
    assert_eq!(again.to_toml(), resolved);
    assert!(resolved.contains("learning_rate = 0.00025\n"), "{resolved}");
}

#[test]
fn name_and_exec_are_no_part_of_the_identity_and_everything_else_is() {
    let bytes = |text: &str| Scenario::parse(text, FILE).unwrap().semantic_bytes();
    let default = bytes("");
    let text = String::from_utf8(default.clone()).unwrap();
    assert!(!text.contains("[exec]") && !text.starts_with("name") && text.contains("[update]"), "{text}");
    assert_eq!(bytes("name = \"other\"\n[exec]\nthreads = 3\nisa = \"scalar\"\n"), default);
    for text in ["seed = 2", "[update]\nclip = 2.0", "[log]\nkeep = \"all\"", "[harness]\nmax_turns = 7"] {
        assert_ne!(bytes(text), default, "{text}");
    }
}

#[test]
fn an_unknown_key_is_refused_with_its_line_and_a_suggestion() {
    assert_eq!(
        refused("seed = 1\n\n[curriculum]\nbatchs = 64\n"),
        "test.toml:4:1: curriculum.batchs: unknown key\n 4 | batchs = 64\n   | ^^^^^^\n  help: did you mean `batch`?"
    );
    check("learning_rate = 1e-4", 1, "learning_rate", "belongs to [update]");
    check("[curiculum]\nbatch = 64", 1, "curiculum", "did you mean `curriculum`?");
    check("frobnicate = 1", 1, "frobnicate", "--print-defaults");
    check("[[evaluation.sets]]\nname = \"a\"\nsedd = 1", 3, "evaluation.sets.0.sedd", "did you mean `seed`?");
}

#[test]
fn a_wrong_type_is_refused_with_its_line_and_what_is_allowed() {
    check(
        "\n[curriculum]\nbatch = \"64\"",
        3,
        "curriculum.batch",
        "expected a whole number, found a string; allowed: 1 to",
    );
    check("[update]\nupdates = 1.5", 2, "update.updates", "expected a whole number");
    check("[update]\nclip = true", 2, "update.clip", "expected a number, found true or false");
    check("[update]\nrefill = 1", 2, "update.refill", "`true` or `false`");
    check("update = 3", 1, "update", "expected a table");
    check("[generator]\ncommand = [1]", 2, "generator.command", "entry 0: expected a string");
    check("[update]\ndivergence = \"jsd\"", 2, "update.divergence", "write \"tv\" or \"kl\"");
    check("[curriculum]\nadmission = \"half\"", 2, "curriculum.admission", "3/8..5/8");
    check("seed = 1979-05-27", 1, "seed", "found a date");
    check("evaluation.sets = 1", 1, "evaluation.sets", "[[evaluation.sets]]");
}

#[test]
fn an_unknown_key_is_looked_up_with_the_command_that_takes_the_scenario() {
    check("frobnicate = 1", 1, "frobnicate", "`tadpole run --print-defaults`");
    let error = PretrainScenario::parse("frobnicate = 1", FILE).expect_err("unknown").to_string();
    assert!(error.contains("`tadpole pretrain --print-defaults`"), "{error}");
}

#[test]
fn an_out_of_range_value_is_refused_with_its_line_and_the_range() {
    check("[rollout]\ngroup = 1", 2, "rollout.group", "1 is out of range; allowed: 2 to 1024");
    check("seed = -1", 1, "seed", "-1 is out of range; allowed: 0 to 9223372036854775807");
    check("seed = 99999999999999999999999", 1, "seed", "out of range");
    check("[update]\nbeta1 = 1.0", 2, "update.beta1", "at least 0.0, below 1.0");
    check("[update]\nlearning_rate = 0", 2, "update.learning_rate", "above 0.0");
    check("[update]\nlearning_rate = nan", 2, "update.learning_rate", "not a finite number");
    check("[update]\nclip = 1e99", 2, "update.clip", "not a finite number");
    check("name = \"a/b\"", 1, "name", "letters, digits");
    check(
        "[[world.strata]]\nname = \"a\"\nfunctions = [4, 3]",
        3,
        "world.strata.0.functions",
        "the fewest and the most",
    );
    check("[[world.strata]]\nbugs = 1", 1, "world.strata.0.name", "missing key");
}

#[test]
fn what_is_not_toml_is_refused_with_its_line() {
    check("seed = 1\nseed = 2", 2, "", "duplicate key");
    check("seed = \n", 1, "", "");
    check("[update\n", 1, "", "");
}

#[test]
fn all_faults_are_told_at_once_in_the_order_of_the_file() {
    let error =
        Scenario::parse("a = 1\n[update]\nclip = 0\n[rollout]\ngroup = 1\n", FILE).expect_err("refused");
    let keys: Vec<&str> = error.complaints.iter().map(|complaint| complaint.key.as_str()).collect();
    assert_eq!(keys, ["a", "update.clip", "rollout.group"]);
}

#[test]
fn keys_that_contradict_one_another_are_refused() {
    check("[curriculum]\npilot = 8", 2, "curriculum.pilot", "leaves nothing of 8 samples");
    check("[curriculum]\ncandidates = 100", 2, "curriculum.candidates", "cannot fill a batch of 128");
    check(
        "[curriculum]\nadmission = \"p = 0.5\"\nsamples = 7",
        2,
        "curriculum.admission",
        "admits no k of 7",
    );
    check("[update]\ngroups = 256", 2, "update.groups", "do not fit a batch of 128");
    check("[update]\naveraging_from = 16", 2, "update.averaging_from", "averages nothing");
    check("[rollout]\nlag = 16", 2, "rollout.lag", "never ends within 16 updates");
    check("[update]\nwarmup = 17", 2, "update.warmup", "never ends");
    check("[update]\nepochs = 2", 2, "update.epochs", "train_on_calibration");
    check(
        "[curriculum]\ntrain_on_calibration = true\n[update]\ngroups = 16",
        4,
        "update.updates",
        "are 8 updates, not 16",
    );
    check("[curriculum]\nadmission = \"0 <= p < 1/9\"", 2, "curriculum.admission", "admits no k of 8");
    check("[generator]\nkind = \"process\"", 2, "generator.command", "command");
    check("[policy]\nsource = \"file\"", 2, "policy.path", "path");
    check("[policy.shape]\nhead_dim = 33", 2, "policy.shape.head_dim", "a multiple of 32");
    check("[policy.shape]\nkv_heads = 2", 2, "policy.shape.kv_heads", "divide");
    check("[[evaluation.sets]]\nname = \"a\"\npass_at = [1, 8]", 3, "evaluation.sets.0.pass_at", "pass@8");
    check(
        "[[evaluation.sets]]\nname = \"a\"\nwhen = \"ends\"",
        3,
        "evaluation.sets.0.when",
        "table of iterations",
    );
    check(
        "[[evaluation.sets]]\nname = \"a\"\nsplit = \"train\"",
        3,
        "evaluation.sets.0.split",
        "never training tasks",
    );
    let twice = "[[evaluation.sets]]\nname = \"a\"\n[[evaluation.sets]]\nname = \"a\"\n";
    check(twice, 4, "evaluation.sets.1.name", "unique");
    let strata = "[[world.strata]]\nname = \"a\"\n[[world.strata]]\nname = \"a\"\n";
    check(strata, 4, "world.strata.1.name", "earlier stratum");
}

#[test]
fn a_length_penalty_that_sinks_a_success_is_refused_with_the_arithmetic() {
    // 768 tokens: ln(768/64) = ln 12 = 2.484907; 0.5 / 2.484907 = 0.201215.
    check(
        "[reward.length]\nalpha = 0.202",
        2,
        "reward.length.alpha",
        "a success of 768 tokens would be worth 1 - 0.202 x ln(768/64) = 0.498049, no more than a truncated one (0.5)",
    );
    Scenario::parse("[reward.length]\nalpha = 0.201\n", FILE).unwrap();
    Scenario::parse("[reward.length]\nalpha = 9.0\nfrom_iteration = 0\n", FILE).unwrap();
    Scenario::parse("[reward.length]\nalpha = 9.0\nfree_tokens = 768\n", FILE).unwrap();
    // Whichever key the file states is the one that is pointed at.
    check("[reward]\ntruncated = 0.9\n", 2, "reward.length.alpha", "0.751509");
    check(
        "[harness]\nmax_turns = 100\nturn_tokens = 10000\ncontext = 1000000",
        None,
        "reward.length.alpha",
        "1000000",
    );
}

#[test]
fn overrides_are_checked_as_the_file_is() {
    let with = |key: &str, value: &str| {
        Scenario::parse_with("[curriculum]\nbatch = 64\n", FILE, &[Override::new(key, value)])
    };
    assert_eq!(with("curriculum.batch", "32").unwrap().curriculum.batch, 32);
    assert_eq!(with("seed", "9").unwrap().seed, 9);
    assert_eq!(with("update.divergence", "kl").unwrap().update.divergence, Divergence::Kl);
    assert_eq!(
        with("curriculum.admission", "0 < p < 1").unwrap().curriculum.admission.to_string(),
        "0 < p < 1"
    );
    // One entry of a list that the file leaves to its default.
    let sets = with("evaluation.sets.1.tasks", "10").unwrap().evaluation.sets;
    assert_eq!((sets[0].tasks, sets[1].tasks), (240, 10));
    for (key, value, message) in [
        ("curriculum.batch", "0", "--set curriculum.batch=0: curriculum.batch: 0 is out of range"),
        ("curriculum.bath", "1", "--set curriculum.bath=1: curriculum.bath: unknown key"),
        ("evaluation.sets.9.tasks", "1", "the list has 3 entries"),
        ("seed.x", "1", "expected a whole number, found a table"),
        ("curriculum.batch.x", "1", "`curriculum.batch` is a value"),
    ] {
        let error = with(key, value).expect_err(key).to_string();
        assert!(error.contains(message), "{error}");
    }
    assert!("curriculum.batch".parse::<Override>().is_err());
    assert_eq!("a.b = 1".parse::<Override>().unwrap(), Override::new("a.b", "1"));
}

#[test]
fn rules_follow_the_iteration() {
    let scenario = Scenario::parse("[curriculum]\nadmission_last = \"0 < p <= 0.5\"", FILE).unwrap();
    let curriculum = &scenario.curriculum;
    assert_eq!(curriculum.admission_at(4, 5).to_string(), "3/8..5/8");
    assert_eq!(curriculum.admission_at(5, 5).to_string(), "0 < p <= 1/2");
    let length = &scenario.reward.length;
    assert!(!length.applies(2) && length.applies(3));
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,60}") {
        let _unused = Scenario::parse(&text, FILE);
    }

    #[test]
    fn no_damage_to_a_scenario_makes_the_parser_panic(at in 0_usize..4_000, with in "\\PC{0,3}") {
        let text = Scenario::default().to_toml();
        let cut = (0..=at.min(text.len())).rev().find(|&index| text.is_char_boundary(index)).unwrap_or(0);
        if let Err(error) = Scenario::parse(&format!("{}{with}{}", &text[..cut], &text[cut..]), FILE) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn values_survive_being_written_and_read(rate in 1e-9_f32..1.0, seed in 0_u64..=i64::MAX as u64, alpha in 0.0_f32..0.2) {
        let mut scenario = Scenario { seed, ..Scenario::default() };
        scenario.update.learning_rate = rate;
        scenario.reward.length.alpha = alpha;
        prop_assert_eq!(Scenario::parse(&scenario.to_toml(), FILE).unwrap(), scenario);
    }
}
