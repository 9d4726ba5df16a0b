//! The cases of `data/harness_grading.jsonl`, known faults of harnesses and graders with their right values: those of the
//! areas edit, read, loop and grade. Each case is a test of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

mod grading_cases;
mod harness_cases;

use serde_json::Value;

const CASES: &str = include_str!("data/harness_grading.jsonl");
const AREAS: [&str; 4] = ["edit", "read", "loop", "grade"];

fn cases() -> Vec<Value> {
    CASES.lines().map(|line| serde_json::from_str(line).expect("a case is a line of JSON")).collect()
}

fn case(id: &str) -> Value {
    cases().into_iter().find(|case| case["id"] == id).unwrap_or_else(|| panic!("no case {id}"))
}

macro_rules! cases {
    ($($name:ident: $id:literal => $check:path,)*) => {
        const TESTED: &[&str] = &[$($id),*];
        $(
            #[test]
            fn $name() {
                $check(&case($id));
            }
        )*
    };
}

cases! {
    edit_crlf_preserve: "edit-crlf-preserve" => harness_cases::edit,
    edit_crlf_multiline_lf_needle: "edit-crlf-multiline-lf-needle" => harness_cases::edit,
    edit_tabs_untouched: "edit-tabs-untouched" => harness_cases::edit,
    edit_noop: "edit-noop" => harness_cases::edit,
    edit_nonutf8_bytes: "edit-nonutf8-bytes" => harness_cases::edit,
    edit_no_final_newline: "edit-no-final-newline" => harness_cases::edit,
    edit_bom: "edit-bom" => harness_cases::edit,
    edit_curly_quotes: "edit-curly-quotes" => harness_cases::edit,
    edit_mode_preserve: "edit-mode-preserve" => harness_cases::edit,
    edit_symlink: "edit-symlink" => harness_cases::edit_through_link,
    read_formfeed: "read-formfeed" => harness_cases::read_lines,
    read_offset_past_end: "read-offset-past-end" => harness_cases::read_past_end,
    loop_malformed_json: "loop-malformed-json" => harness_cases::malformed_json,
    loop_length_finish: "loop-length-finish" => harness_cases::length_finish,
    loop_empty_final: "loop-empty-final" => harness_cases::empty_final,
    loop_toolcalls_not_truncation: "loop-toolcalls-not-truncation" => harness_cases::tool_calls_are_no_cut,
    grade_all_skipped_f2p: "grade-all-skipped-f2p" => grading_cases::fail_to_pass,
    grade_skipped_p2p: "grade-skipped-p2p" => grading_cases::pass_to_pass,
    grade_absent_f2p: "grade-absent-f2p" => grading_cases::fail_to_pass,
    grade_empty_f2p: "grade-empty-f2p" => grading_cases::empty_fail_to_pass,
    grade_noop_reward: "grade-noop-reward" => grading_cases::no_patch,
    grade_reward_preempt: "grade-reward-preempt" => grading_cases::reward_written_by_the_agent,
    grade_reward_missing: "grade-reward-missing" => grading_cases::reward_missing,
    grade_negative_reward: "grade-negative-reward" => grading_cases::reward_negative,
    grade_infra_denominator: "grade-infra-denominator" => grading_cases::infra_counts,
    grade_timeout_id: "grade-timeout-id" => grading_cases::tests_that_never_end,
}

#[test]
fn no_case_of_these_areas_is_left_out() {
    let ids: Vec<String> = cases()
        .into_iter()
        .filter(|case| AREAS.iter().any(|area| case["area"] == *area))
        .map(|case| case["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids, TESTED);
}
